"""Modes, models and other options of a session."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.color import Color

from acp_console.agents.choices import ChoiceStore
from acp_console.agents.spec import DEMO_AGENT, command_agent
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.options import OptionsScreen
from acp_console.tui.chat.screen import ChatScreen
from acp_console.tui.home.screen import HomeScreen
from acp_console.tui.transcript.rows import Look
from tests.console.conftest import Agent
from tests.console.tui.chats import AT_ONCE, chat_of, open_chat
from tests.console.tui.conftest import place_of, say, until


def color_of(app: ConsoleApp, text: str) -> Color | None:
    """Return the colour in which a text in the first row is drawn."""
    segments = app.screen._compositor.render_strips()[0]  # pyright: ignore[reportPrivateUsage] - no other way
    return next((each.style.color for each in segments if text in each.text and each.style), None)


def warning_of(app: ConsoleApp) -> Color | None:
    return Look.from_theme(app.theme_variables).warning.color


async def test_the_mode_chosen_last_is_that_of_a_chat_from_home(
    workplace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ChoiceStore().update(DEMO_AGENT.name, mode="code")
    app = ConsoleApp(cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "Claude Code" in say(app))
        assert say(app).count("Demo agent") == 1
        await pilot.press(*"demo", "enter")
        await until(pilot, lambda: "⚠ does not ask: mode Code" in say(app))
        await until(pilot, lambda: "⚠ mode Code: this agent does not ask" in say(app))
        app.theme = "acp-light"
        await until(pilot, lambda: color_of(app, "⚠ does not ask") == warning_of(app))
        await pilot.click(offset=place_of(app, "⚠ does not ask"))
        await until(pilot, lambda: "● Code  ⚠ does not ask" in say(app))


PROVIDERS = """
greet()
options = [{"type": "select", "id": id_, "name": id_.title(), "category": "model",
            "currentValue": value, "options": [{"value": value, "name": value}]}
           for id_, value in (("provider", "acme"), ("model", "large"))]
tell(id=hear("session/new")["id"], result={"sessionId": "s1", "configOptions": options})
hear("never")
"""


async def test_options_of_the_same_category_are_told_apart(workplace: Path, agent: Agent) -> None:
    command = command_agent(agent(PROVIDERS))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "provider acme  ·  model large" in say(app))


MODELS = """
greet()
models = [{"modelId": "a", "name": "Small"}, {"modelId": "b", "name": "Large"}]
offered = {"currentModelId": "a", "availableModels": models}
tell(id=hear("session/new")["id"], result={"sessionId": "s1", "models": offered})
tell(id=hear("session/set_model")["id"], result={})
hear("never")
"""


@pytest.mark.long
async def test_the_model_that_was_chosen_is_shown_and_chats_are_told_apart(
    workplace: Path, agent: Agent
) -> None:
    """No update says which model is set; and the agent gives its sessions no titles."""
    command = command_agent(agent(MODELS))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "model Small" in say(app))
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, OptionsScreen))
        await pilot.press(*"large", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen) and "model Large" in say(app))
        await pilot.press(*"mend it", "enter")
        await until(pilot, lambda: re.search("▌. mend it", say(app)))
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen) and "mend it" in say(app))


async def test_mode_and_options_are_shown_and_chosen_by_keys_and_by_mouse(
    workplace: Path,
) -> None:
    async with open_chat(workplace, size=(120, 40)) as (app, pilot):
        await until(pilot, lambda: "mode Ask" in say(app))
        before = next(each for each in chat_of(app).chat.options if each.category == "mode")
        await pilot.press("shift+tab")
        await until(pilot, lambda: "mode Ask" not in say(app) and "mode " in say(app))
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, OptionsScreen))
        assert f"● {before.current_name}" not in say(app)
        await pilot.press(*"ask", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen) and "mode Ask" in say(app))
        # By mouse.
        await pilot.click(offset=place_of(app, "mode Ask"))
        await until(pilot, lambda: "mode Ask" not in say(app) and "mode " in say(app))
        await pilot.click(offset=place_of(app, "model "))
        await until(pilot, lambda: isinstance(app.screen, OptionsScreen))
        await pilot.click(offset=(0, 39))
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
