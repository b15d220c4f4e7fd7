"""Sequences of entries that filters search: in a recording, or as they arrive."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import IN_MEMORY, Entries, Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.messages import DecodedFrame, Decoder, is_array
from acp_inspector.recording.index import MAX_WAITING, LineKind, Pairing, envelopes_in
from acp_inspector.recording.lines import MAX_LINE
from acp_inspector.recording.random_access import IndexedRecording
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

    def translated(self, first: int, end: int) -> Collection[int]:
        """Return the rows from `first` to before `end` that are in a dialect."""
        ...

    def decoded(self, row: int, frame: Frame) -> DecodedFrame:
        """Return the frame of a row, decoded in the dialect of its connection."""
        ...

    @property
    def chosen_dialect(self) -> str | None:
        """The dialect that was chosen; None: the recording names it, or it is recognised."""
        ...

    @property
    def named_dialect(self) -> str | None:
        """The dialect that was chosen, or that the recording names for the last connection."""
        ...

    @property
    def dialect(self) -> str | None:
        """The dialect of the last connection that was read; None for the published protocol."""
        ...


class Meanings:
    """What the rows mean that are in a dialect. They are read in order, by their row."""

    def __init__(self, dialect: str | None = None, directory: str | None = None) -> None:
        self.decoder = Decoder(dialect, directory)
        self.lines: dict[int, tuple[tuple[bytes, ...], str]] = {}
        """By row: its messages in the published protocol, and the dialect that it is in."""
        self.pairing = RowPairs()
        """Pairs these rows, by what they mean."""

    def add(self, row: int, entry: Row) -> None:
        """Read the next row."""
        if isinstance(entry, JournalEvent):
            self.decoder.note(entry)
            if entry.begins_connection:
                self.pairing.restart(row)
        elif isinstance(entry, Frame):
            # Exchanges know frames by their number.
            decoded = self.decoder.decode(replace(entry, seq=row))
            self.pairing.add(decoded)
            if decoded.dialect is not None:
                self.lines[row] = tuple(each.raw for each in decoded.messages), decoded.dialect

    def translated(self, first: int, end: int) -> list[int]:
        """Return the rows from `first` to before `end` that are in a dialect."""
        return [row for row in range(first, end) if row in self.lines] if self.lines else []

    def decoded(self, row: int, frame: Frame) -> DecodedFrame:
        decoded = DecodedFrame(frame)
        if (meaning := self.lines.get(row)) is not None:
            decoded.translate(*meaning)
        return decoded


class RowPairs:
    """Pairs requests and responses of frames that have the number of their row."""

    def __init__(self) -> None:
        self._exchanges = Exchanges(is_lean=True, max_open=MAX_WAITING)
        self.requests: dict[int, list[int]] = {}
        """By row: the rows of the requests that it responds to."""
        self.responses: dict[int, list[int]] = {}
        """By row: the rows of the responses to it."""

    def restart(self, row: int) -> None:
        self._exchanges.restart(row)

    def add(self, decoded: DecodedFrame) -> None:
        self._exchanges.pair(decoded)
        row = decoded.frame.seq
        found = (part.request_frame for part in decoded.paired)
        for request in dict.fromkeys(frame.seq for frame in found if frame is not None):
            self.requests.setdefault(row, []).append(request)
            self.responses.setdefault(request, []).append(row)


class EntryList:
    """Entries of a connection, as they arrive."""

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        *,
        in_memory: int = IN_MEMORY,
        dialect: str | None = None,
    ) -> None:
        """Begin with `entries`; without `dialect` an event names it, or it is recognised."""
        self._entries = Entries(in_memory=in_memory)
        self._pairing = Pairing()
        self._meanings = Meanings(dialect)
        self.chosen_dialect = dialect
        self.extend(entries)

    @property
    def named_dialect(self) -> str | None:
        """The dialect that was chosen, or that an event names for the last connection."""
        return self._meanings.decoder.named

    def extend(self, entries: Iterable[Entry]) -> None:
        new = list(entries)
        for row, entry in enumerate(new, len(self._entries)):
            self._meanings.add(row, entry)
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
        return _request_row(self._meanings, self._pairing, row)

    def response_row(self, row: int) -> int | None:
        """Return the row of the response to the request in a row, if there is one."""
        return _response_row(self._meanings, self._pairing, row)

    @property
    def arrays(self) -> Container[int]:
        """The rows that are arrays of messages."""
        return self._pairing.arrays

    def counterparts(self, row: int) -> Sequence[int]:
        """Return the rows of requests that a row responds to, and of responses to it."""
        return _counterparts(self._meanings, self._pairing, row)

    def translated(self, first: int, end: int) -> Collection[int]:
        """Return the rows from `first` to before `end` that are in a dialect."""
        return self._meanings.translated(first, end)

    def decoded(self, row: int, frame: Frame) -> DecodedFrame:
        """Return the frame of a row, decoded in the dialect of its connection."""
        return self._meanings.decoded(row, frame)

    @property
    def dialect(self) -> str | None:
        """The dialect of the last connection; None for the published protocol."""
        return self._meanings.decoder.dialect


class RecordingEntries(IndexedRecording):
    """The rows of a recording, decoded in the dialect of their connection.

    Where a connection is in the published protocol, no row is read to decode another one.
    """

    def __init__(self, path: Path, dialect: str | None = None, *, max_line: int = MAX_LINE) -> None:
        """Open the recording at `path`; see `IndexedRecording`.

        `dialect` is that of its frames; None: the one that it names, or it is recognised.
        """
        self._chosen = dialect
        super().__init__(path, max_line=max_line)

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._meanings = Meanings(self._chosen)
        self._meanings.decoder.begin_recording(self.header.dialect, self.header.cwd)
        self._read_rows = 0

    def request_row(self, row: int) -> int | None:
        """Return the row of the request that this row responds to, if there is one."""
        return _request_row(self._reached(row), self.index.pairing, row)

    def response_row(self, row: int) -> int | None:
        """Return the row of the response to the request in a row, if there is one."""
        return _response_row(self._reached(row), self.index.pairing, row)

    def counterparts(self, row: int) -> Sequence[int]:
        """Return the rows of requests that a row responds to, and of responses to it."""
        return _counterparts(self._reached(row), self.index.pairing, row)

    def translated(self, first: int, end: int) -> Collection[int]:
        """Return the rows from `first` to before `end` that are in a dialect."""
        return self._reached(end - 1).translated(first, end)

    def decoded(self, row: int, frame: Frame) -> DecodedFrame:
        """Return the frame of a row, decoded in the dialect of its connection."""
        return self._reached(row).decoded(row, frame)

    @property
    def dialect(self) -> str | None:
        """The dialect of the last connection that was read; None for the published protocol."""
        return self._meanings.decoder.dialect

    @property
    def chosen_dialect(self) -> str | None:
        """The dialect that was chosen; None: the recording names it, or it is recognised."""
        return self._chosen

    @property
    def named_dialect(self) -> str | None:
        """The dialect that was chosen, or that the recording names for the last connection."""
        return self._meanings.decoder.named

    def _reached(self, row: int) -> Meanings:
        """Return the meanings, once the rows up to `row` are read."""
        meanings = self._meanings
        while self._read_rows <= row:
            if meanings.decoder.is_official:
                # The next connection may be in a dialect.
                events = self.index.rows_of(LineKind.EVENT, self._read_rows)
                self._read_rows = min(next(events, len(self)), len(self))
                if self._read_rows > row:
                    break
            meanings.add(self._read_rows, self[self._read_rows])
            self._read_rows += 1
        return meanings


def _request_row(meanings: Meanings, pairing: Pairing, row: int) -> int | None:
    if row in meanings.lines:
        return next(iter(meanings.pairing.requests.get(row, ())), None)
    return pairing.request_of(row)


def _response_row(meanings: Meanings, pairing: Pairing, row: int) -> int | None:
    if row in meanings.lines:
        return next(iter(meanings.pairing.responses.get(row, ())), None)
    return pairing.response_of(row)


def _counterparts(meanings: Meanings, pairing: Pairing, row: int) -> Sequence[int]:
    if row in meanings.lines:
        pairs = meanings.pairing
        return [*pairs.requests.get(row, ()), *pairs.responses.get(row, ())]
    return pairing.counterparts(row)


def decode_edited(entries: EntrySequence, row: int, frame: Frame) -> DecodedFrame:
    """Return what was sent in place of the frame of a row, decoded in its dialect."""
    if not entries.translated(row, row + 1):
        return entries.decoded(row, frame)
    decoder = Decoder(entries.dialect)
    for each in entries.counterparts(row):
        request = entries[each]
        if each < row and isinstance(request, Frame):
            # A response names no method.
            decoder.decode(request)
    return decoder.decode(frame)


def decoded_at(
    entries: EntrySequence, row: int, frame: Frame, exchanges: Exchanges | None = None
) -> DecodedFrame:
    """Return the frame of a row, with the requests that it responds to.

    `exchanges` gets these, and the responses to it.
    """
    exchanges = exchanges or Exchanges()
    mine = entries.decoded(row, frame)
    for each in sorted({row, *entries.counterparts(row)}):
        entry = frame if each == row else entries[each]
        if isinstance(entry, Frame):
            exchanges.pair(mine if each == row else entries.decoded(each, entry))
    return mine


def fields_of_row(
    entries: EntrySequence,
    row: int,
    entry: Entry,
    *,
    is_alone: bool = False,
    notes: FrameNotes = NO_NOTES,
) -> EntryFields:
    """Return the fields of the entry in a row; if `is_alone`, without its counterpart."""
    if not isinstance(entry, Frame):
        return EntryFields(entry, notes=notes)
    if is_alone:
        return EntryFields(entry, notes=notes, decoded=entries.decoded(row, entry))
    exchanges = Exchanges()
    decoded = decoded_at(entries, row, entry, exchanges)
    return EntryFields(entry, exchanges, notes=notes, decoded=decoded)
