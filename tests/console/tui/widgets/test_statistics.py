"""Counts as tables on the screen."""

from __future__ import annotations

from acp_console.tui.analysis.statistics_tab import Counted, counted
from acp_console.wording.statistics import TURNS, Cell, sort_cells
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.views.session_model import SessionModel
from tests.console.tui.analysis_app import EVIL, AnalysisApp, talk
from tests.console.tui.conftest import place_of, say, until


async def test_one_table_after_the_other_is_shown() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(120, 30)) as pilot:
        app.pane.open_tab("statistics")
        await until(pilot, lambda: "by [method]" in say(app) and "fs/read_text_file" in say(app))
        assert "10 frames in" in say(app)
        await pilot.press("b")
        await until(pilot, lambda: "by method · [session]" in say(app))
        await until(pilot, lambda: app.pane.open.lines.chosen is not None)
        await pilot.press("enter")
        await until(pilot, lambda: app.targets == [4])
        await pilot.press("b")
        await until(pilot, lambda: "[turn]" in say(app) and "first output" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.targets == [4, 5])


async def test_a_table_is_sorted_by_a_key_and_by_a_click_on_a_name() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(120, 30)) as pilot:
        app.pane.open_tab("statistics")
        await until(pilot, lambda: "fs/read_text_file" in say(app))
        await pilot.press("s")
        await until(pilot, lambda: "sorted by max ▼" in say(app) and "▼max" in say(app))
        assert {*methods(app)[:3]} == {"initialize", "session/new", "fs/read_text_file"}
        x, y = place_of(app, "  method   ")
        await pilot.click(offset=(x + 3, y))
        await until(pilot, lambda: "sorted by method ▲" in say(app))
        assert methods(app)[0] == "agent_message_chunk"
        await pilot.click(offset=(x + 3, y))
        await until(pilot, lambda: "sorted by method ▼" in say(app))
        assert methods(app)[0] == "tool_call"


def methods(app: AnalysisApp) -> list[str]:
    answer = app.pane.open.answer
    assert isinstance(answer, Counted)
    return [row.cells[1] for row in answer.rows]


def test_cells_without_a_value_are_last_in_either_order() -> None:
    rows = [[Cell("", None)], [Cell("2 s", 2.0)], [Cell("10 s", 10.0)], [Cell("", None)]]
    assert sort_cells(rows, 0, is_descending=True) == [2, 1, 0, 3]
    assert sort_cells(rows, 0, is_descending=False) == [1, 2, 0, 3]


def test_a_turn_says_where_its_time_went() -> None:
    model = SessionModel()
    model.read(talk())
    [row] = counted(model, "turn").rows
    shown = dict(zip(TURNS.columns, row.cells, strict=True))
    assert (shown["person"], shown["tools"], shown["agent"]) == ("", "100 ms", "400 ms")
    assert shown["longest"] == "100 ms fs/read a"


async def test_columns_without_room_are_counted_and_sorting_begins_with_one_that_is_shown() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.open_tab("statistics")
        await until(pilot, lambda: "4 columns hidden" in say(app))
        await pilot.press("s")
        await until(pilot, lambda: "sorted by p90 ▼" in say(app))


def test_a_method_leads_to_a_filter_for_it_whatever_its_name() -> None:
    model = SessionModel()
    model.read(talk(EVIL))
    targets = [row.target for row in counted(model, "method").rows]
    assert "method == session/update and update == tool_call" in targets
    for target in targets:
        assert isinstance(target, str)
        assert not compile_filter(target).is_empty
