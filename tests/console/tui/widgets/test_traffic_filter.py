"""The filter bar: completion, mistakes in place, history, and what counts when."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Label

from acp_console.kept.filter_history import FilterHistory
from acp_console.tui.filter_input import FilterInput, error_lines
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.errors import FilterError
from tests.console.tui.conftest import say, until


@pytest.fixture(autouse=True)
def own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


class BarApp(App[None]):
    """An app with a bar, which notes what it tells."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: list[str] = []
        self.times_left = 0

    def compose(self) -> ComposeResult:
        yield FilterInput(
            "Filter: text, or e.g.  method ~ fs/ and latency > 1s",
            id="frame-filter",
            seen=lambda: {"session": ["s 1"], "method": ["_mine/x"]},
            history=FilterHistory(),
        )
        yield Label("below")

    def on_mount(self) -> None:
        self.bar.input.focus()

    def on_filter_input_filter_changed(self, message: FilterInput.FilterChanged) -> None:
        self.wanted.append(str(message.filter))

    def on_filter_input_edit_ended(self) -> None:
        self.times_left += 1

    def on_filter_input_confirmed(self) -> None:
        self.times_left += 1

    @property
    def bar(self) -> FilterInput:
        """The bar."""
        return self.query_one(FilterInput)


async def test_what_is_typed_counts_after_a_moment() -> None:
    app = BarApp()
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press(*"from == agent")
        await until(pilot, lambda: app.wanted[-1:] == ["from == agent"])


async def test_tab_takes_the_first_that_may_stand_here() -> None:
    app = BarApp()
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press(*"upd", "tab")
        await until(pilot, lambda: app.bar.input.value == "update ")
        await pilot.press("tab", *"tool_call_u", "tab", *"an", "tab")
        await until(pilot, lambda: app.bar.input.value == "update == tool_call_update and ")


async def test_values_that_were_seen_are_offered_first() -> None:
    app = BarApp()
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press(*"session == ")
        await until(pilot, lambda: '"s 1"' in say(app))
        await pilot.press("tab")
        await until(pilot, lambda: app.bar.input.value == 'session == "s 1" ')
        app.bar.set_filter("")
        await pilot.press(*"method == ")
        await until(pilot, lambda: "_mine/x         " in say(app))
        assert "authenticate" in say(app)


async def test_down_goes_through_the_offers_and_enter_takes_one() -> None:
    app = BarApp()
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press(*"kind == re")
        await until(pilot, lambda: "request" in say(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.bar.input.value == "kind == result ")
        assert app.times_left == 0
        await pilot.press("enter")
        await until(pilot, lambda: app.times_left == 1)


async def test_an_offer_is_taken_by_mouse_too() -> None:
    app = BarApp()
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press(*"kind == re")
        await until(pilot, lambda: "result" in say(app))
        await pilot.click(".filter-offers", offset=(4, 1))
        await until(pilot, lambda: app.bar.input.value == "kind == result ")
        assert app.bar.input.has_focus


async def test_down_in_an_empty_bar_offers_all_fields() -> None:
    app = BarApp()
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press("down")
        await until(pilot, lambda: "number of the entry" in say(app))


async def test_a_mistake_is_told_below_its_place_and_changes_nothing() -> None:
    app = BarApp()
    async with app.run_test(size=(100, 20)) as pilot:
        app.bar.set_filter("from == agent")
        await until(pilot, lambda: app.wanted == ["from == agent"])
        app.bar.set_filter("size > 4kb and metod == x")
        await until(pilot, lambda: "did you mean `method`?" in say(app))
        lines = say(app).splitlines()
        assert lines[1].index("^") == lines[0].index("metod")
        await pilot.press("enter")
        assert (app.wanted, app.times_left) == (["from == agent"], 0)


async def test_what_is_only_unfinished_is_no_mistake_while_there_are_offers() -> None:
    app = BarApp()
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press(*"from == ")
        await until(pilot, lambda: "client" in say(app))
        assert not app.bar.error.display


async def test_older_filters_come_back_and_the_draft_behind_them() -> None:
    app = BarApp()
    async with app.run_test(size=(100, 20)) as pilot:
        for text in ("error", "from == agent"):
            app.bar.set_filter(text)
        app.bar.input.value = "zzz"
        await until(pilot, lambda: app.wanted[-1:] == ['"zzz"'])
        await pilot.press("up")
        await until(pilot, lambda: app.wanted[-1:] == ["from == agent"])
        await pilot.press("up")
        await until(pilot, lambda: app.wanted[-1:] == ["error"])
        await pilot.press("down", "down")
        await until(pilot, lambda: app.bar.input.value == "zzz")


async def test_escape_takes_back_offers_then_the_filter_then_leaves() -> None:
    app = BarApp()
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press(*"upd")
        await until(pilot, lambda: app.bar.offers.display)
        await pilot.press("escape")
        await until(pilot, lambda: not app.bar.offers.display)
        await pilot.press("escape")
        await until(pilot, lambda: app.bar.input.value == "")
        await pilot.press("escape")
        await until(pilot, lambda: app.times_left == 1)


async def test_who_is_elsewhere_is_offered_nothing() -> None:
    app = BarApp()
    async with app.run_test(size=(100, 20)) as pilot:
        await pilot.press(*"upd")
        await until(pilot, lambda: app.bar.offers.display)
        app.screen.set_focus(None)
        await until(pilot, lambda: not app.bar.offers.display)


async def test_offers_stand_below_each_other_with_what_they_are() -> None:
    app = BarApp()
    async with app.run_test(size=(80, 14)) as pilot:
        await pilot.press(*"update == tool")
        await until(pilot, lambda: app.bar.offers.display)
        shown = [line.split() for line in say(app).splitlines()[1:4]]
        names = ("tool_call", "tool_call_content_chunk", "tool_call_update")
        assert shown == [[name, "kind", "of", "update"] for name in names]


@pytest.mark.parametrize("width", [20, 60, 200])
def test_a_mistake_fits_wherever_it_stands(width: int) -> None:
    text = "from == agent and metod == x"
    with pytest.raises(FilterError) as caught:
        compile_filter(text)
    lines = error_lines(caught.value, width).split("\n")
    assert len(lines) == {20: 3, 60: 2, 200: 1}[width]
    assert any("^^^^^" in line for line in lines)
