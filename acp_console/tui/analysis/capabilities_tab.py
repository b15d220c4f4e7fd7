"""Shows the capabilities that each side claimed, their use, and its outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from textual.binding import BindingType

from acp_console.tui.analysis.tab import AnalysisRow, AnalysisTab
from acp_console.tui.commands import bindings
from acp_console.wording.capabilities import CAPABILITIES, capability_cells
from acp_console.wording.tables import TableText
from acp_console.wording.values import plural
from acp_inspector.views.capabilities import Capability, Mark
from acp_inspector.views.session_model import SessionModel
from acp_protocol.host.sanitize import single_line

SIGNS: Final[dict[Mark, tuple[str, str]]] = {
    "used without a claim": ("✗", "error"),
    "claimed and refused": ("✗", "error"),
    "never used": ("·", "muted"),
    "extension": ("+", "info"),
    "unknown": ("?", "warning"),
}
"""The sign before each mark, and the style of both."""
CLAIM: Final = CAPABILITIES.columns.index("claimed")
CLAIM_WIDTH: Final = 12
"""Columns of a claim where the table is narrow: most are true or an empty object."""
PATH_WIDTH: Final = 36
"""Minimum columns for the path of a capability; with fewer, counts are hidden."""
MAX_CAPABILITIES: Final = 2000
"""Capabilities shown, at most."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The capabilities that were claimed or used."""

    version: int
    rows: tuple[AnalysisRow, ...]
    """Capabilities claimed or used."""
    idle: tuple[AnalysisRow, ...]
    """Capabilities neither claimed nor used."""
    contradictions: int


class CapabilitiesTab(AnalysisTab[SessionModel, Claims]):
    """Shows both sides; contradictions first."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("capabilities")
    shows_every = False

    def query_function(self) -> Callable[[SessionModel], Claims]:
        return claims_of

    def show(self, answer: Claims) -> None:
        heading = f"Version {answer.version}: {plural(answer.contradictions, 'contradiction')}"
        how = "shown too" if self.shows_every else "hidden, press a"
        self.show_heading(f"{heading} · {len(answer.idle)} neither claimed nor used: {how}")
        rows = (*answer.rows, *answer.idle) if self.shows_every else answer.rows
        if rows:
            self.show_table(CAPABILITIES, fit_claims(rows, self.lines.width), least=PATH_WIDTH)
        else:
            self.show_note("No capability was claimed or used.")

    def action_every(self) -> None:
        self.shows_every = not self.shows_every
        self.show_again()


def claims_of(model: SessionModel) -> Claims:
    """Return used or claimed capabilities; the target of each row is its first use, or claim."""
    every = model.capabilities.rows()[:MAX_CAPABILITIES]
    rows = sorted(every, key=lambda row: (row.side != "agent", not _is_wrong(row)))
    shown = [row for row in rows if row.claim is not None or row.used]
    return Claims(
        model.capabilities.version,
        tuple(map(_row, shown)),
        tuple(_row(row) for row in rows if row.claim is None and not row.used),
        sum(map(_is_wrong, shown)),
    )


def fit_claims(rows: Sequence[AnalysisRow], width: int) -> list[AnalysisRow]:
    """Return the rows with claims as long as a table of `width` columns has room for."""
    short = [_with_claim(row, CLAIM_WIDTH) for row in rows]
    spare = width - TableText(CAPABILITIES, [row.cells for row in short]).width
    return [_with_claim(row, CLAIM_WIDTH + spare) for row in rows] if spare > 0 else short


def _with_claim(row: AnalysisRow, width: int) -> AnalysisRow:
    claim = single_line(row.cells[CLAIM], width)
    return replace(row, cells=(*row.cells[:CLAIM], claim, *row.cells[CLAIM + 1 :]))


def _is_wrong(row: Capability) -> bool:
    return row.mark in {"used without a claim", "claimed and refused"}


def _row(row: Capability) -> AnalysisRow:
    sign, style = SIGNS.get(row.mark, ("✓", "good") if row.worked else ("", ""))
    *cells, _ = capability_cells(row)
    mark = f"{sign} {row.mark or ('used' if sign else '')}".strip()
    target = (row.first_used or row.claimed_in) if _is_wrong(row) else row.claimed_in
    return AnalysisRow((*cells, mark), target or row.first_used, style)
