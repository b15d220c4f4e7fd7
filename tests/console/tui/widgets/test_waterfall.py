"""Questions and answers as bars: nested, around a frame, for any width."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from acp_console.tui.analysis import waterfall_tab as room
from acp_console.tui.analysis.waterfall_tab import Bar, bar_lines, waterfall
from acp_inspector.views.session_model import SessionModel
from tests.console.tui.analysis_app import EVIL, AnalysisApp, talk
from tests.console.tui.conftest import entries, say, until


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
        (1, "→ session/new"),
        (0, "session s1"),
        (1, "turn 1: open"),
        (2, "→ session/prompt"),
        (2, "← fs/read_text_file"),
        (2, "← session/request_permission"),
    ]
    assert [bar.n for bar in bars] == [1, 1, 3, 5, 5, 5, 7, 10]


def test_the_longest_common_name_fits_beside_the_traffic() -> None:
    bars = waterfall(analysed(), None).bars
    assert texts(bars, 0.0, 1.0, 95)[7].startswith("    ← session/request_permission ")


def test_how_an_exchange_ended_is_told_by_a_sign() -> None:
    bars = waterfall(analysed(), None).bars
    lines = texts(bars, 0.0, 1.0, 100)
    assert lines[6].rstrip().endswith("✗")
    assert lines[5].rstrip().endswith("▶")
    assert "open" in lines[5]
    assert "100.0 ms" in lines[1]


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
    assert line.endswith("━✗")
    assert cell_len(line) <= 80


async def test_a_bar_can_take_the_whole_width_and_leads_to_its_frame() -> None:
    app = AnalysisApp(talk())
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.open_tab("waterfall")
        await until(pilot, lambda: "→ session/prompt" in say(app))
        app.pane.open.lines.choose(2)
        await pilot.press("z")
        await until(pilot, lambda: "zoomed · 0.295 s … 0.405 s" in say(app))
        await pilot.press("z", "enter")
        await until(pilot, lambda: app.targets == [3])
        assert "zoomed" not in say(app)
