"""Follows a recording while another process writes it, across rotated parts."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, Self

from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import (
    Footer,
    Header,
    RecordingError,
    UnreadableLine,
    decode_line,
    header_error,
    part_path,
    series_of,
)
from acp_inspector.recording.joining import FrameJoiner
from acp_inspector.recording.lines import (
    BLOCK,
    MAX_HEADER,
    MAX_LINE,
    SkippedLine,
    line_blocks,
    pieces_between,
    read_at,
)
from acp_inspector.recording.reader import LINE_TOO_LONG, BadLine, Row
from acp_protocol.errors import describe_os_error
from acp_protocol.host.regular_files import open_regular

OVERWRITTEN: Final = "the file became shorter: what was read before is gone"


class RecordingTail:
    """Reads a recording from its first line, then what is appended to it; never blocks.

    A line without a newline is left for the next call. After the footer of a part, reading
    continues with the next part if it exists. Compressed recordings are not supported.
    """

    def __init__(self, path: Path, *, max_line: int = MAX_LINE) -> None:
        """Open the recording at `path`; lines longer than `max_line` bytes are skipped.

        Raises:
            RecordingError: there is no such file, or it cannot be opened.
        """
        self._first = path
        self._max_line = max_line
        self._part = 1
        self._series: str | None = None
        with self._errors():
            self._descriptor = _opened(path)
        self._begin()

    @property
    def path(self) -> Path:
        """The part that is being read."""
        return part_path(self._first, self._part)

    def read(self) -> Iterator[Row]:
        """Yield the rows that were added since the last call, including headers.

        If the file became shorter, it was overwritten: a `BadLine` reports that, and reading starts
        over.

        Raises:
            RecordingError: the file cannot be read, or its first line is not a header.
        """
        with self._errors():
            yield from self._joined(self._read_part())
            while self._has_ended and self._open_next_part():
                yield from self._joined(self._read_part())

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _joined(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Join the frames that an earlier recording holds as lines."""
        for row in rows:
            if isinstance(row, Frame | StderrChunk | JournalEvent):
                yield from self._joiner.feed(row)
            else:
                if isinstance(row, Header | Footer):
                    yield from self._joiner.finish()
                yield row

    def _begin(self) -> None:
        self._joiner = FrameJoiner()
        self._at = 0
        self._line = 0
        self._has_ended = False

    def _read_part(self) -> Iterator[Row]:
        size = os.fstat(self._descriptor).st_size
        if size < self._at:
            yield BadLine(self._line, OVERWRITTEN, size)
            self._begin()
        read = partial(read_at, self._descriptor)
        pieces = pieces_between(read, self._at, size, min(BLOCK, self._max_line))
        for block in line_blocks(pieces, self._max_line):
            if isinstance(block, SkippedLine):
                if block.has_end:
                    self._line += 1
                    yield BadLine(self._line, LINE_TOO_LONG, self._at)
                    self._at += block.size
                    self._has_ended = False
            elif block.endswith(b"\n"):
                for line in block[:-1].split(b"\n"):
                    yield self._row(line)

    def _row(self, line: bytes) -> Row:
        row = decode_line(line)
        at = self._at
        self._at += len(line) + 1
        self._line += 1
        self._has_ended = isinstance(row, Footer)
        if isinstance(row, Header) and self._line == 1:
            self._series = self._series or series_of(self._first, row)
        elif self._line == 1:
            raise header_error(self.path, row)
        return BadLine(self._line, row.reason, at) if isinstance(row, UnreadableLine) else row

    def _open_next_part(self) -> bool:
        """Continue with the next part; return whether there is one."""
        try:
            descriptor = _opened(part_path(self._first, self._part + 1))
        except FileNotFoundError:
            return False
        start = read_at(descriptor, 0, min(os.fstat(descriptor).st_size, MAX_HEADER))
        line, newline, _ = start.partition(b"\n")
        header = decode_line(line)
        is_next = isinstance(header, Header) and header.meta.get("series") == self._series
        if not (is_next and newline):
            os.close(descriptor)
            return False
        os.close(self._descriptor)
        self._descriptor = descriptor
        self._part += 1
        self._begin()
        return True

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except OSError as problem:
            raise RecordingError(f"cannot read {self.path}: {describe_os_error(problem)}") from None


def _opened(path: Path) -> int:
    with open_regular(path, is_followed=True) as file:
        return os.dup(file.fileno())
