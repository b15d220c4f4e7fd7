"""Tables as lines: which columns stay where there is little room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from acp_console.render.tables import Layout
from acp_console.tui.analysis.tab import AnalysisRow, TableLines

LAYOUT = Layout(
    columns=("from", "method", "count", "size", "note"),
    words=("from", "method", "note"),
    flexible="method",
    spare=("size", "from", "note", "count"),
)
ROWS = (
    AnalysisRow(("→ client", "session/update agent_message_chunk", "12", "1 kB", ""), 1),
    AnalysisRow(("← agent", "initialize", "1", "300 B", ""), 2),
)


def texts(lines: TableLines, width: int) -> list[str]:
    found = (lines.line(place, width) for place in range(len(lines)))
    return ["".join(text for _, text in line.parts) for line in found]


def test_a_column_in_which_nothing_stands_is_left_out() -> None:
    head, *rows = texts(TableLines(LAYOUT, ROWS), 100)
    assert head.split() == ["from", "method", "count", "size"]
    assert rows[0].split() == ["→", "client", *ROWS[0].cells[1].split(), "12", "1", "kB"]


def test_words_keep_to_the_left_and_numbers_to_the_right() -> None:
    _, first, second = texts(TableLines(LAYOUT, ROWS), 100)
    assert first.index("session/update") == second.index("initialize")
    assert first.index("12") + 1 == second.index("1 ", 20)


def test_columns_that_can_be_spared_go_first_and_are_told() -> None:
    lines = TableLines(LAYOUT, ROWS)
    assert lines.hidden(100) == []
    assert lines.hidden(44) == ["size"]
    assert lines.hidden(10) == ["from", "count", "size"]


def test_rows_lead_to_what_they_stand_for() -> None:
    lines = TableLines(LAYOUT, ROWS)
    assert [lines.line(place, 80).target for place in range(3)] == [None, 1, 2]
    assert lines.first == 1


@given(st.integers(40, 200), st.lists(st.text("ab 日", max_size=70), max_size=5))
def test_a_table_is_as_wide_as_there_is_room(width: int, names: list[str]) -> None:
    rows = [AnalysisRow(("→ client", name, "1", "", "x"), style="error") for name in names]
    for line in texts(TableLines(LAYOUT, rows), width):
        assert cell_len(line) <= width
