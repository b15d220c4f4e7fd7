"""At the editor while a turn runs: the line that lives, and the prompts that wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.queue import QueuedPrompts
from acp_console.tui.chat.turn_line import TurnLine
from acp_inspector.journal import Journal
from tests.console.conftest import Agent
from tests.console.tui.chats import chat_of, open_chat
from tests.console.tui.conftest import say, until
from tests.console.tui.test_idle_screens import ticking

HANGS = """
prompt = hear_prompt()
update("tool_call", toolCallId="t", title="Run make", status="in_progress")
hear("session/cancel")
end(prompt, "cancelled")
hear("never")
"""


def ticks(app: ConsoleApp) -> bool:
    return any("'turn'" in each for each in ticking(app))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_turn_ticks_while_it_is_seen_and_says_how_long_nothing_came(
    workplace: Path, agent: Agent
) -> None:
    clock = Clock()
    async with open_chat(workplace, agent(HANGS), journals=lambda: Journal(clock=clock)) as (
        app,
        pilot,
    ):
        line = app.screen.query_one(TurnLine)
        assert not line.display
        await pilot.press("g", "enter")
        await until(pilot, lambda: "0:00 · Run make 0:00 · 1 tool · esc stops" in say(app))
        clock.now = 45.0
        # No frame comes: the tick of the line finds it.
        await until(pilot, lambda: "▲ 0:45 · no frame for 45 s · waits for “Run make”" in say(app))
        assert ticks(app)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: not ticks(app))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: ticks(app))
        await pilot.press("escape")
        await until(pilot, lambda: "◌ 0:45 · 1 tool" in say(app))
        await until(pilot, lambda: not ticks(app))


@pytest.mark.long
async def test_each_prompt_that_waits_can_be_changed_and_removed(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(HANGS)) as (app, pilot):
        chat, editor = chat_of(app).chat, chat_of(app).editor
        for text in ("go", "one", "two", "three", "four"):
            await pilot.press(*text, "enter")
        await until(pilot, lambda: "⋯ four" in say(app))
        assert chat.queued == ["one", "two", "three", "four"]
        await pilot.press("tab", "down", "delete")
        await until(pilot, lambda: chat.queued == ["one", "three", "four"])
        await pilot.press("enter")
        await until(pilot, lambda: editor.text == "three" and editor.has_focus)
        assert chat.queued == ["one", "four"]
        # The prompts of the queue come first, before what is written.
        await pilot.click(QueuedPrompts, offset=(5, 0))
        await until(pilot, lambda: editor.text == "one\nthree")
        editor.clear()
        await until(pilot, lambda: "⋯ one" not in say(app))
        await pilot.press("up")
        await until(pilot, lambda: editor.text == "four" and not chat.queued)
        await pilot.press("enter")
        await until(pilot, lambda: "⋯ four" in say(app))
        queue = app.screen.query_one(QueuedPrompts)
        await pilot.click(QueuedPrompts, offset=(queue.size.width - 3, 0))
        await until(pilot, lambda: not chat.queued and "⋯" not in say(app))
        # One that was sent meanwhile stays sent.
        assert not chat.take_back(0, "four")
