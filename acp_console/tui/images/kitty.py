"""Images in kitty and Ghostty: sent once, and shown where cells of text name them.

Each cell is a placeholder with its row, its column and a part of the image's id as marks above
it; the rest of the id is the foreground colour. That is one of 256 colours, which reaches the
terminal whatever colours the rest of the program draws in.

Source: kitty, Terminal graphics protocol, Unicode placeholders.
"""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PIL.Image import Image

PLACEHOLDER: Final = "\U0010eeee"
CHUNK: Final = 4096
"""Characters of data in one command, at most."""
FIRST_COLOR: Final = 16
"""The first of the 256 colours that no theme of the terminal changes."""
LAST_COLOR: Final = 255
_MARKS: Final = (
    # Rows of the table of the protocol: combining marks above the letter, in their order.
    (0x305, 0x305), (0x30D, 0x30E), (0x310, 0x310), (0x312, 0x312), (0x33D, 0x33F),
    (0x346, 0x346), (0x34A, 0x34C), (0x350, 0x352), (0x357, 0x357), (0x35B, 0x35B),
    (0x363, 0x36F), (0x483, 0x487), (0x592, 0x595), (0x597, 0x599), (0x59C, 0x5A1),
    (0x5A8, 0x5A9), (0x5AB, 0x5AC), (0x5AF, 0x5AF), (0x5C4, 0x5C4), (0x610, 0x617),
    (0x657, 0x65B), (0x65D, 0x65E), (0x6D6, 0x6DC), (0x6DF, 0x6E2), (0x6E4, 0x6E4),
    (0x6E7, 0x6E8), (0x6EB, 0x6EC), (0x730, 0x730), (0x732, 0x733), (0x735, 0x736),
    (0x73A, 0x73A), (0x73D, 0x73D), (0x73F, 0x741), (0x743, 0x743), (0x745, 0x745),
    (0x747, 0x747), (0x749, 0x74A),
)  # fmt: skip
MARKS: Final = "".join(chr(code) for first, last in _MARKS for code in range(first, last + 1))


def encode_png(pixels: Image) -> str:
    """Return an image as PNG in base64; runs long."""
    buffer = io.BytesIO()
    pixels.save(buffer, "PNG", compress_level=1)
    return b64encode(buffer.getvalue()).decode()


class KittyPainter:
    """One image of the terminal."""

    def __init__(self, number: int, columns: int, rows: int, png: str, group: int = 0) -> None:
        """Paint the image `png`, in base64.

        Args:
            number: what tells it from other images of this program: one of 256 colours.
            columns: its width in cells.
            rows: its height in cells.
            png: the image.
            group: what tells it from the images of other programs, below the number of marks.
        """
        self._id = group << 24 | number
        self._number = number
        self._group = group
        self._size = columns, rows
        self._png = png
        self._is_sent = False

    def cells(self, row: int, first: int, last: int) -> str:
        sent = "" if self._is_sent else "".join(self._commands())
        self._is_sent = True
        line = "".join(
            PLACEHOLDER + MARKS[row] + MARKS[column] + MARKS[self._group]
            for column in range(first, last)
        )
        return f"{sent}\x1b[38;5;{self._number}m{line}\x1b[39m"

    def release(self) -> str:
        was_sent, self._is_sent = self._is_sent, False
        return f"\x1b_Ga=d,d=I,i={self._id},q=2;\x1b\\" if was_sent else ""

    def _commands(self) -> Iterator[str]:
        """Yield what sends the image, and what lets cells name it; the terminal stays silent."""
        about = f"a=t,t=d,f=100,i={self._id},q=2,"
        for begin in range(0, len(self._png), CHUNK):
            has_more = begin + CHUNK < len(self._png)
            yield f"\x1b_G{about}m={int(has_more)};{self._png[begin : begin + CHUNK]}\x1b\\"
            about = "q=2,"
        columns, rows = self._size
        yield f"\x1b_Ga=p,U=1,i={self._id},c={columns},r={rows},q=2;\x1b\\"
