"""Annotations of frames: turn, protocol version, findings, interventions.

Filters and tables read them. `Annotations` is filled from two sources, possibly in two threads:
findings come from lint, everything else from a `SessionModel` and from the events of an
intercepting proxy. Entry numbers index into columns: a million entries take a few megabytes.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

from acp_inspector.journal import Entry, Frame, JournalEvent

Severity: TypeAlias = Literal["error", "warning", "info"]
Intervention: TypeAlias = Literal["held", "released", "edited"]

MAX_ENTRY: Final = 1 << 24
"""Entries with this or a higher number get no notes: numbers come from files and may be huge."""
LINT_FIELDS: Final = frozenset({"finding", "rule"})
"""Filter fields that need lint findings."""
MODEL_FIELDS: Final = frozenset({"turn", "schema", "held", "edited", "gap"})
"""Filter fields that need a `SessionModel`."""
SEVERITIES: Final[tuple[Severity, ...]] = ("info", "warning", "error")
"""From the least to the most severe."""
SEVERITY_LETTERS: Final[dict[Severity, str]] = {"error": "E", "warning": "W", "info": "I"}
"""The mark of a frame that breaks a rule; lower case marks one that helps to prove it."""

_MARKS: Final = (
    "",
    *(SEVERITY_LETTERS[each].lower() for each in SEVERITIES),
    *map(SEVERITY_LETTERS.get, SEVERITIES),
)
"""Marks by rank: a frame that breaks a rule ranks above one that helps to prove something."""
_NO_TIME: Final = -1.0
_BROKEN: Final = re.compile(rb"[\x04-\x06]")
"""The ranks of frames that break a rule."""
_UNBROKEN: Final = b"\x00\x01\x02\x03"
_MAX_SETS: Final = 0xFFFF
_MAX_TURN: Final = 0xFFFFFFFF
_INTERVENTIONS: Final[dict[str, Intervention]] = {
    "held": "held",
    "released": "released",
    "discarded": "released",
    "answered": "released",
    "edited": "edited",
    "corrupted": "edited",
}


def intervention_of(event: JournalEvent) -> tuple[int, Intervention] | None:
    """Return the frame of an intercept event and the intervention; None for other events.

    `held`: a breakpoint paused the frame; `released`: the frame is no longer paused; `edited`: it
    was sent with other bytes.
    """
    n, intervention = event.data.get("of"), _INTERVENTIONS.get(event.name)
    return (n, intervention) if type(n) is int and intervention is not None else None


@dataclass(frozen=True, slots=True)
class RuleViolation:
    """A rule that a frame breaks, with the fields that filters read."""

    rule: str
    """The name of the rule."""
    severity: Severity
    number: str = ""
    """Its number, such as `unknown-mode`, which filters may name as well."""


@dataclass(frozen=True, slots=True)
class FrameNotes:
    """The annotations of an entry."""

    turn: int | None = None
    """Number of the turn that it belongs to, from 1."""
    version: int | None = None
    """Protocol version by whose schema it is read."""
    violations: tuple[RuleViolation, ...] = ()
    is_held: bool = False
    is_edited: bool = False
    is_marked: bool = False
    gap: float | None = None
    """Seconds since the previous frame, of any side; None for the first."""


NO_NOTES: Final = FrameNotes()


class _Rule(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...


class _Finding(Protocol):
    """A lint finding, as a protocol: this package does not import lint."""

    @property
    def rule(self) -> _Rule: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def frames(self) -> tuple[int, ...]: ...


_Fed_contra = TypeVar("_Fed_contra", contravariant=True)


class _Report(Protocol):
    @property
    def findings(self) -> Sequence[_Finding]: ...


class _Linter(Protocol[_Fed_contra]):
    """A linter, as a protocol."""

    @property
    def outdated(self) -> Sequence[_Finding]: ...
    @property
    def report(self) -> _Report: ...
    def feed(self, row: _Fed_contra, /) -> Sequence[_Finding]: ...


def violation(finding: _Finding) -> RuleViolation:
    return RuleViolation(finding.rule.name, finding.severity, finding.rule.id)


class Annotations:
    """Notes about the entries of one journal."""

    def __init__(self) -> None:
        self._ranks = array("B")
        self._places = array("H")
        """For each entry, the index of its rules in `_sets`."""
        self._sets: list[tuple[RuleViolation, ...]] = [()]
        self._known: dict[tuple[RuleViolation, ...], int] = {(): 0}
        self._turns = array("I")
        self._gaps = array("d")
        """Seconds before each frame: 0 if unknown, `_NO_TIME` if two frames have the same time."""
        self._schemas: list[tuple[int, int | None]] = []
        """Protocol versions, behind the first entry that is read by each."""
        self._held: set[int] = set()
        self._edits: dict[int, int] = {}
        """The edited frames, each with the event that reports its last edit."""
        self.finding_counts: Counter[Severity] = Counter()
        """Findings so far."""
        self.findings_revision = self.entries_revision = 0
        """Number of changes of findings so far, and of all other notes."""

    # Filling

    def add_findings(self, findings: Iterable[_Finding]) -> None:
        for finding in findings:
            self.finding_counts[finding.severity] += 1
            rank = SEVERITIES.index(finding.severity) + 1
            broke = finding.frames[-1] if finding.frames else 0
            for n in finding.frames:
                if 0 < n < MAX_ENTRY:
                    _reach(self._ranks, n)
                    level = rank + len(SEVERITIES) if n == broke else rank
                    self._ranks[n] = max(self._ranks[n], level)
            if 0 < broke < MAX_ENTRY:
                self._add_verdict(broke, violation(finding))
            self.findings_revision += 1

    def feed_linter(self, linter: _Linter[_Fed_contra], row: _Fed_contra) -> None:
        """Feed a linter, and add what it finds.

        If it has recognised a dialect, all that it has found so far is added anew.
        """
        found = linter.feed(row)
        if linter.outdated:
            self._forget_findings()
            found = linter.report.findings
        self.add_findings(found)

    def _forget_findings(self) -> None:
        self._ranks, self._places = array("B"), array("H")
        self.finding_counts.clear()
        self.findings_revision += 1

    def _add_verdict(self, n: int, verdict: RuleViolation) -> None:
        _reach(self._places, n)
        before = self._sets[self._places[n]]
        if verdict in before:
            return
        after = (*before, verdict)
        place = self._known.get(after)
        if place is None:
            if len(self._sets) > _MAX_SETS:
                return
            place = self._known[after] = len(self._sets)
            self._sets.append(after)
        self._places[n] = place

    def clear_findings(self) -> None:
        self._edits.clear()
        self._forget_findings()

    def add_entry(self, entry: Entry, notes: FrameNotes) -> None:
        """Add the notes of the next entry; an event may add notes to an earlier frame.

        If all entries are read again, the notes of each one replace those that it had.
        """
        if isinstance(entry, JournalEvent):
            match intervention_of(entry):
                case n, "held" | "edited" as intervention:
                    if intervention == "held":
                        self._held.add(n)
                    self.note_edit(entry)
                    self.entries_revision += 1
                case _:
                    pass
        elif isinstance(entry, Frame) and 0 < entry.seq < MAX_ENTRY:
            self._add_frame(entry.seq, notes)

    def _add_frame(self, n: int, notes: FrameNotes) -> None:
        turn, gap = min(notes.turn or 0, _MAX_TURN), notes.gap
        if turn != _at(self._turns, n):
            _reach(self._turns, n)
            self._turns[n] = turn
            self.entries_revision += 1
        if gap is not None and gap != self.gap(n):
            _reach(self._gaps, n)
            self._gaps[n] = gap or _NO_TIME
            self.entries_revision += 1
        schemas = self._schemas
        if schemas and schemas[-1][0] >= n:
            # Another thread may read the list meanwhile.
            schemas = self._schemas = schemas[: bisect_left(schemas, n, key=_first)]
            self.entries_revision += 1
        if not schemas or schemas[-1][1] != notes.version:
            schemas.append((n, notes.version))
            self.entries_revision += 1

    def note_edit(self, entry: Entry) -> None:
        """Add the edit of a frame, if the entry reports one."""
        if isinstance(entry, JournalEvent) and (found := intervention_of(entry)) is not None:
            n, intervention = found
            if intervention == "edited" and self._edits.get(n, 0) < entry.seq:
                self._edits[n] = entry.seq

    def edited_by(self, n: int) -> int:
        """Return the event that reports the last edit of frame `n`; 0 if it was not edited."""
        return self._edits.get(n, 0)

    def edits(self) -> list[tuple[int, int]]:
        """Return the edited frames, each with the event that reports its last edit."""
        return [*self._edits.items()]

    def edited_between(self, first: int, last: int) -> int:
        """Return the last event that reports an edit of a frame from `first` to `last`, or 0."""
        if last - first < len(self._edits):
            # A rule may have edited very many frames.
            return max(map(self.edited_by, range(first, last + 1)), default=0)
        return max((seq for n, seq in self.edits() if first <= n <= last), default=0)

    def clear_entries(self) -> None:
        """Remove everything but the findings."""
        self._turns = array("I")
        self._gaps = array("d")
        self._schemas = []
        self._held = set()
        self.entries_revision += 1

    # Reading

    def notes(self, entry: Entry, *, is_marked: bool = False) -> FrameNotes:
        """Return what is known about an entry; `is_marked` is passed on."""
        n = entry.seq
        verdicts = self._sets[_at(self._places, n)]
        turn = _at(self._turns, n) or None
        schemas = self._schemas
        place = bisect_right(schemas, n, key=_first)
        schema = schemas[place - 1][1] if place and isinstance(entry, Frame) else None
        is_held, is_edited = n in self._held, n in self._edits
        gap = self.gap(n)
        if not (verdicts or turn or schema or is_held or is_edited or is_marked or gap is not None):
            return NO_NOTES
        return FrameNotes(turn, schema, verdicts, is_held, is_edited, is_marked, gap)

    def gap(self, n: int) -> float | None:
        """Return the seconds between the previous frame and frame `n`; None if not known."""
        stored = self._gaps[n] if 0 < n < len(self._gaps) else 0.0
        return stored or None if stored != _NO_TIME else 0.0

    def turn(self, n: int) -> int | None:
        """Return the number of the turn that entry `n` belongs to, if it is known."""
        return _at(self._turns, n) or None

    def rules(self, n: int) -> list[str]:
        return sorted({verdict.rule for verdict in self._sets[_at(self._places, n)]})

    def mark(self, n: int) -> str:
        """Return the letter that marks an entry; empty if it is in no finding."""
        return _MARKS[_at(self._ranks, n)] or ""

    def after(self, n: int) -> Iterator[int]:
        """Yield the numbers of the entries after `n` that break a rule, in order.

        Those that only help to prove it are left out.
        """
        # Copy: another thread may write meanwhile.
        ranks = bytes(self._ranks)
        for found in _BROKEN.finditer(ranks, max(n + 1, 0)):
            yield found.start()

    def before(self, n: int) -> Iterator[int]:
        """Yield the numbers of the entries before `n` that break a rule, in reverse order."""
        ranks = bytes(self._ranks)[: max(n, 0)]
        while ranks := ranks.rstrip(_UNBROKEN):
            yield len(ranks) - 1
            ranks = ranks[:-1]

    @property
    def finding_count(self) -> int:
        return sum(self.finding_counts.values())


def _first(each: tuple[int, int | None]) -> int:
    return each[0]


def _reach(column: array[int] | array[float], n: int) -> None:
    """Extend a column so that it has an item for `n`."""
    missing = max(n + 1 - len(column), 0)
    column.frombytes(bytes(missing * column.itemsize))


def _at(column: array[int], n: int) -> int:
    return column[n] if 0 < n < len(column) else 0
