"""An animated picture of screens: one SVG that browsers and READMEs play by themselves.

Each row of text that the screens have is drawn once; each screen is a list of rows, shown for its
time by a CSS animation. Who prefers no motion, or has no animation, sees the marked screen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

CELL_WIDTH: Final = 8.4
ROW_HEIGHT: Final = 18
FONT_SIZE: Final = 14
MARGIN: Final = 12
FONTS: Final = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace"


class _Look(NamedTuple):
    """What is drawn alike."""

    colour: str
    ground: str
    is_bold: bool
    is_italic: bool
    is_underlined: bool


class Film:
    """Collects screens with the seconds that each is shown."""

    def __init__(self, columns: int, rows: int, ground: str) -> None:
        """Begin a film of screens of this size on a ground such as `#101010`."""
        self._size = columns, rows
        self._ground = ground
        self._rows: dict[str, int] = {}
        """The drawn rows, with their numbers."""
        self._screens: list[tuple[float, list[int]]] = []
        self._still = 0

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return sum(seconds for seconds, _ in self._screens)

    def add(self, strips: Sequence[Strip], seconds: float) -> None:
        """Show a screen for some seconds; a screen like the last one only makes that longer."""
        drawn = ["".join(self._drawn(strip)) for strip in strips]
        rows = [self._rows.setdefault(row, len(self._rows)) for row in drawn]
        if self._screens and self._screens[-1][1] == rows:
            seconds += self._screens.pop()[0]
        self._screens.append((seconds, rows))

    def mark(self) -> None:
        """Take the last screen as the one for who prefers no motion."""
        self._still = len(self._screens) - 1

    def svg(self, title: str) -> str:
        """Return the picture."""
        columns, rows = self._size
        width = round(columns * CELL_WIDTH) + 2 * MARGIN
        height = rows * ROW_HEIGHT + 2 * MARGIN
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{''.join(self._rules())}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="{self._ground}"/>',
            "<defs>",
            *(f'<g id="r{number}">{row}</g>' for row, number in self._rows.items() if row),
            "</defs>",
            f'<g transform="translate({MARGIN} {MARGIN})">',
            *self._groups(),
            "</g></svg>\n",
        ]
        return "\n".join(parts)

    def _rules(self) -> Iterator[str]:
        yield f"text{{font:{FONT_SIZE}px {FONTS};white-space:pre}}"
        yield ".b{font-weight:bold}.i{font-style:italic}.u{text-decoration:underline}"
        yield f".s{{visibility:hidden;animation:{self.seconds:.2f}s step-end infinite}}"
        yield f"#s{self._still}{{visibility:visible}}"
        begin = 0.0
        for number, (seconds, _) in enumerate(self._screens):
            start, end = (100 * each / self.seconds for each in (begin, begin + seconds))
            before = "" if not number else "0%{visibility:hidden}"
            after = "" if number == len(self._screens) - 1 else f"{end:.3f}%{{visibility:hidden}}"
            yield f"@keyframes k{number}{{{before}{start:.3f}%{{visibility:visible}}{after}"
            yield f"}}#s{number}{{animation-name:k{number}}}"
            begin += seconds
        yield "@media (prefers-reduced-motion:reduce){.s{animation:none}}"

    def _groups(self) -> Iterator[str]:
        blank = self._rows.get("")
        for number, (_, rows) in enumerate(self._screens):
            uses = "".join(
                f'<use href="#r{row}" y="{place * ROW_HEIGHT}"/>'
                for place, row in enumerate(rows)
                if row != blank
            )
            yield f'<g class="s" id="s{number}">{uses}</g>'

    def _drawn(self, strip: Strip) -> Iterator[str]:
        column = 0
        for look, segments in groupby(strip, self._look):
            text = "".join(segment.text for segment in segments)
            width = cell_len(text)
            if look.ground != self._ground:
                # One pixel wider: no line between two grounds.
                yield (
                    f'<rect x="{_number(column * CELL_WIDTH)}" height="{ROW_HEIGHT}" '
                    f'width="{_number(width * CELL_WIDTH + 0.5)}" fill="{look.ground}"/>'
                )
            shown = text.strip(" ")
            if shown:
                x = (column + len(text) - len(text.lstrip(" "))) * CELL_WIDTH
                names = zip("biu", look[2:], strict=True)
                classes = " ".join(name for name, is_set in names if is_set)
                style = f' class="{classes}"' if classes else ""
                yield (
                    f'<text x="{_number(x)}" y="{ROW_HEIGHT - 5}" fill="{look.colour}"{style}'
                    f' textLength="{_number(cell_len(shown) * CELL_WIDTH)}">{escape(shown)}</text>'
                )
            column += width

    def _look(self, segment: Segment) -> _Look:
        style = segment.style or Style.null()
        colours = [
            default if colour is None or colour.triplet is None else colour.triplet.hex
            for colour, default in ((style.color, "#e0e0e0"), (style.bgcolor, self._ground))
        ]
        if style.reverse:
            colours.reverse()
        flags = bool(style.bold), bool(style.italic), bool(style.underline)
        return _Look(colours[0], colours[1], *flags)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
