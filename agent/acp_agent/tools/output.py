"""The output of a program in bounded memory: how it began, and how it ended."""

from __future__ import annotations

from typing import Final

HEAD_LIMIT: Final = 16 * 1024
"""Bytes that are kept of the beginning."""
TAIL_LIMIT: Final = 48 * 1024
"""Bytes that are kept of the end, where most programs say what went wrong."""


class Output:
    """What a program has written, as far as it is kept."""

    def __init__(self, head: int = HEAD_LIMIT, tail: int = TAIL_LIMIT) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._head_limit = head
        self._tail_limit = tail
        self._count = 0
        self.has_grown = False
        """Whether something came since the text was looked at."""

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._count += len(chunk)
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        # Cut seldom: what is cut off moves the rest.
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]
        self.has_grown = True

    def text(self) -> str:
        """Return it as text, and between the parts how many bytes are left out."""
        self.has_grown = False
        missing = self._count - len(self._head) - self._tail_limit
        if missing <= 0:
            return (self._head + self._tail).decode(errors="replace")
        # A character that was cut at the seam is left out, not shown as a broken one.
        head = self._head.decode(errors="ignore")
        tail = self._tail[-self._tail_limit :].decode(errors="replace").lstrip("\ufffd")
        return f"{head}\n… {missing} bytes are left out …\n{tail}"
