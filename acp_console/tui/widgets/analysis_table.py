"""Tables as lines: which columns a width has room for, and how each row is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len, set_cell_size

from acp_console.cli.studies import LEAST, Layout
from acp_console.tui.widgets.analysis_lines import Line

GAP: Final = 2
"""Columns between two of a table."""


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

    def __init__(self, layout: Layout, rows: Sequence[TableRow], *, least: int = LEAST) -> None:
        """Lay out `rows`; the flexible column keeps `least` columns before others are left out."""
        self._layout = layout
        self._rows = rows
        self._least = least
        names = layout.columns
        self._widths = {
            name: max(map(cell_len, (name, *(row.cells[place] for row in rows))))
            for place, name in enumerate(names)
        }
        self._filled = [
            name
            for place, name in enumerate(names)
            if not rows or any(row.cells[place] for row in rows)
        ]
        self._fitted: tuple[int, list[str], dict[str, int]] = (-1, [], {})

    @property
    def first(self) -> int:
        """The line of the first row."""
        return 1

    def __len__(self) -> int:
        return self.first + len(self._rows)

    def line(self, place: int, width: int) -> Line:
        """Return the line at a place."""
        shown, widths = self._fit(width)
        if place == 0:
            return Line((("muted", self._join(shown, widths, {name: name for name in shown})),))
        row = self._rows[place - self.first]
        cells = dict(zip(self._layout.columns, row.cells, strict=True))
        if not row.style or not shown:
            text = self._join(shown, widths, cells)
            return Line((("", text),), row.target, row.cells[:2])
        before = self._join(shown[:-1], widths, cells)
        parts = (("", before + " " * GAP), (row.style, cells[shown[-1]]))
        return Line(parts, row.target, row.cells[:2])

    def place_of(self, key: object) -> int | None:
        """Return the place of the row that begins with the two cells of `key`."""
        places = (place for place, row in enumerate(self._rows) if row.cells[:2] == key)
        return next((self.first + place for place in places), None)

    def hidden(self, width: int) -> list[str]:
        """Return the columns for which there is no room."""
        shown, _ = self._fit(width)
        return [name for name in self._filled if name not in shown]

    def _join(self, shown: Sequence[str], widths: dict[str, int], cells: dict[str, str]) -> str:
        parts: list[str] = []
        for name in shown:
            columns, cell = widths[name], cells[name]
            if cell_len(cell) > columns:
                cell = set_cell_size(cell, columns - 1) + "…"
            fill = " " * (columns - cell_len(cell))
            parts.append(cell + fill if name in self._layout.words else fill + cell)
        return (" " * GAP).join(parts)

    def _fit(self, width: int) -> tuple[list[str], dict[str, int]]:
        if self._fitted[0] == width:
            return self._fitted[1], self._fitted[2]
        layout, shown, widths = self._layout, list(self._filled), dict(self._widths)
        for name in layout.spare:
            if self._room(shown, width) >= min(widths[layout.flexible], self._least):
                break
            if name in shown:
                shown.remove(name)
        room = max(self._room(shown, width), min(widths[layout.flexible], self._least))
        widths[layout.flexible] = min(widths[layout.flexible], room)
        self._fitted = width, shown, widths
        return shown, widths

    def _room(self, shown: Sequence[str], width: int) -> int:
        """Return the columns that are left for the flexible one."""
        others = [self._widths[name] for name in shown if name != self._layout.flexible]
        return width - sum(others) - GAP * (len(shown) - 1)
