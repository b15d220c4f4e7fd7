"""Sequences of entries that filters search: in a recording, or as they arrive."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Final, Protocol

from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import IN_MEMORY, Entries, Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.messages import is_array
from acp_inspector.recording.index import Pairing, envelopes_in
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

    @property
    def arrays(self) -> Container[int]:
        """The rows that are arrays of messages."""
        ...

    def counterparts(self, row: int) -> Sequence[int]:
        """Return the rows of requests that a row responds to, and of responses to it."""
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
            if isinstance(entry, Frame)
            for found in envelopes_in(entry.side, entry.data)
        ]
        arrays = [
            place
            for place, entry in enumerate(new)
            if isinstance(entry, Frame) and is_array(entry.data)
        ]
        restarts = [
            place
            for place, entry in enumerate(new)
            if isinstance(entry, JournalEvent) and entry.begins_connection
        ]
        self._pairing.add(len(new), envelopes, restarts, arrays)

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

    @property
    def arrays(self) -> Container[int]:
        """The rows that are arrays of messages."""
        return self._pairing.arrays

    def counterparts(self, row: int) -> Sequence[int]:
        """Return the rows of requests that a row responds to, and of responses to it."""
        return self._pairing.counterparts(row)


def exchange_of_row(entries: EntrySequence, row: int) -> Exchanges:
    """Return exchanges with only the requests and the responses that a row belongs to."""
    exchanges = Exchanges()
    for each in sorted({row, *entries.counterparts(row)}):
        entry = entries[each]
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
