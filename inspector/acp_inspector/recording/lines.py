"""Splits streams and files into lines, and finds the line around an offset."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from acp_protocol.framing import MAX_FRAME_BYTES

MAX_LINE: Final = 8 * MAX_FRAME_BYTES
"""Longest line to read, in bytes: an escaped frame takes up to six times its size."""
BLOCK: Final = 1 << 17
"""Bytes to read at a time; larger blocks do not fit the CPU caches."""
MAX_HEADER: Final = 2**20
"""Longest header to read, in bytes."""

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
