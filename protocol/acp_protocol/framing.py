"""Splits a byte stream into frames, without I/O.

A frame on stdio is one line. Only newlines matter: invalid UTF-8, carriage returns and lines that
are no JSON come out unchanged. Some peers frame like language servers, with a header that gives the
length; `AutoFramer` detects them.

`feed` returns the frames alone and raises `FrameTooLongError` when a frame, finished or not, or a
header exceeds its limit. The framer cannot be used any more then, because it does not know where
the next frame starts. `split` returns frames with the bytes around them and never raises: `problem`
says why it does not go on, and `rest` has every byte that came in no frame.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias

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
_LENGTH: Final = re.compile(
    rb"(?im)^([\xef\xbb\xbf \t\r]*content-length[\xef\xbb\xbf \t\r]*:[ \t\r]*)[0-9]+"
)


class WireFrame(NamedTuple):
    """A frame with the bytes around it; one after the other, they are those of the stream."""

    header: bytes
    """What precedes it: its header with the blank line, and blank lines before it."""
    data: bytes
    ending: bytes
    """What ends it: its line ending; nothing after a header, or where the stream was cut off."""

    @property
    def content(self) -> bytes:
        r"""Its bytes, with a `\r` that ends its line."""
        return self.data + self.ending.removesuffix(b"\n") if self.ending else self.data


def split_ending(line: bytes) -> tuple[bytes, bytes]:
    r"""Return the bytes of a line and its ending, given the line without its `\n`."""
    return (line[:-1], b"\r\n") if line.endswith(b"\r") else (line, b"\n")


def unfinished_frame(rest: bytes) -> WireFrame:
    """Return what a framer still holds at the end: blank lines are whole, all else was cut."""
    is_blank = rest.endswith(b"\n") and not rest.strip(b"\r\n")
    return WireFrame(b"", b"", rest) if is_blank else WireFrame(b"", rest, b"")


def encode_frame(payload: bytes, framing: Framing) -> bytes:
    return payload + b"\n" if framing == "lines" else b"".join(wire_frame(payload, framing))


def wire_frame(payload: bytes, framing: Framing) -> WireFrame:
    """Return a frame as we write it."""
    if framing == "lines":
        return WireFrame(b"", payload, b"\n")
    return WireFrame(b"Content-Length: %d\r\n\r\n" % len(payload), payload, b"")


def with_length(header: bytes, length: int) -> bytes:
    """Return a header with another length; all else in it stays."""
    return _LENGTH.sub(rb"\g<1>%d" % length, header)


class LineFramer:
    """Splits a byte stream into lines; keeps an unfinished line until its newline comes.

    A chunk is searched once, however long the unfinished line before it is.

    Source: ACP, Transports, "stdio".
    """

    framing: Final[Framing] = "lines"

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self._limit = limit
        self._unfinished: list[bytes] = []
        self.held = 0
        """Bytes of the unfinished line."""
        self.problem: FrameTooLongError | None = None
        """Set when a line exceeds the limit."""

    @property
    def is_between(self) -> bool:
        """Whether no frame is unfinished."""
        return not self.held

    def feed(self, chunk: bytes) -> list[bytes]:
        r"""Return the lines that `chunk` completes, in order, without their `\n`.

        A `\r` before the newline stays in the line.
        """
        lines = self._lines(chunk)
        if self.problem is not None:
            raise self.problem
        return lines

    def split(self, chunk: bytes) -> list[WireFrame]:
        """Return the frames that `chunk` completes, in order, whatever their length."""
        return [WireFrame(b"", *split_ending(line)) for line in self._lines(chunk)]

    def finish(self, chunk: bytes) -> int:
        """Add only what belongs to the unfinished frame; return how many bytes that is."""
        end = chunk.find(b"\n") + 1 or len(chunk)
        self._lines(chunk[:end])
        return end

    def rest(self) -> bytes:
        """Remove and return the unfinished line; empty if the stream ended with a newline."""
        line = b"".join(self._unfinished)
        self._unfinished.clear()
        self.held = 0
        return line

    def _lines(self, chunk: bytes) -> list[bytes]:
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if self.held and lines:
            self._hold(lines[0])
            lines[0] = self.rest()
        if tail:
            self._hold(tail)
        if len(chunk) > self._limit and any(len(line) > self._limit for line in lines):
            self.problem = FrameTooLongError(self._limit)
        return lines

    def _hold(self, piece: bytes) -> None:
        self.held += len(piece)
        if self.held > self._limit:
            self.problem = FrameTooLongError(self._limit)
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
        self._blank = b""
        """The blank lines before the header."""
        self._header: list[bytes] = []
        """The lines of the header so far, with their line ends."""
        self._line = b""
        self._body: list[bytes] = []
        self._missing: int | None = None
        """Bytes of the body that are still missing; None while reading a header."""
        self._taken = 0
        """Bytes of the header and the body so far; counted once, however many pieces these have."""
        self.problem: FrameTooLongError | None = None
        """Set when a frame or a header exceeds its limit; nothing is split from then on."""

    @property
    def held(self) -> int:
        """Bytes of the unfinished frame."""
        return len(self._blank) + self._taken + len(self._line)

    @property
    def is_between(self) -> bool:
        """Whether no frame is unfinished; blank lines may have come."""
        is_begun = self._header or self._line or self._body or self._missing is not None
        return self.problem is None and not is_begun

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the frames that `chunk` completes, in order, without their headers."""
        frames = [frame.data for frame in self.split(chunk)]
        if self.problem is not None:
            raise self.problem
        return frames

    def split(self, chunk: bytes) -> list[WireFrame]:
        """Return the frames that `chunk` completes; if there is a `problem`, those before it."""
        frames: list[WireFrame] = []
        position = 0
        while position < len(chunk) and self.problem is None:
            position = self._step(chunk, position, frames)
        if position < len(chunk):
            self._line += chunk[position:]
        return frames

    def finish(self, chunk: bytes) -> int:
        """Add only what belongs to the unfinished frame; return how many bytes that is."""
        position = 0
        frames: list[WireFrame] = []
        while position < len(chunk) and self.problem is None and not frames:
            position = self._step(chunk, position, frames)
        return position

    def rest(self) -> bytes:
        """Remove and return the unfinished frame with its header."""
        unfinished = b"".join([self._blank, *self._header, self._line, *self._body])
        self._header.clear()
        self._body.clear()
        self._blank, self._line, self._missing, self._taken = b"", b"", None, 0
        return unfinished

    def _step(self, chunk: bytes, position: int, frames: list[WireFrame]) -> int:
        """Read a line of the header, or what there is of the body; return the position after it."""
        if self._missing is None:
            position = self._read_line(chunk, position, frames)
        else:
            piece = chunk[position : position + self._missing]
            self._take(self._body, piece)
            self._missing -= len(piece)
            position += len(piece)
        if self._missing == 0:
            header, body = b"".join([self._blank, *self._header]), b"".join(self._body)
            self.rest()
            frames.append(WireFrame(header, body, b""))
        return position

    def _read_line(self, chunk: bytes, position: int, frames: list[WireFrame]) -> int:
        """Read up to the end of a header line; return the position after it."""
        end = chunk.find(b"\n", position) + 1
        piece = chunk[position : end or len(chunk)]
        if self._taken + len(self._line) + len(piece) > MAX_HEADER_BYTES:
            self.problem = FrameTooLongError(MAX_HEADER_BYTES)
            return position
        self._line += piece
        if not end:
            return len(chunk)
        line, self._line = self._line, b""
        if line.strip(b"\r\n"):
            self._take(self._header, line)
            if _header(line) is None:
                frames.append(self._stray())
        elif not self._header:
            self._skip_blank(line, frames)
        else:
            length = self._length()
            self._take(self._header, line)
            if length is None:
                frames.append(self._stray())
            elif length > self._limit:
                self.problem = FrameTooLongError(self._limit)
            else:
                self._missing = length
        return end

    def _take(self, pieces: list[bytes], piece: bytes) -> None:
        pieces.append(piece)
        self._taken += len(piece)

    def _skip_blank(self, line: bytes, frames: list[WireFrame]) -> None:
        self._blank += line
        if len(self._blank) > MAX_HEADER_BYTES:
            frames.append(WireFrame(b"", b"", self.rest()))

    def _stray(self) -> WireFrame:
        """Take out lines that are no header."""
        blank, self._blank = self._blank, b""
        whole = self.rest()
        data = whole.rstrip(b"\r\n")
        return WireFrame(blank, data, whole[len(data) :])

    def _length(self) -> int | None:
        """Return the length in the header; None if it has none, or two different ones."""
        headers = [header for line in self._header if (header := _header(line)) is not None]
        lengths = {value for name, value in headers if name == b"content-length"}
        digits = lengths.pop() if len(lengths) == 1 else b""
        if not digits.isdigit():
            return None
        return int(digits) if len(digits) <= _LENGTH_DIGITS else self._limit + 1


class AutoFramer:
    """Splits a byte stream into frames and detects their framing.

    A line that starts like a header means headers; one that starts like JSON means lines. Other
    lines before that, such as the greeting of a program, are frames and decide nothing.
    """

    def __init__(self, limit: int = MAX_FRAME_BYTES, framing: Framing | None = None) -> None:
        """Begin; `framing` is that of the stream, if it is known already."""
        self._limit = limit
        self._framer: LineFramer | HeaderFramer | None = (
            None if framing is None else _FRAMERS[framing](limit)
        )
        self._line = b""

    @property
    def framing(self) -> Framing | None:
        """The framing; None while it is not known."""
        return None if self._framer is None else self._framer.framing

    @property
    def held(self) -> int:
        """Bytes of the unfinished frame."""
        return len(self._line) if self._framer is None else self._framer.held

    @property
    def is_between(self) -> bool:
        """Whether no frame is unfinished."""
        return not self._line if self._framer is None else self._framer.is_between

    @property
    def problem(self) -> FrameTooLongError | None:
        """Set when a frame or a header exceeds its limit."""
        return None if self._framer is None else self._framer.problem

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the frames that `chunk` completes, in order."""
        if self._framer is not None:
            return self._framer.feed(chunk)
        lines, held = self._greeting(chunk)
        return lines if self._framer is None else lines + self._framer.feed(held)

    def split(self, chunk: bytes) -> list[WireFrame]:
        """Return the frames that `chunk` completes; see the framers for a `problem`."""
        if self._framer is not None:
            return self._framer.split(chunk)
        lines, held = self._greeting(chunk)
        frames = [WireFrame(b"", *split_ending(line)) for line in lines]
        return frames if self._framer is None else frames + self._framer.split(held)

    def finish(self, chunk: bytes) -> int:
        """Add only what belongs to the unfinished frame; return how many bytes that is."""
        if self._framer is None:
            before = len(self._line)
            end = chunk.find(b"\n") + 1 or len(chunk)
            _, held = self._greeting(chunk[:end])
            if self._framer is None:
                return end
            return self._framer.finish(held + chunk[end:]) - before
        return self._framer.finish(chunk)

    def rest(self) -> bytes:
        """Remove and return the unfinished frame."""
        if self._framer is not None:
            return self._framer.rest()
        line, self._line = self._line, b""
        return line

    def _greeting(self, chunk: bytes) -> tuple[list[bytes], bytes]:
        """Return the lines before the framing is known, and what the framer gets if it is."""
        lines: list[bytes] = []
        held, self._line = self._line + chunk, b""
        position = 0
        while position < len(held):
            end = held.find(b"\n", position)
            line = held[position : end if end >= 0 else len(held)]
            if (framing := self._detect(line)) is not None:
                self._framer = _FRAMERS[framing](self._limit)
                return lines, held[position:]
            if end < 0:
                self._line = line
                break
            lines.append(line)
            position = end + 1
        return lines, b""

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
