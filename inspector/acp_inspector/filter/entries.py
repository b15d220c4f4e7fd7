"""Sequences of entries that filters search: in a recording, or as they arrive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import IN_MEMORY, Entries, Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.index import Pairing, envelope
from acp_inspector.recording.reader import Row
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.views.annotations import NO_NOTES, FrameNotes

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
    """Entries of a connection, as they arrive."""

    def __init__(self, entries: Iterable[Entry] = (), *, in_memory: int = IN_MEMORY) -> None:
        self._entries = Entries(in_memory=in_memory)
        self._pairing = Pairing()
        self.extend(entries)

    def extend(self, entries: Iterable[Entry]) -> None:
        new = list(entries)
        self._entries.extend(new)
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
