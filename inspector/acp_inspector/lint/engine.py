"""Holds the traffic of one connection against the rules, entry by entry.

For each frame the checks that it concerns look at it, by the state before; then the state is
carried on. Which checks those are is worked out once for each kind of message and kept: a catalogue
of hundreds costs a message only what is about it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.lint import bookkeeping
from acp_inspector.lint.catalogue import EARLY_FAMILIES, Rule, Severity, rules
from acp_inspector.lint.checks import (
    BATCHES,
    BROKEN,
    EVERY_FRAME,
    EVERY_MESSAGE,
    Check,
    Lesson,
    Trigger,
    Workings,
    load,
)
from acp_inspector.lint.moment import Ending, Found, Moment, Problem
from acp_inspector.lint.rules import MODULES
from acp_inspector.lint.state import Point, State
from acp_protocol.dialects.dialect import Dialect
from acp_protocol.dialects.recognition import Recognition
from acp_protocol.framing import Side
from acp_protocol.schema.methods import VERSIONS, find_method

logger = logging.getLogger(__name__)

BROAD: Final = ("ACP-L046", "ACP-L047", "ACP-L371", "ACP-L376", "ACP-L377", "ACP-L378", "ACP-L381")
"""Rules about any place of any message, the broadest first.

Of several that speak of the same place only the last speaks, and it too is silent where a rule
about that very place says it better.
"""

SIDES: Final[tuple[Side, ...]] = ("client", "agent")

PlanKey = tuple[int | None, Side, str, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Finding:
    """A breach of a rule."""

    rule: Rule
    severity: Severity
    message: str
    """What was wrong with what, in one sentence."""
    frames: tuple[int, ...]
    """Numbers of the frames that prove it, oldest first; empty where none is needed."""
    fix: str
    """What whoever is at fault should do."""
    path: str = ""
    """Where in the last frame, if it is about one place."""


@dataclass(slots=True)
class Report:
    """What came of holding a connection against the rules."""

    findings: list[Finding] = field(default_factory=list[Finding])
    """As far as they are kept; see `omitted`."""
    counts: Counter[Severity] = field(default_factory=Counter[Severity])
    """All findings by severity, kept or not."""
    omitted: Counter[str] = field(default_factory=Counter[str])
    """Findings beyond the number that is kept of each rule."""
    versions: set[int] = field(default_factory=set[int])
    """The protocol versions that were agreed upon."""
    dialects: set[str] = field(default_factory=set[str])
    """Dialects that were heard though nobody said so."""
    exercised: set[str] = field(default_factory=set[str])
    """Rules that had something to look at."""
    applied: frozenset[str] = frozenset()
    """Rules that would have been looked at, had there been anything."""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """Rules whose check broke down, with what it said; a mistake of ours."""

    @property
    def idle(self) -> frozenset[str]:
        """Rules that had nothing to look at: that they found nothing says nothing."""
        return self.applied - self.exercised


@dataclass(frozen=True, slots=True)
class _Plan:
    """What looks at, and what learns from, messages of one kind."""

    checks: tuple[Check, ...]
    lessons: tuple[Callable[[Moment], None], ...]
    own_lessons: tuple[Callable[[Moment], None], ...]
    exercised: frozenset[str]
    """Rules that any message of the kind exercises."""


@cache
def workings() -> Workings:
    """Return every check and lesson there is."""
    return load(MODULES)


@cache
def _bookkeeping() -> tuple[Lesson, ...]:
    return tuple(each for each in vars(bookkeeping).values() if isinstance(each, Lesson))


@cache
def _names() -> frozenset[str | None]:
    """Methods and variants that some check or lesson names; all others are alike to all of them."""
    listeners = (*workings().checks, *workings().lessons, *_bookkeeping())
    return frozenset(name for each in listeners for _, name in each.triggers)


@cache
def _plan(key: PlanKey, *, unstable: bool) -> _Plan:
    triggers = frozenset(_triggers(key))
    version = key[0]

    def chosen(lessons: Iterable[Lesson]) -> tuple[Callable[[Moment], None], ...]:
        return tuple(each.learn for each in lessons if triggers.intersection(each.triggers))

    holding = [
        each for each in workings().checks if _holds(rules()[each.rule], version, unstable=unstable)
    ]
    return _Plan(
        tuple(each for each in holding if triggers.intersection(each.triggers)),
        chosen(_bookkeeping()),
        chosen(workings().lessons),
        frozenset(each.rule for each in holding if triggers.intersection(each.by)),
    )


def _triggers(key: PlanKey) -> Iterator[Trigger]:
    version, side, kind, method, variant = key
    yield EVERY_FRAME
    if kind == "batch":
        yield BATCHES
    if kind not in {"batch", "no object"}:
        yield EVERY_MESSAGE
    if kind in {"broken", "no object"}:
        yield BROKEN
    if kind not in {"request", "notification", "result", "failure"}:
        return
    yield kind, None
    is_call = kind in {"request", "notification"}
    asker: Side = side if is_call else ("agent" if side == "client" else "client")
    if method is None or not _may_send(asker, method, version):
        return
    yield kind, method
    if method == "session/update" and is_call:
        yield "update", None
        if variant is not None:
            yield "update", variant


def _may_send(side: Side, method: str, version: int | None) -> bool:
    """Tell whether `side` is the one that `method` comes from; a method of nobody's will do."""
    order = (version, *VERSIONS) if version in VERSIONS else tuple(VERSIONS)
    for each in order:
        row = find_method(method, each or 1)
        if row is not None:
            senders = {row.sent_by}
            twin = find_method(method, each or 1, kind="notification")
            if twin is not None:
                senders.add(twin.sent_by)
            return bool(senders & {side, "either"})
    return True


def _holds(rule: Rule, version: int | None, *, unstable: bool) -> bool:
    """Tell whether a rule holds for messages of a version; None: none is agreed upon yet."""
    if rule.is_unstable and not unstable:
        return False
    if version is None:
        return rule.family in EARLY_FAMILIES and rule.versions == VERSIONS
    return version in rule.versions


class Linter:
    """Judges one connection; entries are fed in order."""

    def __init__(
        self, *, unstable: bool = False, dialect: str | None = None, limit: int | None = None
    ) -> None:
        """Begin.

        Args:
            unstable: parts of the protocol that are not stable yet are allowed, and judged.
            dialect: judge frames by what they mean in this dialect.
            limit: findings that are kept of each rule; all, if None.

        Raises:
            LocalProtocolError: there is no dialect of this name.
        """
        self._unstable = unstable
        self._dialect_name = dialect
        self._limit = limit
        self._kept: Counter[str] = Counter()
        self.report = Report(applied=_applied(unstable=unstable))
        self._begin()

    def _begin(self) -> None:
        self._dialect = None if self._dialect_name is None else _opened(self._dialect_name)
        self._recognition = Recognition() if self._dialect is None else None
        self._state = State(unstable=self._unstable)
        self._last = Point(0, 0.0)
        self._exit: JournalEvent | None = None
        self._is_over = False

    @property
    def version(self) -> int | None:
        """The protocol version that was agreed upon; None before that."""
        return self._state.version

    def feed(self, entry: Entry) -> tuple[Finding, ...]:
        """Judge an entry and return what is new."""
        if isinstance(entry, JournalEvent) and entry.name == "spawn" and self._is_over:
            # Another process: another connection, of which nothing is known yet.
            before = self.finish()
            self._begin()
            return before
        self._last = Point(entry.n, entry.at)
        found = self._any_frame(entry) if isinstance(entry, Frame) else self._beside(entry)
        return self._noted(found)

    def finish(self) -> tuple[Finding, ...]:
        """Judge what is missing, now that nothing more comes, and return what is new."""
        code = self._exit.data.get("code") if self._exit is not None else None
        ending = Ending(self._state, self._last, is_orderly=code == 0, is_over=self._is_over)
        found: list[Finding] = []
        version = self._state.version
        for each in workings().end_checks:
            if _holds(rules()[each.rule], version, unstable=self._unstable):
                problems = self._looked(each.rule, lambda look=each.look: look(ending))
                found += [self._finding(each.rule, each.fix, problem) for problem in problems]
        if version is not None:
            self.report.versions.add(version)
        return self._noted(found)

    def _noted(self, found: list[Finding]) -> tuple[Finding, ...]:
        for each in found:
            self.report.counts[each.severity] += 1
            self._kept[each.rule.id] += 1
            if self._limit is None or self._kept[each.rule.id] <= self._limit:
                self.report.findings.append(each)
            else:
                self.report.omitted[each.rule.id] += 1
        return tuple(found)

    def _any_frame(self, frame: Frame) -> list[Finding]:
        if self._dialect is not None:
            meant = self._dialect.read(frame.raw, frame.side).onward
            return [each for raw in meant for each in self._frame(replace(frame, raw=raw))]
        if self._recognition is not None:
            heard = self._recognition.see(frame.raw, frame.side)
            if heard is not None:
                self.report.dialects.add(heard)
            if heard is not None or all(map(self._recognition.has_settled, SIDES)):
                self._recognition = None
        return self._frame(frame)

    def _frame(self, frame: Frame) -> list[Finding]:
        moment = Moment(frame, self._state)
        names = _names()
        kind = moment.kind
        plan = _plan(
            (
                moment.version,
                moment.side,
                kind if kind != "broken" or moment.value else "no object",
                moment.method if moment.method in names else None,
                moment.variant if moment.variant in names else None,
            ),
            unstable=self._unstable,
        )
        exercised = self.report.exercised
        if not plan.exercised <= exercised:
            exercised |= plan.exercised
        found: list[Finding] = []
        for each in plan.checks:
            try:
                problems = each.look(moment)
            except Exception as problem:  # noqa: BLE001 - a border: one check must not end all
                self._broken(each.rule, problem)
                continue
            if problems is not None:
                exercised.add(each.rule)
                if problems:
                    found += [self._finding(each.rule, each.fix, each_) for each_ in problems]
        try:
            self._carry_on(moment, plan)
        except Exception as problem:  # noqa: BLE001 - a border: one message must not end all
            self._broken("bookkeeping", problem)
        return _without_repetition(found) if len(found) > 1 else found

    def _carry_on(self, moment: Moment, plan: _Plan) -> None:
        bookkeeping.remember(moment)
        for learn in plan.lessons:
            learn(moment)
        if plan.own_lessons:
            if moment.session_id is not None:
                moment.session = self._state.sessions.get(moment.session_id)
            for learn in plan.own_lessons:
                learn(moment)

    def _beside(self, entry: StderrText | JournalEvent) -> list[Finding]:
        found: list[Finding] = []
        for each in workings().side_checks:
            rule = rules()[each.rule]
            if not rule.is_unstable or self._unstable:
                problems = self._looked(each.rule, lambda look=each.look: look(entry, self._state))
                found += [self._finding(each.rule, each.fix, problem) for problem in problems]
        if isinstance(entry, JournalEvent):
            if entry.name == "exit":
                self._exit = entry
            self._is_over = self._is_over or entry.name in {"exit", "eof"}
        return found

    def _looked(self, rule: str, look: Callable[[], Found]) -> tuple[Problem, ...]:
        try:
            problems = look()
        except Exception as problem:  # noqa: BLE001 - a border: one check must not end all
            self._broken(rule, problem)
            return ()
        if problems is None:
            return ()
        self.report.exercised.add(rule)
        return problems

    def _broken(self, rule: str, problem: Exception) -> None:
        if rule not in self.report.failed:
            logger.error("%s broke down at entry %d", rule, self._last.n, exc_info=problem)
            self.report.failed[rule] = f"{type(problem).__name__}: {problem}"

    def _finding(self, rule_id: str, fix: str, problem: Problem) -> Finding:
        rule = rules()[rule_id]
        severity = problem.severity or rule.severity or "info"
        return Finding(rule, severity, problem.text, problem.frames, fix, problem.path)


def lint(entries: Iterable[Entry], *, unstable: bool = False, dialect: str | None = None) -> Report:
    """Hold a whole recording against the rules; see `Linter`."""
    linter = Linter(unstable=unstable, dialect=dialect)
    for entry in entries:
        linter.feed(entry)
    linter.finish()
    return linter.report


@cache
def _applied(*, unstable: bool) -> frozenset[str]:
    implemented = workings().implemented
    return frozenset(id_ for id_ in implemented if unstable or not rules()[id_].is_unstable)


def _without_repetition(found: list[Finding]) -> list[Finding]:
    """Leave out what a broad rule says of a place of which a narrower one has spoken."""
    narrowest: dict[str, int] = {}
    for each in found:
        narrowest[each.path] = max(narrowest.get(each.path, 0), _narrowness(each))
    return [each for each in found if not each.path or _narrowness(each) == narrowest[each.path]]


def _narrowness(finding: Finding) -> int:
    id_ = finding.rule.id
    return BROAD.index(id_) if id_ in BROAD else len(BROAD)


def _opened(name: str) -> Dialect:
    # Dialects are rare, and what they bring along is not.
    from acp_protocol.dialects.catalogue import open_dialect

    return open_dialect(name)
