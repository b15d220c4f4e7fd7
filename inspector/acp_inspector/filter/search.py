"""Searches many entries with a filter, in small steps."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Final, Protocol, TypeVar

from acp_inspector.filter.compiler import Filter, prefilter
from acp_inspector.filter.entries import (
    ENTRY_TYPES,
    EntrySequence,
    RecordingEntries,
    decoded_at,
    fields_of_row,
)
from acp_inspector.filter.fields import FIELDS
from acp_inspector.filter.frames import EntryFields, EntryKind
from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.format import decode_line
from acp_inspector.recording.index import LineKind
from acp_inspector.recording.random_access import ENTRY_NUMBER, IndexedRecording
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.views.annotations import NO_NOTES, FrameNotes
from acp_protocol.framing import Side

T = TypeVar("T")

BLOCK: Final = 512
"""Rows whose bytes are prefiltered together."""
STEP: Final = 64
"""Entries to match in one step."""
_SIDES: Final[dict[int, Side]] = {
    LineKind.CLIENT: "client",
    LineKind.AGENT: "agent",
    LineKind.STDERR: "agent",
}
_FRAMES: Final = frozenset({int(LineKind.CLIENT), int(LineKind.AGENT)})
_ENTRIES: Final = frozenset({*_FRAMES, int(LineKind.STDERR), int(LineKind.EVENT)})


def no_notes(entry: Entry) -> FrameNotes:
    del entry
    return NO_NOTES


class RunSlow(Protocol):
    """Runs a function that may take long, e.g. in a thread."""

    def __call__(self, action: Callable[[], T], /) -> Generator[None, None, T]:
        """Run `action`; yield while it runs, and return its result."""
        ...


def run_inline(action: Callable[[], T], /) -> Generator[None, None, T]:
    yield from ()
    return action()


class FilterSearch:
    """The rows that a filter matches, among the entries searched so far."""

    def __init__(
        self,
        entries: EntrySequence,
        wanted: Filter,
        notes: Callable[[Entry], FrameNotes] = no_notes,
        *,
        begin: int = 0,
        end: int | None = None,
        run_slow: RunSlow = run_inline,
    ) -> None:
        """Prepare to search.

        Args:
            entries: The entries to search.
            wanted: The filter.
            notes: Returns the notes for an entry.
            begin: The first row.
            end: The row after the last; if None, search to the end.
            run_slow: Runs filters with patterns, which may take long. They do not read `entries`.
        """
        self._run_slow = run_slow if wanted.has_patterns else run_inline
        self._entries = entries
        self._wanted = wanted
        self._notes = notes
        self._is_alone = wanted.is_alone
        self._prefilter = prefilter(wanted.expression, is_alone=self._is_alone)
        self._requests: set[int] = set()
        """Rows of requests that passed the prefilter, whose responses must be matched."""
        self.rows = array("I")
        """The rows that match, in order."""
        self._begin = begin
        self._end = end
        self.position = begin
        """Rows before this one have been searched."""

    def steps(self) -> Iterator[None]:
        """Search the rows not searched yet; yield after each step of about a millisecond.

        Call it again when there are more entries.
        """
        step = STEP if self._run_slow is run_inline else BLOCK
        while self.position < self._last:
            block = _Block(self._entries, self.position, min(self.position + BLOCK, self._last))
            rows = self._candidates(block)
            for first in range(0, len(rows), step):
                some = rows[first : first + step]
                yield from self._match(block, some)
                self.position = some[-1] + 1
                yield
            self.position = block.end
            yield

    def find_all(self) -> array[int]:
        for _ in self.steps():
            pass
        return self.rows

    @property
    def _last(self) -> int:
        return len(self._entries) if self._end is None else min(self._end, len(self._entries))

    def _candidates(self, block: _Block) -> Sequence[int]:
        """Return the rows that may match."""
        passes = self._prefilter
        if passes is None:
            return range(block.first, block.end)
        found = set[int]()
        if passes(block.content):
            lines = enumerate(block.lines, block.first)
            found = {row for row, line in lines if not line or passes(line)}
        found.update(self._entries.translated(block.first, block.end))
        if not self._is_alone:
            self._requests |= found
            every = range(block.first, block.end)
            found.update(row for row in every if self._responds_to_match(row))
        return sorted(found)

    def _responds_to_match(self, row: int) -> bool:
        """Return whether the row responds to a request that passes the prefilter."""
        request = self._entries.request_row(row)
        if request is not None and self._passed(request):
            return True
        every = self._entries.counterparts(row) if row in self._entries.arrays else ()
        return any(self._passed(each) for each in every if each < row)

    def _passed(self, request: int) -> bool:
        if request >= self._begin:
            return request in self._requests
        assert self._prefilter is not None
        entry = self._entries[request]
        return isinstance(entry, Frame) and self._prefilter(entry.data)

    def _match(self, block: _Block, rows: Sequence[int]) -> Iterator[None]:
        """Add the matching rows among some candidates of a block."""
        batch = self._batch(block, rows)
        matches = self._wanted.matches

        def matching() -> list[int]:
            found: list[int] = []
            for row, fields in batch:
                try:
                    if matches(fields):
                        found.append(row)
                except _NoEntryError:
                    pass
            return found

        if batch:
            self.rows.extend((yield from self._run_slow(matching)))

    def _batch(self, block: _Block, rows: Sequence[int]) -> Sequence[tuple[int, EntryFields]]:
        """Return the entries among some rows, with their fields."""
        entries, alone = self._entries, self._is_alone
        notes = self._notes if self._wanted.needs_notes else no_notes
        if not isinstance(entries, RecordingEntries):
            return [
                (row, fields_of_row(entries, row, entry, is_alone=alone, notes=notes(entry)))
                for row in rows
                if isinstance(entry := entries[row], ENTRY_TYPES)
            ]
        kinds = entries.index.kinds
        translated = frozenset(entries.translated(block.first, block.end))
        batch = [
            (row, _IndexedFields(entries, row, block, notes, is_alone=alone))
            for row in rows
            if kinds[row] in _ENTRIES and row not in translated
        ]
        if self._run_slow is not run_inline:
            # It must not read the recording.
            batch = [(row, fields) for row, fields in batch if fields.can_load(self._wanted.fields)]
        if translated.isdisjoint(rows):
            return batch
        others = [
            (row, fields_of_row(entries, row, entry, is_alone=alone, notes=notes(entry)))
            for row in rows
            if row in translated and isinstance(entry := entries[row], ENTRY_TYPES)
        ]
        return sorted([*batch, *others], key=itemgetter(0))


class _Block:
    """The bytes of some rows, read on demand."""

    def __init__(self, entries: EntrySequence, first: int, end: int) -> None:
        self._entries = entries
        self.first = first
        self.end = end

    @cached_property
    def lines(self) -> list[bytes]:
        """The line of each row; for entries in memory, the data of frames."""
        if isinstance(self._entries, IndexedRecording):
            return self.content[:-1].split(b"\n")
        rows = (self._entries[row] for row in range(self.first, self.end))
        return [row.data if isinstance(row, Frame) else b"" for row in rows]

    @cached_property
    def content(self) -> bytes:
        if isinstance(self._entries, IndexedRecording):
            return self._entries.raw_lines(self.first, self.end)
        return b"\n".join(self.lines)


class _NoEntryError(Exception):
    """A line begins like an entry, but is not one."""


class _IndexedFields(EntryFields):
    """The fields of a row, from the index if possible, else from the decoded line."""

    __slots__ = ("_block", "_index", "_is_alone", "_notes_of", "_recording", "_row")

    def __init__(
        self,
        recording: RecordingEntries,
        row: int,
        block: _Block,
        notes_of: Callable[[Entry], FrameNotes],
        *,
        is_alone: bool,
    ) -> None:
        self._recording = recording
        self._index = recording.index
        self._row = row
        self._block = block
        self._notes_of = notes_of
        self._is_alone = is_alone
        self._entry = self._message = self._decoded = self._notes = self._exchanges = None

    @property
    def parts(self) -> Sequence[EntryFields]:
        return super().parts if self._row in self._index.pairing.arrays else (self,)

    def can_load(self, needs: frozenset[str]) -> bool:
        """Read the named fields; return whether the row is an entry."""
        try:
            for name in needs:
                if name == "text":
                    _ = self.entry, self.request_method
                elif name == "$":
                    _ = self.decoded
                else:
                    FIELDS[name].read(self)
        except _NoEntryError:
            return False
        return True

    @property
    def entry(self) -> Entry:
        if self._entry is None:
            row = decode_line(self._line)
            if not isinstance(row, ENTRY_TYPES):
                raise _NoEntryError
            self._entry = row
        return self._entry

    @property
    def _line(self) -> bytes:
        return self._block.lines[self._row - self._block.first]

    @property
    def seq(self) -> int:
        found = ENTRY_NUMBER.match(self._line)
        return int(found[1]) if found else self.entry.seq

    @property
    def notes(self) -> FrameNotes:
        if self._notes is None:
            self._notes = self._notes_of(self.entry)
        return self._notes

    @property
    def time(self) -> float:
        return self._index.times[self._row]

    @property
    def side(self) -> Side | None:
        return _SIDES.get(self._index.kinds[self._row])

    @property
    def kind(self) -> EntryKind:
        index, row = self._index, self._row
        kind = index.kinds[row]
        if kind not in _FRAMES:
            return "stderr" if kind == LineKind.STDERR else "event"
        if index.pairing.is_request(row):
            return "request"
        # If the method is at the start and no id precedes it, there is no id.
        is_notification = index.method_codes[row] and not index.pairing.partners[row]
        return "notification" if is_notification else super().kind

    @property
    def malformed(self) -> str | None:
        return None if self._index.method_codes[self._row] else super().malformed

    @property
    def method(self) -> str | None:
        index, row = self._index, self._row
        if index.kinds[row] not in _FRAMES:
            return None
        request = index.pairing.request_of(row)
        return index.method(row if request is None else request) or super().method

    @property
    def request_method(self) -> str | None:
        index = self._index
        request = index.pairing.request_of(self._row)
        return None if request is None else index.method(request) or super().request_method

    @property
    def latency(self) -> float | None:
        times = self._index.times
        request = self._index.pairing.request_of(self._row)
        return None if request is None else times[self._row] - times[request]

    @property
    def is_pending(self) -> bool:
        return self._index.pairing.is_waiting(self._row)

    @property
    def stderr(self) -> str | None:
        is_stderr = self._index.kinds[self._row] == LineKind.STDERR
        return super().stderr if is_stderr else None

    @property
    def event(self) -> str | None:
        is_event = self._index.kinds[self._row] == LineKind.EVENT
        return super().event if is_event else None

    def _related(self) -> Exchanges | None:
        has_partner = self._index.pairing.partners[self._row]
        if self._is_alone or not has_partner:
            return None
        if self._exchanges is None:
            self._exchanges = Exchanges()
            entry = self.entry
            if isinstance(entry, Frame):
                self._decoded = decoded_at(self._recording, self._row, entry, self._exchanges)
        return self._exchanges
