"""Reads recordings and reports the lines that cannot be read.

Reading is inert: nothing that a recording names is run, fetched or followed.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeAlias, assert_never

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.compression import DecompressedFile
from acp_inspector.recording.format import (
    Footer,
    Header,
    RecordingError,
    UnreadableLine,
    decode_line,
)
from acp_protocol.errors import describe_os_error
from acp_protocol.framing import MAX_FRAME_BYTES

MAX_LINE: Final = 8 * MAX_FRAME_BYTES
"""Longest line to read, in bytes: an escaped frame takes up to six times its size."""
BLOCK: Final = 1 << 17
"""Bytes to read at a time; larger blocks do not fit the CPU caches."""
LINE_TOO_LONG: Final = "the line is too long to be read"

ReadAt: TypeAlias = Callable[[int, int], bytes]
"""Reads at an offset a number of bytes; returns fewer only at the end of the file."""


class SkippedLine(NamedTuple):
    """A line that is longer than the limit."""

    size: int
    """Bytes, including the newline."""
    has_end: bool
    """Whether its newline was found."""


def _ignore(piece: bytes) -> None:
    del piece


def line_blocks(
    pieces: Iterable[bytes],
    max_line: int | None = None,
    on_skipped: Callable[[bytes], object] = _ignore,
) -> Iterator[bytes | SkippedLine]:
    """Yield a stream in blocks of whole lines; the last block may lack its newline.

    Args:
        pieces: The stream; no piece may be longer than `max_line`.
        max_line: Longest line in bytes, `MAX_LINE` by default.
        on_skipped: Called with the pieces of each longer line, before the line is yielded.
    """
    limit = MAX_LINE if max_line is None else max_line
    rest: list[bytes] = []
    """The bytes after the last newline."""
    rest_size = skipped = 0
    for piece in pieces:
        begin = 0
        first = piece.find(b"\n") + 1 or len(piece)
        if skipped or rest_size + first > limit:
            for each in (*rest, piece[:first]):
                on_skipped(each)
            skipped += rest_size + first
            rest, rest_size = [], 0
            if piece[first - 1 : first] != b"\n":
                continue
            yield SkippedLine(skipped, has_end=True)
            skipped, begin = 0, first
        end = piece.rfind(b"\n") + 1
        if end > begin:
            yield b"".join([*rest, piece[begin:end]])
            rest, rest_size, begin = [], 0, end
        if begin < len(piece):
            rest.append(piece[begin:])
            rest_size += len(piece) - begin
    if skipped:
        yield SkippedLine(skipped, has_end=False)
    elif rest_size:
        yield b"".join(rest)


def stream_lines(
    file: BinaryIO,
    max_line: int | None = None,
    on_skipped: Callable[[bytes], object] = _ignore,
) -> Iterator[bytes | SkippedLine]:
    """Yield the lines of `file` with their newlines; the last may have none.

    Raises:
        OSError: the file cannot be read.
    """
    size = min(BLOCK, MAX_LINE if max_line is None else max_line)
    for block in line_blocks(iter(lambda: file.read(size), b""), max_line, on_skipped):
        if isinstance(block, SkippedLine):
            yield block
        else:
            yield from io.BytesIO(block)


def read_at(descriptor: int, offset: int, size: int) -> bytes:
    """Read `size` bytes at `offset`; return fewer only at the end of the file.

    Raises:
        OSError: the file cannot be read.
    """
    piece = os.pread(descriptor, size, offset)
    if len(piece) == size or not piece:
        return piece
    pieces = [piece]
    while piece and (size := size - len(piece)):
        offset += len(piece)
        pieces.append(piece := os.pread(descriptor, size, offset))
    return b"".join(pieces)


def pieces_between(read: ReadAt, begin: int, end: int, size: int = BLOCK) -> Iterator[bytes]:
    """Yield the bytes between two offsets, at most `size` at a time."""
    for offset in range(begin, end, size):
        yield read(offset, min(size, end - offset))


def line_begin(read: ReadAt, end: int, begin: int = 0) -> int:
    """Return the start of the line that ends, with its newline, at `end`; at least `begin`."""
    at = max(begin, end - 1)
    size = 1 << 10
    while at > begin:
        low = max(begin, at - size)
        found = read(low, at - low).rfind(b"\n")
        if found >= 0:
            return low + found + 1
        at, size = low, BLOCK
    return begin


def line_end(read: ReadAt, at: int, end: int) -> int:
    """Return the end of the line that starts at `at`, including its newline; at most `end`."""
    size = 1 << 10
    while at < end and (block := read(at, min(size, end - at))):
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(block)
        size = BLOCK
    return end


MAX_HEADER: Final = 2**20
"""Longest header to read, in bytes."""
LINE_CUT_OFF: Final = "the file ends in the middle of this line"
DIGEST_MISMATCH: Final = "the digest does not fit: lines before this one were changed"


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of the file that cannot be read, or a wrong digest."""

    line: int
    """Number in the file, from 1."""
    reason: str
    offset: int = 0
    """Byte offset of the line, in the decompressed data."""


Row: TypeAlias = Header | Entry | Footer | BadLine
"""A decoded line of a recording."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording in memory."""

    path: Path
    header: Header
    entries: tuple[Entry, ...]
    bad_lines: tuple[BadLine, ...]
    footer: Footer | None
    """None if the recording was not closed cleanly."""

    @property
    def frames(self) -> tuple[Frame, ...]:
        return tuple(entry for entry in self.entries if isinstance(entry, Frame))


def read_recording(path: Path, *, max_line: int | None = None) -> Recording:
    """Return the whole recording at `path`.

    Raises:
        RecordingError: there is no such file, it cannot be read, or it is not a recording.
    """
    entries: list[Entry] = []
    bad_lines: list[BadLine] = []
    footer: Footer | None = None
    lines = read_lines(path, max_line=max_line)
    header = next(lines)
    assert isinstance(header, Header)
    for line in lines:
        match line:
            case Frame() | StderrChunk() | JournalEvent():
                entries.append(line)
            case BadLine():
                bad_lines.append(line)
            case Footer():
                footer = line
            case Header():
                pass
            case _:
                assert_never(line)
    return Recording(path, header, tuple(entries), tuple(bad_lines), footer)


def read_header(path: Path) -> Header:
    """Return the header of the recording at `path`.

    Raises:
        RecordingError: see `read_recording`.
    """
    with closing(read_lines(path)) as lines:
        header = next(lines)
    assert isinstance(header, Header)
    return header


def read_lines(path: Path, *, max_line: int | None = None) -> Generator[Row]:
    """Yield the decoded lines of the recording, header first, holding one line at a time.

    Lines longer than `max_line` bytes, `MAX_LINE` by default, are skipped.

    Raises:
        RecordingError: see `read_recording`; also while the file is read.
    """
    try:
        with DecompressedFile(path) as stream:
            yield from _read_stream(path, stream, max_line)
    except OSError as problem:
        raise RecordingError(f"cannot read {path}: {describe_os_error(problem)}") from None


def header_of(path: Path, line: bytes, problem: str | None = None) -> Header:
    """Decode the first line of a file; `problem` says why there is none, if that is known.

    Raises:
        RecordingError: it is not a header.
    """
    if not line and problem:
        raise RecordingError(f"cannot read {path}: {problem}")
    if not line:
        raise RecordingError(f"{path} is not a recording: it is empty")
    header = decode_line(line.rstrip(b"\n"))
    if not isinstance(header, Header):
        raise RecordingError(f"{path} is not a recording: its first line is not a header")
    return header


def _read_stream(path: Path, stream: DecompressedFile, max_line: int | None) -> Generator[Row]:
    # Imported late: a proxy starts without it.
    import hashlib

    # A file that is not a recording may be one endless line.
    line = stream.file.readline(MAX_HEADER)
    yield header_of(path, line, stream.problem)
    digest = hashlib.sha256(line)
    offset = len(line)
    number = 1
    is_cut = False
    for number, line in enumerate(stream_lines(stream.file, max_line, digest.update), start=2):
        if isinstance(line, SkippedLine):
            yield BadLine(number, LINE_TOO_LONG, offset)
            offset += line.size
            continue
        read = decode_line(line.rstrip(b"\n"))
        if isinstance(read, UnreadableLine):
            is_cut = not line.endswith(b"\n")
            reason = LINE_CUT_OFF if is_cut else read.reason
            yield BadLine(number, stream.problem or reason if is_cut else reason, offset)
        else:
            yield read
            if isinstance(read, Footer) and read.digest != digest.hexdigest():
                yield BadLine(number, DIGEST_MISMATCH, offset)
        digest.update(line)
        offset += len(line)
    if stream.problem and not is_cut:
        yield BadLine(number + 1, stream.problem, offset)
