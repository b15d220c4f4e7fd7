"""Counts, bytes and times as tables: by method, by session, by turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, get_args

from textual.binding import BindingType

from acp_console.tui.analysis.tab import AnalysisRow, AnalysisTab
from acp_console.tui.commands import bindings
from acp_console.wording.statistics import (
    TABLES,
    By,
    counted_methods,
    counted_turns,
    headline,
    method_cells,
    session_cells,
    turn_cells,
)
from acp_console.wording.values import format_number
from acp_inspector.filter.ast import And, Compare, format_expression
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.statistics import MethodStatistics

MAX_ROWS: Final = 2000
"""Rows of one table."""


@dataclass(frozen=True, slots=True)
class Counted:
    """One table."""

    by: By
    headline: str
    rows: tuple[AnalysisRow, ...]
    left: int
    """Rows that were left out."""


class StatisticsTab(AnalysisTab[SessionModel, Counted]):
    """Shows one table."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("statistics")
    by: By = "method"

    def query_function(self) -> Callable[[SessionModel], Counted]:
        by = self.by
        return lambda model: counted(model, by)

    def query_key(self) -> object:
        return self.by

    def show(self, answer: Counted) -> None:
        if answer.by != self.by:
            return
        names = " · ".join(f"[{each}]" if each == self.by else each for each in get_args(By))
        left = f" · {format_number(answer.left)} earlier left out" if answer.left else ""
        heading = f"by {names}{left}"
        if not answer.rows:
            self.show_note("Nothing to count.")
        elif hidden := self.show_table(TABLES[answer.by], answer.rows):
            heading += f" · no room for {', '.join(hidden)}"
        self.show_heading(f"{answer.headline}\n{heading}")

    def action_by(self) -> None:
        names: tuple[By, ...] = get_args(By)
        self.by = names[(names.index(self.by) + 1) % len(names)]
        self.post_message(self.ViewChanged())


def counted(model: SessionModel, by: By) -> Counted:
    """Return one table; the target of each row is its first frame, or a filter."""
    sessions = model.conversations.sessions
    match by:
        case "method":
            tallies = counted_methods(model)
            rows = [_method(tally) for tally in tallies[:MAX_ROWS]]
            every = len(tallies)
        case "session":
            items = list(model.statistics.sessions.items())
            every = len(items)
            rows = [
                AnalysisRow(
                    tuple(session_cells(model, key, tally)),
                    sessions[key].begun or None if key in sessions else None,
                )
                for key, tally in items[-MAX_ROWS:]
            ]
        case "turn":
            turns = counted_turns(model)
            every = len(turns)
            rows = [
                AnalysisRow(tuple(turn_cells(*each)), each[0].began) for each in turns[-MAX_ROWS:]
            ]
    return Counted(by, headline(model), tuple(rows), every - len(rows))


def _method(tally: MethodStatistics) -> AnalysisRow:
    alike = Compare("method", "==", tally.method)
    if tally.update:
        alike = And((alike, Compare("update", "==", tally.update)))
    return AnalysisRow(tuple(method_cells(tally)), format_expression(alike))
