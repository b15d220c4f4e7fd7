"""Tables as lines of text, fitted to a width."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len, set_cell_size

GAP: Final = 2
"""Columns between two of a table."""
MIN_FLEXIBLE_WIDTH: Final = 24
"""Least width of the flexible column before other columns are dropped."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a table, and which columns it drops if space is short."""

    columns: tuple[str, ...]
    words: tuple[str, ...]
    """The columns that are aligned to the left; numbers are aligned to the right."""
    flexible: str
    """The column that becomes narrower first."""
    spare: tuple[str, ...]
    """The columns that are dropped next, in that order."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The columns of a table that fit into a width."""

    shown: tuple[int, ...]
    """Their positions in the layout."""
    widths: tuple[int, ...]
    hidden: tuple[str, ...]
    """The columns for which there is no room."""


class TableText:
    """Rows of safe text, written as lines of any width; a column without content is left out."""

    def __init__(
        self,
        layout: Layout,
        rows: Sequence[Sequence[str]],
        *,
        min_flexible_width: int = MIN_FLEXIBLE_WIDTH,
    ) -> None:
        names = layout.columns
        self._layout = layout
        self._min_width = min_flexible_width
        self._widths = [
            max(map(cell_len, (name, *(row[place] for row in rows))))
            for place, name in enumerate(names)
        ]
        self._filled = [
            place for place in range(len(names)) if not rows or any(row[place] for row in rows)
        ]
        self._right = {place for place, name in enumerate(names) if name not in layout.words}
        self._fits: dict[int, Fit] = {}

    @property
    def width(self) -> int:
        """The columns that it takes with every cell whole."""
        return sum(self._widths[each] for each in self._filled) + GAP * (len(self._filled) - 1)

    def fit(self, width: int) -> Fit:
        """Return which columns are shown in `width`, and how wide each is."""
        if width not in self._fits:
            # Only the last width is requested repeatedly.
            self._fits = {width: self._fit(width)}
        return self._fits[width]

    def heading(self, width: int, *, sorted_by: str = "", sign: str = "") -> str:
        """Return the names of the columns; a sign of one column marks that of `sorted_by`."""
        text = self.line(self._layout.columns, width)
        begin, end = self._spans(width).get(sorted_by, (0, 0))
        name = cell_len(sorted_by)
        if not end or end - begin < name:
            return text
        if self._layout.columns.index(sorted_by) in self._right:
            # It takes the gap before the name, so that nothing moves.
            at = end - name - 1
            return text[: max(at, 0)] + sign + text[max(at, 0) + (at >= 0) :]
        at = begin + name
        return text[:at] + sign + text[at + 1 :]

    def names(self, width: int) -> list[str]:
        """Return the names of the shown columns."""
        return [*self._spans(width)]

    def column_at(self, width: int, x: int) -> str | None:
        """Return the column at position `x` of a line, or the next one if that is a gap."""
        spans = self._spans(width).items()
        return next((name for name, (_, end) in spans if 0 <= x < end), None)

    def _spans(self, width: int) -> dict[str, tuple[int, int]]:
        """Return where each shown column begins and ends in a line."""
        fit = self.fit(width)
        begin, spans = 0, dict[str, tuple[int, int]]()
        for place, columns in zip(fit.shown, fit.widths, strict=True):
            spans[self._layout.columns[place]] = begin, begin + columns
            begin += columns + GAP
        return spans

    def line(self, cells: Sequence[str], width: int, *, last: int | None = None) -> str:
        """Return one row; `last` limits the cells, as the end of a slice."""
        return (" " * GAP).join(self.fitted(cells, width)[:last])

    def fitted(self, cells: Sequence[str], width: int) -> list[str]:
        """Return the cells of one row that are shown, each as wide as its column."""
        fit = self.fit(width)
        return [
            fit_cell(cells[column], fit.widths[place], is_right=column in self._right)
            for place, column in enumerate(fit.shown)
        ]

    def _fit(self, width: int) -> Fit:
        names = self._layout.columns
        flexible = names.index(self._layout.flexible)
        shown, widths = list(self._filled), list(self._widths)
        least = min(widths[flexible], self._min_width)

        def room() -> int:
            others = sum(widths[each] for each in shown if each != flexible)
            return width - others - GAP * (len(shown) - 1)

        for name in self._layout.spare:
            if room() >= least:
                break
            if (place := names.index(name)) in shown:
                shown.remove(place)
        widths[flexible] = min(widths[flexible], max(room(), least))
        hidden = tuple(names[place] for place in self._filled if place not in shown)
        return Fit(tuple(shown), tuple(widths[each] for each in shown), hidden)


def join_cells(cells: Sequence[str], widths: Sequence[int], right: Collection[int]) -> str:
    """Return cells side by side; those at the positions `right` are aligned to the right."""
    fitted = (
        fit_cell(cell, widths[place], is_right=place in right) for place, cell in enumerate(cells)
    )
    return (" " * GAP).join(fitted)


def fit_cell(cell: str, width: int, *, is_right: bool = False) -> str:
    """Return a text that takes exactly `width` columns, cut with an ellipsis where it is longer."""
    length = cell_len(cell)
    if length > width:
        return set_cell_size(cell, width - 1) + "…"
    fill = " " * (width - length)
    return fill + cell if is_right else cell + fill
