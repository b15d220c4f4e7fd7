"""Bytes and the frames in them, without I/O.

A frame on stdio is one line. The framer looks at nothing but the newline, so that whatever stands
in a line (invalid UTF-8, carriage returns, no JSON at all) comes out as it went in. Some peers
frame as language servers do, with a header that tells the length; `AnyFramer` finds out who does.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from acp_protocol.errors import FrameTooLongError

Side: TypeAlias = Literal["client", "agent"]
"""Who sent a frame."""


def opposite(side: Side) -> Side:
    """Return the other side."""
    return "agent" if side == "client" else "client"


Framing: TypeAlias = Literal["lines", "headers"]
"""How frames are kept apart: by a newline after each, or by a header with its length before."""

FRAME_LIMIT: Final = 64 * 2**20
"""Bytes that one frame may hold before reading it is refused."""

HEADER_LIMIT: Final = 8192
"""Bytes that the header of one frame may hold before reading it is refused."""

_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of a header."""
_LENGTH_DIGITS: Final = 18
"""No frame has a length of more digits, and Python refuses to read very many."""
_BLANK: Final = b"\xef\xbb\xbf \t\r"
"""What may stand before the first sign of a line: a byte order mark, white space."""
_FIRST_HEADERS: Final = (b"content-length:", b"content-type:")


def frame_bytes(payload: bytes, framing: Framing) -> bytes:
    """Return what stands on the wire for the frame `payload`."""
    if framing == "lines":
        return payload + b"\n"
    return b"Content-Length: %d\r\n\r\n%b" % (len(payload), payload)


class LineFramer:
    """Cuts a byte stream into lines; holds what has no newline yet.

    A chunk is searched once, however long the unfinished line before it is.

    Source: ACP, Transports, "stdio".
    """

    framing: Final[Framing] = "lines"

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit = limit
        self._unfinished: list[bytes] = []
        self._held = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        r"""Return the lines that `chunk` completes, in order, without their `\n`.

        A `\r` before the newline stays in the line: it is the peer's byte.

        Raises:
            FrameTooLongError: a line, finished or not, holds more than the limit. The framer is
                then of no more use, because where the next frame starts is not known.
        """
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if self._held and lines:
            self._hold(lines[0])
            lines[0] = self.rest()
        if tail:
            self._hold(tail)
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
        self._unfinished.append(piece)


class HeaderFramer:
    r"""Cuts a byte stream into the bodies that a header before each announces.

    Borne are other headers beside the length, names in any case, `\n` alone as the end of a line,
    and blank lines between frames. A line that is no header becomes a frame of its own, together
    with the headers before it, and so does a header without a valid length: the next header is
    where reading goes on. None of these frames is JSON, unless the line alone was.

    Source: Language Server Protocol, "Base Protocol"; OpenOxide, "Local Transport".
    """

    framing: Final[Framing] = "headers"

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit = limit
        self._header: list[bytes] = []
        """The lines of the header so far, with their ends."""
        self._line = b""
        self._body: list[bytes] = []
        self._missing: int | None = None
        """Bytes of the body that have not come yet; None in a header."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the frames that `chunk` completes, in order, without their headers.

        Raises:
            FrameTooLongError: a header or the length that it announces passes its limit. The framer
                is then of no more use.
        """
        frames: list[bytes] = []
        place = 0
        while place < len(chunk):
            if self._missing is None:
                place = self._read_line(chunk, place, frames)
            else:
                place = self._read_body(chunk, place, self._missing)
            if self._missing == 0:
                frames.append(self.rest())
        return frames

    def rest(self) -> bytes:
        """Take out the unfinished frame, or the header of which no body came."""
        unfinished = b"".join([*self._header, self._line, *self._body])
        self._header.clear()
        self._body.clear()
        self._line, self._missing = b"", None
        return unfinished

    def _read_body(self, chunk: bytes, place: int, missing: int) -> int:
        piece = chunk[place : place + missing]
        self._body.append(piece)
        self._missing = missing - len(piece)
        return place + len(piece)

    def _read_line(self, chunk: bytes, place: int, frames: list[bytes]) -> int:
        """Read up to the end of one line of a header; return the place after it."""
        end = chunk.find(b"\n", place) + 1
        piece = chunk[place : end or len(chunk)]
        if sum(map(len, self._header)) + len(self._line) + len(piece) > HEADER_LIMIT:
            raise FrameTooLongError(HEADER_LIMIT)
        self._line += piece
        if end:
            self._take_line(frames)
        return place + len(piece)

    def _take_line(self, frames: list[bytes]) -> None:
        if self._line.strip(b"\r\n"):
            self._header.append(self._line)
            self._line = b""
            if _header(self._header[-1]) is None:
                frames.append(self.rest().rstrip(b"\r\n"))
        elif self._header:
            self._missing = self._announced()
            if self._missing is None:
                frames.append(self.rest().rstrip(b"\r\n"))
            self._header.clear()
        self._line = b""

    def _announced(self) -> int | None:
        """Return the length that the header tells; None if it tells none, or two different ones."""
        headers = [header for line in self._header if (header := _header(line)) is not None]
        lengths = {value for name, value in headers if name == b"content-length"}
        digits = lengths.pop() if len(lengths) == 1 else b""
        if not digits.isdigit():
            return None
        length = int(digits) if len(digits) <= _LENGTH_DIGITS else self._limit + 1
        if length > self._limit:
            raise FrameTooLongError(self._limit)
        return length


class AnyFramer:
    """Cuts a byte stream into frames, however its sender keeps them apart.

    What begins with a length is headers, what begins as JSON is lines. Other lines before that,
    such as a program's greeting, are frames of their own and decide nothing.
    """

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self._limit = limit
        self._framer: LineFramer | HeaderFramer | None = None
        self._line = b""

    @property
    def framing(self) -> Framing | None:
        """How the peer frames; None while that is not known."""
        return None if self._framer is None else self._framer.framing

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the frames that `chunk` completes, in order.

        Raises:
            FrameTooLongError: as `LineFramer` or `HeaderFramer` raise it.
        """
        if self._framer is not None:
            return self._framer.feed(chunk)
        frames: list[bytes] = []
        held, self._line = self._line + chunk, b""
        place = 0
        while place < len(held):
            end = held.find(b"\n", place)
            line = held[place : end if end >= 0 else len(held)]
            if (framing := self._sign(line)) is not None:
                self._framer = _FRAMERS[framing](self._limit)
                return frames + self._framer.feed(held[place:])
            if end < 0:
                self._line = line
                break
            frames.append(line)
            place = end + 1
        return frames

    def rest(self) -> bytes:
        """Take out the unfinished frame."""
        if self._framer is not None:
            return self._framer.rest()
        line, self._line = self._line, b""
        return line

    def _sign(self, line: bytes) -> Framing | None:
        """Return what the start of a line gives away."""
        start = line[:HEADER_LIMIT].lstrip(_BLANK)[: len(_FIRST_HEADERS[0])].lower()
        if start.startswith(_FIRST_HEADERS):
            return "headers"
        # A greeting that never ends is no greeting, and it must not be held for ever.
        is_endless = len(line) > min(self._limit, HEADER_LIMIT)
        return "lines" if is_endless or start.startswith((b"{", b"[")) else None


_FRAMERS: Final[dict[Framing, type[LineFramer | HeaderFramer]]] = {
    "lines": LineFramer,
    "headers": HeaderFramer,
}


def _header(line: bytes) -> tuple[bytes, bytes] | None:
    """Return name, in small letters, and value of a header; None if the line is none."""
    name, colon, value = line.partition(b":")
    name = name.strip(_BLANK)
    is_header = colon and _NAME.fullmatch(name) is not None
    return (name.lower(), value.strip(b" \t\r\n")) if is_header else None
