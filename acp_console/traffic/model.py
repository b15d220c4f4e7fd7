"""The rows of the traffic pane after filtering, and their annotations, without drawing."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from typing import Final, TypeVar

from acp_console.traffic.called import CalledNames
from acp_console.traffic.marks import Marks, NotesFile
from acp_console.traffic.rows import (
    MAX_PARTS,
    TrafficRow,
    gap_before,
    read_row,
    run_row,
    time_of,
)
from acp_console.traffic.runs import Run, Runs
from acp_console.wording.values import plural
from acp_inspector.filter.compiler import Filter, compile_filter
from acp_inspector.filter.entries import ENTRY_TYPES, EntrySequence, RecordingEntries, fields_of_row
from acp_inspector.filter.frames import EntryFields
from acp_inspector.filter.search import FilterSearch, RunSlow
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.reader import Row
from acp_inspector.session.edits import FrameEdit, edit_of
from acp_inspector.views.annotations import Annotations, FrameNotes
from acp_protocol.errors import AcpError

_CACHED_ROWS: Final = 2048
_MAX_SEEN: Final = 200
"""Most sessions, methods and tools kept for completion."""
FIRST_SEARCH_ROWS: Final = 1 << 12
"""Rows that a search checks in its first step; each further step checks twice as many."""
MAX_HIDDEN: Final = 1000
"""Most hidden rows to skip in search of a shown one."""


T = TypeVar("T")


def own_thread(*, poll_interval_s: float = 0.002) -> RunSlow:
    """Return a thread for slow work, such as matching the patterns of a filter.

    Work runs to its end even if its result is no longer needed. The thread ends once nothing refers
    to it.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="filter")

    def run(work: Callable[[], T], /) -> Generator[None, None, T]:
        future = pool.submit(work)
        while not wait([future], timeout=poll_interval_s).done:
            yield
        return future.result()

    return run


class TrafficModel:
    """The rows that match a filter, by position."""

    def __init__(
        self,
        entries: EntrySequence,
        annotations: Annotations | None = None,
        notes: Callable[[], Sequence[NotesFile]] = tuple,
    ) -> None:
        """Show `entries` with their `annotations`; `notes` returns where marks are kept."""
        self.entries = entries
        self.annotations = annotations or Annotations()
        self.runs = Runs(entries)
        self.called = CalledNames(entries)
        self.wanted = compile_filter("")
        self._scan: FilterSearch | None = None
        self._next: FilterSearch | None = None
        """The filter that will apply once all rows are checked."""
        self.marks = Marks(entries, self.row_of, notes)
        self._kept: dict[int, TrafficRow] = {}
        self._opened: set[int] = set()
        """Rows whose messages are shown below them."""
        self.seen: dict[str, dict[str, None]] = {"method": {}, "session": {}}
        """Seen values of fields."""

    # Shown rows.

    def __len__(self) -> int:
        return len(self.entries) if self._scan is None else len(self._scan.rows)

    @property
    def digits(self) -> int:
        return len(str(len(self.entries)))

    def at(self, position: int) -> TrafficRow:
        return self.row(self.row_at(position))

    def row(self, row: int) -> TrafficRow:
        found = self._kept.get(row)
        if found is None:
            try:
                found = read_row(self.entries, row, named=self.called.name)
            except AcpError as problem:
                return TrafficRow(0, 0.0, "", "unreadable", str(problem))
            for name, value in (("method", found.method), ("session", found.session)):
                values = self.seen[name]
                if value and len(values) < _MAX_SEEN:
                    values[value] = None
        is_answered = found.is_open and self.entries.response_row(row) is not None
        if is_answered or self.annotations.edited_by(found.seq) != found.edited_by:
            # It was answered or edited since.
            edit = self.edit_of(found.seq)
            found = read_row(self.entries, row, edit=edit, named=self.called.name)
            if edit is None:
                found = replace(found, edited_by=self.annotations.edited_by(found.seq))
        self._kept[row] = found
        if len(self._kept) > _CACHED_ROWS:
            del self._kept[next(iter(self._kept))]
        return found

    def line_at(self, position: int) -> Run:
        """Return the positions that are one line: a run of updates, unless a filter is set."""
        whole = self._scan is None
        line = self.runs.at(position) if whole else Run(position, position + 1)
        # The filter may be new, and have found no row yet.
        is_known = bool(self._opened) and not line.is_folded and 0 <= position < len(self)
        if is_known and self.row_at(position) in self._opened:
            return replace(line, parts=min(self.at(position).part_count, MAX_PARTS))
        return line

    def line_row(self, line: Run) -> TrafficRow:
        """Return the content of a line."""
        if line.part:
            return self._part_row(self.at(line.begin), line)
        if not line.is_folded:
            return self.at(line.begin)
        try:
            return replace(
                run_row(self.entries, line, self.edit_of, self.called.name),
                edited_by=self.edited_by(line),
            )
        except (AcpError, ValueError):
            return self.at(line.begin)

    @staticmethod
    def _part_row(row: TrafficRow, line: Run) -> TrafficRow:
        """Return the content of a line below a row: a message, or how many more there are."""
        if line.part < line.parts or line.part == row.part_count:
            return row.parts[line.part - 1]
        more = plural(row.part_count - line.part + 1, "more message")
        return TrafficRow(0, 0.0, "", "event", f"{more}: see the details")

    def can_unfold(self, position: int) -> bool:
        """Return whether a line shows a run of updates, or for several messages."""
        line = self.line_at(position)
        return line.is_folded or (not line.parts and self.at(position).part_count > 0)

    def toggle(self, position: int) -> bool | None:
        """Unfold or fold the run, or the messages of the frame, at a position.

        Returns:
            Whether it is unfolded; None: there is nothing to unfold.
        """
        line, row = self.line_at(position), self.row_at(position)
        if not line.is_folded and not line.parts and self.can_unfold(position):
            self._opened.add(row)
            return True
        self._opened.discard(row)
        is_unfolded = self.runs.toggle(position) if self._scan is None else None
        return False if is_unfolded is None and line.parts else is_unfolded

    def gap(self, position: int) -> float | None:
        """Return the seconds since the previous frame, also if the filter hides that one."""
        return gap_before(self.entries, self.row_at(position))

    def delta(self, position: int) -> float:
        """Return the seconds since the previous entry that the filter shows."""
        if position == 0:
            return 0.0
        before, row = self.row_at(position - 1), self.row_at(position)
        return time_of(self.entries, row) - time_of(self.entries, before)

    def row_at(self, position: int) -> int:
        return position if self._scan is None else self._scan.rows[position]

    def position_of(self, row: int) -> int | None:
        """Return the position of a row; None if the filter hides it or has not checked it yet."""
        if self._scan is None:
            return row if 0 <= row < len(self.entries) else None
        position = bisect_left(self._scan.rows, row)
        is_shown = position < len(self._scan.rows) and self._scan.rows[position] == row
        return position if is_shown else None

    def position_near(self, row: int) -> int:
        """Return the position of a row, or of the last shown row before it."""
        if self._scan is None:
            return row
        return max(bisect_right(self._scan.rows, row) - 1, 0)

    def row_of(self, n: int) -> int | None:
        """Return the row of entry `n`; None if there is no such entry, or no row for it yet."""
        if isinstance(self.entries, RecordingEntries):
            return self.entries.row_of(n)
        row = bisect_left(range(len(self.entries)), n, key=self._number)
        return row if row < len(self.entries) and self._number(row) == n else None

    def _number(self, row: int) -> int:
        entry = self.entries[row]
        return entry.seq if isinstance(entry, ENTRY_TYPES) else 0

    def entry_at(self, row: int) -> Row:
        """Return the content of a row.

        Raises:
            AcpError: it cannot be read.
        """
        return self.entries[row]

    # Filtering.

    def filter(self, wanted: Filter) -> None:
        self.wanted = wanted
        self._next = None
        self._scan = None if wanted.is_empty else self._new_scan()

    def renew(self) -> None:
        """Run the same filter again, because annotations of checked entries changed."""
        if self._scan is not None:
            self._next = self._new_scan()

    def forget(self) -> None:
        """Restart: the entries were replaced."""
        self._kept.clear()
        self._opened.clear()
        self.runs.forget()
        self.called.forget()
        self.marks.forget()
        self.filter(self.wanted)

    def run(self) -> Iterator[None]:
        """Filter the rows that were not checked yet, step by step."""
        while (scan := self._next or self._scan) is not None and self.is_behind:
            yield from scan.steps()
            if scan is self._next:
                self._scan, self._next = scan, None

    @property
    def is_behind(self) -> bool:
        """Whether there are rows that the filter has not checked yet."""
        scan = self._next or self._scan
        return scan is not None and (scan is self._next or scan.position < len(self.entries))

    @property
    def looked_at(self) -> int:
        """How many rows the filter has checked."""
        return len(self.entries) if self._scan is None else self._scan.position

    def _new_scan(self) -> FilterSearch:
        # A new thread: that of the previous filter may still be matching a pattern.
        return FilterSearch(self.entries, self.wanted, self.notes_of, run_slow=own_thread())

    def scan_from(
        self, row: int, wanted: Filter, *, is_forward: bool, first_rows: int = FIRST_SEARCH_ROWS
    ) -> Iterator[int | None]:
        """Search the next row that matches `wanted`; yield None after each step, then the row.

        Nothing is yielded at the end if there is none.
        """
        reach, run_slow = first_rows, own_thread()
        begin = end = row + 1 if is_forward else row
        while (end < len(self.entries)) if is_forward else begin > 0:
            if is_forward:
                begin, end = end, min(end + reach, len(self.entries))
            else:
                begin, end = max(begin - reach, 0), begin
            scan = FilterSearch(
                self.entries, wanted, self.notes_of, begin=begin, end=end, run_slow=run_slow
            )
            for _ in scan.steps():
                yield None
            if scan.rows:
                yield scan.rows[0 if is_forward else -1]
                return
            reach *= 2

    # Facts about rows.

    def facts(self, row: int) -> EntryFields | None:
        """Return the facts about a row; None if it is not an entry or cannot be read."""
        try:
            entry = self.entries[row]
            if isinstance(entry, ENTRY_TYPES):
                return fields_of_row(self.entries, row, entry, notes=self.notes_of(entry))
        except AcpError:
            pass
        return None

    def pair_of(self, row: int) -> tuple[Frame | None, Frame | None]:
        """Return the request and the response that a row belongs to."""
        request_row = self.entries.request_row(row)
        if request_row is None:
            request_row, answer = row, self.entries.response_row(row)
        else:
            answer = row
        found = [None if each is None else self.entries[each] for each in (request_row, answer)]
        request, response = (each if isinstance(each, Frame) else None for each in found)
        is_pair = response is not None or self.row(row).is_open
        return (request, response) if is_pair else (None, None)

    def other_of(self, row: int) -> int | None:
        """Return the row of the response to this row, or of its request."""
        request_row = self.entries.request_row(row)
        return self.entries.response_row(row) if request_row is None else request_row

    def known(self) -> dict[str, list[str]]:
        """Return seen values of fields, for completion."""
        found = {name: list(values) for name, values in self.seen.items()}
        if isinstance(self.entries, RecordingEntries):
            names = self.entries.index.methods.names[:_MAX_SEEN]
            found["method"] = list(dict.fromkeys([*found["method"], *names]))
        return found

    # Marks.

    def notes_of(self, entry: Entry) -> FrameNotes:
        return self.annotations.notes(entry, is_marked=entry.seq in self.marks.numbers)

    def finding_at(self, position: int) -> str:
        """Return the letter of the lint finding at a position; empty if there is none."""
        if not self.annotations.finding_counts:
            return ""
        row = self.at(position)
        return self.annotations.mark(row.seq) if row.seq else ""

    def finding_of(self, line: Run) -> str:
        """Return the letter of the gravest lint finding in a line; empty if there is none."""
        if not line.is_folded or not self.annotations.finding_counts:
            return self.finding_at(line.begin)
        first, last = self.at(line.begin).seq, self.at(line.last).seq
        numbers = range(first, min(last + 1, first + MAX_HIDDEN))
        letters = set(map(self.annotations.mark, numbers))
        return next((each for each in "EWIewi" if each in letters), "")

    def edited_by(self, line: Run) -> int:
        """Return the last event that reports an edit of a frame in a line; 0 for none."""
        first, last = self.at(line.begin).seq, self.at(line.last).seq
        return self.annotations.edited_between(first, last)

    def edit_of(self, n: int) -> FrameEdit | None:
        """Return the last edit of frame `n`; None if it was sent as it came."""
        seq = self.annotations.edited_by(n)
        row = self.row_of(seq) if seq else None
        entry = None if row is None else self.entries[row]
        return edit_of(entry) if isinstance(entry, JournalEvent) else None

    def edit_rows(self, rows: Sequence[int]) -> list[int]:
        """Return the rows of the events that report the last edits of frames in some rows."""
        shown = rows if isinstance(rows, range) else {*rows}
        edits = self.annotations.edits()
        events = [self.row_of(seq) for n, seq in edits if self.row_of(n) in shown]
        return [each for each in events if each is not None]

    def found_beside(self, row: int, *, is_next: bool) -> int | None:
        """Return the next, or the previous, shown row that breaks a rule."""
        n = self.row(row).seq
        numbers = self.annotations.after(n) if is_next else self.annotations.before(n)
        for found in islice(numbers, MAX_HIDDEN):
            place = self.row_of(found)
            if place is not None and self.position_of(place) is not None:
                return place
        return None

    def is_marked(self, position: int, count: int = 1) -> bool:
        """Whether any of `count` positions is marked."""
        rows = range(position, position + count) if self.marks.numbers else ()
        return any(self.row_at(each) in self.marks for each in rows)
