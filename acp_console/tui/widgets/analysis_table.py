"""Tables as lines: which columns a width has room for, and how each row is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acp_console.render.tables import GAP, MIN_FLEXIBLE_WIDTH, Layout, TableText
from acp_console.tui.widgets.analysis_lines import Line


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row; every text is safe to show."""

    cells: tuple[str, ...]
    target: int | str | None = None
    """What it leads to."""
    style: str = ""
    """How its last cell is written."""


class TableLines:
    """The rows of a table below its heading, laid out for the width that is asked for."""

    first = 1
    """The line of the first row."""

    def __init__(
        self, layout: Layout, rows: Sequence[TableRow], *, least: int = MIN_FLEXIBLE_WIDTH
    ) -> None:
        """Lay out `rows`; the flexible column keeps `least` columns before others are left out."""
        self._rows = rows
        self._table = TableText(layout, [row.cells for row in rows], min_flexible_width=least)

    def __len__(self) -> int:
        return self.first + len(self._rows)

    def line(self, place: int, width: int) -> Line:
        """Return the line at a place."""
        if place == 0:
            return Line((("muted", self._table.heading(width)),))
        row = self._rows[place - self.first]
        shown = self._table.fit(width).shown
        if not row.style or not shown:
            return Line((("", self._table.line(row.cells, width)),), row.target, row.cells[:2])
        before = self._table.line(row.cells, width, last=-1)
        parts = (("", before + " " * GAP), (row.style, row.cells[shown[-1]]))
        return Line(parts, row.target, row.cells[:2])

    def place_of(self, key: object) -> int | None:
        """Return the place of the row that begins with the two cells of `key`."""
        places = (place for place, row in enumerate(self._rows) if row.cells[:2] == key)
        return next((self.first + place for place in places), None)

    def hidden(self, width: int) -> list[str]:
        """Return the columns for which there is no room."""
        return [*self._table.fit(width).hidden]
