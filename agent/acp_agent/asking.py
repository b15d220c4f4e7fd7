"""Asking the model of a session: what it is told with each request, and what that takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from acp_agent.calls import Desk
from acp_agent.conduct import TurnLimits
from acp_agent.instructions import Told
from acp_agent.memory import Kept
from acp_agent.models.model import Delayed, HistoryEntry, Model, ModelEvent, Used
from acp_protocol.jsonrpc import Json

NEARLY: Final = 0.85
"""Part of the window from which on it counts as nearly full: answers of tools are long."""


@dataclass
class Fill:
    """How full the model's mind is, as far as that is known."""

    used: int = 0
    size: int = 0
    """Tokens; 0 where nobody says."""
    is_made: bool = False
    """Whether room was made, and no reply has told yet what came of it."""
    is_hopeless: bool = False
    """Whether making room does not help, or cannot be done."""

    @property
    def is_high(self) -> bool:
        """Whether room is to be made before the model is asked again."""
        return self._is_nearly_full and not self.is_hopeless

    def take(self, used: Used) -> None:
        """Take note of what a reply says."""
        if used.window is not None:
            self.used, self.size = used.total, used.window
            # What did not help once costs a request, each time, that reads the whole window.
            self.is_hopeless = (self.is_made or self.is_hopeless) and self._is_nearly_full
            self.is_made = False

    def empty(self) -> None:
        """Take note that room was made."""
        self.used, self.is_made, self.is_hopeless = 0, True, False

    @property
    def _is_nearly_full(self) -> bool:
        return self.size > 0 and self.used >= NEARLY * self.size


async def _uninstructed() -> Told | None:
    return None


@dataclass
class Context:
    """What a turn works with; it all belongs to the session."""

    model: Model
    desk: Desk
    history: list[Kept]
    pace: float = 0.0
    """Seconds between two pieces of what the model streams."""
    spent: Used = field(default_factory=lambda: Used(0, 0))
    """What all replies of the session have taken together."""
    limits: TurnLimits = field(default_factory=TurnLimits)
    instructed: Callable[[], Awaitable[Told | None]] = _uninstructed
    """Reads what the project tells the model."""
    fill: Fill = field(default_factory=Fill)


async def asked(context: Context, history: Sequence[HistoryEntry]) -> AsyncGenerator[ModelEvent]:
    """Yield what the model does where it is told `history`.

    Raises:
        ModelFailedError: it could not answer.
    """
    offers = [tool.offer for tool in context.desk.tools.values()]
    told = await context.instructed()
    guidance = [told.guidance] if told is not None else []
    reply = context.model.reply([*guidance, *history], offers)
    try:
        async for event in reply:
            yield event
    finally:
        if isinstance(reply, AsyncGenerator):
            # A stream that is not read to its end stays open until somebody closes it.
            await reply.aclose()


async def tell_fill(context: Context, used: int, size: int) -> None:
    """Tell the client how full the model's mind is, and what all has cost."""
    members: dict[str, Json] = {"used": used, "size": size}
    if context.spent.cost is not None:
        members["cost"] = {"amount": context.spent.cost, "currency": "USD"}
    await context.desk.updates.send("usage_update", members)


def asked_again(delay: Delayed) -> str:
    """Return when a service is asked again, as a sentence."""
    return f"It is asked again in {ceil(delay.seconds)} s."
