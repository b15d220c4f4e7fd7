"""Tables as lines: which columns stay where there is little room."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from acp_console.tui.analysis.tab import AnalysisRow, table_lines
from acp_console.wording.tables import Layout, TableText

LAYOUT = Layout(
    columns=("from", "method", "count", "size", "note"),
    words=("from", "method", "note"),
    flexible="method",
    spare=("size", "from", "note", "count"),
)
ROWS = (
    AnalysisRow(("client →", "session/update agent_message_chunk", "12", "1 kB", ""), 1),
    AnalysisRow(("← agent", "initialize", "1", "300 B", ""), 2),
)


def table(rows: Sequence[AnalysisRow]) -> TableText:
    return TableText(LAYOUT, [row.cells for row in rows])


def texts(rows: Sequence[AnalysisRow], width: int) -> list[str]:
    """Return the heading and the rows."""
    lines = table_lines(table(rows), rows, width)
    shown = ["".join(text for _, text in line.parts) for line in lines]
    return [table(rows).heading(width), *shown]


def hidden(width: int) -> tuple[str, ...]:
    return table(ROWS).fit(width).hidden


def test_a_column_in_which_nothing_stands_is_left_out() -> None:
    head, *rows = texts(ROWS, 100)
    assert head.split() == ["from", "method", "count", "size"]
    assert rows[0].split() == ["client", "→", *ROWS[0].cells[1].split(), "12", "1", "kB"]


def test_words_keep_to_the_left_and_numbers_to_the_right() -> None:
    _, first, second = texts(ROWS, 100)
    assert first.index("session/update") == second.index("initialize")
    assert first.index("12") + 1 == second.index("1 ", 20)


def test_columns_that_can_be_spared_go_first_and_are_told() -> None:
    assert hidden(100) == ()
    assert hidden(44) == ("size",)
    assert hidden(10) == ("from", "count", "size")


def test_rows_lead_to_what_they_stand_for() -> None:
    lines = table_lines(table(ROWS), ROWS, 80)
    assert [line.target for line in lines] == [1, 2]


def test_the_sign_of_the_sorted_column_moves_no_name_and_each_name_can_be_clicked() -> None:
    plain = table(ROWS).heading(100)
    for name in ("from", "method", "count", "size"):
        head = table(ROWS).heading(100, sorted_by=name, sign="▼")
        assert head.replace("▼", " ") == plain
        assert "▼" in head
        assert table(ROWS).column_at(100, plain.index(name)) == name
    assert table(ROWS).column_at(100, len(plain) + 5) is None


@given(st.integers(40, 200), st.lists(st.text("ab 日", max_size=70), max_size=5))
def test_a_table_is_as_wide_as_there_is_room(width: int, names: list[str]) -> None:
    rows = [AnalysisRow(("client →", name, "1", "", "x"), style="error") for name in names]
    for line in texts(rows, width):
        assert cell_len(line) <= width
