"""A recording of any size, looked at through its file.

Nothing of it is held but what was asked for. Its head, its tail and any entry can be had at once;
`advance` looks at the rest piece by piece, and then every row can be had by its place. It does the
same for what others write behind it meanwhile.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from heapq import merge
from pathlib import Path
from types import TracebackType
from typing import Final, Self, overload

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.recording import cache, lines
from acp_inspector.recording.content import (
    LongSpan,
    RecordingContent,
    digest_between,
    ends_line,
    line_begin,
    line_end,
    whole_lines,
)
from acp_inspector.recording.format import (
    Digest,
    Footer,
    Header,
    RecordingError,
    Unreadable,
    decode_line,
)
from acp_inspector.recording.index import Brief, Index
from acp_inspector.recording.numbering import place_of
from acp_inspector.recording.outlines import Kind, broken_line, outline
from acp_inspector.recording.reader import (
    CHANGED,
    CUT_LINE,
    HEADER_LIMIT,
    LineFault,
    Row,
    header_of,
)
from acp_protocol.errors import describe_os_error

STEP: Final = 8 << 20
"""Bytes that are looked at in one step."""
WORTH_KEEPING: Final = 32 << 20
"""Bytes of a recording from which on its index is kept beside it."""
KEPT_SHARE: Final = 4
"""The index is kept anew once it has grown by one part in so many."""


class RecordingFile:
    """Rows of a recording: a row is a line behind the header, row 0 the second line of the file.

    Only whole lines have rows; `rest` tells what stands behind the last of them. Indexes and
    lengths are those of the rows that `advance` has come to so far. Whatever reads the file raises
    RecordingError when that fails.
    """

    def __init__(self, path: Path, *, keeps_index: bool | None = None) -> None:
        """Open the recording at `path`, and the index that is kept beside it, if that fits.

        `keeps_index` None: an index is kept if the recording is large enough.

        Raises:
            RecordingError: there is no such file, it cannot be read, or it is no recording.
        """
        self.path = path
        self._keeps_index = keeps_index
        with _told(path):
            self._content = RecordingContent(path)
        try:
            self._begin_anew()
            self._load()
        except BaseException:
            self._content.close()
            raise

    def _begin_anew(self) -> None:
        end = line_end(self._read, 0, HEADER_LIMIT)
        first = self._read(0, end)
        if not first and self._content.fault:
            raise RecordingError(f"cannot read {self.path}: {self._content.fault}")
        self.header: Header = header_of(self.path, first)
        self._begin = self._end = len(first)
        self._digest: Digest | None = hashlib.sha256(first)
        self._changed: list[int] = []
        self._index = Index()
        self._kept_rows = 0
        self._is_complete = False

    @property
    def is_complete(self) -> bool:
        """Whether all whole lines had rows when `advance` looked last."""
        return self._is_complete

    @property
    def progress(self) -> float:
        """How much of the file has rows, from 0 to 1; of a compressed one, of what is unpacked."""
        return self._end / max(1, self._end, self._content.size)

    def advance(self, step: int = STEP) -> bool:
        """Look at the next `step` bytes or so; return whether more is waiting behind them.

        To be called again later where others are still writing. A file that has become shorter is
        another recording: its rows begin anew.
        """
        if self._content.size < self._end:
            self._index.close()
            self._begin_anew()
        self._unpack(self._end + step)
        # A line longer than a step is taken whole.
        line = line_end(self._read, self._end, sys.maxsize)
        size = self._content.size
        limit = min(size, max(self._end + step, line))
        for block in whole_lines(self._read, self._end, limit):
            if isinstance(block, LongSpan):
                self._pass(block)
            elif block.endswith(b"\n"):
                self._take(block)
        self._is_complete = limit == size and self._content.is_unpacked
        # What grows line by line is kept now and then, and when it is closed.
        if self._is_complete and len(self) - self._kept_rows > self._kept_rows // KEPT_SHARE:
            self._keep()
        return not self._is_complete

    def complete(self) -> Self:
        """Look at everything that is there, and return self."""
        while self.advance():
            pass
        return self

    def __len__(self) -> int:
        """Return the number of rows so far."""
        return self._index.rows

    @overload
    def __getitem__(self, row: int) -> Row: ...

    @overload
    def __getitem__(self, row: slice) -> list[Row]: ...

    def __getitem__(self, row: int | slice) -> Row | list[Row]:
        """Return what a row says, or several; a fault for one that cannot be read."""
        if isinstance(row, slice):
            first, behind, step = row.indices(len(self))
            if step == 1:
                return list(self._rows(first, behind))
            return [self._row(place) for place in range(first, behind, step)]
        return self._row(row + len(self) if row < 0 else row)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows in order, also those that come to be meanwhile."""
        row = 0
        while row < (behind := len(self)):
            yield from self._rows(row, behind)
            row = behind

    def __reversed__(self) -> Iterator[Row]:
        """Yield the rows from the last to the first."""
        return map(self._row, reversed(range(len(self))))

    def block(self, first: int, behind: int | None = None) -> bytes:
        """Return the lines of some rows, or of one, as they stand in the file.

        One that is too long to be held is empty.
        """
        at = self._offset(first)
        end = self._offset(first + 1 if behind is None else behind)
        if end - at <= lines.LINE_LIMIT:
            return self._read(at, end - at)
        blocks = whole_lines(self._read, at, end)
        return b"".join(b"\n" if isinstance(block, LongSpan) else block for block in blocks)

    def brief(self, row: int) -> Brief:
        """Return what is known of a row without decoding it."""
        return self._index.brief(row)

    @property
    def index(self) -> Index:
        """What is known of the rows without reading their lines; not to be changed."""
        return self._index

    def question_of(self, row: int) -> int | None:
        """Return the row of the question that a row answers, if it is one and that is known."""
        return self._index.question_of(row)

    def answer_of(self, row: int) -> int | None:
        """Return the row of the answer to the question in a row, if it has come."""
        return self._index.answer_of(row)

    @property
    def rest(self) -> tuple[Row, ...]:
        """What stands behind the last row once `is_complete`: a line that was cut, at most.

        It is an entry when only its newline is missing. While others are still writing, it is a
        line of which the end has not come yet.
        """
        if not self._is_complete:
            return ()
        line, fault = len(self) + 2, self._content.fault
        told = (LineFault(line, fault, self._end),) if fault else ()
        row: Row | Unreadable
        if self._content.size - self._end > lines.LINE_LIMIT:
            row = LineFault(line, lines.TOO_LONG, self._end)
        elif left := self._read(self._end, self._content.size - self._end):
            row = decode_line(left)
        else:
            return told
        if isinstance(row, Unreadable):
            return told or (LineFault(line, CUT_LINE, self._end),)
        return (row, *(replace(fault, line=line + 1, offset=self._content.size) for fault in told))

    @property
    def footer(self) -> Footer | None:
        """The last line, if it is one and `is_complete`."""
        last = (*self[-1:], *self.rest)[-1:] if self._is_complete else ()
        return last[0] if last and isinstance(last[0], Footer) else None

    def faults(self) -> Iterator[LineFault]:
        """Yield what is wrong with the rows so far, as far as that shows without decoding them.

        When the digest of the last footer fits, that is everything before it. `check` looks closer.
        """
        broken = map(self._row, self._index.rows_of(Kind.FAULT))
        found = (row for row in broken if isinstance(row, LineFault))
        yield from merge(found, map(self._digest_fault, self._changed), key=_line)
        yield from (row for row in self.rest if isinstance(row, LineFault))

    def check(self) -> Iterator[LineFault]:
        """Yield what is wrong with the rows so far, each of which is decoded."""
        broken = (row for row in self if isinstance(row, LineFault))
        yield from merge(broken, map(self._digest_fault, self._changed), key=_line)
        yield from (row for row in self.rest if isinstance(row, LineFault))

    def head(self, count: int) -> list[Row]:
        """Return the first rows, whether or not `advance` has come to them."""
        rows: list[Row] = []
        at = self._begin
        while len(rows) < count:
            end = line_end(self._read, at, sys.maxsize)
            if end == at or not ends_line(self._read, end):
                break
            rows.append(self._between(at, end))
            at = end
        return rows

    def tail(self, count: int) -> list[Row]:
        """Return the last rows, whether or not `advance` has come to them.

        The faults among them have line 0 where their number is not known yet. All of a compressed
        file has to be unpacked for this.
        """
        rows: list[Row] = []
        end = self._last_newline()
        while len(rows) < count and end > self._begin:
            at = line_begin(self._read, end, self._begin)
            rows.append(self._between(at, end))
            end = at
        return rows[::-1]

    def entry(self, n: int) -> Entry | None:
        """Return the entry with number `n`, whether or not `advance` has come to it.

        Found by halving: numbers rise from line to line, as every recorder has them do.
        """
        at = self._place_of(n)
        if at is None:
            return None
        row = self._between(at, line_end(self._read, at, self._content.size))
        return row if isinstance(row, Frame | StderrText | JournalEvent) else None

    def row_of(self, n: int) -> int | None:
        """Return the row of entry `n`; None if there is no such entry, or no row for it yet."""
        at = self._place_of(n)
        return None if at is None or at >= self._end else self._index.row_at(at)

    def close(self) -> None:
        """Close the file, and keep what was found; closing twice is no error."""
        if self._is_complete:
            self._keep()
        self._is_complete = False
        self._index.close()
        self._content.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Bytes.

    def _read(self, at: int, size: int) -> bytes:
        self._unpack(at + size)
        with _told(self.path):
            return self._content.read(at, max(0, min(size, self._content.size - at)))

    def _unpack(self, end: int) -> None:
        with _told(self.path):
            while self._content.size < end and not self._content.is_unpacked:
                self._content.unpack()

    def _last_newline(self) -> int:
        self._unpack(sys.maxsize)
        size = self._content.size
        return size if self._read(size - 1, 1) == b"\n" else line_begin(self._read, size)

    # Rows.

    def _row(self, row: int) -> Row:
        return self._between(self._offset(row), self._offset(row + 1))

    def _rows(self, first: int, behind: int) -> Iterator[Row]:
        if first >= behind:
            return
        at = self._offset(first)
        for block in whole_lines(self._read, at, self._offset(behind)):
            if isinstance(block, LongSpan):
                yield self._between(*block)
                at = block.end
                continue
            for line in block[:-1].split(b"\n"):
                yield self._decoded(at, line)
                at += len(line) + 1

    def _offset(self, row: int) -> int:
        """Return where a row begins; that behind the last begins where the last ends."""
        return self._end if row == len(self) else self._index.offset(row)

    def _between(self, at: int, end: int) -> Row:
        """Return the row that stands between two places."""
        if end - at > lines.LINE_LIMIT:
            return self._fault(at, lines.TOO_LONG)
        return self._decoded(at, self._read(at, end - at))

    def _decoded(self, at: int, line: bytes) -> Row:
        row = decode_line(line.rstrip(b"\n"))
        return self._fault(at, row.reason) if isinstance(row, Unreadable) else row

    def _fault(self, at: int, reason: str) -> LineFault:
        return LineFault(self._index.row_at(at) + 2 if at < self._end else 0, reason, at)

    def _digest_fault(self, row: int) -> LineFault:
        return LineFault(row + 2, CHANGED, self._index.offset(row))

    def _place_of(self, n: int) -> int | None:
        return place_of(self._read, self._begin, self._last_newline(), n)

    # The index.

    def _take(self, block: bytes) -> None:
        """Give the lines of `block`, which stand behind the last row, rows of their own."""
        found = outline(block, self._end, self._index.methods)
        hashed = 0
        for place, kind in enumerate(found.kinds) if Kind.FOOTER in found.kinds else ():
            if kind == Kind.FOOTER:
                begin = found.offsets[place] - self._end
                end = block.index(b"\n", begin)
                digest = self._hash(block[hashed:begin])
                hashed = begin
                row = decode_line(block[begin:end])
                if isinstance(row, Footer) and row.digest != digest.hexdigest():
                    self._changed.append(len(self) + place)
        if self._digest is not None:
            self._digest.update(block[hashed:])
        with _told(self.path):
            self._index.add(found)
        self._end += len(block)

    def _pass(self, long: LongSpan) -> None:
        """Give a line that is too long a row, if its end has come."""
        if not ends_line(self._read, long.end):
            return
        if self._digest is not None:
            digest_between(self._read, *long, self._digest)
        with _told(self.path):
            self._index.add(broken_line(long.begin))
        self._end = long.end

    def _hash(self, data: bytes) -> Digest:
        """Return the digest of everything up to `data`, with it."""
        if self._digest is None:
            # The index was kept beside the file, but not the state of the digest.
            self._digest = hashlib.sha256()
            digest_between(self._read, 0, self._end, self._digest)
        self._digest.update(data)
        return self._digest

    def _load(self) -> None:
        if self._keeps_index is False:
            return
        found = cache.load_index(self.path, may_grow=not self._content.is_compressed)
        if found is None:
            return
        self._index.close()
        self._index, kept = found
        self._end, self._changed, self._digest = kept.end, kept.changed, None
        self._kept_rows = len(self)

    def _keep(self) -> None:
        """Keep the index beside the file, where that is worth it and possible."""
        is_worth_it = self._end >= WORTH_KEEPING or self._keeps_index is True
        if self._keeps_index is False or self._kept_rows == len(self) or not is_worth_it:
            return
        size = None if self._content.is_compressed else self._end
        with suppress(OSError):
            state = cache.state_of(self.path, size)
            kept = cache.Trailer(
                state,
                len(self),
                self._end,
                self._index.methods.names,
                self._changed,
                self._index.pairing.open,
            )
            cache.save_index(self.path, self._index, kept)
        self._kept_rows = len(self)


def _line(fault: LineFault) -> int:
    return fault.line


@contextmanager
def _told(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as problem:
        raise RecordingError(f"cannot read {path}: {describe_os_error(problem)}") from None
