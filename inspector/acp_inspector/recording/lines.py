"""Lines of a file, of which none is held that is longer than any recorder's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

LINE_LIMIT: Final = 768 << 20
"""Bytes of the longest line that is read: the longest frame that is recorded, as base64."""
PIECE: Final = 1 << 20
"""Bytes of a long line that are read in one go."""
TOO_LONG: Final = "the line is too long to be read"


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line that is longer than `LINE_LIMIT`."""

    pieces: Iterator[bytes]
    """All of it, its newline included; to be taken before the next line is asked for."""


def stream_lines(file: BinaryIO) -> Iterator[bytes | LongLine]:
    """Yield the lines of `file` with their newlines; the last may have none.

    Raises:
        OSError: the file cannot be read.
    """
    while line := file.readline(PIECE):
        if line.endswith(b"\n") and len(line) <= LINE_LIMIT:
            yield line
            continue
        pieces, size = [line], len(line)
        while size <= LINE_LIMIT and not _is_end(pieces[-1]) and (line := file.readline(PIECE)):
            pieces.append(line)
            size += len(line)
        if size <= LINE_LIMIT:
            yield b"".join(pieces)
            continue
        long = LongLine(_taken(pieces, file))
        yield long
        for _ in long.pieces:
            pass


def _is_end(piece: bytes) -> bool:
    return piece.endswith(b"\n")


def _taken(pieces: list[bytes], file: BinaryIO) -> Iterator[bytes]:
    """Yield what was read of a line, letting go of it, and then the rest."""
    is_over = _is_end(pieces[-1])
    pieces.reverse()
    while pieces:
        yield pieces.pop()
    while not is_over and (piece := file.readline(PIECE)):
        is_over = _is_end(piece)
        yield piece
