"""Splits bytes into lines, and finds lines in a file; no line longer than a limit is held."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from acp_protocol.framing import FRAME_LIMIT

LINE_LIMIT: Final = 8 * FRAME_LIMIT
"""Bytes of the longest line that is read: escaped, a frame takes up to six times its bytes."""
BLOCK: Final = 1 << 17
"""Bytes that are read in one go; larger blocks do not fit the processor's caches."""
TOO_LONG: Final = "the line is too long to be read"

ReadAt: TypeAlias = Callable[[int, int], bytes]
"""Returns `size` bytes from `offset` on; fewer only at the end."""


class SkippedLine(NamedTuple):
    """A line that is longer than the limit."""

    size: int
    """Its bytes, with its newline."""
    has_end: bool
    """Whether its newline was found."""


def _ignore(piece: bytes) -> None:
    del piece


def line_blocks(
    pieces: Iterable[bytes],
    max_line: int | None = None,
    on_skipped: Callable[[bytes], object] = _ignore,
) -> Iterator[bytes | SkippedLine]:
    """Yield the bytes of a stream in blocks of whole lines; the last block may lack its newline.

    Args:
        pieces: The bytes; no piece may be longer than `max_line`.
        max_line: Bytes of the longest line, `LINE_LIMIT` by default.
        on_skipped: Called with the bytes of each longer line, before the line is yielded.
    """
    limit = LINE_LIMIT if max_line is None else max_line
    rest: list[bytes] = []
    """The bytes behind the last newline."""
    held = skipped = 0
    for piece in pieces:
        begin = 0
        first = piece.find(b"\n") + 1 or len(piece)
        if skipped or held + first > limit:
            for each in (*rest, piece[:first]):
                on_skipped(each)
            skipped += held + first
            rest, held = [], 0
            if piece[first - 1 : first] != b"\n":
                continue
            yield SkippedLine(skipped, has_end=True)
            skipped, begin = 0, first
        end = piece.rfind(b"\n") + 1
        if end > begin:
            yield b"".join([*rest, piece[begin:end]])
            rest, held, begin = [], 0, end
        if begin < len(piece):
            rest.append(piece[begin:])
            held += len(piece) - begin
    if skipped:
        yield SkippedLine(skipped, has_end=False)
    elif held:
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
    size = min(BLOCK, LINE_LIMIT if max_line is None else max_line)
    for block in line_blocks(iter(lambda: file.read(size), b""), max_line, on_skipped):
        if isinstance(block, SkippedLine):
            yield block
        else:
            yield from io.BytesIO(block)


def read_at(descriptor: int, offset: int, size: int) -> bytes:
    """Return `size` bytes of a file from `offset` on, fewer at the end.

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
    """Return where the line begins that ends at `end`, its newline included.

    What stands before `begin` is not searched.
    """
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
    """Return where the line that begins at `at` ends, its newline included; `end` at most."""
    size = 1 << 10
    while at < end and (block := read(at, min(size, end - at))):
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(block)
        size = BLOCK
    return end
