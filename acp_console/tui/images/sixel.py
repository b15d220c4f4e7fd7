"""Images as sixels: each row of cells is an image of its own, drawn wherever its cells are drawn.

Source: VT330/VT340 Programmer Reference Manual, chapter 14.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_COLORS: Final = 64
"""Colours of an image: a row is sent whenever it moves, and each colour makes it longer."""
CLEAR: Final = 255
"""The colour of pixels that are not drawn."""
KEPT_PARTS: Final = 64
"""Parts of rows, beside something that covers the rest, that are kept as they are sent."""
_IS_CLEAR: Final = [255] * 128 + [0] * 128
"""By how opaque a pixel is: whether it is not drawn."""
_BAND: Final = 6
"""Pixels above each other in one sixel."""
_RUN: Final = re.compile(rb"(.)\1{3,}", re.DOTALL)
_AS_TEXT: Final = bytes(63 + number if number < 64 else 63 for number in range(256))


class SixelRows:
    """The rows of an image, in one palette."""

    def __init__(self, pixels: Image, cell: tuple[int, int], colors: int = MAX_COLORS) -> None:
        """Take whole cells; runs long."""
        reduced = pixels.convert("RGB").quantize(min(colors, MAX_COLORS))
        palette = reduced.getpalette() or []
        self.cell = cell
        self.palette = [
            tuple(round(value * 100 / 255) for value in palette[at : at + 3])
            for at in range(0, len(palette), 3)
        ]
        reduced.paste(CLEAR, mask=pixels.getchannel("A").point(_IS_CLEAR))
        width, data = pixels.width, reduced.tobytes()
        lines = [data[at : at + width] for at in range(0, len(data), width)]
        height = cell[1]
        self._rows = [lines[at : at + height] for at in range(0, len(lines), height)]
        self._whole = [encode_sixels(row, self.palette) for row in self._rows]
        self._columns = width // cell[0]
        self._part = lru_cache(KEPT_PARTS)(self._cut)

    def part(self, row: int, first: int, last: int) -> str:
        """Return the cells of a row from `first` to `last`."""
        if first == 0 and last == self._columns:
            return self._whole[row]
        return self._part(row, first, last)

    def _cut(self, row: int, first: int, last: int) -> str:
        width = self.cell[0]
        lines = [line[first * width : last * width] for line in self._rows[row]]
        return encode_sixels(lines, self.palette)


def encode_sixels(lines: Sequence[bytes], palette: Sequence[Sequence[int]]) -> str:
    """Return lines of pixels, which are numbers of colours, as sixels that leave the rest alone.

    The palette has red, green and blue from 0 to 100.
    """
    used = sorted(set(b"".join(lines)) - {CLEAR})
    colors = "".join(
        f"#{number};2;{red};{green};{blue}"
        for number, (red, green, blue) in ((each, palette[each]) for each in used)
    )
    bands = [lines[at : at + _BAND] for at in range(0, len(lines), _BAND)]
    drawn = "-".join(_encode_band(band) for band in bands)
    return f'\x1bP0;1;0q"1;1;{len(lines[0])};{len(lines)}{colors}{drawn}\x1b\\'


def _encode_band(band: Sequence[bytes]) -> str:
    """Return lines above each other, one colour after the other."""
    width = len(band[0])
    found: list[str] = []
    for color in sorted(set(b"".join(band)) - {CLEAR}):
        bits = 0
        for number, line in enumerate(band):
            bits |= int.from_bytes(line.translate(_mask(color, number)), "big")
        sixels = bits.to_bytes(width, "big").translate(_AS_TEXT).rstrip(b"?")
        text = _RUN.sub(lambda run: b"!%d%b" % (len(run[0]), run[1]), sixels)
        found.append(f"#{color}{text.decode()}")
    return "$".join(found)


@lru_cache(MAX_COLORS * _BAND)
def _mask(color: int, line: int) -> bytes:
    """Return the table that makes the bit of a line of one colour, and 0 of all others."""
    return bytes(color) + bytes([1 << line]) + bytes(255 - color)


class SixelPainter:
    """One image; the terminal keeps nothing of it but what is on the screen."""

    def __init__(self, rows: SixelRows) -> None:
        self._rows = rows

    def cells(self, row: int, first: int, last: int) -> str:
        size = last - first
        # The terminal leaves the cursor at a place of its own after the sixels.
        return f"{' ' * size}\x1b7\x1b[{size}D{self._rows.part(row, first, last)}\x1b8"

    def release(self) -> str:
        return ""
