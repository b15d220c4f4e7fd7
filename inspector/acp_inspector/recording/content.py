"""Bytes of a recording by their place, and lines among them, without holding the file.

Read and not mapped: a file that somebody else cuts short while it is mapped ends the process that
looks at it, and pages that were looked at would count as its memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from acp_inspector.recording import lines
from acp_inspector.recording.compression import OUTPUT, RecordingStream
from acp_inspector.recording.format import Digest

BLOCK: Final = 1 << 17
"""Bytes that are looked at in one go; with more, the processor's caches are of less use."""
CHUNK: Final = 1 << 20
"""Bytes that are hashed in one go."""

Read: TypeAlias = Callable[[int, int], bytes]
"""Returns so many bytes from a place on; fewer only at the end."""


class LongSpan(NamedTuple):
    """Where a line stands that is too long to be held."""

    begin: int
    end: int
    """Behind its newline, if it has one."""


class RecordingContent:
    """The bytes of a file; those of a compressed one as far as they have been unpacked.

    They are unpacked into a file without a name, which goes with this object.
    """

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            OSError: it cannot be opened or read.
            RecordingError: nothing here can read how it is compressed.
        """
        self._stream = RecordingStream(path)
        self._unpacked = 0
        self._is_over = not self._stream.is_compressed
        self._place = self._stream.file if self._is_over else tempfile.TemporaryFile()  # noqa: SIM115 - closed in close

    @property
    def size(self) -> int:
        """Bytes that can be read now; grows with a file that is being written."""
        if self._stream.is_compressed:
            return self._unpacked
        return os.fstat(self._place.fileno()).st_size

    @property
    def is_compressed(self) -> bool:
        """Whether the bytes have to be unpacked; such a file does not grow."""
        return self._stream.is_compressed

    @property
    def is_unpacked(self) -> bool:
        """Whether all of the file can be read now."""
        return self._is_over

    @property
    def fault(self) -> str | None:
        """Why the bytes end too early, where that is known."""
        return self._stream.fault

    def unpack(self, size: int = OUTPUT) -> None:
        """Unpack `size` bytes more, if there are any.

        Raises:
            OSError: the file cannot be read, or there is no room to unpack it.
        """
        while size > 0 and not self._is_over:
            piece = self._stream.file.read(min(size, OUTPUT))
            self._is_over = not piece
            self._place.write(piece)
            self._unpacked += len(piece)
            size -= len(piece)
        self._place.flush()

    def read(self, at: int, size: int) -> bytes:
        """Return `size` bytes from `at` on, fewer at the end.

        Raises:
            OSError: the file cannot be read.
        """
        return read_at(self._place.fileno(), at, size)

    def close(self) -> None:
        """Read no more; closing twice is no error."""
        self._place.close()
        self._stream.close()


def read_at(descriptor: int, at: int, size: int) -> bytes:
    """Return `size` bytes of a file from `at` on, fewer at the end.

    Raises:
        OSError: the file cannot be read.
    """
    piece = os.pread(descriptor, size, at)
    if len(piece) == size or not piece:
        return piece
    pieces = [piece]
    while piece and (size := size - len(piece)):
        at += len(piece)
        pieces.append(piece := os.pread(descriptor, size, at))
    return b"".join(pieces)


def whole_lines(read: Read, begin: int, end: int) -> Iterator[bytes | LongSpan]:
    """Yield the bytes between two places in blocks of whole lines.

    Only the last block may end without a newline; a block is longer than `BLOCK` only if a line is.
    Of a line longer than `LINE_LIMIT`, which is `BLOCK` at least, its place is told instead.
    """
    rest: list[bytes] = []
    at = begin
    while at < end and (block := read(at, min(BLOCK, end - at))):
        held = sum(map(len, rest))
        if held and held + (block.find(b"\n") + 1 or len(block)) > lines.LINE_LIMIT:
            rest.clear()
            long = LongSpan(at - held, line_end(read, at, end))
            yield long
            at = long.end
            continue
        at += len(block)
        last = block.rfind(b"\n") + 1
        if last:
            yield b"".join([*rest, block[:last]])
            rest = [block[last:]]
        else:
            rest.append(block)
    if left := b"".join(rest):
        yield left


def ends_line(read: Read, end: int) -> bool:
    """Tell whether what ends at `end` has its newline."""
    return read(end - 1, 1) == b"\n"


def digest_between(read: Read, begin: int, end: int, digest: Digest) -> None:
    """Hash the bytes between two places."""
    for at in range(begin, end, CHUNK):
        digest.update(read(at, min(CHUNK, end - at)))


def line_begin(read: Read, end: int, begin: int = 0) -> int:
    """Return where the line begins that ends at `end`, its newline included.

    What stands before `begin` is not looked at.
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


def line_end(read: Read, at: int, end: int) -> int:
    """Return where the line that begins at `at` ends, its newline included; `end` at most."""
    size = 1 << 10
    while at < end and (block := read(at, min(size, end - at))):
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(block)
        size = BLOCK
    return end
