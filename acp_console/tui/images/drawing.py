"""An image in cells, and how a terminal is made to show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Painter(Protocol):
    """Shows an image in the cells of a terminal."""

    def cells(self, row: int, first: int, last: int) -> str:
        """Return what shows the cells of a row from `first` up to `last`, in the style around."""
        ...

    def release(self) -> str:
        """Return what lets the terminal forget the image; the next cells send it again."""
        ...


@dataclass(slots=True, eq=False)
class Drawing:
    """An image of some cells; it keeps them while it cannot be drawn for a time."""

    columns: int
    rows: int
    about: str
    """What its caption says of it."""
    painter: Painter | None = None
    """None: it was not on the screen for long, and has to be decoded again."""
    drawn: int = 0
    """When it was drawn: a larger number is later."""


@dataclass(frozen=True, slots=True)
class ImageRow:
    """One row of an image."""

    drawing: Drawing
    row: int
