"""Where breakpoints are written."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from acp_console.tui.filter_input import FilterInput
from acp_inspector.intercept.live_filter import compile_live
from tests.console.tui.conftest import notices, say, until


class BoxApp(App[None]):
    """An app with nothing but the box, and what came of it."""

    def __init__(self) -> None:
        super().__init__()
        self.set: list[str] = []
        self.has_left = False

    def compose(self) -> ComposeResult:
        yield FilterInput("Break on", id="break-filter", compile=compile_live)

    def on_mount(self) -> None:
        self.box.input.focus()

    @property
    def box(self) -> FilterInput:
        return self.query_one(FilterInput)

    def on_filter_input_confirmed(self, event: FilterInput.Confirmed) -> None:
        self.set.append(event.filter.source)

    def on_filter_input_edit_ended(self) -> None:
        self.has_left = True


async def test_tab_completes_fields_operators_and_values() -> None:
    app = BoxApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"meth")
        await until(pilot, lambda: "method of the message" in say(app))
        await pilot.press("tab")
        await until(pilot, lambda: app.box.input.value == "method ")
        await until(pilot, lambda: "contains" in say(app))
        await pilot.press("tab", *"sess")
        await until(pilot, lambda: app.box.input.value == "method == sess")
        await pilot.press("down")
        await until(pilot, lambda: "session/close" in say(app))
        await pilot.press("up", "tab")
        await until(pilot, lambda: app.box.input.value.startswith("method == session/"))
        assert app.set == []


async def test_what_is_wrong_is_told_with_a_caret_and_the_expression_stays() -> None:
    app = BoxApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"methd == x", "enter")
        await until(pilot, lambda: "did you mean `method`?" in say(app))
        lines = [line.rstrip() for line in say(app).splitlines()]
        assert "methd == x" in lines[0]
        assert lines[1].strip().startswith("^^^^^ ")
        assert lines[1].index("^") == lines[0].index("methd")
        assert app.box.input.value == "methd == x"
        assert app.set == []
        app.box.input.value = "method == x"
        await until(pilot, lambda: "did you mean" not in say(app))


async def test_an_expression_that_is_understood_is_handed_on() -> None:
    app = BoxApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"from == agent", "enter")
        await until(pilot, lambda: app.set == ["from == agent"])
        assert notices(app) == ""


async def test_what_is_not_known_yet_is_refused_and_stays_there() -> None:
    app = BoxApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"turn == 3", "enter")
        await until(pilot, lambda: "`turn` is not known while a frame" in say(app))
        assert app.set == []
        assert app.box.input.value == "turn == 3"


@pytest.mark.parametrize("key", ["escape", "tab", "down"])
async def test_where_nothing_is_offered_keys_lead_on(key: str) -> None:
    app = BoxApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.box.input.has_focus)
        await pilot.press(key)
        await until(pilot, lambda: app.has_left)
