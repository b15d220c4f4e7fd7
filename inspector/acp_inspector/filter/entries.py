"""Entries of which any can be had by its place: of a recording, or of what was heard so far."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final, Protocol

from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.filter.facts import Notes
from acp_inspector.filter.frames import NO_NOTES, FrameFacts
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.recording.pairing import MOST_OPEN, Pairing, envelope
from acp_inspector.recording.reader import Row

ENTRY: Final = (Frame, StderrText, JournalEvent)
"""What of a recording's rows can be asked about; the others are headers, footers and faults."""


class Entries(Protocol):
    """Rows in order; `RecordingFile` is one such."""

    def __len__(self) -> int:
        """Return how many there are so far."""
        ...

    def __getitem__(self, row: int, /) -> Row:
        """Return what stands in a row."""
        ...

    def question_of(self, row: int) -> int | None:
        """Return the row of the question that a row answers."""
        ...

    def answer_of(self, row: int) -> int | None:
        """Return the row of the answer to the question in a row, if it has come."""
        ...


class EntryList:
    """Entries in memory, as they are heard."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: list[Entry] = []
        self._pairing = Pairing()
        self._partners = array("I")
        self._answers: dict[int, int] = {}
        self.extend(entries)

    def extend(self, entries: Iterable[Entry]) -> None:
        """Put entries behind those that are there."""
        first = len(self._entries)
        self._entries.extend(entries)
        fresh = self._entries[first:]
        found = [
            envelope(place, entry.side, entry.raw)
            for place, entry in enumerate(fresh)
            if isinstance(entry, Frame)
        ]
        envelopes = [each for each in found if each is not None]
        begins = [
            place
            for place, entry in enumerate(fresh)
            if isinstance(entry, JournalEvent) and entry.begins_connection
        ]
        self._partners += self._pairing.take(first, len(fresh), envelopes, begins)
        for place, *_, is_answer in envelopes:
            partner = self._partners[first + place]
            if is_answer and partner:
                self._answers[partner - 1] = first + place

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, row: int, /) -> Entry:
        return self._entries[row]

    def question_of(self, row: int) -> int | None:
        """Return the row of the question that a row answers."""
        partner = self._partners[row]
        return partner - 1 if 0 < partner <= row else None

    def answer_of(self, row: int) -> int | None:
        """Return the row of the answer to the question in a row, if it has come."""
        return self._answers.get(row)


class PassingFrames:
    """Frames as they come, of which only questions without an answer are kept."""

    def __init__(self) -> None:
        self._pairing = Pairing()
        self._asked: dict[int, Frame] = {}
        self._count = 0

    def pass_event(self, event: JournalEvent) -> None:
        """Take the next event: with another process come other ids."""
        if event.begins_connection:
            self._pairing.restart()
            self._asked.clear()

    def exchanges_before(self, frame: Frame) -> Exchanges:
        """Take the next frame; return what has seen the question that it answers, if any."""
        row, self._count = self._count, self._count + 1
        exchanges = Exchanges()
        found = envelope(0, frame.side, frame.raw)
        if found is None:
            return exchanges
        partner = self._pairing.take(row, 1, [found])[0]
        if not found.is_answer:
            self._asked[row] = frame
            if len(self._asked) > MOST_OPEN:
                del self._asked[next(iter(self._asked))]
        elif (question := self._asked.pop(partner - 1, None)) is not None:
            exchanges.apply(question)
        return exchanges


def exchange_around(entries: Entries, row: int) -> Exchanges:
    """Return what has seen the question and the answer that a row belongs to, and nothing else."""
    exchanges = Exchanges()
    question = entries.question_of(row)
    first = row if question is None else question
    answer = entries.answer_of(row) if question is None else row
    for each in (first, answer):
        entry = None if each is None else entries[each]
        if isinstance(entry, Frame):
            exchanges.apply(entry)
    return exchanges


def facts_of(
    entries: Entries, row: int, entry: Entry, *, is_alone: bool = False, notes: Notes = NO_NOTES
) -> FrameFacts:
    """Return the facts about the entry in a row; `is_alone`: without its question and answer."""
    if is_alone or not isinstance(entry, Frame):
        return FrameFacts(entry, notes=notes)
    return FrameFacts(entry, exchange_around(entries, row), notes=notes)
