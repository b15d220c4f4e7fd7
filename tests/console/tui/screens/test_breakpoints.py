"""The list of breakpoints over the traffic."""

from __future__ import annotations

import pytest
from textual.app import App

from acp_console.traffic.intercept import InterceptState
from acp_console.tui.intercept.screens import BreakpointsScreen
from tests.console.tui.conftest import say, until
from tests.console.tui.intercept_clients import FakeInterceptClient

pytestmark = pytest.mark.long

TWO = ((4, "from == client"), (5, "from == agent"))


class ListApp(App[None]):
    """An app with nothing but the list."""

    def __init__(self, client: FakeInterceptClient, begin_with: str = "") -> None:
        super().__init__()
        self.client = client
        self._begin_with = begin_with

    def on_mount(self) -> None:
        self.push_screen(BreakpointsScreen(self.client, self._begin_with))

    @property
    def list(self) -> BreakpointsScreen:
        assert isinstance(self.screen, BreakpointsScreen)
        return self.screen


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_it_fits_every_size(size: tuple[int, int]) -> None:
    client = FakeInterceptClient(
        breakpoints=TWO, is_paused=True, rule_counts={"slow updates": 3, "hooks.py": 0}
    )
    app = ListApp(client)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "slow updates ×3" in say(app) and "Remove all" in say(app))
        assert "break on" in say(app)


async def test_breakpoint_is_written_and_sent() -> None:
    client = FakeInterceptClient()
    app = ListApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.list.filter.has_focus)
        assert "paused for up to 60 s" in say(app)
        await pilot.press(*"from == agent", "enter")
        await until(pilot, lambda: client.asked == [("break", {"filter": "from == agent"})])
        client.become(breakpoints=((1, "from == agent"),))
        await until(pilot, lambda: "break on from == agent" in say(app))
        await pilot.press("b")
        assert app.list.filter.has_focus
        assert app.list.filter.value == ""


async def test_expression_to_begin_with_is_changed_and_confirmed() -> None:
    client = FakeInterceptClient(breakpoints=TWO)
    app = ListApp(client, "method == session/update")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.list.filter.value == "method == session/update")
        await pilot.press(*" and from == agent", "enter")
        text = "method == session/update and from == agent"
        await until(pilot, lambda: client.asked == [("break", {"filter": text})])
        await until(pilot, lambda: not isinstance(app.screen, BreakpointsScreen))


async def test_breakpoint_that_is_chosen_is_removed_and_all_are() -> None:
    client = FakeInterceptClient(breakpoints=TWO)
    app = ListApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.list.points.has_focus)
        await pilot.press("up", "delete")
        await until(pilot, lambda: client.asked == [("clear", {"id": 4})])
        client.asked.clear()
        await pilot.press("D")
        every: list[tuple[str, object]] = [
            ("clear", {"id": 4}),
            ("clear", {"id": 5}),
            ("release_all", {}),
        ]
        await until(pilot, lambda: client.asked == every)


async def test_pause_is_shown_and_ended_by_the_same_key() -> None:
    client = FakeInterceptClient(breakpoints=TWO)
    app = ListApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.list.points.has_focus)
        await pilot.press("p")
        await until(pilot, lambda: client.asked == [("pause", {})])
        client.become(is_paused=True)
        await until(pilot, lambda: "Every message is paused" in say(app))
        await pilot.press("p")
        await until(pilot, lambda: client.asked[1:] == [("resume", {})])
        client.state = InterceptState("gone")
        client.news()
        await until(pilot, lambda: "The proxy has ended" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, BreakpointsScreen))


async def test_text_of_others_is_neither_markup_nor_escape() -> None:
    client = FakeInterceptClient(breakpoints=((1, "[red]\x1b[0m"),), rule_counts={"[b]rule[/b]": 1})
    app = ListApp(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "[red]␛[0m" in say(app))
        assert "[b]rule[/b] ×1" in say(app)
        assert "\x1b" not in say(app)
