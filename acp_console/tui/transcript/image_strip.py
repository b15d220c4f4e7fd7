"""A line with a row of an image in it.

Textual, exports and other screens see blank cells there. Only what is written to the terminal has
the image, and just those of its cells that nothing covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.segment import Segment
from textual.strip import Strip

from acp_console.tui.images.drawing import Drawing


@dataclass(frozen=True, slots=True)
class ImageCells:
    """Cells of one row of an image."""

    drawing: Drawing
    row: int
    first: int
    last: int


class ImageStrip(Strip):
    """Blank cells which the terminal shows an image in."""

    __slots__ = ("_at", "_image")

    def __init__(
        self, segments: Iterable[Segment], cell_length: int, image: ImageCells, at: int
    ) -> None:
        """Show `image` in the cells from `at` on, which have one style."""
        super().__init__(segments, cell_length)
        self._image = image
        self._at = at

    def crop(self, start: int, end: int | None = None) -> Strip:
        cropped = super().crop(start, end)
        return cropped if cropped is self else self._part(cropped, max(start, 0))

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        found: list[Strip] = []
        begin = 0
        for part in super().divide(cuts):
            found.append(part if part is self else self._part(part, begin))
            begin += part.cell_length
        return found

    def _part(self, part: Strip, begin: int) -> Strip:
        """Return a part of this line that begins at a cell, with what is in it of the image."""
        image, end = self._image, begin + part.cell_length
        left = max(self._at, begin)
        right = min(self._at + image.last - image.first, end)
        if left >= right:
            return part
        first = image.first + left - self._at
        cells = replace(image, first=first, last=first + right - left)
        return ImageStrip(part, part.cell_length, cells, left - begin)

    def render(self, console: Console) -> str:
        image, painter = self._image, self._image.drawing.painter
        if painter is None:
            return super().render(console)
        line = Strip(self, self.cell_length)
        end = self._at + image.last - image.first
        ground = next(iter(line.crop(self._at, self._at + 1)))
        cells = painter.cells(image.row, image.first, image.last)
        drawn = Strip([Segment(cells, ground.style)], end - self._at)
        parts = (line.crop(0, self._at), drawn, line.crop(end))
        return "".join(part.render(console) for part in parts)
