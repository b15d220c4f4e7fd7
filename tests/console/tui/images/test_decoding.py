"""Images of agents are decoded within limits; what is not drawn says why."""

from __future__ import annotations

import io
import re
import struct
import zlib
from base64 import b64decode, b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from acp_console.tui.images.decode import (
    MAX_BYTES,
    ImageError,
    Room,
    decode_image,
)
from tests.console.tui.images.samples import CELL, encoded


@pytest.mark.parametrize(
    ("size", "cells", "about"),
    [
        ((100, 40), (10, 2), "100 × 40"),
        ((101, 41), (11, 3), "101 × 41"),
        ((1, 1), (1, 1), "1 × 1"),
        ((3000, 100), (60, 1), "3000 × 100"),
        ((1200, 4000), (12, 20), "1200 × 4000"),
        ((4000, 4), (60, 1), "4000 × 4"),
    ],
)
def test_an_image_is_scaled_down_to_its_room(
    size: tuple[int, int], cells: tuple[int, int], about: str
) -> None:
    found = decode_image(encoded(*size), Room(cell=CELL))
    assert (found.columns, found.rows) == cells
    assert found.about == about
    assert found.pixels.size == (cells[0] * CELL[0], cells[1] * CELL[1])


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_four_formats_are_drawn_whatever_their_type_says(form: str) -> None:
    pixel = decode_image(encoded(20, 20, form), Room()).pixels.getpixel((5, 5))
    assert isinstance(pixel, tuple)
    assert pixel[0] > 240
    assert pixel[3] == 255


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_an_image_is_turned_as_its_camera_says(form: str) -> None:
    image = Image.new("RGB", (40, 20), "red")
    image.paste("blue", (0, 0, 20, 20))
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    image.save(buffer, form, exif=exif)
    found = decode_image(b64encode(buffer.getvalue()).decode(), Room(cell=CELL))
    assert (found.columns, found.rows, found.about) == (2, 2, "20 × 40")
    above, below = (found.pixels.getpixel((10, y)) for y in (5, 35))
    assert isinstance(above, tuple)
    assert isinstance(below, tuple)
    assert above[2] > 200 > below[2]
    assert below[0] > 200 > above[0]


def test_an_animation_is_its_first_picture_and_its_caption_says_so() -> None:
    others = [Image.new("RGB", (20, 20), color) for color in ("blue", "green")]
    data = encoded(20, 20, "GIF", save_all=True, append_images=others)
    found = decode_image(data, Room())
    assert found.about == "20 × 20 · the first picture of an animation"
    assert found.pixels.getpixel((5, 5)) == (255, 0, 0, 255)


def bomb(width: int, height: int) -> str:
    """Return a PNG of few bytes that says to be large."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("not base64!", "its data is not base64"),
        ("aGVsbG8=", "no PNG, JPEG, GIF or WebP image"),
        (encoded(8, 8, "BMP"), "no PNG, JPEG, GIF or WebP image"),
        (encoded(300, 300)[:200], "its data is damaged"),
        (bomb(5000, 5000), "more than 24 million pixels"),
        (bomb(10_000, 10_000), "more than 24 million pixels"),
        (bomb(50_000, 50_000), "more than 24 million pixels"),
        (bomb(100, 100), "its data is damaged"),
        ("A" * (MAX_BYTES * 4 // 3 + 8), "more than 16 MiB"),
    ],
    ids=range(9),
)
def test_an_image_that_is_not_drawn_says_why(data: str, reason: str) -> None:
    with pytest.raises(ImageError, match=f"^{re.escape(reason)}$"):
        decode_image(data, Room())


@settings(max_examples=30)
@given(st.integers(0, 3), st.data())
def test_damaged_bytes_are_drawn_or_refused(form: int, data: st.DataObject) -> None:
    content = bytearray(b64decode(encoded(30, 30, ("PNG", "JPEG", "GIF", "WEBP")[form])))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decode_image(b64encode(content).decode(), Room())
    except ImageError:
        return
    assert found.columns <= 60
    assert found.rows <= 20
