"""Which frames go wrong, of all that leave.

Source: docs/scripted-agent.md, "Faults".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from acp_agent.scripted.faults import Fault
from acp_agent.scripted.values import members
from acp_agent.scripted.wire import Departure, Sort
from acp_protocol.jsonrpc import Json


@dataclass(frozen=True, slots=True)
class Aim:
    """Which frames a fault strikes."""

    method: str | None = None
    """The frame's method; that of the question, for an answer."""
    update: str | None = None
    """Its `sessionUpdate`."""
    of: Sort | None = None
    after: int = 0
    """How many of the frames meant so are spared at first."""
    first: int | None = None
    """How many of those behind are looked at; None for all."""
    every: int = 1
    """Which of those: each n-th."""
    probability: float = 1.0
    """How likely it is that one of those is struck."""

    def means(self, message: Json, method: str | None) -> bool:
        """Tell whether a frame is meant, whatever its number."""
        if self.of not in {None, sort_of(message)} or self.method not in {None, method}:
            return False
        return self.update is None or _update_of(message) == self.update


@dataclass(slots=True)
class Mishap:
    """Faults that strike any frame that is meant, and how many there were."""

    aim: Aim
    faults: Sequence[Fault]
    dice: Random
    matched: int = 0

    def strike(self, departure: Departure, message: Json, method: str | None) -> None:
        """Count a frame, and let it go wrong if it is struck."""
        aim = self.aim
        if not aim.means(message, method):
            return
        self.matched += 1
        number = self.matched - aim.after
        if number <= 0 or number % aim.every or (aim.first is not None and number > aim.first):
            return
        if aim.probability >= 1 or self.dice.random() < aim.probability:
            for fault in self.faults:
                fault.strike(departure, self.dice)


def sort_of(message: Json) -> Sort | None:
    """Return what a message is; None for what is not one message."""
    if not isinstance(message, dict):
        return None
    if "method" not in message:
        return "answer"
    return "request" if "id" in message else "notification"


def _update_of(message: Json) -> Json:
    return members(members(members(message).get("params")).get("update")).get("sessionUpdate")
