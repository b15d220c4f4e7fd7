"""Cases, their results, and the report about one peer.

A case states one requirement. It has steps, which a function plays against the peer, or rules of
the linter, or both. A case without steps is judged by the traffic of all other cases: it passes if
its rules had something to check and found nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from acp_inspector.journal import Entry, Frame
from acp_inspector.lint.engine import Finding, Linter
from acp_inspector.lint.registry import rules
from acp_protocol.dialects.registry import DIALECTS
from acp_protocol.dialects.spellings import BATCHES, NO_DIALECT
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

Verdict: TypeAlias = Literal["pass", "fail", "advice", "not offered", "not reached"]
"""advice: the peer does otherwise than a case advises, which breaks nothing."""
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
WORDS: Final[Mapping[Verdict, str]] = {
    "pass": "passed",
    "fail": "failed",
    "advice": "against advice",
}
Profile: TypeAlias = Literal["v1", "v1-unstable", "v2"]
PROFILES: Final[tuple[Profile, ...]] = ("v1", "v1-unstable", "v2")
V1: Final[tuple[Profile, ...]] = ("v1", "v1-unstable")
UNSTABLE: Final[tuple[Profile, ...]] = ("v1-unstable",)
V2: Final[tuple[Profile, ...]] = ("v2",)
MAX_FRAMES: Final = 6
"""Frames that are kept to prove a verdict."""
MAX_FRAME_BYTES: Final = 600
"""Bytes of such a frame that are kept."""
VERSION_OF: Final[Mapping[Profile, int]] = {"v1": 1, "v1-unstable": 1, "v2": 2}

BROAD_RULES: Final = frozenset({"schema-error", "invalid-update"})
"""Rules about any field of any message."""
COUNTED: Final = frozenset({"error", "warning"})
"""Severities of findings that can fail a case."""
OTHER_RULES: Final = ("*",)
"""All rules that no other case has."""

Steps = TypeVar("Steps", bound=Callable[..., Awaitable[None]])


class CaseFailedError(Exception):
    """The peer broke the requirement; the message says how."""


class NotOfferedError(Exception):
    """The peer does not offer what the case is about."""


class NotReachedError(Exception):
    """The situation that the case is about did not arise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One requirement."""

    id: str
    section: str
    """Page and heading of the specification."""
    sentence: str
    """What the peer must do, in our words."""
    profiles: tuple[Profile, ...] = PROFILES
    rules: tuple[str, ...] = ()
    """Rules of the linter that state the same; an error that one of them finds fails the case."""
    advice: tuple[Profile, ...] = ()
    """Profiles in which no sentence requires it: there, a peer that does otherwise does not fail.

    Warnings of the rules count there, too.
    """
    steps: Callable[..., Awaitable[None]] | None = None
    own: bool = False
    """Whether the steps need a connection of their own."""
    is_bare: bool = False
    """Whether the client of that connection claims no capability."""
    is_official: bool = False
    """Whether the case is about bytes that a translated dialect writes otherwise."""
    unlike: tuple[str, ...] = ()
    """Dialects in which the requirement does not hold."""
    is_about_order: bool = False
    """Whether it is about messages that come on different streams over HTTP, in no order."""
    only: str = ""
    """The dialect that the requirement is of; empty: it holds without one, too."""
    persona: str = ""
    """For clients: the persona that the client has to talk to; empty: any."""

    @property
    def subject(self) -> str:
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A frame that proves a verdict."""

    side: Side
    text: str
    """The frame, cut to a limit; untrusted."""

    def to_json(self) -> Json:
        return {"side": self.side, "text": self.text}


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict on one case."""

    case: Case
    verdict: Verdict
    reason: str = ""
    """Why; empty if it passed."""
    frames: tuple[Evidence, ...] = ()
    violated: tuple[str, ...] = ()
    """Rules of the linter that the peer broke."""
    is_known: bool = False
    """Whether it is a failure that a baseline holds."""

    def to_json(self) -> Json:
        return {
            "id": self.case.id,
            "section": self.case.section,
            "sentence": self.case.sentence,
            "rules": list(self.case.rules),
            "advice": list(self.case.advice),
            "verdict": self.verdict,
            "reason": self.reason,
            "frames": [frame.to_json() for frame in self.frames],
            "known": self.is_known,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The verdicts on one peer."""

    peer: str
    """How the peer introduced itself, or its command; untrusted."""
    side: Side
    profile: Profile
    results: tuple[Result, ...]
    persona: str = ""

    def rewritten(self, change: Callable[[str], str]) -> Report:
        """Return the report with other texts in place of those that may have words of the peer."""
        results = (
            replace(
                each,
                reason=change(each.reason),
                frames=tuple(replace(frame, text=change(frame.text)) for frame in each.frames),
            )
            for each in self.results
        )
        return replace(self, peer=change(self.peer), results=tuple(results))

    @property
    def counts(self) -> Mapping[Verdict, int]:
        found = Counter(result.verdict for result in self.results)
        return {verdict: found[verdict] for verdict in VERDICTS}

    @property
    def known(self) -> int:
        """How many failures a baseline holds."""
        return sum(result.is_known for result in self.results)

    @property
    def has_failed(self) -> bool:
        """Whether a case failed that no baseline holds."""
        return self.counts["fail"] > self.known

    @property
    def shows_nothing(self) -> bool:
        """Whether no case was judged, because the situations did not arise."""
        counts = self.counts
        is_judged = counts["pass"] or counts["fail"] or counts["advice"]
        return not is_judged and counts["not reached"] > 0

    @property
    def is_passed(self) -> bool:
        """Whether no case failed but known ones, and the peer was tried at all."""
        return not self.has_failed and not self.shows_nothing

    @property
    def headline(self) -> str:
        """The report in one line."""
        known = f" ({self.known} known)" if self.known else ""
        counts = ", ".join(
            f"{number} {WORDS.get(verdict, verdict)}{known if verdict == 'fail' else ''}"
            for verdict, number in self.counts.items()
            if number or verdict != "advice"
        )
        nothing = "; nothing was shown" if self.shows_nothing else ""
        return f"ACP {self.profile} {self.side}: {counts}{nothing}"

    @property
    def badge(self) -> str:
        """The report in a few words."""
        counts = self.counts
        passed, unreached = counts["pass"], counts["not reached"]
        more = f", {unreached} not reached" if unreached else ""
        judged = passed + counts["fail"]
        return f"ACP {self.profile} {self.side}: {passed} of {judged} cases passed{more}"

    def to_json(self) -> dict[str, Json]:
        return {
            "peer": self.peer,
            "side": self.side,
            "profile": self.profile,
            "persona": self.persona,
            "passed": self.is_passed,
            "badge": self.badge,
            "counts": dict(self.counts),
            "cases": [result.to_json() for result in self.results],
        }


@dataclass(slots=True)
class Suite:
    """Cases by id, in the order of their definition."""

    side: Side
    cases: dict[str, Case] = field(default_factory=dict[str, Case])

    def add(self, case: Case) -> None:
        assert case.id not in self.cases, case.id
        assert case.steps is not None or case.rules, case.id
        self.cases[case.id] = case

    def case(
        self, id_: str, section: str = "", *, says: str = "", **options: Any
    ) -> Callable[[Steps], Steps]:
        """Register the decorated function as the steps of a case.

        The first paragraph of its docstring is the sentence, unless the steps serve several cases
        (`says`). Without either, the first of the case's rules says it.
        """

        def register(steps: Steps) -> Steps:
            source = section
            sentence = says or " ".join((steps.__doc__ or "").partition("\n\n")[0].split())
            if not sentence:
                rule = rules()[options["rules"][0]]
                sentence, source = rule.text, rule.source
            self.add(Case(id=id_, section=source, sentence=sentence, steps=steps, **options))
            return steps

        return register

    def select(
        self, profile: Profile, patterns: Sequence[str] = (), *, dialect: str | None = None
    ) -> list[Case]:
        """Return the cases of a profile whose id matches one of `patterns` (all if there is none).

        Cases that say nothing about peers of the dialect are left out.
        """
        return [
            case
            for case in self.cases.values()
            if profile in case.profiles
            and not (dialect in DIALECTS and case.is_official)
            and dialect not in case.unlike
            and case.only in {"", dialect}
            and (not patterns or any(fnmatchcase(case.id, each) for each in patterns))
        ]


def evidence(frames: Iterable[Frame], side: Side = "agent") -> tuple[Evidence, ...]:
    """Return the last frames, cut, with the last one that was sent to the judged side."""
    kept: deque[Frame] = deque(maxlen=MAX_FRAMES)
    before: Frame | None = None
    for frame in frames:
        kept.append(frame)
        if frame.side != side:
            before = frame
    if before is not None and before.seq < kept[0].seq:
        kept.popleft()
        kept.appendleft(before)
    return tuple(
        Evidence(
            frame.side,
            frame.data[:MAX_FRAME_BYTES].decode(errors="replace")
            + (" …" if len(frame.data) > MAX_FRAME_BYTES else ""),
        )
        for frame in kept
    )


@dataclass(slots=True)
class Traffic:
    """What the linter found in the frames of all connections."""

    exercised: set[str] = field(default_factory=set[str])
    found: dict[str, list[tuple[Finding, tuple[Evidence, ...]]]] = field(
        default_factory=dict[str, list[tuple[Finding, tuple[Evidence, ...]]]]
    )
    """By rule: the errors and warnings of the judged side."""
    has_frames: bool = False
    """Whether the judged side has sent anything."""

    def add(
        self, entries: Sequence[Entry], side: Side, *, unstable: bool, takes_batches: bool = False
    ) -> None:
        """Lint a connection and take over what concerns `side`."""
        linter = Linter(unstable=unstable, dialect=BATCHES if takes_batches else NO_DIALECT)
        frames: dict[int, Frame] = {}
        for entry in entries:
            linter.report.exercised = set()
            linter.feed(entry)
            is_ours = isinstance(entry, Frame) and entry.side != side
            self.exercised |= {
                rule
                for rule in linter.report.exercised
                if not is_ours or rules()[rule].side not in {"sender", "both"}
            }
            if isinstance(entry, Frame):
                frames[entry.seq] = entry
                self.has_frames = self.has_frames or entry.side == side
        linter.report.exercised = set()
        missing = linter.finish()
        self.exercised |= linter.report.exercised
        findings = [each for each in linter.report.findings if each.severity in COUNTED]
        special = {
            each.frames[-1:]
            for each in findings
            if each.severity == "error" and each.rule.name not in BROAD_RULES
        }
        for finding in findings:
            if finding.rule.name in BROAD_RULES and finding.frames[-1:] in special:
                # Another rule says more about that frame.
                continue
            if _is_fault_of(side, finding, frames, is_missing=finding in missing):
                proof = [frames[seq] for seq in finding.frames if seq in frames]
                self.found.setdefault(finding.rule.name, []).append((finding, evidence(proof)))

    def judge(self, case: Case, suite: Suite, profile: Profile) -> Result:
        """Return the verdict on a case by its rules alone."""
        severities = COUNTED if profile in case.advice else COUNTED - {"warning"}
        rules_ = case.rules
        if rules_ == OTHER_RULES:
            owned = {rule for each in suite.cases.values() for rule in each.rules}
            rules_ = tuple(rule for rule in self.found if rule not in owned)
        found = {
            rule: [each for each in self.found.get(rule, ()) if each[0].severity in severities]
            for rule in rules_
        }
        violated = tuple(rule for rule, each in found.items() if each)
        for rule in violated[:1]:
            # The one with the longest proof is the easiest to follow.
            finding, frames = max(found[rule], key=lambda each: len(each[1]))
            more = f" (and {len(found[rule]) - 1} more)" if len(found[rule]) > 1 else ""
            reason = f"{rule}: {finding.message}{more}"
            return Result(case, "fail", reason, frames, violated)
        is_other = case.rules == OTHER_RULES
        is_reached = self.has_frames if is_other else self.exercised.intersection(case.rules)
        if case.steps is None and not is_reached:
            return Result(case, "not reached", "nothing of the kind was sent")
        return Result(case, "pass")


def softened(result: Result, profile: Profile) -> Result:
    """Return a result; the verdict is `advice` if the case failed and is advice in the profile."""
    is_advice = result.verdict == "fail" and profile in result.case.advice
    return replace(result, verdict="advice") if is_advice else result


def _is_fault_of(
    side: Side, finding: Finding, frames: Mapping[int, Frame], *, is_missing: bool
) -> bool:
    """Return whether `side` broke the rule: by the rule's text, or as sender of the last frame.

    If what a receiver had to send is missing, the last frame is the one that it received.
    """
    blamed = rules()[finding.rule.name].side
    if blamed in {"client", "agent"}:
        return blamed == side
    last = finding.frames[-1] if finding.frames else 0
    is_sender = last in frames and frames[last].side == side
    return last in frames and not is_sender if is_missing and blamed == "receiver" else is_sender


AGENT: Final = Suite("agent")
"""The cases for agents; `agent.cases` fills it."""
CLIENT: Final = Suite("client")
"""The cases for clients; `client.cases` fills it."""
