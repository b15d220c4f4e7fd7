"""Sequences of entries that filters search: in a recording, in memory, or streamed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final, Protocol

from acp_inspector.analysis.annotations import NO_NOTES, FrameNotes
from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.index import MAX_WAITING, Envelope, Pairing, envelope
from acp_inspector.recording.reader import Row

ENTRY_TYPES: Final = (Frame, StderrChunk, JournalEvent)
"""Types of rows that are entries; other rows are headers, footers and bad lines."""


class EntrySequence(Protocol):
    """Rows in order, e.g. an `IndexedRecording`."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> Row: ...

    def request_row(self, row: int) -> int | None:
        """Return the row of the request that this row responds to."""
        ...

    def response_row(self, row: int) -> int | None:
        """Return the row of the response to the request in a row, if there is one."""
        ...


class EntryList:
    """Entries in memory, as they arrive."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: list[Entry] = []
        self._pairing = Pairing()
        self.extend(entries)

    def extend(self, entries: Iterable[Entry]) -> None:
        new = list(entries)
        self._entries += new
        envelopes = [
            (place, found)
            for place, entry in enumerate(new)
            if isinstance(entry, Frame) and (found := envelope(entry.side, entry.data))
        ]
        restarts = [
            place
            for place, entry in enumerate(new)
            if isinstance(entry, JournalEvent) and entry.begins_connection
        ]
        self._pairing.add(len(new), envelopes, restarts)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, row: int, /) -> Entry:
        return self._entries[row]

    def request_row(self, row: int) -> int | None:
        """Return the row of the request that this row responds to."""
        return self._pairing.request_of(row)

    def response_row(self, row: int) -> int | None:
        """Return the row of the response to the request in a row, if there is one."""
        return self._pairing.response_of(row)


class StreamedFrames:
    """Pairs frames as they arrive; keeps only requests without a response."""

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._max_waiting = max_waiting
        self._waiting: dict[Envelope, deque[Frame]] = {}

    def add_event(self, event: JournalEvent) -> None:
        """Process an event: request ids start over with a new connection."""
        if event.begins_connection:
            self._waiting.clear()

    def add_frame(self, frame: Frame) -> Exchanges:
        """Process a frame; return exchanges with the request that it responds to."""
        exchanges = Exchanges()
        found = envelope(frame.side, frame.data)
        if found is None:
            return exchanges
        key = found._replace(is_response=False)
        if not found.is_response:
            self._waiting.setdefault(key, deque()).append(frame)
            if len(self._waiting) > self._max_waiting:
                del self._waiting[next(iter(self._waiting))]
        elif requests := self._waiting.get(key):
            exchanges.apply(requests.popleft())
            if not requests:
                del self._waiting[key]
        return exchanges


def exchange_of_row(entries: EntrySequence, row: int) -> Exchanges:
    """Return exchanges with only the request and the response that a row belongs to."""
    exchanges = Exchanges()
    request = entries.request_row(row)
    first = row if request is None else request
    response = entries.response_row(row) if request is None else row
    for each in (first, response):
        entry = None if each is None else entries[each]
        if isinstance(entry, Frame):
            exchanges.apply(entry)
    return exchanges


def fields_of_row(
    entries: EntrySequence,
    row: int,
    entry: Entry,
    *,
    is_alone: bool = False,
    notes: FrameNotes = NO_NOTES,
) -> EntryFields:
    """Return the fields of the entry in a row; if `is_alone`, without its counterpart."""
    if is_alone or not isinstance(entry, Frame):
        return EntryFields(entry, notes=notes)
    return EntryFields(entry, exchange_of_row(entries, row), notes=notes)
