"""How a check is written: a function, the rule it is for, and the frames that it looks at.

    @check("ACP-L134", asks("session/prompt"), fix="Wait for the answer before the next prompt.")
    def one_prompt_at_a_time(moment: Moment) -> Found:
        ...

It returns None when the frame gave it nothing to look at, `FINE` when all is well, or problems. It
sees the state as it was before the frame and changes nothing. What a subject wants to remember it
writes down in a function marked `learns`, which is called after all checks have looked and the
state has been carried on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final, TypeAlias, cast

from acp_inspector.journal import JournalEvent, StderrText
from acp_inspector.lint.catalogue import rules
from acp_inspector.lint.moment import Ending, Found, Moment
from acp_inspector.lint.state import State

Trigger: TypeAlias = tuple[str, str | None]
"""What is looked at: a kind of message and its method; None stands for any."""

Look: TypeAlias = Callable[[Moment], Found]

Glance: TypeAlias = Callable[[Moment], frozenset[str] | None]
"""Returns the rules that a message keeps and exercises, of all that share the glance; None: each
of their checks has to look for itself."""

EVERY_FRAME: Final[Trigger] = ("frame", None)
"""Every frame, whatever it holds."""
BROKEN: Final[Trigger] = ("broken", None)
"""Frames that hold no message, not even an array of them."""
BATCHES: Final[Trigger] = ("batch", None)
"""Frames that hold an array."""
EVERY_MESSAGE: Final[Trigger] = ("message", None)
"""Every frame that is one JSON object."""


@dataclass(frozen=True, slots=True)
class Check:
    """What finds the breaches of one rule."""

    rule: str
    triggers: tuple[Trigger, ...]
    look: Look
    fix: str
    """What whoever is at fault should do, in one sentence."""
    by: tuple[Trigger, ...] = ()
    """What exercises the rule, though only what is in `triggers` is worth a look."""
    is_static: bool = False
    """The verdict is the same for all messages of a kind, side, method and version."""
    glance: Glance | None = None
    """What tells at once, of this check and others, that there is nothing wrong."""


@dataclass(frozen=True, slots=True)
class EndCheck:
    """What finds, once the recording is over, that something never came."""

    rule: str
    look: Callable[[Ending], Found]
    fix: str


@dataclass(frozen=True, slots=True)
class SideCheck:
    """What looks at a piece of stderr, or at an event, beside the frames."""

    rule: str
    look: Callable[[StderrText | JournalEvent, State], Found]
    fix: str


@dataclass(frozen=True, slots=True)
class SideLesson:
    """What a subject remembers of stderr and events."""

    learn: Callable[[StderrText | JournalEvent, State], None]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a subject remembers of a frame."""

    triggers: tuple[Trigger, ...]
    learn: Callable[[Moment], None]


def asks(*methods: str) -> tuple[Trigger, ...]:
    """Look at requests of these methods; of any, when none is named."""
    return tuple(("request", method) for method in methods or (None,))


def tells(*methods: str) -> tuple[Trigger, ...]:
    """Look at notifications of these methods; of any, when none is named."""
    return tuple(("notification", method) for method in methods or (None,))


def calls(*methods: str) -> tuple[Trigger, ...]:
    """Look at requests and notifications of these methods; of any, when none is named."""
    return (*asks(*methods), *tells(*methods))


def results(*methods: str) -> tuple[Trigger, ...]:
    """Look at answers that went well to requests of these methods; to any, when none is named."""
    return tuple(("result", method) for method in methods or (None,))


def failures(*methods: str) -> tuple[Trigger, ...]:
    """Look at error answers to requests of these methods; to any, when none is named."""
    return tuple(("failure", method) for method in methods or (None,))


def answers(*methods: str) -> tuple[Trigger, ...]:
    """Look at answers of both kinds."""
    return (*results(*methods), *failures(*methods))


def updates(*variants: str) -> tuple[Trigger, ...]:
    """Look at session updates of these variants; at any, when none is named."""
    return tuple(("update", variant) for variant in variants or (None,))


def check(
    rule: str,
    *triggers: Trigger | tuple[Trigger, ...],
    fix: str,
    by: Trigger | tuple[Trigger, ...] = (),
    static: bool = False,
    glance: Glance | None = None,
) -> Callable[[Look], Check]:
    """Make a function the check of a rule.

    Args:
        rule: its id.
        triggers: what it looks at.
        fix: what whoever is at fault should do.
        by: what exercises the rule without being worth a look.
        static: the verdict hangs on nothing but kind, side, method and version of a message.
        glance: what makes most looks needless; several checks may share it.
    """

    def made(look: Look) -> Check:
        return Check(rule, _flat(triggers), look, fix, _flat((by,)), static, glance)

    return made


def check_at_end(rule: str, *, fix: str) -> Callable[[Callable[[Ending], Found]], EndCheck]:
    """Make a function the check of a rule that is broken by what never came."""

    def made(look: Callable[[Ending], Found]) -> EndCheck:
        return EndCheck(rule, look, fix)

    return made


def check_beside(
    rule: str, *, fix: str
) -> Callable[[Callable[[StderrText | JournalEvent, State], Found]], SideCheck]:
    """Make a function the check of a rule about what happens beside the frames."""

    def made(look: Callable[[StderrText | JournalEvent, State], Found]) -> SideCheck:
        return SideCheck(rule, look, fix)

    return made


def learns_beside(learn: Callable[[StderrText | JournalEvent, State], None]) -> SideLesson:
    """Make a function remember something of stderr and events, after all checks have looked."""
    return SideLesson(learn)


def learns(
    *triggers: Trigger | tuple[Trigger, ...],
) -> Callable[[Callable[[Moment], None]], Lesson]:
    """Make a function remember something of the frames it is called for."""

    def made(learn: Callable[[Moment], None]) -> Lesson:
        return Lesson(_flat(triggers), learn)

    return made


def _flat(triggers: Iterable[Trigger | tuple[Trigger, ...]]) -> tuple[Trigger, ...]:
    flat: list[Trigger] = []
    for each in triggers:
        # A trigger is a pair of words, a group of them a tuple of pairs.
        if each and isinstance(each[0], str):
            flat.append(cast("Trigger", each))
        else:
            flat.extend(cast("tuple[Trigger, ...]", each))
    return tuple(flat)


@dataclass(frozen=True, slots=True)
class Workings:
    """All checks and lessons that there are."""

    checks: tuple[Check, ...]
    end_checks: tuple[EndCheck, ...]
    side_checks: tuple[SideCheck, ...]
    side_lessons: tuple[SideLesson, ...]
    lessons: tuple[Lesson, ...]

    @property
    def implemented(self) -> Mapping[str, str]:
        """The rules that have a check, each with its fix."""
        every = (*self.checks, *self.end_checks, *self.side_checks)
        return {each.rule: each.fix for each in every}


def load(modules: tuple[str, ...]) -> Workings:
    """Return what the modules of `rules` with these names hold.

    Raises:
        KeyError: a check names a rule that is not in the catalogue, or a withdrawn one.
    """
    found: list[object] = []
    for name in modules:
        found += vars(import_module(f"acp_inspector.lint.rules.{name}")).values()
    workings = Workings(
        tuple(each for each in found if isinstance(each, Check)),
        tuple(each for each in found if isinstance(each, EndCheck)),
        tuple(each for each in found if isinstance(each, SideCheck)),
        tuple(each for each in found if isinstance(each, SideLesson)),
        tuple(each for each in found if isinstance(each, Lesson)),
    )
    for id_ in workings.implemented:
        if rules()[id_].severity is None:
            raise KeyError(f"{id_} is withdrawn")
    return workings
