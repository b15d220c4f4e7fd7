"""Bytes and the frames in them, without I/O.

A frame on stdio is one line. The framer looks at nothing but the newline, so that whatever stands
in a line (invalid UTF-8, carriage returns, no JSON at all) comes out as it went in.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from acp_protocol.errors import FrameTooLongError

Side: TypeAlias = Literal["client", "agent"]
"""Who sent a frame."""

FRAME_LIMIT: Final = 64 * 2**20
"""Bytes that one frame may hold before reading it is refused."""


class LineFramer:
    """Cuts a byte stream into lines; holds what has no newline yet.

    A chunk is searched once, however long the unfinished line before it is.

    Source: ACP, Transports, "stdio".
    """

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit = limit
        self._unfinished: list[bytes] = []
        self._held = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        r"""Return the lines that `chunk` completes, in order, without their `\n`.

        A `\r` before the newline stays in the line: it is the peer's byte.

        Raises:
            FrameTooLongError: a line, finished or not, holds more than the limit. The framer is
            then
                of no more use, because where the next frame starts is not known.
        """
        if b"\n" not in chunk:
            self._hold(chunk)
            return []
        first, *lines = chunk.split(b"\n")
        self._hold(first)
        lines.insert(0, self.rest())
        self._hold(lines.pop())
        if len(chunk) > self._limit and any(len(line) > self._limit for line in lines):
            raise FrameTooLongError(self._limit)
        return lines

    def rest(self) -> bytes:
        """Take out the unfinished line; empty when the stream ended with a newline."""
        line = b"".join(self._unfinished)
        self._unfinished.clear()
        self._held = 0
        return line

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > self._limit:
            raise FrameTooLongError(self._limit)
        if piece:
            self._unfinished.append(piece)
