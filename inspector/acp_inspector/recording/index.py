"""Where each line of a recording is, and what it is, in columns that do not fill the memory.

Full segments of rows lie in a file without a name; only the last one and a few that were asked for
are in memory. A row is a line behind the header: row 0 is line 2 of the file.
"""

from __future__ import annotations

import tempfile
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from acp_inspector.recording.content import read_at
from acp_inspector.recording.outlines import Kind, Methods, Outlines
from acp_inspector.recording.pairing import ASKS, Pairing

ROWS: Final = 1 << 14
"""Rows of a segment."""
KEPT: Final = 32
"""Segments in memory, of 400 KB each."""
ROW: Final = 8 + 8 + 4 + 2 + 1
"""Bytes of a row."""


@dataclass(slots=True)
class Columns:
    """Some rows, column by column."""

    offsets: array[int] = field(default_factory=lambda: array("Q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    partners: array[int] = field(default_factory=lambda: array("I"))
    """What a row is to others, as `Pairing.take` tells."""
    methods: array[int] = field(default_factory=lambda: array("H"))
    kinds: array[int] = field(default_factory=lambda: array("B"))

    def __getitem__(self, rows: slice) -> Columns:
        """Return some of the rows."""
        return Columns(
            self.offsets[rows],
            self.times[rows],
            self.partners[rows],
            self.methods[rows],
            self.kinds[rows],
        )

    def encoded(self) -> bytes:
        """Return the columns as a segment, filled up with zeros."""
        parts = (self.offsets, self.times, self.partners, self.methods, self.kinds)
        return b"".join(part.tobytes().ljust(part.itemsize * ROWS, b"\0") for part in parts)

    @classmethod
    def decoded(cls, segment: bytes, rows: int) -> Columns:
        """Return the first `rows` rows of a segment."""
        columns = cls()
        at = 0
        every = (columns.offsets, columns.times, columns.partners, columns.methods, columns.kinds)
        for part in every:
            part.frombytes(segment[at : at + part.itemsize * rows])
            at += part.itemsize * ROWS
        return columns


@dataclass(frozen=True, slots=True)
class Brief:
    """What is known of a row without decoding its line."""

    offset: int
    """Where the line begins."""
    at: float
    """Seconds; 0 for what is no entry."""
    kind: Kind
    """What the line looks like; a fault may still show when it is decoded."""
    method: str | None
    """As it stands at the beginning of the message; None where there is none, or further behind."""


class Index:
    """The rows of a recording, as far as it has been looked at."""

    def __init__(
        self,
        segments: BinaryIO | None = None,
        rows: int = 0,
        methods: Methods | None = None,
        pairing: Pairing | None = None,
    ) -> None:
        """Begin an empty index, or go on with one whose segments lie in a file that stays as is."""
        self._segments = segments or tempfile.TemporaryFile()  # noqa: SIM115 - closed in close
        self._is_ours = segments is None
        self._full, last = divmod(rows, ROWS)
        self._kept: OrderedDict[int, Columns] = OrderedDict()
        self._last = Columns.decoded(self._read(self._full), last) if last else Columns()
        self.methods = methods or Methods()
        self.pairing = pairing or Pairing()
        self.rows = rows
        """How many there are."""

    def add(self, found: Outlines) -> None:
        """Put the next rows behind those that are there."""
        last = self._last
        last.offsets += found.offsets
        last.times += found.times
        last.partners += self.pairing.take(
            self.rows, len(found.kinds), found.envelopes, found.begins
        )
        last.methods += found.methods
        last.kinds += found.kinds
        self.rows += len(found.kinds)
        while len(self._last.kinds) >= ROWS:
            self._write_segment()

    def offset(self, row: int) -> int:
        """Return where the row's line begins."""
        columns, place = self._place(row)
        return columns.offsets[place]

    def brief(self, row: int) -> Brief:
        """Return what is known of a row."""
        columns, place = self._place(row)
        return Brief(
            columns.offsets[place],
            columns.times[place],
            Kind(columns.kinds[place]),
            self.methods.name(columns.methods[place]),
        )

    def row_at(self, offset: int) -> int:
        """Return the row whose line holds the byte at `offset`; -1 for the header."""
        low, high = 0, -(-self.rows // ROWS)
        while low < high:
            middle = (low + high) // 2
            if self.offset(middle * ROWS) <= offset:
                low = middle + 1
            else:
                high = middle
        if not low:
            return -1
        segment = low - 1
        return segment * ROWS + bisect_right(self._columns(segment).offsets, offset) - 1

    def rows_of(self, kind: Kind) -> Iterator[int]:
        """Yield the rows of one kind, in order."""
        for segment in range(-(-self.rows // ROWS)):
            kinds = self._columns(segment).kinds.tobytes()
            place = kinds.find(kind)
            while place >= 0:
                yield segment * ROWS + place
                place = kinds.find(kind, place + 1)

    def columns(self, row: int) -> tuple[int, Columns]:
        """Return the segment that holds a row, and its first row; not to be changed."""
        segment = row // ROWS
        return segment * ROWS, self._columns(segment)

    def question_of(self, row: int) -> int | None:
        """Return the row of the question that a row answers."""
        columns, place = self._place(row)
        partner = columns.partners[place]
        return partner - 1 if 0 < partner <= row else None

    def answer_of(self, row: int) -> int | None:
        """Return the row of the answer to the question in a row, if it has come."""
        columns, place = self._place(row)
        if columns.partners[place] != ASKS or self.pairing.is_open(row):
            return None
        # What is looked for stands mostly in the same segment, and always behind the question.
        wanted = array("I", [row + 1]).tobytes()
        for segment in range(row // ROWS, -(-self.rows // ROWS)):
            partners = self._columns(segment).partners.tobytes()
            at = partners.find(wanted)
            while at % 4 and at >= 0:
                at = partners.find(wanted, at + 1)
            if at >= 0:
                return segment * ROWS + at // 4
        return None

    def write(self, file: BinaryIO) -> None:
        """Write all segments to `file`."""
        self._copy(file)
        if self._last.kinds:
            file.write(self._last.encoded())

    def close(self) -> None:
        """Forget everything."""
        self._segments.close()

    def _copy(self, file: BinaryIO) -> None:
        file.writelines(self._read(segment) for segment in range(self._full))

    def _write_segment(self) -> None:
        if not self._is_ours:
            own = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close
            self._copy(own)
            self._segments.close()
            self._segments, self._is_ours = own, True
        self._segments.seek(self._full * ROW * ROWS)
        self._segments.write(self._last[:ROWS].encoded())
        self._segments.flush()
        self._full += 1
        self._last = self._last[ROWS:]

    def _place(self, row: int) -> tuple[Columns, int]:
        if not 0 <= row < self.rows:
            raise IndexError(row)
        segment, place = divmod(row, ROWS)
        return self._columns(segment), place

    def _columns(self, segment: int) -> Columns:
        if segment == self._full:
            return self._last
        found = self._kept.get(segment)
        if found is None:
            found = self._kept[segment] = Columns.decoded(self._read(segment), ROWS)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(segment)
        return found

    def _read(self, segment: int) -> bytes:
        size = ROW * ROWS
        return read_at(self._segments.fileno(), segment * size, size).ljust(size, b"\0")


def size_of(rows: int) -> int:
    """Return the bytes that so many rows take in a file."""
    return -(-rows // ROWS) * ROWS * ROW
