"""Which checks look at a message, worked out once for each kind of message.

A kind is what a message is, who sent it, its method, its variant and the agreed version. What looks
at it is put in order of cost: verdicts that are the same for all of a kind are asked for once,
checks that share a glance are passed over together, and only the rest looks each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from acp_inspector.lint import bookkeeping
from acp_inspector.lint.catalogue import EARLY_FAMILIES, Rule, rules
from acp_inspector.lint.checks import (
    BATCHES,
    BROKEN,
    EVERY_FRAME,
    EVERY_MESSAGE,
    Check,
    Glance,
    Lesson,
    Trigger,
    Workings,
    load,
)
from acp_inspector.lint.moment import Moment
from acp_inspector.lint.rules import MODULES
from acp_inspector.lint.state import other
from acp_protocol.framing import Side
from acp_protocol.schema.methods import METHODS, VERSIONS, find_method

Learn = Callable[[Moment], None]


class Kind(NamedTuple):
    """What messages have in common that are looked at by the same checks."""

    version: int | None
    side: Side
    kind: str
    method: str | None
    """None: one that no check knows; each of those is looked at in full."""
    variant: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What looks at, and what learns from, messages of one kind."""

    checks: tuple[Check, ...]
    """Those that look each time, and those whose verdict is the same each time."""
    glances: tuple[tuple[Glance, tuple[Check, ...]], ...]
    """Checks that are passed over together."""
    lessons: tuple[Learn, ...]
    own_lessons: tuple[Learn, ...]
    exercised: frozenset[str]
    """Rules that any message of the kind exercises."""
    is_for_one_method: bool
    """All messages of the kind have the same method."""


@cache
def workings() -> Workings:
    """Return every check and lesson there is."""
    return load(MODULES)


@cache
def _bookkeeping() -> tuple[Lesson, ...]:
    return tuple(each for each in vars(bookkeeping).values() if isinstance(each, Lesson))


@cache
def _names() -> frozenset[str | None]:
    """Methods and variants that are told apart; all others are alike to all checks."""
    listeners = (*workings().checks, *workings().lessons, *_bookkeeping())
    named = {name for each in listeners for _, name in each.triggers}
    return frozenset(named | {row.name for row in METHODS})


def kind_of(moment: Moment) -> Kind:
    """Return the kind of a message."""
    names, kind = _names(), moment.kind
    return Kind(
        moment.version,
        moment.side,
        kind if kind != "broken" or moment.value else "no object",
        moment.method if moment.method in names else None,
        moment.variant if moment.variant in names else None,
    )


@cache
def plan(kind: Kind, *, unstable: bool) -> Plan:
    """Return what looks at messages of a kind."""
    triggers = frozenset(_triggers(kind))
    holding = [
        each
        for each in workings().checks
        if holds(rules()[each.rule], kind.version, unstable=unstable)
    ]
    looking = [each for each in holding if triggers.intersection(each.triggers)]
    glances: dict[Glance, list[Check]] = {}
    for each in looking:
        if each.glance is not None:
            glances.setdefault(each.glance, []).append(each)

    def chosen(lessons: Iterable[Lesson]) -> tuple[Learn, ...]:
        return tuple(each.learn for each in lessons if triggers.intersection(each.triggers))

    return Plan(
        tuple(each for each in looking if each.glance is None),
        tuple((glance, tuple(checks)) for glance, checks in glances.items()),
        chosen(_bookkeeping()),
        chosen(workings().lessons),
        frozenset(each.rule for each in holding if triggers.intersection(each.by)),
        kind.method is not None,
    )


def _triggers(kind: Kind) -> Iterator[Trigger]:
    yield EVERY_FRAME
    if kind.kind == "batch":
        yield BATCHES
    if kind.kind not in {"batch", "no object"}:
        yield EVERY_MESSAGE
    if kind.kind in {"broken", "no object"}:
        yield BROKEN
    if kind.kind not in {"request", "notification", "result", "failure"}:
        return
    yield kind.kind, None
    is_call = kind.kind in {"request", "notification"}
    asker = kind.side if is_call else other(kind.side)
    if kind.method is None or not _may_send(asker, kind.method, kind.version):
        return
    yield kind.kind, kind.method
    if kind.method == "session/update" and is_call:
        yield "update", None
        if kind.variant is not None:
            yield "update", kind.variant


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


def holds(rule: Rule, version: int | None, *, unstable: bool) -> bool:
    """Tell whether a rule holds for messages of a version; None: none is agreed upon yet."""
    if rule.is_unstable and not unstable:
        return False
    if version is None:
        return rule.family in EARLY_FAMILIES and rule.versions == VERSIONS
    return version in rule.versions
