"""Questions and answers as bars: nested, around a frame, for any width."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from acp_console.tui.analysis import waterfall_tab as room
from acp_console.tui.analysis.waterfall_tab import Bar, axis_text, bar_lines, waterfall
from acp_inspector.journal import Frame
from acp_inspector.views.session_model import SessionModel
from tests.console.tui.analysis_app import EVIL, AnalysisApp, talk
from tests.console.tui.conftest import entries, say, until
from tests.inspector.talks import answer, frames, prompt

AXIS_BEGINS = 40 + room.TIMES + 2
"""The first column of the bars, of 100."""
ROOM = 100 - AXIS_BEGINS - 1
"""Their columns."""


def analysed(text: str = "hi") -> SessionModel:
    model = SessionModel()
    model.read(talk(text))
    return model


def texts(bars: Sequence[Bar], began: float, ended: float, width: int) -> list[str]:
    lines = bar_lines(bars, began, ended, width)
    return ["".join(text for _, text in line.parts) for line in lines]


def test_exchanges_stand_below_their_turn_and_turns_below_their_session() -> None:
    bars = waterfall(analysed(), None).bars
    assert [(bar.depth, bar.name) for bar in bars] == [
        (0, "connection"),
        (1, "→ initialize"),
        (1, "→ session/new /w"),
        (0, "session s1"),
        (1, "turn 1, open: hi"),
        (2, "← fs/read a"),
        (2, "▪ Edit hi"),
        (2, "← permission Edit hi"),
    ]
    assert [bar.n for bar in bars] == [1, 1, 3, 5, 5, 7, 9, 10]


def test_a_bar_is_as_long_as_what_it_shows_and_less_than_half_a_column_is_a_line() -> None:
    bars = [Bar(name, 0.0, ended, "result", 1, 2) for name, ended in (("a", 0.004), ("b", 0.8))]
    short, long = texts(bars, 0.0, 1.0, 100)
    assert short.rstrip().endswith("ms │")
    assert long.count("━") == math.floor(0.8 * ROOM)


def test_the_time_in_which_a_person_is_waited_for_is_hatched() -> None:
    lines = texts(waterfall(analysed(), None).bars, 0.0, 1.0, 100)
    model = analysed()
    answered = {"jsonrpc": "2.0", "id": 3, "result": {"outcome": {"outcome": "cancelled"}}}
    model.apply(Frame(11, 1.9, "client", json.dumps(answered).encode()))
    lines = texts(waterfall(model, None).bars, 0.0, 2.0, 100)
    assert "?╌╌?╌╌" in lines[7]
    assert "?╌╌?╌╌" in lines[4]
    assert "?" not in lines[5]


def test_the_axis_has_a_tick_at_each_round_time() -> None:
    axis = axis_text(0.0, 10.0, 100)
    assert axis.split() == ["│0", "s", "│2", "s", "│4", "s", "│6", "s", "│8", "s"]
    assert abs(axis.index("│4") - AXIS_BEGINS - 0.4 * ROOM) <= 1
    assert axis_text(7.0, 7.0021, 100, origin=7.0).split()[:4] == ["│+0.0", "ms", "│+0.5", "ms"]
    assert axis_text(0.0, 7200.0, 100).split()[:4] == ["│0", "min", "│30", "min"]


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.integers(20, 220))
def test_the_axis_fits_its_line_for_any_time(began: float, length: float, width: int) -> None:
    assert cell_len(axis_text(began, began + length, width)) <= max(width, 60)


def test_how_an_exchange_ended_is_told_by_a_sign() -> None:
    bars = waterfall(analysed(), None).bars
    lines = texts(bars, 0.0, 1.0, 100)
    assert lines[5].rstrip().endswith("✗")
    assert lines[4].rstrip().endswith("▶")
    assert "open" in lines[4]
    assert "100 ms" in lines[1]


def test_of_very_many_those_around_the_frame_are_shown() -> None:
    asked = [
        ("agent", {"id": n, "method": "fs/read_text_file"}) for n in range(room.MAX_EXCHANGES + 500)
    ]
    model = SessionModel()
    model.read(entries(*asked))
    last = waterfall(model, None)
    assert (last.shown, last.exchanges) == (room.MAX_EXCHANGES, room.MAX_EXCHANGES + 500)
    assert last.bars[-1].n == room.MAX_EXCHANGES + 500
    assert waterfall(model, 1).bars[1].n == 1


@given(st.integers(20, 220), st.floats(-5, 5), st.floats(0, 5))
def test_a_bar_never_leaves_its_line(width: int, began: float, length: float) -> None:
    bars = waterfall(analysed(EVIL), None).bars
    for line in texts(bars, began, began + length, max(width, 60)):
        assert cell_len(line) <= max(width, 60)


@pytest.mark.parametrize("began", [0.0, 0.5, 1.0])
def test_the_sign_of_an_error_stands_behind_a_bar_however_short(began: float) -> None:
    bar = Bar("← fs/read_text_file", began, began, "error", 3, 2, style="error")
    (line,) = texts([bar], 0.0, 1.0, 80)
    assert line.endswith("│✗")
    assert cell_len(line) <= 80


async def test_a_bar_can_take_the_whole_width_and_leads_to_its_frame() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.open_tab("waterfall")
        await until(pilot, lambda: "→ session/new" in say(app))
        app.pane.open.lines.choose(2)
        await pilot.press("z")
        await until(pilot, lambda: "→ session/new /w · 100 ms · z shows all" in say(app))
        await pilot.press("z", "enter")
        await until(pilot, lambda: app.targets == [3])
        assert "z shows all" not in say(app)


async def test_it_opens_at_the_turn_of_the_chosen_row() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(120, 30)) as pilot:
        app.pane.chosen = 6
        app.pane.open_tab("waterfall", at=6)
        await until(
            pilot, lambda: "turn 1, open: hi · 500 ms · z shows all 5 exchanges" in say(app)
        )
        assert app.pane.open.lines.cursor == 4
        app.pane.open_tab("waterfall", at=8)
        await until(pilot, lambda: app.pane.open.lines.cursor == 5)
        app.pane.open_tab("waterfall", at=2)
        await until(pilot, lambda: "z shows all" not in say(app))
        assert app.pane.open.lines.cursor == 1


async def test_where_few_rows_are_of_the_turn_it_shows_the_time_of_all_in_view() -> None:
    turns = [
        said
        for id_ in range(1, 20)
        for said in (prompt(id_, "hi"), answer("agent", id_, {"stopReason": "end_turn"}))
    ]
    app = AnalysisApp(frames(*turns))
    async with app.run_test(size=(100, 24)) as pilot:
        app.pane.open_tab("waterfall", at=len(turns))
        await until(pilot, lambda: "rows in view" in say(app))
        # Nearly empty, it would have one bar and signs that others are earlier.
        assert "‹" not in say(app)
        await pilot.press("z")
        await until(pilot, lambda: "z shows all" not in say(app))
