"""Random access to a recording of any size.

Memory holds only an index of about 23 bytes a line. The first rows, the last rows and any entry can
be read immediately; `index_more` indexes the rest step by step, including what is appended
meanwhile, and then every row can be read by its position.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Container, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from heapq import merge
from operator import attrgetter
from pathlib import Path
from typing import Final, Self, overload

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.compression import OUTPUT, DecompressedFile
from acp_inspector.recording.format import (
    Digest,
    Footer,
    Header,
    RecordingError,
    UnreadableLine,
    decode_line,
)
from acp_inspector.recording.index import LineKind, RecordingIndex, RowInfo
from acp_inspector.recording.lines import (
    BLOCK,
    MAX_HEADER,
    MAX_LINE,
    SkippedLine,
    line_begin,
    line_blocks,
    line_end,
    pieces_between,
    read_at,
)
from acp_inspector.recording.reader import (
    DIGEST_MISMATCH,
    LINE_CUT_OFF,
    LINE_TOO_LONG,
    BadLine,
    Row,
    header_of,
)
from acp_protocol.errors import describe_os_error
from acp_protocol.host.regular_files import check_regular

STEP: Final = 8 << 20
"""Bytes to index in one step."""
ENTRY_NUMBER: Final = re.compile(rb'\{"n":(0|[1-9]\d{0,17}),')
_NUMBER_SIZE: Final = 32
"""Bytes at the start of a line that contain its number, if our writer wrote it."""


class FileContent:
    """Random access to the bytes of a file; a compressed file is unpacked step by step.

    The file is not memory-mapped: if another process truncates a mapped file, the reader is killed
    by SIGBUS, and pages that were read would count as its memory.
    """

    def __init__(self, path: Path) -> None:
        # Nothing else can be read at any place, and opening a pipe may never return.
        check_regular(path, path.stat())
        self._stream = DecompressedFile(path)
        self._unpacked = 0
        self.is_compressed = self._stream.is_compressed
        self.is_unpacked = not self.is_compressed
        """Whether all of the file can be read now."""
        self._file = tempfile.TemporaryFile() if self.is_compressed else self._stream.source  # noqa: SIM115 - closed in close
        self._unwritten = self._stream.unwritten

    @property
    def size(self) -> int:
        """Bytes that can be read now."""
        if self._unwritten is not None:
            return self._unwritten.size + os.fstat(self._unwritten.lines.fileno()).st_size
        return self._unpacked if self.is_compressed else os.fstat(self._file.fileno()).st_size

    @property
    def problem(self) -> str | None:
        """Why the data ends too early, if that is known."""
        return self._stream.problem

    def unpack(self, end: int) -> None:
        """Unpack the first `end` bytes, or all if there are fewer."""
        if self._unpacked >= end or self.is_unpacked:
            return
        while self._unpacked < end and not self.is_unpacked:
            piece = self._stream.file.read(OUTPUT)
            self.is_unpacked = not piece
            self._file.write(piece)
            self._unpacked += len(piece)
        self._file.flush()

    def read(self, offset: int, size: int) -> bytes:
        if not self.is_compressed:
            self._stream.reached = offset + size
        if self._unwritten is None:
            return read_at(self._file.fileno(), offset, size)
        begin = self._unwritten.size
        wanted = max(0, min(size, begin - offset))
        head = read_at(self._file.fileno(), offset, wanted)
        if len(head) < wanted:
            # The file has become shorter.
            return head
        lines, at = self._unwritten.lines.fileno(), max(0, offset - begin)
        return head + read_at(lines, at, size - len(head))

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._file.close()
        self._stream.close()


class IndexedRecording:
    """The rows of a recording: the lines after the header; row 0 is the second line of the file.

    Only complete lines have rows; `rest` is what follows the last of them. Positions and the length
    cover the rows that `index_more` has indexed so far. Every method that reads the file raises
    RecordingError if that fails.
    """

    def __init__(self, path: Path, *, max_line: int = MAX_LINE) -> None:
        """Open the recording at `path`; lines longer than `max_line` bytes are bad lines.

        Raises:
            RecordingError: there is no such file, it cannot be read, or it is not a recording.
        """
        self.path = path
        self._max_line = max_line
        with os_errors(path):
            self._content = FileContent(path)
        try:
            self._begin_anew()
        except BaseException:
            self._content.close()
            raise

    def _begin_anew(self) -> None:
        end = line_end(self._read, 0, MAX_HEADER)
        first = self._read(0, end)
        self.header: Header = header_of(self.path, first, self._content.problem)
        self._begin = self._end = len(first)
        self._digest: Digest = hashlib.sha256(first)
        self._changed: list[int] = []
        self._index = RecordingIndex()
        self._is_complete = False

    @property
    def is_complete(self) -> bool:
        """Whether the last call of `index_more` indexed all complete lines."""
        return self._is_complete

    @property
    def progress(self) -> float:
        """Fraction of the file that is indexed, of a compressed file, of the unpacked part."""
        return self._end / max(1, self._end, self._content.size)

    def index_more(self, step: int = STEP) -> bool:
        """Index about the next `step` bytes; return whether there is more to index.

        Call it again later if another process is still writing. A file that became shorter is
        another recording, and indexing starts over.
        """
        if self._content.size < self._end:
            self._begin_anew()
        self._unpack(self._end + step)
        # Index at least one whole line.
        line = line_end(self._read, self._end, sys.maxsize)
        size = self._content.size
        limit = min(size, max(self._end + step, line))
        for block in self._blocks(self._end, limit):
            if isinstance(block, bytes):
                if block.endswith(b"\n"):
                    self._index_block(block)
            elif block.has_end:
                for piece in pieces_between(self._read, self._end, self._end + block.size):
                    self._digest.update(piece)
                self._index.add_skipped(self._end)
                self._end += block.size
        self._is_complete = limit == size and self._content.is_unpacked
        return not self._is_complete

    def index_all(self, step: int = STEP) -> Self:
        """Index everything there is, and return self."""
        while self.index_more(step):
            pass
        return self

    def __len__(self) -> int:
        return len(self._index)

    @overload
    def __getitem__(self, row: int) -> Row: ...

    @overload
    def __getitem__(self, row: slice) -> list[Row]: ...

    def __getitem__(self, row: int | slice) -> Row | list[Row]:
        """Decode one or several rows; a row that cannot be read is a `BadLine`."""
        if isinstance(row, slice):
            first, end, step = row.indices(len(self))
            if step == 1:
                return list(self._rows(first, end))
            return [self._row(place) for place in range(first, end, step)]
        return self._row(row + len(self) if row < 0 else row)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows in order, including those that are indexed meanwhile."""
        row = 0
        while row < (end := len(self)):
            yield from self._rows(row, end)
            row = end

    def __reversed__(self) -> Iterator[Row]:
        return map(self._row, reversed(range(len(self))))

    def raw_lines(self, first: int, end: int | None = None) -> bytes:
        """Return the bytes of the lines from `first` to before `end`, or of one line.

        A line that is too long is returned as an empty line.
        """
        begin = self._offset(first)
        limit = self._offset(first + 1 if end is None else end)
        if limit - begin <= self._max_line:
            return self._read(begin, limit - begin)
        blocks = self._blocks(begin, limit)
        return b"".join(b"\n" if isinstance(block, SkippedLine) else block for block in blocks)

    def row_info(self, row: int) -> RowInfo:
        """Return what the index knows of a row, without decoding the line."""
        return self._index.row_info(row)

    @property
    def index(self) -> RecordingIndex:
        """The index of the rows; do not change it."""
        return self._index

    def request_row(self, row: int) -> int | None:
        """Return the row of the request that this row responds to, if there is one."""
        return self._index.pairing.request_of(row)

    def response_row(self, row: int) -> int | None:
        """Return the row of the response to the request in a row, if there is one."""
        return self._index.pairing.response_of(row)

    @property
    def arrays(self) -> Container[int]:
        """The rows that are arrays of messages."""
        return self._index.pairing.arrays

    def counterparts(self, row: int) -> Sequence[int]:
        """Return the rows of requests that a row responds to, and of responses to it."""
        return self._index.pairing.counterparts(row)

    @property
    def rest(self) -> tuple[Row, ...]:
        """What follows the last row once `is_complete`: at most one line without a newline.

        It is an entry if only its newline is missing. While another process is writing, it may be a
        line whose end has not been written yet.
        """
        if not self._is_complete:
            return ()
        line, problem = len(self) + 2, self._content.problem
        corrupt = (BadLine(line, problem, self._end),) if problem else ()
        row: Row | UnreadableLine
        if self._content.size - self._end > self._max_line:
            row = BadLine(line, LINE_TOO_LONG, self._end)
        elif left := self._read(self._end, self._content.size - self._end):
            row = decode_line(left)
        else:
            return corrupt
        if isinstance(row, UnreadableLine):
            return corrupt or (BadLine(line, LINE_CUT_OFF, self._end),)
        return (
            row,
            *(replace(each, line=line + 1, offset=self._content.size) for each in corrupt),
        )

    @property
    def footer(self) -> Footer | None:
        """The last line, if it is one and `is_complete`."""
        last = (*self[-1:], *self.rest)[-1:] if self._is_complete else ()
        return last[0] if last and isinstance(last[0], Footer) else None

    def bad_lines(self) -> Iterator[BadLine]:
        """Yield the bad lines among the indexed rows that can be found without decoding all rows.

        If the digest of the last footer matches, that is every bad line before it. Footers with a
        wrong digest and a cut line count, too.
        """
        bad = map(self._row, self._index.rows_of(LineKind.BAD))
        changed = (
            BadLine(row + 2, DIGEST_MISMATCH, self._index.offset(row)) for row in self._changed
        )
        known = (row for row in bad if isinstance(row, BadLine))
        yield from merge(known, changed, key=attrgetter("line"))
        yield from (row for row in self.rest if isinstance(row, BadLine))

    def head(self, count: int) -> list[Row]:
        """Return the first rows, indexed or not."""
        rows: list[Row] = []
        at = self._begin
        while len(rows) < count:
            end = line_end(self._read, at, sys.maxsize)
            if end == at or self._read(end - 1, 1) != b"\n":
                break
            rows.append(self._between(at, end))
            at = end
        return rows

    def tail(self, count: int) -> list[Row]:
        """Return the last rows, indexed or not.

        A `BadLine` among them has line 0 if it is not indexed yet. A compressed file is unpacked
        completely.
        """
        rows: list[Row] = []
        end = self._last_newline()
        while len(rows) < count and end > self._begin:
            at = line_begin(self._read, end, self._begin)
            rows.append(self._between(at, end))
            end = at
        return rows[::-1]

    def entry(self, seq: int) -> Entry | None:
        """Return the entry with number `seq`, indexed or not.

        This is a binary search: numbers rise from line to line.
        """
        at = self._offset_of(seq)
        if at is None:
            return None
        row = self._between(at, line_end(self._read, at, self._content.size))
        return row if isinstance(row, Frame | StderrChunk | JournalEvent) else None

    def row_of(self, seq: int) -> int | None:
        """Return the row of entry `seq`; None if it does not exist or is not indexed yet."""
        at = self._offset_of(seq)
        return None if at is None or at >= self._end else self._index.row_at(at)

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._is_complete = False
        self._content.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Bytes.

    def _read(self, at: int, size: int) -> bytes:
        self._unpack(at + size)
        with os_errors(self.path):
            return self._content.read(at, max(0, min(size, self._content.size - at)))

    def _unpack(self, end: int) -> None:
        with os_errors(self.path):
            self._content.unpack(end)

    def _blocks(self, begin: int, end: int) -> Iterator[bytes | SkippedLine]:
        pieces = pieces_between(self._read, begin, end, min(BLOCK, self._max_line))
        return line_blocks(pieces, self._max_line)

    def _last_newline(self) -> int:
        self._unpack(sys.maxsize)
        size = self._content.size
        return size if self._read(size - 1, 1) == b"\n" else line_begin(self._read, size)

    # Rows.

    def _row(self, row: int) -> Row:
        if not 0 <= row < len(self):
            raise IndexError(row)
        return self._between(self._offset(row), self._offset(row + 1))

    def _rows(self, first: int, end: int) -> Iterator[Row]:
        if first >= end:
            return
        at = self._offset(first)
        for block in self._blocks(at, self._offset(end)):
            if isinstance(block, SkippedLine):
                yield self._bad_line(at, LINE_TOO_LONG)
                at += block.size
                continue
            for line in block[:-1].split(b"\n"):
                yield self._decoded(at, line)
                at += len(line) + 1

    def _offset(self, row: int) -> int:
        """Return the offset of a row, or the end of the last row."""
        return self._end if row == len(self) else self._index.offset(row)

    def _between(self, at: int, end: int) -> Row:
        if end - at > self._max_line:
            return self._bad_line(at, LINE_TOO_LONG)
        return self._decoded(at, self._read(at, end - at))

    def _decoded(self, at: int, line: bytes) -> Row:
        row = decode_line(line.rstrip(b"\n"))
        return self._bad_line(at, row.reason) if isinstance(row, UnreadableLine) else row

    def _bad_line(self, at: int, reason: str) -> BadLine:
        return BadLine(self._index.row_at(at) + 2 if at < self._end else 0, reason, at)

    def _offset_of(self, seq: int) -> int | None:
        """Return the offset of entry `seq`, by binary search."""
        low, high = self._begin, self._last_newline()
        while low < high:
            at = line_begin(self._read, (low + high) // 2 + 1, low)
            begin, number, end = self._next_number(at, high)
            if number == seq:
                return begin
            if number is not None and number < seq:
                low = end
            else:
                high = at
        return None

    def _next_number(self, at: int, limit: int) -> tuple[int, int | None, int]:
        """Return begin, number and end of the first entry at or after `at`, if there is one."""
        while at < limit:
            end = line_end(self._read, at, limit)
            if found := ENTRY_NUMBER.match(self._read(at, _NUMBER_SIZE)):
                return at, int(found[1]), end
            row = self._between(at, end)
            if isinstance(row, Frame | StderrChunk | JournalEvent):
                return at, row.seq, end
            at = end
        return at, None, at

    def _index_block(self, block: bytes) -> None:
        """Index the lines of `block`, which follow the last row."""
        first = len(self)
        self._index.add(block, self._end)
        hashed = 0
        for row in self._index.rows_of(LineKind.FOOTER, first):
            begin = self._index.offset(row) - self._end
            self._digest.update(block[hashed:begin])
            hashed = begin
            footer = decode_line(block[begin : block.index(b"\n", begin)])
            if isinstance(footer, Footer) and footer.digest != self._digest.hexdigest():
                self._changed.append(row)
        self._digest.update(block[hashed:])
        self._end += len(block)


@contextmanager
def os_errors(path: Path) -> Generator[None]:
    """Raise RecordingError if the file cannot be read."""
    try:
        yield
    except OSError as problem:
        raise RecordingError(f"cannot read {path}: {describe_os_error(problem)}") from None
