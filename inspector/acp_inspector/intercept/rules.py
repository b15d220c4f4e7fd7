"""Rules: which frames they strike, and what they then do, the same way every time.

Each rule counts and throws its dice for each direction apart, so that what it does depends on the
seed and on the frames of that direction alone, and not on which thread was faster.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from acp_inspector.intercept.actions import Action
from acp_inspector.intercept.matching import Matcher
from acp_inspector.intercept.passage import Inject, Passage
from acp_protocol.framing import Side


@dataclass(frozen=True, slots=True)
class Aim:
    """Which of the frames that a filter means are struck."""

    side: Side | None = None
    """Who has to have sent it; None for both."""
    after: int = 0
    """How many are spared at first."""
    first: int | None = None
    """How many of those behind are looked at; None for all."""
    every: int = 1
    """Which of those: each n-th."""
    probability: float = 1.0
    """How likely it is that one of those is struck."""


@dataclass(slots=True)
class _Course:
    """A rule's state in one direction."""

    dice: Random
    matched: int = 0


@dataclass(slots=True)
class Rule:
    """One deed, and when it is done."""

    name: str
    matches: Matcher
    action: Action
    aim: Aim = Aim()
    seed: int = 0
    _courses: dict[Side, _Course] = field(default_factory=dict[Side, _Course])

    def __post_init__(self) -> None:
        sides: tuple[Side, ...] = ("client", "agent")
        for side in sides:
            # A string is hashed alike in every run; this is not about secrets.
            dice = Random(f"{self.seed}/{self.name}/{side}")  # noqa: S311
            self._courses[side] = _Course(dice)

    def interfere(self, passage: Passage, inject: Inject) -> Passage:
        """Do the deed to a frame that is struck."""
        del inject
        if not self._strikes(passage):
            return passage
        draft = passage.draft()
        self.action.act(draft, self.name, self._courses[passage.frame.side].dice)
        return draft

    def _strikes(self, passage: Passage) -> bool:
        aim, side = self.aim, passage.frame.side
        if aim.side not in {None, side} or not self.matches(passage.current):
            return False
        course = self._courses[side]
        course.matched += 1
        number = course.matched - aim.after
        if number <= 0 or number % aim.every or (aim.first is not None and number > aim.first):
            return False
        return aim.probability >= 1 or course.dice.random() < aim.probability
