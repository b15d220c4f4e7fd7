"""The bytes that a terminal gets of an image, by protocol, also where something covers it."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from rich.console import Console
from rich.segment import Segment
from rich.style import Style

from acp_console.tui.images.drawing import Drawing
from acp_console.tui.images.kitty import MARKS, PLACEHOLDER, KittyPainter
from acp_console.tui.images.sixel import CLEAR, SixelRows, encode_sixels
from acp_console.tui.transcript.image_strip import ImageCells, ImageStrip
from tests.console.tui.images.samples import CELL, commands

_TRANSPARENT = (0, 0, 0, 0)


def test_kitty_gets_an_image_once_in_parts_and_then_only_its_cells() -> None:
    data = b64encode(os.urandom(9000)).decode()
    painter = KittyPainter(200, columns=3, rows=2, png=data, group=5)
    first = painter.cells(0, 0, 3)
    sent = commands(first)
    number = str(5 << 24 | 200)
    assert sent[0][0] == {"a": "t", "t": "d", "f": "100", "i": number, "q": "2", "m": "1"}
    assert [keys for keys, _ in sent[1:-1]] == [
        {"q": "2", "m": "1"}, {"q": "2", "m": "0"}
    ]  # fmt: skip
    assert "".join(data for _, data in sent) == data
    assert max(len(data) for _, data in sent) <= 4096
    assert sent[-1][0] == {"a": "p", "U": "1", "i": number, "c": "3", "r": "2", "q": "2"}
    cells = "".join(f"{PLACEHOLDER}{MARKS[1]}{MARKS[column]}{MARKS[5]}" for column in (1, 2))
    assert painter.cells(1, 1, 3) == f"\x1b[38;5;200m{cells}\x1b[39m"
    assert commands(painter.release()) == [({"a": "d", "d": "I", "i": number, "q": "2"}, "")]
    assert painter.release() == ""
    assert len(commands(painter.cells(1, 0, 3))) == len(sent)


def pixels_of(sixels: str) -> dict[tuple[int, int], str]:
    """Return the colours that sixels draw, by column and line."""
    body = re.fullmatch(r"\x1bP0;1;0q(.*)\x1b\\", sixels, re.DOTALL)
    assert body is not None
    found: dict[tuple[int, int], str] = {}
    names: dict[str, str] = {}
    x = top = 0
    color = ""
    for part in re.finditer(
        r'"[\d;]*|#(\d+)(?:;2;([\d;]+))?|!(\d+)([?-~])|([?-~])|([$-])', body[1]
    ):
        number, values, times, repeated, single, move = part.groups()
        if number is not None:
            color = number
            names |= {number: values} if values else {}
        elif move is not None:
            x, top = 0, top + (6 if move == "-" else 0)
        elif repeated or single:
            bits, end = ord(repeated or single) - 63, x + int(times or 1)
            lines = [top + line for line in range(6) if bits & 1 << line]
            drawn = {(column, line): names[color] for column in range(x, end) for line in lines}
            assert not drawn.keys() & found.keys()
            found |= drawn
            x = end
    return found


@settings(max_examples=30)
@given(st.data())
def test_sixels_draw_each_pixel_once_and_leave_the_clear_ones_alone(data: st.DataObject) -> None:
    width, height = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 14))
    color = st.sampled_from([0, 1, 2, CLEAR])
    lines = [bytes(data.draw(color) for _ in range(width)) for _ in range(height)]
    palette = [(0, 0, 0), (100, 0, 50), (1, 2, 3)]
    expected = {
        (x, y): "{};{};{}".format(*palette[each])
        for y, line in enumerate(lines)
        for x, each in enumerate(line)
        if each != CLEAR
    }
    assert pixels_of(encode_sixels(lines, palette)) == expected


def test_each_row_of_cells_is_an_image_of_its_own_in_sixels() -> None:
    pixels = Image.new("RGBA", (30, 40), _TRANSPARENT)
    pixels.paste((255, 0, 0, 255), (0, 0, 10, 40))
    pixels.paste((0, 0, 255, 255), (20, 20, 30, 40))
    rows = SixelRows(pixels, CELL)
    red = {(x, y): "100;0;0" for x in range(10) for y in range(20)}
    blue = {(x, y): "0;0;100" for x in range(20, 30) for y in range(20)}
    assert pixels_of(rows.part(0, 0, 3)) == red
    assert pixels_of(rows.part(1, 0, 3)) == red | blue
    assert pixels_of(rows.part(1, 1, 3)) == {(x - 10, y): color for (x, y), color in blue.items()}


class Letters:
    """Paints letters instead of an image."""

    def cells(self, row: int, first: int, last: int) -> str:
        return "ABCDEFGH"[first:last]

    def release(self) -> str:
        return ""


CONSOLE = Console(color_system="truecolor", force_terminal=True)


def plain(strips: Sequence[Any]) -> str:
    return "|".join(re.sub(r"\x1b\[[\d;]*m", "", strip.render(CONSOLE)) for strip in strips)


def image_line(drawing: Drawing) -> ImageStrip:
    style = Style(bgcolor="#102030")
    return ImageStrip(
        [Segment("> ", style), Segment(" " * 7, style), Segment("#", style)],
        10,
        ImageCells(drawing, 0, 0, 5),
        at=2,
    )


@pytest.mark.parametrize(
    ("cuts", "expected"),
    [
        ((10,), "> ABCDE  #"),
        ((4, 10), "> AB|CDE  #"),
        ((3, 5, 10), "> A|BC|DE  #"),
        ((2, 7, 10), "> |ABCDE|  #"),
        ((1, 9), ">| ABCDE  "),
    ],
)
def test_what_covers_a_line_covers_just_its_cells_of_the_image(
    cuts: Sequence[int], expected: str
) -> None:
    line = image_line(Drawing(5, 1, "", Letters()))
    assert plain(line.divide(cuts)) == expected
    assert plain([line.crop(0, cuts[0])]) == expected.partition("|")[0]
    assert line.text == ">        #"


def test_an_image_that_is_gone_leaves_blank_cells() -> None:
    assert plain([image_line(Drawing(5, 1, ""))]) == ">        #"
