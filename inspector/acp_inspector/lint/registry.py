"""Registers lint rules and their checks, and selects the checks for each message.

    rule = LintSubject("modes", page="session-modes.mdx", version=1)

    @rule.error(289, "must", "client", on.request("session/set_mode"), case="modes.known")
    @fix("Set one of the available modes.")
    def unknown_mode(context: Context) -> CheckResult:
        (its docstring: `modeId` is one of `availableModes[].id`.)

The name of the function is the name of the rule, here `unknown-mode`; the docstring begins with
what it says. A check returns None if it does not apply to the frame, `OK` if the rule holds, or
problems. It sees the state before the frame and changes nothing.

A rule that one of the shared checks can check (see `checks`) has no code of its own:

    @rule.error(293, "schema", "agent", on.result(*OPENING))
    @fix("Give each mode an id of its own.")
    @checked_by(unique, at="modes.availableModes.*.id")
    def duplicate_mode() -> None:
        (its docstring: Mode ids are unique.)

Functions marked with `check` look at other messages for a rule that another function has. A
function marked `track` records state for later checks; it runs after all checks and after the
update of the shared state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial, update_wrapper, wraps
from importlib import import_module
from inspect import unwrap
from itertools import chain
from typing import Any, Final, NamedTuple, TypedDict, TypeVar, Unpack, cast

from acp_inspector.lint import on
from acp_inspector.lint.catalog import (
    EARLY_SUBJECTS,
    HTTP_SUBJECTS,
    AtFault,
    Basis,
    LintRule,
    Version,
)
from acp_inspector.lint.context import CheckResult, Context, Place, Violation
from acp_inspector.lint.on import Trigger, Triggers
from acp_inspector.lint.rules import MODULES
from acp_inspector.lint.state import opposite
from acp_inspector.views.annotations import Severity
from acp_protocol.framing import Side
from acp_protocol.schema.methods import METHODS, VERSIONS, find_method

Rule = TypeVar("Rule", bound=Callable[..., CheckResult])
Update = TypeVar("Update", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class Check:
    """Finds violations of one rule in a frame, in an event, or at the end of a recording."""

    place: tuple[bool, str, int, int]
    """Whether it is one of the last, and where it is defined; checks run in this order."""
    rule: str
    """The name of the rule."""
    look: Callable[..., CheckResult]
    fix: str = ""
    """What the side at fault should do, if this check knows better than the rule."""
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
    """All rules, checks and trackers, as the modules of `lint.rules` define them."""

    rules: dict[str, LintRule] = field(default_factory=dict[str, LintRule])
    """By name, in the order of their numbers."""
    checks: list[Check] = field(default_factory=list[Check])
    end_checks: list[Check] = field(default_factory=list[Check])
    """These get an `EndContext`."""
    event_checks: list[Check] = field(default_factory=list[Check])
    """These get a chunk of stderr or a journal event, and the state."""
    trackers: list[Tracker] = field(default_factory=list[Tracker])
    event_trackers: list[Tracker] = field(default_factory=list[Tracker])


class More(TypedDict, total=False):
    """What else there is to know of a rule."""

    version: Version | None
    """The only protocol version that it applies to; None: both."""
    source: str
    """Page of the documentation, or `schema`. By default `schema` if that is its basis, else the
    page of the subject for its version."""
    since: str
    """Month of the schema that introduced or changed it."""
    in_version_1: Severity
    """The severity in version 1, if the text of that version says less."""
    case: str | Mapping[Side, str]
    """The conformance case that it makes, for peers of the side at fault; or one for peers of each
    side. Several rules may share one."""
    unlike: Collection[str]
    """The dialects whose documents say otherwise, or have no place for what it requires."""
    exercised_by: Triggers
    """Messages that exercise the rule although only the triggers can violate it."""
    last: bool
    """Whether it is checked after all others: it is about what no other has reported."""


_FIXES: Final[dict[Callable[..., Any], str]] = {}
_DETAILS: Final[dict[Callable[..., Any], More]] = {}
STATE: Final = "acp_inspector.lint.tracker"
"""The module whose trackers update the shared state."""
_REGISTRY: Final = Registry()
_CHECKS: Final = {on.END: _REGISTRY.end_checks, on.EVENTS: _REGISTRY.event_checks}


@dataclass(frozen=True)
class LintSubject:
    """A subject of rules; makes functions its rules."""

    name: str
    page: str = "schema"
    """The page of the protocol's documentation that most of the rules come from."""
    version: Version | None = None
    """The only protocol version that all of the rules apply to; None: each rule says it."""
    unlike: tuple[str, ...] = ()
    """The dialects that no rule applies to, unless it says others itself."""

    def error(
        self, number: int, basis: Basis, side: AtFault, *triggers: Triggers, **facts: Unpack[More]
    ) -> Callable[[Rule], Rule]:
        """Make a function an error, as `LintSubject.rule` does."""
        return self.rule(number, "error", basis, side, *triggers, **facts)

    def warning(
        self, number: int, basis: Basis, side: AtFault, *triggers: Triggers, **facts: Unpack[More]
    ) -> Callable[[Rule], Rule]:
        """Make a function a warning, as `LintSubject.rule` does."""
        return self.rule(number, "warning", basis, side, *triggers, **facts)

    def info(
        self, number: int, basis: Basis, side: AtFault, *triggers: Triggers, **facts: Unpack[More]
    ) -> Callable[[Rule], Rule]:
        """Make a function an info, as `LintSubject.rule` does."""
        return self.rule(number, "info", basis, side, *triggers, **facts)

    def rule(
        self,
        number: int,
        severity: Severity,
        basis: Basis,
        side: AtFault,
        *triggers: Triggers,
        **facts: Unpack[More],
    ) -> Callable[[Rule], Rule]:
        """Make a function a rule of the subject, and its check.

        Args:
            number: The number of the rule.
            severity: How severe it is to break it.
            basis: What it is based on.
            side: The side at fault when it is broken.
            triggers: What the function looks at.
            facts: What else there is to know of it; see `More`.
        """

        def register(look: Rule) -> Rule:
            name, more = look.__name__.replace("_", "-"), facts | _DETAILS.get(unwrap(look), {})
            version = more.get("version", self.version)
            page = (
                self.page if version is None or self.page == "schema" else f"v{version}/{self.page}"
            )
            assert name not in _REGISTRY.rules, name
            _REGISTRY.rules[name] = LintRule(
                name=name,
                number=number,
                subject=self.name,
                severity=severity,
                basis=basis,
                side=side,
                source=more.get("source", "schema" if basis == "schema" else page),
                version=version,
                since=more.get("since", ""),
                in_version_1=more.get("in_version_1"),
                text=" ".join((look.__doc__ or "").partition("\n\n")[0].split()),
                fix=_FIXES[unwrap(look)],
                unlike=frozenset(more.get("unlike", self.unlike)),
                case=more.get("case", ""),
            )
            exercised_by, is_last = more.get("exercised_by", ()), more.get("last", False)
            return check(name, *triggers, exercised_by=exercised_by, last=is_last)(look)

        return register


def details(**facts: Unpack[More]) -> Callable[[Any], Any]:
    """Say of a rule what does not fit on its first line."""

    def note(look: Rule) -> Rule:
        _DETAILS[unwrap(look)] = facts
        return look

    return note


def fix(text: str) -> Callable[[Any], Any]:
    """Say what the side at fault of a rule should do."""

    def note(look: Rule) -> Rule:
        _FIXES[unwrap(look)] = text
        return look

    return note


def checked_by(
    look: Callable[..., CheckResult], **arguments: Any
) -> Callable[[Callable[..., Any]], Callable[[Context], CheckResult]]:
    """Make a function without code a rule that another function checks.

    With several of these a rule has several checks.

    Args:
        look: The check.
        arguments: What it is called with, besides the context.
    """

    def made(rule: Callable[..., Any]) -> Callable[[Context], CheckResult]:
        check = partial(look, **arguments)
        if isinstance(below := cast("object", rule), partial):
            check = partial(_all_of, checks=(check, below))
        return update_wrapper(check, rule)

    return made


def _all_of(context: Context, checks: Iterable[Callable[[Context], CheckResult]]) -> CheckResult:
    applied = [found for each in checks if (found := each(context)) is not None]
    return tuple(chain(*applied)) if applied else None


def check(
    name: str,
    /,
    *triggers: Triggers,
    exercised_by: Triggers = (),
    last: bool = False,
    fix: str = "",
    **arguments: Any,
) -> Callable[[Rule], Rule]:
    """Make a function one more check of the rule with this name.

    `fix` replaces the rule's for what this check finds; the function is called with `arguments`.
    """
    flat = tuple(chain(*triggers))

    def register(look: Rule) -> Rule:
        bound = partial(look, **arguments) if arguments else look
        checks = _CHECKS.get(flat, _REGISTRY.checks)
        checks.append(Check((last, *_place(look, checks)), name, bound, fix, flat, exercised_by))
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
    """Return every rule, check and tracker.

    Raises:
        KeyError: a check is of a rule that there is not.
    """
    for name in MODULES:
        import_module(f"acp_inspector.lint.rules.{name}")
    for checks in (_REGISTRY.checks, _REGISTRY.end_checks, _REGISTRY.event_checks):
        checks.sort(key=lambda each: each.place)
        for each in checks:
            if each.rule not in _REGISTRY.rules:
                raise KeyError(each.rule)
    for trackers in (_REGISTRY.trackers, _REGISTRY.event_trackers):
        trackers.sort(key=lambda each: each.place)
    ordered = sorted(_REGISTRY.rules.items(), key=lambda each: each[1].number)
    _REGISTRY.rules.clear()
    _REGISTRY.rules.update(ordered)
    return _REGISTRY


def rules() -> Mapping[str, LintRule]:
    """Return every rule by its name, in the order of their numbers."""
    return registry().rules


def find_rule(name: str) -> LintRule | None:
    """Return the rule of a name (`unknown-mode`) or a number (`ACP-L289`), in any case."""
    return rules().get(name.lower()) or _by_number().get(name.upper())


@cache
def _by_number() -> Mapping[str, LintRule]:
    return {each.id: each for each in rules().values()}


class MessageKind(NamedTuple):
    """The key of messages that get the same checks."""

    version: int | None
    side: Side
    kind: str
    method: str | None
    """None: a method that no check names."""
    variant: str | None
    is_http: bool
    """Whether the connection is over HTTP."""
    dialect: str | None


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
        context.state.is_http,
        context.state.dialect,
    )


@cache
def checks_for(kind: MessageKind, *, unstable: bool) -> CheckSet:
    """Return the checks and trackers for messages of a kind."""
    triggers = triggers_of(kind)
    checks = [
        each
        for each in registry().checks
        if applies(rules()[each.rule], kind.version, unstable=unstable, dialect=kind.dialect)
        and (kind.is_http or rules()[each.rule].subject not in HTTP_SUBJECTS)
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
    if kind.kind == "draft batch":
        yield from on.DRAFT_BATCHES
    if kind.kind not in {"batch", "draft batch", "no object"}:
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


def applies(
    rule: LintRule, version: int | None, *, unstable: bool, dialect: str | None = None
) -> bool:
    """Return whether a rule applies to messages of a version and a dialect.

    A version of None is not negotiated yet, a dialect of None is the published protocol.
    """
    if not rule.is_of(dialect) or (rule.is_unstable_in(version) and not unstable):
        return False
    if version is None:
        return rule.subject in EARLY_SUBJECTS and rule.versions == VERSIONS
    return version in rule.versions
