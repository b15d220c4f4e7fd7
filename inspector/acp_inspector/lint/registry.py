"""How a lint check is written, and which checks look at which message.

    @check("ACP-L134", on.request("session/prompt"))
    def one_prompt_at_a_time(context: Context) -> CheckResult:
        ...

A check returns None if the frame gave it nothing to look at, `OK` if the rule holds, or problems.
It sees the state as it was before the frame and changes nothing. What a subject wants to remember
is recorded by a function marked `track`, which runs after all checks have looked and the shared
state has been updated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from typing import NamedTuple, TypeVar

from acp_inspector.journal import JournalEvent, StderrChunk
from acp_inspector.lint import on
from acp_inspector.lint.catalog import EARLY_FAMILIES, LintRule, rules
from acp_inspector.lint.context import CheckResult, Context, EndContext
from acp_inspector.lint.on import Trigger, Triggers
from acp_inspector.lint.rules import MODULES
from acp_inspector.lint.state import LintState, opposite
from acp_protocol.framing import Side
from acp_protocol.schema.methods import METHODS, VERSIONS, find_method


@dataclass(frozen=True, slots=True)
class Check:
    """Finds violations of one rule in a frame."""

    rule: str
    triggers: Triggers
    look: Callable[[Context], CheckResult]
    fix: str
    """What the side at fault should do, in one sentence."""
    exercised_by: Triggers = ()
    """Messages that exercise the rule although only `triggers` can violate it."""


@dataclass(frozen=True, slots=True)
class EndCheck:
    """Finds, at the end of a recording, that something never came."""

    rule: str
    look: Callable[[EndContext], CheckResult]
    fix: str


@dataclass(frozen=True, slots=True)
class EventCheck:
    """Looks at stderr text and journal events."""

    rule: str
    look: Callable[[StderrChunk | JournalEvent, LintState], CheckResult]
    fix: str


@dataclass(frozen=True, slots=True)
class Tracker:
    """Records something about a frame for the checks of one subject."""

    triggers: Triggers
    update: Callable[[Context], None]


@dataclass(frozen=True, slots=True)
class EventTracker:
    """Records something about stderr text and journal events."""

    update: Callable[[StderrChunk | JournalEvent, LintState], None]


def check(
    rule: str,
    *triggers: Triggers,
    exercised_by: Triggers = (),
    fix: str | None = None,
) -> Callable[[Callable[[Context], CheckResult]], Check]:
    """Make a function the check of the rule with this id; see `Check`.

    `fix` is for one of several checks of a rule that has another remedy than the catalogue's.
    """
    return lambda look: Check(rule, tuple(chain(*triggers)), look, _fix(rule, fix), exercised_by)


def check_at_end(
    rule: str, *, fix: str | None = None
) -> Callable[[Callable[[EndContext], CheckResult]], EndCheck]:
    """Make a function the check of a rule that is violated by what never came."""
    return lambda look: EndCheck(rule, look, _fix(rule, fix))


def check_event(
    rule: str, *, fix: str | None = None
) -> Callable[[Callable[[StderrChunk | JournalEvent, LintState], CheckResult]], EventCheck]:
    """Make a function the check of a rule about stderr text and journal events."""
    return lambda look: EventCheck(rule, look, _fix(rule, fix))


def _fix(rule: str, fix: str | None) -> str:
    return fix or rules()[rule].fix


def track(
    *triggers: Triggers,
) -> Callable[[Callable[[Context], None]], Tracker]:
    """Make a function record something of the frames that it is called for."""
    return lambda update: Tracker(tuple(chain(*triggers)), update)


def track_event(update: Callable[[StderrChunk | JournalEvent, LintState], None]) -> EventTracker:
    """Make a function record something of stderr text and events, after all checks looked."""
    return EventTracker(update)


Part = TypeVar("Part", Check, EndCheck, EventCheck, Tracker, EventTracker)


@dataclass(frozen=True, slots=True)
class Registry:
    """All checks and trackers, as the modules of `lint.rules` define them."""

    checks: tuple[Check, ...]
    end_checks: tuple[EndCheck, ...]
    event_checks: tuple[EventCheck, ...]
    trackers: tuple[Tracker, ...]
    event_trackers: tuple[EventTracker, ...]

    @property
    def implemented(self) -> Mapping[str, str]:
        """The rules that have a check, each with its fix."""
        every = (*self.checks, *self.end_checks, *self.event_checks)
        return {each.rule: each.fix for each in every}


@cache
def registry() -> Registry:
    """Return every check and tracker.

    Raises:
        KeyError: a check names a rule that is withdrawn or not in the catalog.
    """
    modules = [import_module(f"acp_inspector.lint.rules.{name}") for name in MODULES]
    found = [value for module in modules for value in vars(module).values()]

    def of(type_: type[Part]) -> tuple[Part, ...]:
        return tuple(each for each in found if isinstance(each, type_))

    every = Registry(of(Check), of(EndCheck), of(EventCheck), of(Tracker), of(EventTracker))
    for id_ in every.implemented:
        if rules()[id_].severity is None:
            raise KeyError(f"{id_} is withdrawn")
    return every


class MessageKind(NamedTuple):
    """What the messages that the same checks look at have in common."""

    version: int | None
    side: Side
    kind: str
    method: str | None
    """None: a method that no check names."""
    variant: str | None


@dataclass(frozen=True, slots=True)
class CheckSet:
    """The checks and trackers for messages of one kind."""

    checks: tuple[Check, ...]
    trackers: tuple[Tracker, ...]
    exercised: frozenset[str]
    """Rules that every message of the kind exercises."""


@cache
def _names() -> frozenset[str | None]:
    """Methods and variants that checks name; all others look alike to every check."""
    parts = (*registry().checks, *registry().trackers)
    named = {name for each in parts for _, name in each.triggers}
    return frozenset(named | {row.name for row in METHODS})


def kind_of(context: Context) -> MessageKind:
    """Return the kind of a message."""
    names, kind = _names(), context.kind
    return MessageKind(
        context.version,
        context.side,
        kind if kind != "broken" or context.value else "no object",
        context.method if context.method in names else None,
        context.variant if context.variant in names else None,
    )


@cache
def checks_for(kind: MessageKind, *, unstable: bool) -> CheckSet:
    """Return what looks at messages of a kind."""
    triggers = triggers_of(kind)
    checks = [
        each
        for each in registry().checks
        if applies(rules()[each.rule], kind.version, unstable=unstable)
    ]
    return CheckSet(
        tuple(each for each in checks if triggers.intersection(each.triggers)),
        tuple(each for each in registry().trackers if triggers.intersection(each.triggers)),
        frozenset(each.rule for each in checks if triggers.intersection(each.exercised_by)),
    )


def triggers_of(kind: MessageKind) -> frozenset[Trigger]:
    """Return all that messages of a kind trigger."""
    return frozenset(_triggers(kind))


def _triggers(kind: MessageKind) -> Iterator[Trigger]:
    yield from on.EVERY_FRAME
    if kind.kind == "batch":
        yield from on.BATCHES
    if kind.kind not in {"batch", "no object"}:
        yield from on.EVERY_MESSAGE
    if kind.kind in {"broken", "no object"}:
        yield from on.INVALID
    if kind.kind not in {"request", "notification", "result", "failure"}:
        return
    yield kind.kind, None
    is_call = kind.kind in {"request", "notification"}
    caller = kind.side if is_call else opposite(kind.side)
    if kind.method is None or not _may_send(caller, kind.method, kind.version):
        return
    yield kind.kind, kind.method
    if kind.method == "session/update" and is_call:
        yield "update", None
        if kind.variant is not None:
            yield "update", kind.variant


def _may_send(side: Side, method: str, version: int | None) -> bool:
    """Return whether `side` may call `method`; both may call a method that no version has."""
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


def applies(rule: LintRule, version: int | None, *, unstable: bool) -> bool:
    """Return whether a rule applies to messages of a version; None: not negotiated yet."""
    if rule.is_unstable and not unstable:
        return False
    if version is None:
        return rule.family in EARLY_FAMILIES and rule.versions == VERSIONS
    return version in rule.versions
