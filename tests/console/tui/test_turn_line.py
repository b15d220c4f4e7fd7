"""The line at the editor lives while a turn runs, and only then."""

from __future__ import annotations

from pathlib import Path

from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.turn_line import TurnLine
from acp_inspector.journal import Journal
from tests.console.conftest import Agent
from tests.console.tui.chats import open_chat
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
