"""The newest output of a program, in bounded memory and as text.

A program writes bytes, an agent gets text and counts its bytes in UTF-8. What is no UTF-8 becomes
U+FFFD, which is longer than what it stands for; hence the text is cut once more than the bytes.

Source: ACP, Terminals, "Getting Output"; ACP schema, CreateTerminalRequest, outputByteLimit.
"""

from __future__ import annotations

import codecs
from typing import Final

_SPARE: Final = 6
"""Bytes kept beyond the limit: one character may be cut at the front, one unfinished at the end."""


class OutputTail:
    """Keeps the last `limit` bytes that were written, cut at a character boundary."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._is_cut = False
        self._has_ended = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._kept += chunk
        excess = len(self._kept) - self._limit - _SPARE
        if excess > 0:
            del self._kept[:excess]
            self._is_cut = True

    def end(self) -> None:
        """Take a character that is still unfinished for a broken one: no more will come."""
        self._has_ended = True

    def text(self) -> tuple[str, bool]:
        """Return the newest output, at most `limit` bytes of UTF-8, and whether it was cut.

        A character whose last bytes have not come yet is left out until they have.
        """
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        text = decoder.decode(self._kept, final=self._has_ended)
        encoded = text.encode()
        if not self._is_cut and len(encoded) <= self._limit:
            return text, False
        start = max(len(encoded) - self._limit, 0)
        return encoded[start:].decode(errors="ignore"), True
