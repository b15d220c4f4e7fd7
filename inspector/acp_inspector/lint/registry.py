"""Registers lint checks, and selects the checks for each message.

    @check("ACP-L328", on.request("elicitation/create"), mode="form")
    @check("ACP-L329", on.request("elicitation/create"), mode="url")
    def modes_are_claimed(context: Context, mode: str) -> CheckResult:
        ...

A check returns None if it does not apply to the frame, `OK` if the rule holds, or problems. It sees
the state before the frame and changes nothing. The catalogue has the text and the fix of each rule.
A function marked `track` records state for later checks; it runs after all checks and after the
update of the shared state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial, wraps
from importlib import import_module
from inspect import unwrap
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

from acp_inspector.lint import on
from acp_inspector.lint.catalog import EARLY_FAMILIES, LintRule, rules
from acp_inspector.lint.context import CheckResult, Context, Place, Violation
from acp_inspector.lint.on import Trigger, Triggers
from acp_inspector.lint.rules import MODULES
from acp_inspector.lint.state import opposite
from acp_protocol.framing import Side
from acp_protocol.schema.methods import METHODS, VERSIONS, find_method

Look = TypeVar("Look", bound=Callable[..., CheckResult])
Update = TypeVar("Update", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class Check:
    """Finds violations of one rule in a frame, in an event, or at the end of a recording."""

    place: tuple[str, int, int]
    """Where it is defined; checks run in this order."""
    rule: str
    look: Callable[..., CheckResult]
    fix: str
    """What the side at fault should do, in one sentence."""
    triggers: Triggers = ()
    exercised_by: Triggers = ()
    """Messages that exercise the rule although only `triggers` can violate it."""


@dataclass(frozen=True, slots=True)
class Tracker:
    """Records something about a frame, or an event, for the checks of one subject."""

    place: tuple[str, int, int]
    update: Callable[..., None]
    triggers: Triggers = ()


@dataclass(frozen=True, slots=True)
class Registry:
    """All checks and trackers, as the modules of `lint.rules` define them."""

    checks: list[Check] = field(default_factory=list[Check])
    end_checks: list[Check] = field(default_factory=list[Check])
    """These get an `EndContext`."""
    event_checks: list[Check] = field(default_factory=list[Check])
    """These get a chunk of stderr or a journal event, and the state."""
    trackers: list[Tracker] = field(default_factory=list[Tracker])
    event_trackers: list[Tracker] = field(default_factory=list[Tracker])

    @property
    def implemented(self) -> Mapping[str, str]:
        """The rules that have a check, each with its fix."""
        return {
            each.rule: rules()[each.rule].fix
            for each in (*self.checks, *self.end_checks, *self.event_checks)
        }


STATE: Final = "acp_inspector.lint.tracker"
"""The module whose trackers update the shared state."""
_REGISTRY: Final = Registry()


def check(
    rule: str,
    *triggers: Triggers,
    exercised_by: Triggers = (),
    fix: str | None = None,
    **arguments: Any,
) -> Callable[[Look], Look]:
    """Make a function a check of the rule with this id; it is called with the arguments.

    `fix` replaces the catalogue's fix for one of several checks of a rule.
    """
    flat = tuple(chain(*triggers))
    return _register(_REGISTRY.checks, rule, fix, arguments, flat, exercised_by)


def check_at_end(rule: str, *, fix: str | None = None, **arguments: Any) -> Callable[[Look], Look]:
    """Make a function the check of a rule that a missing message violates."""
    return _register(_REGISTRY.end_checks, rule, fix, arguments)


def check_event(rule: str, *, fix: str | None = None, **arguments: Any) -> Callable[[Look], Look]:
    """Make a function the check of a rule about stderr text and journal events."""
    return _register(_REGISTRY.event_checks, rule, fix, arguments)


def _register(
    checks: list[Check],
    rule: str,
    fix: str | None,
    arguments: dict[str, Any],
    triggers: Triggers = (),
    exercised_by: Triggers = (),
) -> Callable[[Look], Look]:
    def register(look: Look) -> Look:
        bound = partial(look, **arguments) if arguments else look
        remedy = fix or rules()[rule].fix
        checks.append(Check(_place(look, checks), rule, bound, remedy, triggers, exercised_by))
        return look

    return register


def each_of(
    places: Callable[[Context], Iterable[Place]],
) -> Callable[[Callable[..., Iterable[Violation]]], Callable[..., CheckResult]]:
    """Make a function that yields the problems of one object a check of all such objects.

    The check does not apply to messages that have none of these objects.
    """

    def made(look: Callable[..., Iterable[Violation]]) -> Callable[..., CheckResult]:
        @wraps(look)
        def check_all(context: Context, **arguments: Any) -> CheckResult:
            found = list(places(context))
            if not found:
                return None
            return context.problems(
                problem
                for path, each in found
                for problem in look(context, path, each, **arguments)
            )

        return check_all

    return made


def track(*triggers: Triggers) -> Callable[[Update], Update]:
    """Make a function record state from the frames that match."""

    def register(update: Update) -> Update:
        place = _place(update, _REGISTRY.trackers)
        _REGISTRY.trackers.append(Tracker(place, update, tuple(chain(*triggers))))
        return update

    return register


def track_event(update: Update) -> Update:
    """Make a function record state from stderr text and events, after all checks."""
    place = _place(update, _REGISTRY.event_trackers)
    _REGISTRY.event_trackers.append(Tracker(place, update))
    return update


def _place(function: Callable[..., Any], before: list[Any]) -> tuple[str, int, int]:
    # The lowest of the decorators of one function is called first.
    line = unwrap(function).__code__.co_firstlineno
    return (function.__module__, line, -len(before))


@cache
def registry() -> Registry:
    """Return every check and tracker.

    Raises:
        KeyError: a check names a rule that is withdrawn or not in the catalog.
    """
    for name in MODULES:
        import_module(f"acp_inspector.lint.rules.{name}")
    for checks in (_REGISTRY.checks, _REGISTRY.end_checks, _REGISTRY.event_checks):
        checks.sort(key=lambda each: each.place)
    for trackers in (_REGISTRY.trackers, _REGISTRY.event_trackers):
        trackers.sort(key=lambda each: each.place)
    for id_ in _REGISTRY.implemented:
        if rules()[id_].severity is None:
            raise KeyError(f"{id_} is withdrawn")
    return _REGISTRY


class MessageKind(NamedTuple):
    """The key of messages that get the same checks."""

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
    state_trackers: tuple[Tracker, ...]
    """Those of the shared state, which run before the others."""
    trackers: tuple[Tracker, ...]
    exercised: frozenset[str]
    """Rules that every message of the kind exercises."""


@cache
def _names() -> frozenset[str | None]:
    """Methods and variants that checks name; all others get the same checks."""
    parts = (*registry().checks, *registry().trackers)
    named = {name for each in parts for _, name in each.triggers}
    return frozenset(named | {row.name for row in METHODS})


def kind_of(context: Context) -> MessageKind:
    """Return the kind of a message."""
    names, kind = _names(), context.kind
    return MessageKind(
        context.version,
        context.side,
        kind if kind != "broken" or isinstance(context.decoded.value, dict) else "no object",
        context.method if context.method in names else None,
        context.variant if context.variant in names else None,
    )


@cache
def checks_for(kind: MessageKind, *, unstable: bool) -> CheckSet:
    """Return the checks and trackers for messages of a kind."""
    triggers = triggers_of(kind)
    checks = [
        each
        for each in registry().checks
        if applies(rules()[each.rule], kind.version, unstable=unstable)
    ]
    trackers = [each for each in registry().trackers if triggers.intersection(each.triggers)]
    return CheckSet(
        tuple(each for each in checks if triggers.intersection(each.triggers)),
        tuple(each for each in trackers if each.place[0] == STATE),
        tuple(each for each in trackers if each.place[0] != STATE),
        frozenset(each.rule for each in checks if triggers.intersection(each.exercised_by)),
    )


def triggers_of(kind: MessageKind) -> frozenset[Trigger]:
    """Return everything that messages of a kind trigger."""
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
    if rule.is_unstable_in(version) and not unstable:
        return False
    if version is None:
        return rule.family in EARLY_FAMILIES and rule.versions == VERSIONS
    return version in rule.versions
