"""Looks for what an expression means among many entries, in small steps that anyone may leave."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Final, Protocol, TypeAlias, TypeVar

from acp_inspector.filter.columns import Stretch, column_test, is_entry, try_words
from acp_inspector.filter.entries import ENTRY, Entries, facts_of
from acp_inspector.filter.facts import Notes
from acp_inspector.filter.frames import NO_NOTES, FrameFacts
from acp_inspector.filter.language import Filter
from acp_inspector.filter.sieves import sieve_of
from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.file import RecordingFile
from acp_inspector.recording.format import decode_line
from acp_inspector.recording.pairing import ASKS
from acp_inspector.recording.reader import Row

T = TypeVar("T")

STEP: Final = 16
"""Entries that are read in one step."""
READ: Final = 16
"""Entries that are passed over in the time that one is read."""
ROWS: Final = 512
"""Rows whose lines are looked at in one step."""

_Candidate: TypeAlias = tuple[int, FrameFacts | None]
"""A row, and what is asked about it; None: it is known to be meant."""


def no_notes(entry: Entry) -> Notes:
    """Return what others know about an entry: nothing."""
    del entry
    return NO_NOTES


class Aside(Protocol):
    """Does elsewhere what may take long, such as trying a pattern."""

    def __call__(self, deed: Callable[[], T], /) -> Generator[None, None, T]:
        """Let `deed` be done; pause as long as it goes on, and return what came of it."""
        ...


def at_once(deed: Callable[[], T], /) -> Generator[None, None, T]:
    """Do it here and now."""
    yield from ()
    return deed()


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
        aside: Aside = at_once,
    ) -> None:
        """Get ready to look.

        Args:
            entries: What is looked at.
            wanted: What is looked for.
            notes: Tells what others know about an entry.
            begin: The first row.
            end: The row behind the last; None: whatever is there.
            aside: Where patterns are tried, all of them: that may take long. What is done there
                knows nothing of `entries`.
        """
        self._aside = aside if wanted.has_patterns else at_once
        self._tests: list[Callable[[str], bool]] = []
        """Those of patterns that are tried on words which the index knows."""
        self._words = 0
        """Words on which they were tried."""
        self._entries = entries
        self._wanted = wanted
        self._notes = notes
        # Text is looked for in the method of an answer's question, too.
        self._is_alone = not (wanted.needs_exchanges or "text" in wanted.needs)
        self._sieve = sieve_of(wanted.expression, "line")
        self._sieves = sieve_of(wanted.expression, "lines")
        self._column = column_test(wanted.expression, self._tests)
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
        cost, place = 0, self.place
        batch: list[_Candidate] = []
        while place < self._last:
            entry = self._entries[place]
            is_sifted = self._is_sifted(place, entry)
            if not is_sifted:
                batch += self._candidate(place, entry)
            place += 1
            cost += 1 if is_sifted else READ
            if cost >= STEP * READ or place >= self._last:
                yield from self._judge(batch)
                self.place, cost = place, 0
                batch.clear()
                yield

    @property
    def _last(self) -> int:
        return len(self._entries) if self._end is None else min(self._end, len(self._entries))

    def complete(self) -> array[int]:
        """Look at everything that is there, and return the rows that are meant."""
        for _ in self.run():
            pass
        return self.rows

    def _is_sifted(self, place: int, entry: Row) -> bool:
        """Tell whether an entry in memory is known not to be meant without being read."""
        if self._sieves is None or not isinstance(entry, Frame):
            return False
        said = entry.raw
        question = None if self._is_alone else self._entries.question_of(place)
        if question is not None:
            asked = self._entries[question]
            said += asked.raw if isinstance(asked, Frame) else b""
        return not self._sieves(said)

    def _take_stretch(self, recording: RecordingFile) -> Iterator[None]:
        first, columns = recording.index.columns(self.place)
        columns = columns[self.place - first : self._last - first]
        first = self.place
        stretch = Stretch(recording.index, columns, first)
        yield from self._try_words(stretch)
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

    def _try_words(self, stretch: Stretch) -> Iterator[None]:
        """Try patterns on the words that the index has learnt; what came of it is remembered."""
        if not self._tests:
            return
        words = stretch.index.methods.names[self._words :]
        self._words += len(words)
        yield from self._aside(lambda: try_words(self._tests, words))

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
        read = yield from self._unsieved(recording, stretch, [p for p in places if not yes[p]])
        # What is read is put among what is known, so that rows stay in order.
        batch: list[_Candidate] = []
        cost = 0
        for place in places:
            row = stretch.first + place
            if yes[place]:
                batch.append((row, None))
            elif place in read:
                batch += self._candidate(row, decode_line(read[place]))
                cost += 1
            if cost >= STEP:
                yield from self._judge(batch)
                self.place, cost = row + 1, 0
                batch.clear()
                yield
        yield from self._judge(batch)
        yield

    def _unsieved(
        self, recording: RecordingFile, stretch: Stretch, places: list[int]
    ) -> Generator[None, None, dict[int, bytes]]:
        """Return places and lines of the rows that have to be read."""
        if not places:
            return {}
        first, begin = stretch.first, places[0]
        block = recording.block(first + begin, first + places[-1] + 1)
        answers: dict[int, int] = {}
        if not self._is_alone:
            partners = stretch.columns.partners
            answers = {p: partners[p] - 1 for p in places if 0 < partners[p] < ASKS}
        # Questions mostly stand in the same block as their answers.
        asked = {row: recording.block(row) for row in answers.values() if row < first + begin}
        if self._sieves is not None and not self._sieves(b"".join((block, *asked.values()))):
            return {}
        lines = block[:-1].split(b"\n")
        sieve = self._sieve
        if sieve is None:
            return {place: lines[place - begin] for place in places}

        def passes(place: int) -> bool:
            said = lines[place - begin]
            if place in answers:
                question = answers[place]
                said += b"\n" + (asked.get(question) or lines[question - first - begin])
            return sieve(said)

        return (
            yield from self._aside(
                lambda: {place: lines[place - begin] for place in places if passes(place)}
            )
        )

    def _candidate(self, row: int, said: Row | object) -> list[_Candidate]:
        """Return a row with what is asked about it; nothing for what is no entry."""
        if not isinstance(said, ENTRY):
            return []
        notes = self._notes(said) if self._wanted.needs_notes else NO_NOTES
        return [(row, facts_of(self._entries, row, said, is_alone=self._is_alone, notes=notes))]

    def _judge(self, batch: Sequence[_Candidate]) -> Iterator[None]:
        """Take those rows of a batch that are meant."""
        if batch:
            matches = self._wanted.matches
            found = yield from self._aside(
                lambda: [row for row, facts in batch if facts is None or matches(facts)]
            )
            self.rows.extend(found)
