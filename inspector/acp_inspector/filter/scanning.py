"""Looks for what an expression means among many entries, in small steps that anyone may leave."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Final

from acp_inspector.filter.columns import Stretch, column_test, is_entry
from acp_inspector.filter.entries import ENTRY, Entries, facts_of
from acp_inspector.filter.facts import Notes
from acp_inspector.filter.frames import NO_NOTES
from acp_inspector.filter.language import Filter
from acp_inspector.filter.sieves import sieve_of
from acp_inspector.journal import Entry
from acp_inspector.recording.file import RecordingFile
from acp_inspector.recording.format import decode_line
from acp_inspector.recording.pairing import ASKS
from acp_inspector.recording.reader import Row

STEP: Final = 256
"""Lines that are looked at in one step, none of which has to be read."""
READ: Final = 16
"""So many lines a line that has to be read stands for."""
FEW: Final = 16
"""One row of so many is read by itself, more of them with all that stand between."""


def no_notes(entry: Entry) -> Notes:
    """Return what others know about an entry: nothing."""
    del entry
    return NO_NOTES


class Scan:
    """The rows that a filter means, as far as entries have been looked at.

    What a recording's index knows is asked of the index, and what a line cannot hold is not read.
    """

    def __init__(
        self, entries: Entries, wanted: Filter, notes: Callable[[Entry], Notes] = no_notes
    ) -> None:
        self._entries = entries
        self._wanted = wanted
        self._notes = notes
        # Text is looked for in the method of an answer's question, too.
        self._is_alone = not (wanted.needs_exchanges or "text" in wanted.needs)
        self._sieve = sieve_of(wanted.expression)
        self._column = column_test(wanted.expression)
        self.rows = array("I")
        """The rows that are meant, in order."""
        self.place = 0
        """Rows that have been looked at."""

    def run(self) -> Iterator[None]:
        """Look at what has not been looked at; pause after each step, of a millisecond or so.

        To be called again later where there is more.
        """
        if isinstance(self._entries, RecordingFile):
            while self.place < len(self._entries):
                yield from self._take_stretch(self._entries)
            return
        cost = 0
        while self.place < len(self._entries):
            self._judge(self.place, self._entries[self.place])
            self.place += 1
            if (cost := cost + READ) >= STEP:
                cost = 0
                yield

    def complete(self) -> array[int]:
        """Look at everything that is there, and return the rows that are meant."""
        for _ in self.run():
            pass
        return self.rows

    def _take_stretch(self, recording: RecordingFile) -> Iterator[None]:
        first, columns = recording.index.columns(self.place)
        columns = columns[self.place - first :]
        first = self.place
        stretch = Stretch(recording.index, columns, first)
        known = self._column(stretch)
        entries = is_entry(stretch)
        count = len(stretch)
        yes = (known.yes & entries).to_bytes(count, "little")
        unknown = (entries & ~(known.yes | known.no)).to_bytes(count, "little")
        yield
        if not any(unknown):
            self.rows.extend(first + place for place, state in enumerate(yes) if state)
            self.place = first + count
            return
        lines = _lines(recording, first, unknown)
        cost = 0
        for place in range(count):
            if yes[place]:
                self.rows.append(first + place)
            elif unknown[place]:
                cost += 1
                line = next(lines)
                is_answer = 0 < columns.partners[place] < ASKS
                if is_answer or self._sieve is None or self._sieve(line):
                    cost += READ
                    self._judge(first + place, decode_line(line))
            self.place = first + place + 1
            if cost >= STEP:
                cost = 0
                yield

    def _judge(self, row: int, said: Row | object) -> None:
        if isinstance(said, ENTRY):
            notes = self._notes(said) if self._wanted.needs_notes else NO_NOTES
            facts = facts_of(self._entries, row, said, is_alone=self._is_alone, notes=notes)
            if self._wanted.matches(facts):
                self.rows.append(row)


def _lines(recording: RecordingFile, first: int, wanted: bytes) -> Iterator[bytes]:
    """Yield the lines of the rows that are wanted."""
    if wanted.count(1) * FEW < len(wanted):
        for place, state in enumerate(wanted):
            if state:
                yield from recording.lines(first + place, first + place + 1)
        return
    every = recording.lines(first, first + len(wanted))
    yield from (line for line, state in zip(every, wanted, strict=True) if state)
