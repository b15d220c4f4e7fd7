"""How long a held frame shall wait."""

from __future__ import annotations

import pytest
from textual.app import App

from acp_console.tui.intercept.screens import DelayScreen
from tests.console.tui.conftest import say, until

pytestmark = pytest.mark.long


class DelayApp(App[None]):
    """An app that asks for a delay, and what came of it."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[float | None] = []

    def on_mount(self) -> None:
        self.push_screen(DelayScreen(12), self.results.append)


@pytest.mark.parametrize(("written", "seconds"), [("9", 9.0), ("0.5", 0.5), ("1,5s", 1.5)])
async def test_a_time_is_returned_in_seconds(written: str, seconds: float) -> None:
    app = DelayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Delay frame 12" in say(app))
        await pilot.press(*written)
        await until(pilot, lambda: f"✓ sent {seconds:g} s from now" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.results == [seconds])


@pytest.mark.parametrize("written", ["x", "-1", "4000", "nan"])
async def test_what_is_no_time_is_told_and_not_taken(written: str) -> None:
    app = DelayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Delay frame 12" in say(app))
        await pilot.press(*written)
        await until(pilot, lambda: "✗ a number of seconds from 0 to 3600" in say(app))
        await pilot.press("enter")
        assert app.results == []
        await pilot.press("escape")
        await until(pilot, lambda: app.results == [None])
