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
from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.file import RecordingFile
from acp_inspector.recording.format import decode_line
from acp_inspector.recording.pairing import ASKS
from acp_inspector.recording.reader import Row

STEP: Final = 16
"""Entries that are read in one step."""
READ: Final = 16
"""Entries that are passed over in the time that one is read."""
ROWS: Final = 512
"""Rows whose lines are looked at in one step."""


def no_notes(entry: Entry) -> Notes:
    """Return what others know about an entry: nothing."""
    del entry
    return NO_NOTES


class Scan:
    """The rows that a filter means, as far as entries have been looked at.

    What a recording's index knows is asked of the index, and what a line cannot hold is not read.
    """

    def __init__(
        self,
        entries: Entries,
        wanted: Filter,
        notes: Callable[[Entry], Notes] = no_notes,
        *,
        begin: int = 0,
        end: int | None = None,
    ) -> None:
        """Look from row `begin` on, up to row `end`; None: to whatever is the last one."""
        self._entries = entries
        self._wanted = wanted
        self._notes = notes
        # Text is looked for in the method of an answer's question, too.
        self._is_alone = not (wanted.needs_exchanges or "text" in wanted.needs)
        self._sieve = sieve_of(wanted.expression, "line")
        self._sieves = sieve_of(wanted.expression, "lines")
        self._column = column_test(wanted.expression)
        self.rows = array("I")
        """The rows that are meant, in order."""
        self._end = end
        self.place = begin
        """Rows that have been looked at."""

    def run(self) -> Iterator[None]:
        """Look at what has not been looked at; pause after each step, of a millisecond or so.

        To be called again later where there is more.
        """
        if isinstance(self._entries, RecordingFile):
            while self.place < self._last:
                yield from self._take_stretch(self._entries)
            return
        cost = 0
        while self.place < self._last:
            entry = self._entries[self.place]
            is_sifted = self._is_sifted(entry)
            if not is_sifted:
                self._judge(self.place, entry)
            self.place += 1
            if (cost := cost + (1 if is_sifted else READ)) >= STEP * READ:
                cost = 0
                yield

    @property
    def _last(self) -> int:
        return len(self._entries) if self._end is None else min(self._end, len(self._entries))

    def complete(self) -> array[int]:
        """Look at everything that is there, and return the rows that are meant."""
        for _ in self.run():
            pass
        return self.rows

    def _is_sifted(self, entry: Row) -> bool:
        """Tell whether an entry in memory is known not to be meant without being read."""
        if self._sieves is None or not isinstance(entry, Frame):
            return False
        said = entry.raw
        question = None if self._is_alone else self._entries.question_of(self.place)
        if question is not None:
            asked = self._entries[question]
            said += asked.raw if isinstance(asked, Frame) else b""
        return not self._sieves(said)

    def _take_stretch(self, recording: RecordingFile) -> Iterator[None]:
        first, columns = recording.index.columns(self.place)
        columns = columns[self.place - first : self._last - first]
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
        for begin in range(0, count, ROWS):
            end = min(begin + ROWS, count)
            if not self._has_none(recording, stretch, begin, end, yes):
                places = [each for each in range(begin, end) if yes[each] or unknown[each]]
                yield from self._take_places(recording, stretch, places, yes)
            self.place = first + end
            yield

    def _has_none(
        self, recording: RecordingFile, stretch: Stretch, begin: int, end: int, yes: bytes
    ) -> bool:
        """Tell whether nothing that is meant can stand in some rows, by one look at them all."""
        if not self._is_alone or self._sieves is None or yes.find(1, begin, end) >= 0:
            return False
        return not self._sieves(recording.block(stretch.first + begin, stretch.first + end))

    def _take_places(
        self, recording: RecordingFile, stretch: Stretch, places: list[int], yes: bytes
    ) -> Iterator[None]:
        """Take those of some rows that are meant; all others of them are not."""
        read = dict(self._unsieved(recording, stretch, [p for p in places if not yes[p]]))
        # What is read is put among what is known, so that rows stay in order.
        cost = 0
        for place in places:
            if yes[place]:
                self.rows.append(stretch.first + place)
            elif place in read:
                self._judge(stretch.first + place, decode_line(read[place]))
                cost += 1
            self.place = stretch.first + place + 1
            if cost >= STEP:
                cost = 0
                yield
        yield

    def _unsieved(
        self, recording: RecordingFile, stretch: Stretch, places: list[int]
    ) -> Iterator[tuple[int, bytes]]:
        """Yield places and lines of the rows that have to be read."""
        if not places:
            return
        first, begin = stretch.first, places[0]
        block = recording.block(first + begin, first + places[-1] + 1)
        answers: dict[int, int] = {}
        if not self._is_alone:
            partners = stretch.columns.partners
            answers = {p: partners[p] - 1 for p in places if 0 < partners[p] < ASKS}
        # Questions mostly stand in the same block as their answers.
        asked = {row: recording.block(row) for row in answers.values() if row < first + begin}
        if self._sieves is not None and not self._sieves(b"".join((block, *asked.values()))):
            return
        lines = block[:-1].split(b"\n")
        for place in places:
            said = line = lines[place - begin]
            if place in answers:
                question = answers[place]
                said += b"\n" + (asked.get(question) or lines[question - first - begin])
            if self._sieve is None or self._sieve(said):
                yield place, line

    def _judge(self, row: int, said: Row | object) -> None:
        if isinstance(said, ENTRY):
            notes = self._notes(said) if self._wanted.needs_notes else NO_NOTES
            facts = facts_of(self._entries, row, said, is_alone=self._is_alone, notes=notes)
            if self._wanted.matches(facts):
                self.rows.append(row)
