"""Splits a byte stream into frames, without I/O.

A frame on stdio is one line. Only newlines matter: invalid UTF-8, carriage returns and lines that
are no JSON come out unchanged. Some peers frame like language servers, with a header that gives the
length; `AutoFramer` detects them.

`feed` raises `FrameTooLongError` when a frame, finished or not, or a header exceeds its limit. The
framer cannot be used any more then, because it does not know where the next frame starts.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from acp_protocol.errors import FrameTooLongError

Side: TypeAlias = Literal["client", "agent"]
"""The side that sent a frame."""


def opposite(side: Side) -> Side:
    return "agent" if side == "client" else "client"


Framing: TypeAlias = Literal["lines", "headers"]
"""How frames are separated: by a newline after each, or a header with the length before each."""

MAX_FRAME_BYTES: Final = 64 * 2**20
"""Bytes of one frame, at most; longer ones are refused."""

MAX_HEADER_BYTES: Final = 8192
"""Bytes of the header of one frame, at most; longer ones are refused."""

_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of a header field."""
_LENGTH_DIGITS: Final = 18
"""Digits of a valid length, at most; Python refuses to parse very many."""
_BLANKS: Final = b"\xef\xbb\xbf \t\r"
"""What may precede the first character of a line: a byte order mark, white space."""
_FIRST_HEADERS: Final = (b"content-length:", b"content-type:")


def encode_frame(payload: bytes, framing: Framing) -> bytes:
    if framing == "lines":
        return payload + b"\n"
    return b"Content-Length: %d\r\n\r\n%b" % (len(payload), payload)


class LineFramer:
    """Splits a byte stream into lines; keeps an unfinished line until its newline comes.

    A chunk is searched once, however long the unfinished line before it is.

    Source: ACP, Transports, "stdio".
    """

    framing: Final[Framing] = "lines"

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self._limit = limit
        self._unfinished: list[bytes] = []
        self._held = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        r"""Return the lines that `chunk` completes, in order, without their `\n`.

        A `\r` before the newline stays in the line.
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
        """Remove and return the unfinished line; empty if the stream ended with a newline."""
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
    r"""Splits a byte stream into frames that have a header with their length.

    It accepts other header fields, names in any case, `\n` alone as the end of a line, and blank
    lines between frames. A line that is no header field becomes a frame, together with the fields
    before it, and so does a header without a valid length; reading goes on at the next header. No
    such frame is JSON, unless the line by itself is.

    Source: Language Server Protocol, "Base Protocol"; OpenOxide, "Local Transport".
    """

    framing: Final[Framing] = "headers"

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self._limit = limit
        self._header: list[bytes] = []
        """The lines of the header so far, with their line ends."""
        self._line = b""
        self._body: list[bytes] = []
        self._missing: int | None = None
        """Bytes of the body that are still missing; None while reading a header."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the frames that `chunk` completes, in order, without their headers."""
        frames: list[bytes] = []
        position = 0
        while position < len(chunk):
            if self._missing is None:
                position = self._read_line(chunk, position, frames)
            else:
                piece = chunk[position : position + self._missing]
                self._body.append(piece)
                self._missing -= len(piece)
                position += len(piece)
            if self._missing == 0:
                frames.append(self.rest())
        return frames

    def rest(self) -> bytes:
        """Remove and return the unfinished frame, or a header without its body."""
        unfinished = b"".join([*self._header, self._line, *self._body])
        self._header.clear()
        self._body.clear()
        self._line, self._missing = b"", None
        return unfinished

    def _read_line(self, chunk: bytes, position: int, frames: list[bytes]) -> int:
        """Read up to the end of a header line; return the position after it."""
        end = chunk.find(b"\n", position) + 1
        piece = chunk[position : end or len(chunk)]
        if sum(map(len, self._header)) + len(self._line) + len(piece) > MAX_HEADER_BYTES:
            raise FrameTooLongError(MAX_HEADER_BYTES)
        self._line += piece
        if not end:
            return len(chunk)
        if self._line.strip(b"\r\n"):
            self._header.append(self._line)
            self._line = b""
            if _header(self._header[-1]) is None:
                frames.append(self.rest().rstrip(b"\r\n"))
        elif self._header:
            self._missing = self._length()
            if self._missing is None:
                frames.append(self.rest().rstrip(b"\r\n"))
            self._header.clear()
        self._line = b""
        return end

    def _length(self) -> int | None:
        """Return the length in the header; None if it has none, or two different ones."""
        headers = [header for line in self._header if (header := _header(line)) is not None]
        lengths = {value for name, value in headers if name == b"content-length"}
        digits = lengths.pop() if len(lengths) == 1 else b""
        if not digits.isdigit():
            return None
        length = int(digits) if len(digits) <= _LENGTH_DIGITS else self._limit + 1
        if length > self._limit:
            raise FrameTooLongError(self._limit)
        return length


class AutoFramer:
    """Splits a byte stream into frames and detects their framing.

    A line that starts like a header means headers; one that starts like JSON means lines. Other
    lines before that, such as the greeting of a program, are frames and decide nothing.
    """

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self._limit = limit
        self._framer: LineFramer | HeaderFramer | None = None
        self._line = b""

    @property
    def framing(self) -> Framing | None:
        """The framing; None while it is not known."""
        return None if self._framer is None else self._framer.framing

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the frames that `chunk` completes, in order."""
        if self._framer is not None:
            return self._framer.feed(chunk)
        frames: list[bytes] = []
        held, self._line = self._line + chunk, b""
        position = 0
        while position < len(held):
            end = held.find(b"\n", position)
            line = held[position : end if end >= 0 else len(held)]
            if (framing := self._detect(line)) is not None:
                self._framer = _FRAMERS[framing](self._limit)
                return frames + self._framer.feed(held[position:])
            if end < 0:
                self._line = line
                break
            frames.append(line)
            position = end + 1
        return frames

    def rest(self) -> bytes:
        """Remove and return the unfinished frame."""
        if self._framer is not None:
            return self._framer.rest()
        line, self._line = self._line, b""
        return line

    def _detect(self, line: bytes) -> Framing | None:
        start = line[:MAX_HEADER_BYTES].lstrip(_BLANKS)[: len(_FIRST_HEADERS[0])].lower()
        if start.startswith(_FIRST_HEADERS):
            return "headers"
        # A line without an end must not be kept for ever.
        is_endless = len(line) > min(self._limit, MAX_HEADER_BYTES)
        return "lines" if is_endless or start.startswith((b"{", b"[")) else None


_FRAMERS: Final[dict[Framing, type[LineFramer | HeaderFramer]]] = {
    "lines": LineFramer,
    "headers": HeaderFramer,
}


def _header(line: bytes) -> tuple[bytes, bytes] | None:
    """Return the name in lower case and the value of a header field; None if it is none."""
    name, colon, value = line.partition(b":")
    name = name.strip(_BLANKS)
    is_header = colon and _NAME.fullmatch(name) is not None
    return (name.lower(), value.strip(b" \t\r\n")) if is_header else None
