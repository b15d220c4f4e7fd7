"""Checks the traffic of one connection against the rules, entry by entry.

For each frame, the checks for its kind run against the state before it; then the state is
updated. The checks for a kind of message are computed once (`registry`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final, cast

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.lint.catalog import AtFault, LintRule
from acp_inspector.lint.context import CheckResult, Context, EndContext, Problem
from acp_inspector.lint.json_lines import is_piece
from acp_inspector.lint.registry import CheckSet, applies, checks_for, kind_of, registry, rules
from acp_inspector.lint.state import LintState, Point, opposite
from acp_inspector.lint.tracker import update_state
from acp_inspector.messages import NAMES, DecodedFrame, Decoder
from acp_inspector.recording.format import Header
from acp_inspector.views.annotations import Severity
from acp_protocol.dialects.base import Dialect
from acp_protocol.dialects.spellings import BATCHES, NO_DIALECT, WIRE_NAMES
from acp_protocol.jsonrpc import Batch, InvalidMessage, message_spans

logger = logging.getLogger(__name__)

TOPICS: Final = 10_000
"""Most topics of findings that are remembered."""
MAX_EARLIER: Final = 2_000
"""Most entries of a connection in which a dialect is recognised."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation of a rule."""

    rule: LintRule
    severity: Severity
    message: str
    """What was wrong with what, in one sentence."""
    frames: tuple[int, ...]
    """Numbers of the frames that prove it, oldest first; empty where none is needed."""
    fix: str
    """What the side at fault should do."""
    path: str = ""
    """Where in the last frame, if it is about one place."""
    topic: str = ""
    """If set, a connection has no other finding of the rule with this topic."""
    at_fault: AtFault = "both"
    """The side at fault: `agent` or `client` where the frames show which; else as the rule says."""


@dataclass(slots=True)
class LintReport:
    """The result of checking a connection against the rules."""

    findings: list[Finding] = field(default_factory=list[Finding])
    """The findings that were kept; see `omitted`."""
    counts: Counter[Severity] = field(default_factory=Counter[Severity])
    """All findings by severity, kept or not."""
    omitted: Counter[str] = field(default_factory=Counter[str])
    """Findings beyond the number that is kept of each rule."""
    hidden: Counter[str] = field(default_factory=Counter[str])
    """Findings that are left out on request, by what leaves them out, such as `--filter`."""
    versions: set[int] = field(default_factory=set[int])
    """The protocol versions that were agreed upon."""
    dialects: set[str] = field(default_factory=set[str])
    """Dialects that were recognised although none was selected. It was checked in them, but for
    `v2-batch`, which is no translation."""
    exercised: set[str] = field(default_factory=set[str])
    """Rules that had something to check."""
    applicable: frozenset[str] = frozenset()
    """Rules that could apply to the recording, whether or not they had something to check."""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """Rules whose check raised an exception (a bug), with the exception as text."""

    @property
    def idle(self) -> frozenset[str]:
        """Rules that had nothing to check: no finding is no evidence of compliance."""
        return self.applicable - self.exercised - self.failed.keys()

    def restore(self, before: LintReport) -> None:
        """Forget what was found since this copy was made."""
        del self.findings[len(before.findings) :]
        self.counts, self.omitted = before.counts.copy(), before.omitted.copy()
        self.hidden, self.exercised = before.hidden.copy(), set(before.exercised)

    def keep(self, chosen: Iterable[bool], *, limit: int | None) -> None:
        """Leave out the findings that are not chosen, and those beyond the limit of their rule.

        Args:
            chosen: for each finding; none was omitted so far.
            limit: maximum number of findings kept for each rule; None: all.
        """
        found = [each for each, is_chosen in zip(self.findings, chosen, strict=True) if is_chosen]
        kept: Counter[str] = Counter()
        self.findings = []
        self.counts = Counter(each.severity for each in found)
        for each in found:
            kept[each.rule.name] += 1
            if limit is None or kept[each.rule.name] <= limit:
                self.findings.append(each)
            else:
                self.omitted[each.rule.name] += 1


class Linter:
    """Checks one connection; entries are fed in order."""

    def __init__(
        self,
        *,
        unstable: bool = False,
        dialect: str | None = None,
        limit: int | None = None,
        hides: Callable[[Finding], str] | None = None,
    ) -> None:
        """Begin.

        Args:
            unstable: allow and check the unstable parts of the protocol.
            dialect: translate frames from this dialect before checking; `none`: from none; None:
                from the one that the header of the recording names, or that is recognised.
            limit: maximum number of findings kept for each rule; None: all.
            hides: returns what leaves a finding out of the report, such as `--filter`; empty:
                nothing does.

        Raises:
            LocalProtocolError: there is no dialect of this name.
        """
        self._unstable = unstable
        self._recognises = dialect is None
        self._named = None if dialect == NO_DIALECT else dialect
        """The dialect of each connection."""
        self._directory = ""
        self._limit = limit
        self._hides = hides
        self._kept: Counter[str] = Counter()
        self._spoken: set[str | None] = set()
        """The dialects of the connections so far."""
        self.report = LintReport()
        self.outdated: tuple[Finding, ...] = ()
        """Findings that `feed` returned before its last call, and that do not hold any more: a
        dialect was recognised, in which the entries of the connection were checked again."""
        self._begin()

    def _begin(self) -> None:
        """Begin a connection, whose dialect is not known unless it was named."""
        self._earlier: list[Entry] | None = None
        """The entries so far; None once the dialect is known, or not recognised."""
        if self._recognises and self._named is None:
            self._earlier = []
        self._before = replace(self.report, findings=[*self.report.findings])
        self._before.restore(self._before)
        self._kept_before = self._kept.copy()
        self._returned: list[Finding] = []
        """What `feed` has returned, while a dialect may still be recognised."""
        self._spoken_before = self._spoken.copy()
        self._begin_in(self._named)

    def _begin_in(self, dialect: str | None) -> None:
        """Begin a connection in a dialect, or once more when a dialect is recognised."""
        self._spoken = self._spoken_before | {dialect}
        self.report.applicable = frozenset[str]().union(
            *(_applicable_rules(unstable=self._unstable, dialect=each) for each in self._spoken)
        )
        translator = self._translator(dialect)
        is_official = dialect is not None or not self._recognises
        self._decoder = None if translator is None and is_official else Decoder(translator)
        """None: the frames are in the published protocol."""
        self._has_headers = translator is not None and translator.framing == "headers"
        self._state = LintState(unstable=self._unstable, dialect=dialect)
        self._last = Point(0, 0.0)
        self._exit: JournalEvent | None = None
        self._topics: set[tuple[str, str]] = set()
        self._is_over = False
        self._has_client_left = False

    @property
    def version(self) -> int | None:
        """The protocol version that was agreed upon; None before that."""
        return self._state.version

    def feed(self, row: Entry | Header) -> tuple[Finding, ...]:
        """Check an entry and return the new findings.

        The header of a recording, if it is fed first, names the dialect and the directory.
        """
        self.outdated = ()
        if isinstance(row, Header):
            self._directory = row.cwd
            named = row.dialect
            if self._recognises and named in {BATCHES, *WIRE_NAMES}:
                self._named = named
            self._begin()
            return ()
        return self._feed_entry(row)

    def _feed_entry(self, entry: Entry) -> tuple[Finding, ...]:
        is_next = isinstance(entry, JournalEvent) and entry.begins_connection
        before = self._end_of_the_last() if is_next else ()
        if self._earlier is not None and self._decoder is not None:
            self._earlier.append(entry)
            if self._decoder.is_official or len(self._earlier) > MAX_EARLIER:
                self._earlier = self._decoder = None
        if not isinstance(entry, Frame):
            self._last = Point(entry.seq, entry.time)
            found = before + self._collect(self._check_event(entry))
            named = entry.dialect if isinstance(entry, JournalEvent) else None
            return found if named is None else found + self._take_name(named)
        if self._decoder is None:
            return self._collect(self._feed_frame(entry))
        decoded = self._decoder.decode(entry)
        if self._earlier is not None and self._decoder.dialect is not None:
            return self._begin_anew(self._earlier, self._decoder.dialect)
        return self._collect(self._feed_frame(entry, self._meant(decoded)))

    def _take_name(self, name: str) -> tuple[Finding, ...]:
        """Take the dialect that an event names for the connection; return new findings."""
        if not self._recognises or name not in NAMES:
            return ()
        found: tuple[Finding, ...] = ()
        dialect = None if name == NO_DIALECT else name
        if dialect != self._named:
            # The header was written before that was known.
            self._named = None
        if dialect != self._state.dialect:
            if self._earlier is not None and dialect is not None:
                found = self._begin_anew(self._earlier, dialect)
            else:
                self._begin_in(dialect)
        if dialect is None:
            self._decoder = None
        self._earlier = None
        return found

    def _begin_anew(self, earlier: list[Entry], dialect: str) -> tuple[Finding, ...]:
        """Check the entries of the connection once more, in the dialect that is recognised now."""
        self.outdated, self._returned = tuple(self._returned), []
        self.report.restore(self._before)
        self._kept = self._kept_before.copy()
        if dialect != BATCHES:
            self.report.dialects.add(dialect)
        self._earlier = None
        self._begin_in(dialect)
        return tuple(found for each in earlier for found in self._feed_entry(each))

    def _translator(self, dialect: str | None) -> Dialect | None:
        if dialect is None or dialect == BATCHES:
            return None
        # Imported late: dialects are rare, and their modules are slow to import.
        from acp_protocol.dialects.registry import open_dialect

        # Everything is in a directory that is not known.
        return open_dialect(dialect, self._directory or "/")

    def _end_of_the_last(self) -> tuple[Finding, ...]:
        """Finish a connection when the next one begins.

        The recorder may have been killed, so no event marks the end.
        """
        if not (self._is_over or self._state.last):
            return ()
        before = self._end()
        self._begin()
        return before

    def finish(self) -> tuple[Finding, ...]:
        """Check for missing messages at the end of the recording; return the new findings."""
        self.outdated = ()
        return self._end()

    def _end(self) -> tuple[Finding, ...]:
        code = self._exit.data.get("code") if self._exit is not None else None
        ending = EndContext(
            self._state,
            self._last,
            is_orderly=code == 0,
            is_over=self._is_over,
            has_client_left=self._has_client_left,
        )
        found: list[Finding] = []
        version = self._state.version
        for each in registry().end_checks:
            if self._applies(each.rule):
                problems = self._run_check(each.rule, lambda look=each.look: look(ending))
                found += [self._finding(each.rule, each.fix, one) for one in problems or ()]
        if version is not None:
            self.report.versions.add(version)
        return self._collect(found)

    def _collect(self, found: list[Finding]) -> tuple[Finding, ...]:
        if not found:
            return ()
        new: list[Finding] = []
        for each in found:
            if self._hides is not None and (reason := self._hides(each)):
                self.report.hidden[reason] += 1
                new.append(each)
                continue
            if each.topic:
                if (each.rule.name, each.topic) in self._topics:
                    continue
                if len(self._topics) < TOPICS:
                    self._topics.add((each.rule.name, each.topic))
            new.append(each)
            self.report.counts[each.severity] += 1
            self._kept[each.rule.name] += 1
            if self._limit is None or self._kept[each.rule.name] <= self._limit:
                self.report.findings.append(each)
            else:
                self.report.omitted[each.rule.name] += 1
        if self._earlier is not None:
            self._returned += new
        return tuple(new)

    def _feed_frame(self, frame: Frame, meant: Sequence[bytes] | None = None) -> list[Finding]:
        """Check a frame; `meant` are its messages in the published protocol, if it is in none."""
        self._last = Point(frame.seq, frame.time)
        if meant is None:
            return self._check_frame(frame)
        if self._has_headers and frame.header:
            frame = replace(frame, header=b"", line_ending=b"\n")
        return [each for raw in meant for each in self._check_frame(replace(frame, data=raw))]

    def _meant(self, decoded: DecodedFrame) -> Sequence[bytes] | None:
        """Return what a frame means in the published protocol; None: it is in that, or no JSON."""
        if self._decoder is None or self._decoder.dialect is None:
            return None
        lines = [message.raw for message in decoded.messages]
        return lines if all(lines) else [decoded.frame.data]

    def _check_frame(self, frame: Frame) -> list[Finding]:
        context = Context(frame, self._state)
        if context.kind == "draft batch" and is_piece(context):
            # It may end a message that is spread over several lines.
            context.kind = "batch"
        found = self._check_context(context)
        if context.kind == "draft batch":
            found += self._check_entries(context)
        elif context.kind == "batch" and self._state.version != 1:
            messages = cast("Batch", context.decoded.message).entries
            if any(not isinstance(each, InvalidMessage) for each in messages):
                self.report.dialects.add(BATCHES)
        return found

    def _check_entries(self, batch: Context) -> list[Finding]:
        """Check the messages of an array one by one; paths of findings begin with their index."""
        found: list[Finding] = []
        self._state.is_in_batch = True
        raw = batch.frame.data
        for index, (start, end) in enumerate(message_spans(raw) if batch.decoded.value else ()):
            entry = replace(batch.frame, data=raw[start:end], line_ending=b"\n")
            context = Context(entry, self._state)
            if context.kind == "draft batch":
                # An array in an array is no message.
                context.kind = "broken"
            for each in self._check_context(context):
                path = f"{index}.{each.path}" if each.path else str(index)
                found.append(replace(each, path=path))
        self._state.is_in_batch = False
        return found

    def _check_context(self, context: Context) -> list[Finding]:
        kind = kind_of(context)
        checks = checks_for(kind, unstable=self._unstable)
        self.report.exercised |= checks.exercised
        found = self._check(context, checks)
        self._track(context, checks)
        return found

    def _check(self, context: Context, checks: CheckSet) -> list[Finding]:
        found: list[Finding] = []
        exercised = self.report.exercised
        for each in checks.checks:
            try:
                problems = each.look(context)
            except Exception as problem:  # noqa: BLE001 - boundary: one check must not end all
                self._report_failure(each.rule, problem)
                continue
            if problems is None:
                continue
            exercised.add(each.rule)
            if problems:
                context.reported.update(one.path for one in problems)
                found += [self._finding(each.rule, each.fix, one, context) for one in problems]
        return found

    def _track(self, context: Context, checks: CheckSet) -> None:
        try:
            update_state(context)
            for tracker in checks.state_trackers:
                tracker.update(context)
            if checks.trackers:
                if context.session_id is not None:
                    context.session = self._state.sessions.get(context.session_id)
                for tracker in checks.trackers:
                    tracker.update(context)
        except Exception as problem:  # noqa: BLE001 - boundary: one message must not end all
            self._report_failure("bookkeeping", problem)

    def _check_event(self, entry: StderrChunk | JournalEvent) -> list[Finding]:
        found: list[Finding] = []
        for each in registry().event_checks:
            if self._applies(each.rule):
                problems = self._run_check(
                    each.rule, lambda look=each.look: look(entry, self._state)
                )
                found += [self._finding(each.rule, each.fix, one) for one in problems or ()]
        for tracker in registry().event_trackers:
            tracker.update(entry, self._state)
        if isinstance(entry, JournalEvent):
            if entry.name == "exit":
                self._exit = entry
            if entry.name in {"exit", "eof"} and not self._is_over:
                self._is_over = True
                self._has_client_left = entry.data.get("from") == "client"
        return found

    def _applies(self, rule: str) -> bool:
        """Return whether a rule applies to the version that was agreed upon."""
        state = self._state
        return applies(rules()[rule], state.version, unstable=state.unstable, dialect=state.dialect)

    def _run_check(self, rule: str, look: Callable[[], CheckResult]) -> CheckResult:
        try:
            problems = look()
        except Exception as problem:  # noqa: BLE001 - boundary: one check must not end all
            self._report_failure(rule, problem)
            return None
        if problems is not None:
            self.report.exercised.add(rule)
        return problems

    def _report_failure(self, rule: str, problem: Exception) -> None:
        if rule not in self.report.failed:
            logger.error("%s broke down at entry %d", rule, self._last.seq, exc_info=problem)
            self.report.failed[rule] = f"{type(problem).__name__}: {problem}"

    def _finding(
        self, name: str, fix: str, problem: Problem, context: Context | None = None
    ) -> Finding:
        rule = rules()[name]
        severity = problem.severity or rule.severity_in(self._state.version)
        return Finding(
            rule=rule,
            severity=severity,
            message=problem.text,
            frames=problem.frames,
            fix=fix or rule.fix,
            path=problem.path,
            topic=problem.topic,
            at_fault=self._at_fault(rule, problem, context),
        )

    def _at_fault(self, rule: LintRule, problem: Problem, context: Context | None) -> AtFault:
        """Return which side broke the rule; what the rule says where the frames leave it open."""
        last = problem.frames[-1] if problem.frames else None
        if context is not None and last == context.frame.seq:
            is_response = context.kind in {"result", "failure"}
            if rule.side in {"sender", "both"} or (rule.side == "responder" and is_response):
                return context.side
        elif context is None and rule.side in {"responder", "receiver"}:
            # It has not responded.
            for each in self._state.open():
                if each.seq == last:
                    return opposite(each.side)
        return rule.side


def lint(
    rows: Iterable[Entry | Header], *, unstable: bool = False, dialect: str | None = None
) -> LintReport:
    """Check a whole recording against the rules; see `Linter`."""
    linter = Linter(unstable=unstable, dialect=dialect)
    for row in rows:
        linter.feed(row)
    linter.finish()
    return linter.report


@cache
def _applicable_rules(*, unstable: bool, dialect: str | None) -> frozenset[str]:
    return frozenset(
        name
        for name, rule in rules().items()
        if (unstable or not rule.is_unstable) and rule.is_of(dialect)
    )
