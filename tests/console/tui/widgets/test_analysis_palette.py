"""The analysis in the palette."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Input

from acp_console.tui.app import ConsoleApp
from acp_console.tui.sources import FileSource
from tests.console.tui.conftest import say, until

HELLO = Path(__file__).parents[4] / "recordings" / "hello.acp.ndjson"


async def test_tabs_and_what_can_be_done_in_them_are_offered() -> None:
    app = ConsoleApp(cwd=Path(), watch=[FileSource(HELLO)])
    async with app.run_test(size=(110, 36)) as pilot:
        await until(pilot, lambda: "■ recording" in say(app))
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen.query(Input))
        await pilot.press(*"Analysis: Statistics")
        await until(pilot, lambda: "Look at counts, sizes and times" in say(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "by [method]" in say(app))
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen.query(Input))
        await pilot.press(*"Analysis: By")
        await until(pilot, lambda: "Count by method, by session, by turn" in say(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "[session]" in say(app))
