"""The console against the real demo agent: what a user does, and what the user sees."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from textual.widgets import Input, Markdown

from acp_console.client.agents import DEMO_AGENT, command_agent
from acp_console.tui.app import ConsoleApp
from acp_console.tui.screens.chat import ChatScreen
from acp_console.tui.screens.home import HomeScreen
from acp_console.tui.widgets.permission import PermissionPrompt
from tests.console.tui.conftest import say, until


def chat_of(app: ConsoleApp) -> ChatScreen:
    screen = app.screen
    assert isinstance(screen, ChatScreen)
    return screen


async def test_enter_at_home_opens_a_chat_with_the_demo_agent(workplace: Path) -> None:
    app = ConsoleApp(cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        assert "Demo agent" in say(app)
        await pilot.press("enter")
        await until(pilot, lambda: "● ready" in say(app))
        assert "Try one of these" in say(app)


async def test_typing_at_home_filters_the_agents(workplace: Path) -> None:
    agent = command_agent(["my-agent", "--acp"])
    app = ConsoleApp(agent=agent, cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "my-agent" in say(app) and "Demo agent" in say(app))
        await pilot.press(*"my-a")
        await until(pilot, lambda: "Demo agent" not in say(app))
        app.screen.query_one(Input).value = "nothing like it"
        await until(pilot, lambda: "No agent matches" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Demo agent" in say(app))


async def test_a_prompt_is_answered_in_streamed_markdown(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"read notes.txt", "enter")
        await until(pilot, lambda: "gave 2 lines" in say(app))
        await until(pilot, lambda: "● ready" in say(app))
        shown = say(app)
        assert "Read notes.txt" in shown
        assert "read · done" in shown
        assert len(app.screen.query(Markdown)) == 2


@pytest.mark.parametrize(
    ("answer", "content", "word"),
    [("Allow", "changed\ntwo\n", "edit · done"), ("Reject", "one\ntwo\n", "edit · failed")],
)
async def test_a_permission_is_answered_by_its_number(
    workplace: Path, answer: str, content: str, word: str
) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        app.screen.query_one("#editor").insert("edit notes.txt: one => changed")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - the editor
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        shown = say(app)
        assert "-one" in shown
        assert "+changed" in shown
        assert "? waits for you" in shown
        number = re.search(rf"(\d)  {answer}", shown)
        assert number
        await pilot.press(number[1])
        await until(pilot, lambda: word in say(app))
        await until(pilot, lambda: "● ready" in say(app))
        assert (workplace / "notes.txt").read_text() == content
        assert not app.screen.query(PermissionPrompt)


async def test_version_two_looks_the_same_and_its_question_keeps_its_keys(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT.speaking(2), start="chat", cwd=workplace)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        assert "mode ask" in say(app)
        app.screen.query_one("#editor").insert("edit notes.txt: one => changed")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - the editor
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        assert "-one" in say(app)
        assert "+changed" in say(app)
        await pilot.press("f2", "f2", "1")
        await until(pilot, lambda: "edit · done" in say(app))
        await until(pilot, lambda: "● ready" in say(app))
    assert (workplace / "notes.txt").read_text() == "changed\ntwo\n"


async def test_an_agent_in_a_dialect_is_chatted_with_like_any_other(workplace: Path) -> None:
    script = Path(__file__).parents[2] / "protocol/dialects/peers/acpex_agent.py"
    agent = command_agent([sys.executable, str(script)])
    app = ConsoleApp(agent=agent, start="chat", cwd=workplace)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: "Refactoring complete!" in say(app))
        assert "read_file" in say(app)


async def test_a_permission_is_answered_by_mouse(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"run echo hi", "enter")
        await until(
            pilot,
            lambda: (
                app.screen.query(PermissionPrompt).first().query("Button")
                if app.screen.query(PermissionPrompt)
                else None
            ),
        )
        await pilot.pause()
        assert await pilot.click("PermissionPrompt Button.allow")
        await until(pilot, lambda: "execute · done" in say(app))


async def test_escape_stops_the_turn_and_answers_the_open_question(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"edit notes.txt", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        await pilot.press("escape")
        await until(pilot, lambda: "turn ended: cancelled" in say(app))
        assert (workplace / "notes.txt").read_text() == "one\ntwo\n"
        assert not app.screen.query(PermissionPrompt)


async def test_the_traffic_shows_the_frames_of_this_session(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(200, 50)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"help", "enter")
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f2")
        await until(pilot, lambda: "stopReason end_turn" in say(app))
        await until(pilot, lambda: 'stopReason: "end_turn"' in say(app))
        await pilot.press("slash", *"initialize")
        await until(pilot, lambda: "2 of " in say(app))
        assert "version 1 acp-console" in say(app)
        await pilot.press("f2")
        await until(pilot, lambda: "stopReason" not in say(app))


async def test_an_agent_that_cannot_start_is_told_with_what_to_do(workplace: Path) -> None:
    app = ConsoleApp(agent=command_agent(["no-such-agent"]), start="chat", cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "✗ stopped" in say(app))
        assert "there is no such command" in say(app)
        assert "F5 starts the agent anew" in say(app)


async def test_an_agent_that_dies_is_told_with_its_last_words_and_starts_anew(
    workplace: Path,
) -> None:
    flag = workplace / "was-here"
    script = (
        "import os, sys, runpy\n"
        f"flag = {str(flag)!r}\n"
        "if os.path.exists(flag): runpy.run_module('acp_agent', run_name='__main__')\n"
        "open(flag, 'w').close(); print('no [b]memory[/b] left', file=sys.stderr); sys.exit(9)\n"
    )
    agent = command_agent([sys.executable, "-c", script])
    app = ConsoleApp(agent=agent, start="chat", cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "exited with code 9" in say(app))
        assert "no [b]memory[/b] left" in say(app)
        await pilot.press("f5")
        await until(pilot, lambda: "● ready" in say(app))


async def test_a_prompt_that_is_sent_while_busy_waits_for_its_turn(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"run cat", "enter")
        await until(pilot, lambda: isinstance(app.focused, PermissionPrompt))
        chat_of(app).editor.focus()
        await pilot.press(*"search two", "enter")
        await until(pilot, lambda: "1 prompt queued" in say(app))
        await pilot.press("tab", "shift+tab")
        app.screen.query_one(PermissionPrompt).focus()
        await pilot.press("1")
        await until(pilot, lambda: "notes.txt:2: two" in say(app))


async def test_a_slash_lists_the_agents_commands(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await until(pilot, lambda: chat_of(app)._current() is not None)
        await pilot.press("slash", "t")
        await until(pilot, lambda: "/tour" in str(chat_of(app).query_one("#hints").render()))  # pyright: ignore[reportUnknownMemberType] - a Static


async def test_f1_explains_the_keys_and_f3_leaves_for_the_agents(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f1")
        await until(pilot, lambda: "Stop the running turn" in say(app))
        await pilot.press("escape")
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))


@pytest.mark.parametrize("size", [(90, 30), (200, 50)])
async def test_from_a_chat_one_gets_to_the_analysis_and_back_and_loses_nothing(
    workplace: Path, size: tuple[int, int]
) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press(*"half", "f2")
        await until(pilot, lambda: "Chat" in say(app).splitlines()[-1])
        inspection = chat_of(app).inspection
        inspection.traffic.bar.set_filter("kind == request")
        await pilot.press("home", "m", "5")
        await until(pilot, lambda: "rules had something to look at" in say(app))
        await pilot.press("f2")
        await until(pilot, lambda: chat_of(app).editor.has_focus)
        assert "rules had something to look at" not in say(app)
        assert chat_of(app).editor.text == "half"
        await pilot.press("f2")
        await until(pilot, lambda: inspection.analysis.open.lines.has_focus)
        await pilot.press("escape")
        await until(pilot, lambda: inspection.traffic.table.has_focus)
        await until(pilot, lambda: "2 of 6 entries · 1 marked" in say(app))


async def test_the_traffic_of_a_chat_can_have_the_whole_width(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f4")
        await until(pilot, lambda: chat_of(app).inspection.size.width == 160)
        await pilot.press("f4")
        await until(pilot, lambda: chat_of(app).inspection.size.width == 80)
        assert "Try one of these" in say(app)
        await pilot.press("f4", "f2")
        await until(pilot, lambda: not chat_of(app).inspection.display)
        assert "Try one of these" in say(app)


async def test_an_agent_that_is_started_anew_goes_on_in_the_same_rows(workplace: Path) -> None:
    app = ConsoleApp(agent=DEMO_AGENT, start="chat", cwd=workplace)
    async with app.run_test(size=(160, 40)) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("f2", "f5")
        await until(pilot, lambda: say(app).count("spawn pid") == 2)
        await until(pilot, lambda: "● ready" in say(app))
        entries = chat_of(app).inspection.traffic.entries
        numbers = [getattr(entries[row], "n", 0) for row in range(len(entries))]
        assert numbers == list(range(1, len(entries) + 1))
        assert " 0 findings" in say(app) or "checked" in say(app)
