"""Counts, bytes and times as tables that sort: by method, by session, by turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, get_args

from textual import on
from textual.binding import BindingType

from acp_console.traffic.analysis import BackgroundFold
from acp_console.tui.analysis.tab import AnalysisRow, AnalysisTab, ColumnHead
from acp_console.tui.commands import bindings
from acp_console.wording.statistics import (
    TABLES,
    By,
    Cell,
    counted_methods,
    counted_turns,
    headline,
    method_cells,
    session_cells,
    sort_cells,
    turn_cells,
)
from acp_console.wording.tables import TableText
from acp_console.wording.values import format_number, plural
from acp_inspector.filter.ast import And, Compare, format_expression
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.statistics import MethodStatistics

MAX_ROWS: Final = 2000
"""Rows of one table."""
WORDS_WIDTH: Final = 36
"""Columns of the names of methods and steps before others are dropped."""


ORDERS: Final[dict[By, tuple[str, ...]]] = {
    "method": ("max", "p99", "p90", "p50", "count"),
    "session": ("agent", "turns"),
    "turn": ("took",),
}
"""The columns that each table is sorted by first; the first that has room counts."""
SIGNS: Final = {True: "▼", False: "▲"}


@dataclass(frozen=True, slots=True)
class Order:
    """The column that a table is sorted by."""

    column: str
    is_descending: bool

    @property
    def sign(self) -> str:
        return SIGNS[self.is_descending]


@dataclass(frozen=True, slots=True)
class Counted:
    """One table."""

    by: By
    order: Order | None
    """None: as it came, or the most frequent first."""
    headline: str
    rows: tuple[AnalysisRow, ...]
    left: int
    """Rows that were left out."""


class StatisticsTab(AnalysisTab[SessionModel, Counted]):
    """Shows one table, which can be sorted by any column."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("statistics")
    by: By = "method"

    def __init__(self, folding: BackgroundFold[SessionModel]) -> None:
        super().__init__(folding)
        self._orders: dict[By, Order] = {}
        self._table: TableText | None = None
        self._is_newly_sorted = False

    @property
    def _order(self) -> Order | None:
        return self._orders.get(self.by)

    def query_function(self) -> Callable[[SessionModel], Counted]:
        by, order = self.by, self._order
        return lambda model: counted(model, by, order)

    def query_key(self) -> object:
        return self.by, self._order

    def show(self, answer: Counted) -> None:
        if (answer.by, answer.order) != (self.by, self._order):
            return
        order = answer.order
        heading = "by " + " · ".join(
            f"[{each}]" if each == self.by else each for each in get_args(By)
        )
        if order is not None:
            heading += f" · sorted by {order.column} {order.sign}"
        if answer.left:
            left = format_number(answer.left)
            heading += f" · {left} {'earlier' if order is None else 'more'} left out"
        self._table = None
        if not answer.rows:
            self.show_note("Nothing to count.")
        else:
            column, sign = ("", "") if order is None else (order.column, order.sign)
            self._table = self.show_table(
                TABLES[answer.by], answer.rows, least=WORDS_WIDTH, sorted_by=column, sign=sign
            )
            if hidden := self._table.fit(self.lines.width).hidden:
                heading += f" · {plural(len(hidden), 'column')} hidden"
            if self._is_newly_sorted:
                self._is_newly_sorted = False
                self.lines.choose(0)
        self.show_heading(f"{answer.headline}\n{heading}")

    def action_by(self) -> None:
        names: tuple[By, ...] = get_args(By)
        self.by = names[(names.index(self.by) + 1) % len(names)]
        self.post_message(self.ViewChanged())

    def action_sort(self) -> None:
        """Sort by the next column that is shown; after the last one, not at all."""
        shown = self._shown_columns()
        begin = next((shown.index(each) for each in ORDERS[self.by] if each in shown), 0)
        columns = [*shown[begin:], *shown[:begin]]
        order = self._order
        if order is None or order.column not in columns:
            self._sort_by(columns[0])
        elif order.column == columns[-1]:
            del self._orders[self.by]
            self.post_message(self.ViewChanged())
        else:
            self._sort_by(columns[columns.index(order.column) + 1])

    def _shown_columns(self) -> list[str]:
        if self._table is None or self.answer is None or self.answer.by != self.by:
            # The table is not there yet.
            return [*TABLES[self.by].columns]
        return self._table.names(self.lines.width)

    def action_turn_round(self) -> None:
        if (order := self._order) is not None:
            self._sort_by(order.column, is_descending=not order.is_descending)

    @on(ColumnHead.HeadClicked)
    def sort_by_clicked(self, event: ColumnHead.HeadClicked) -> None:
        event.stop()
        table = self._table
        column = None if table is None else table.column_at(self.lines.width, event.x)
        if column is not None:
            order = self._order
            is_again = order is not None and order.column == column
            self.action_turn_round() if is_again else self._sort_by(column)

    def _sort_by(self, column: str, *, is_descending: bool | None = None) -> None:
        if is_descending is None:
            # The longest and the most first, words from A to Z.
            is_descending = column not in TABLES[self.by].words or column == "longest"
        self._orders[self.by] = Order(column, is_descending)
        self._is_newly_sorted = True
        self.post_message(self.ViewChanged())


def counted(model: SessionModel, by: By, order: Order | None = None) -> Counted:
    """Return one table; the target of each row is its first frame, or a filter."""
    rows = [*_rows(model, by)]
    if order is None:
        # Methods are counted by how frequent they are, all else by when it began.
        shown = rows[:MAX_ROWS] if by == "method" else rows[-MAX_ROWS:]
    else:
        column = TABLES[by].columns.index(order.column)
        cells = [cells for cells, _ in rows]
        places = sort_cells(cells, column, is_descending=order.is_descending)
        shown = [rows[place] for place in places[:MAX_ROWS]]
    lines = [AnalysisRow(tuple(cell.text for cell in cells), target) for cells, target in shown]
    return Counted(by, order, headline(model), tuple(lines), len(rows) - len(lines))


def _rows(model: SessionModel, by: By) -> Iterator[tuple[list[Cell], int | str | None]]:
    sessions = model.conversations.sessions
    match by:
        case "method":
            for tally in counted_methods(model):
                yield method_cells(tally), _alike(tally)
        case "session":
            for key, tally in model.statistics.sessions.items():
                target = sessions[key].begun or None if key in sessions else None
                yield session_cells(model, key, tally), target
        case "turn":
            for turn, tally in counted_turns(model):
                yield turn_cells(model, turn, tally), turn.began


def _alike(tally: MethodStatistics) -> str:
    """Return a filter for the frames that are counted together."""
    alike = Compare("method", "==", tally.method)
    if tally.update:
        alike = And((alike, Compare("update", "==", tally.update)))
    return format_expression(alike)
