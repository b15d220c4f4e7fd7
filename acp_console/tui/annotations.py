"""What is known of frames beside what they say: findings, turns, holds; gathered in the background.

The threads that lint and study write here, each what is its own; the screen only reads. Numbers of
entries are places in columns: a million of them take a few megabytes.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from acp_inspector.filter.facts import Notes, Severity, Verdict
from acp_inspector.filter.frames import NO_NOTES
from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.lint.catalog import SEVERITIES
from acp_inspector.lint.engine import Finding

LARGEST: Final = 1 << 24
"""Number of an entry from which on nothing is noted of it: numbers come from files."""
EDITS: Final = ("edited", "corrupted")
"""Events of frames that left otherwise than they came."""
HELD: Final = "held"
JUDGED: Final = frozenset({"finding", "rule"})
"""Fields of filters for which lint has to know."""
STUDIED: Final = frozenset({"turn", "schema", "held", "edited"})
"""Fields of filters for which a study has to know."""
LETTERS: Final[dict[Severity, str]] = {"error": "E", "warning": "W", "info": "I"}
"""What marks a frame where a rule was broken; a small letter, one that helps to prove it."""

_MARKS: Final = ("", *(LETTERS[each].lower() for each in SEVERITIES), *map(LETTERS.get, SEVERITIES))
"""Marks by their rank: where it broke, that is told before whatever else the frame proves."""
_NOTED: Final = re.compile(rb"[^\0]")
_MOST_SETS: Final = 0xFFFF


class Annotations:
    """What threads have found out about the entries of one journal."""

    def __init__(self) -> None:
        self._ranks = bytearray()
        self._places = array("H")
        """For each entry, which of `_sets` are its verdicts."""
        self._sets: list[tuple[Verdict, ...]] = [()]
        self._known: dict[tuple[Verdict, ...], int] = {(): 0}
        self._turns = array("H")
        self._schemas: list[tuple[int, int | None]] = []
        """Protocol versions, behind the first entry that is read by each."""
        self._held: set[int] = set()
        self._edited: set[int] = set()
        self.counts: Counter[Severity] = Counter()
        """Findings so far."""
        self.judged = self.studied = 0
        """How often something was found out."""

    # What threads write.

    def judge(self, findings: Iterable[Finding]) -> None:
        """Take note of findings."""
        for finding in findings:
            self.counts[finding.severity] += 1
            rank = SEVERITIES.index(finding.severity) + 1
            broke = finding.frames[-1] if finding.frames else 0
            for n in finding.frames:
                if 0 < n < LARGEST:
                    _reach(self._ranks, n)
                    told = rank + len(SEVERITIES) if n == broke else rank
                    self._ranks[n] = max(self._ranks[n], told)
            if 0 < broke < LARGEST:
                self._add_verdict(broke, Verdict(finding.rule.id, finding.severity))
            self.judged += 1

    def _add_verdict(self, n: int, verdict: Verdict) -> None:
        _reach(self._places, n)
        before = self._sets[self._places[n]]
        if verdict in before:
            return
        after = (*before, verdict)
        place = self._known.get(after)
        if place is None:
            if len(self._sets) > _MOST_SETS:
                return
            place = self._known[after] = len(self._sets)
            self._sets.append(after)
        self._places[n] = place

    def forget_findings(self) -> None:
        """Begin anew with what lint finds."""
        self._ranks, self._places = bytearray(), array("H")
        self.counts.clear()
        self.judged += 1

    def study(self, entry: Entry, notes: Notes) -> None:
        """Take note of the turn of a frame, the version it is read by, and what became of it."""
        if isinstance(entry, JournalEvent):
            of = entry.data.get("of")
            if isinstance(of, int) and entry.name in (*EDITS, HELD):
                (self._held if entry.name == HELD else self._edited).add(of)
                self.studied += 1
        elif isinstance(entry, Frame) and 0 < entry.n < LARGEST:
            if notes.turn is not None:
                _reach(self._turns, entry.n)
                self._turns[entry.n] = min(notes.turn, _MOST_SETS)
                self.studied += 1
            if not self._schemas or self._schemas[-1][1] != notes.schema:
                self._schemas.append((entry.n, notes.schema))
                self.studied += 1

    def forget_study(self) -> None:
        """Begin anew with what is studied."""
        self._turns = array("H")
        self._schemas = []
        self._held, self._edited = set(), set()
        self.studied += 1

    # What the screen reads.

    def notes(self, entry: Entry, *, is_marked: bool = False) -> Notes:
        """Return what filters may ask about an entry beside what it says."""
        n = entry.n
        verdicts = self._sets[_at(self._places, n)]
        turn = _at(self._turns, n) or None
        schema = self._schema(n) if isinstance(entry, Frame) else None
        is_held, is_edited = n in self._held, n in self._edited
        if not (verdicts or turn or schema or is_held or is_edited or is_marked):
            return NO_NOTES
        return Notes(turn, schema, verdicts, is_held, is_edited, is_marked)

    def _schema(self, n: int) -> int | None:
        schemas = self._schemas
        place = bisect_right(schemas, n, key=lambda each: each[0])
        return schemas[place - 1][1] if place else None

    def mark(self, n: int) -> str:
        """Return the letter that marks an entry; empty if nothing was found about it."""
        return _MARKS[_at(self._ranks, n)] or ""

    def after(self, n: int) -> Iterator[int]:
        """Yield the entries behind `n` about which something was found, in order."""
        # A copy: nobody can write while it is searched.
        ranks = bytes(self._ranks)
        for found in _NOTED.finditer(ranks, max(n + 1, 0)):
            yield found.start()

    def before(self, n: int) -> Iterator[int]:
        """Yield the entries before `n` about which something was found, the last first."""
        ranks = bytes(self._ranks)[: max(n, 0)]
        while ranks := ranks.rstrip(b"\0"):
            yield len(ranks) - 1
            ranks = ranks[:-1]

    @property
    def found(self) -> int:
        """How many findings there are so far."""
        return sum(self.counts.values())


def _reach(column: bytearray | array[int], n: int) -> None:
    """Make a column so long that it has a place for `n`."""
    missing = n + 1 - len(column)
    if missing > 0:
        width = 1 if isinstance(column, bytearray) else column.itemsize
        zeros = bytes(missing * width)
        if isinstance(column, bytearray):
            column += zeros
        else:
            column.frombytes(zeros)


def _at(column: bytearray | array[int], n: int) -> int:
    return column[n] if 0 < n < len(column) else 0
