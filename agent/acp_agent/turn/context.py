"""Asking the model of a session: what it gets with each request, and what that takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from acp_agent.models.types import HistoryEntry, Model, ModelEvent, Retrying, TokenUsage
from acp_agent.turn.history import HistoryItem
from acp_agent.turn.instructions import LoadedInstructions
from acp_agent.turn.limits import TurnLimits
from acp_agent.turn.tool_calls import ToolContext
from acp_protocol.jsonrpc import Json

COMPACT_AT: Final = 0.85
"""Part of the window from which on it counts as nearly full: answers of tools are long."""


@dataclass
class ContextWindow:
    """How full the model's mind is, as far as that is known."""

    used: int = 0
    size: int = 0
    """Tokens; 0 if unknown."""
    was_compacted: bool = False
    """Whether room was made, and no reply has told yet what came of it."""
    cannot_compact: bool = False
    """Whether making room does not help, or cannot be done."""

    @property
    def needs_compaction(self) -> bool:
        """Whether room is to be made before the model is asked again."""
        return self._is_nearly_full and not self.cannot_compact

    def update(self, used: TokenUsage) -> None:
        """Take note of what a reply says."""
        if used.window is not None:
            self.used, self.size = used.total, used.window
            # What did not help once costs a request, each time, that reads the whole window.
            self.cannot_compact = (
                self.was_compacted or self.cannot_compact
            ) and self._is_nearly_full
            self.was_compacted = False

    def mark_compacted(self) -> None:
        """Take note that room was made."""
        self.used, self.was_compacted, self.cannot_compact = 0, True, False

    @property
    def _is_nearly_full(self) -> bool:
        return self.size > 0 and self.used >= COMPACT_AT * self.size


async def _uninstructed() -> LoadedInstructions | None:
    return None


@dataclass
class TurnContext:
    """What a turn works with; it all belongs to the session."""

    model: Model
    tool_context: ToolContext
    history: list[HistoryItem]
    stream_delay_s: float = 0.0
    """Seconds between two pieces of what the model streams."""
    usage: TokenUsage = field(default_factory=lambda: TokenUsage(0, 0))
    """What all replies of the session have taken together."""
    limits: TurnLimits = field(default_factory=TurnLimits)
    read_instructions: Callable[[], Awaitable[LoadedInstructions | None]] = _uninstructed
    """Reads what the project tells the model."""
    context_window: ContextWindow = field(default_factory=ContextWindow)


async def stream_model_reply(
    context: TurnContext, history: Sequence[HistoryEntry]
) -> AsyncGenerator[ModelEvent]:
    """Yield the events of the model's reply to `history`.

    Raises:
        ModelFailedError: it could not answer.
    """
    offers = [tool.offer for tool in context.tool_context.tools.values()]
    instructions = await context.read_instructions()
    guidance = [instructions.guidance] if instructions is not None else []
    reply = context.model.reply([*guidance, *history], offers)
    try:
        async for event in reply:
            yield event
    finally:
        if isinstance(reply, AsyncGenerator):
            # A stream that is not read to its end stays open until somebody closes it.
            await reply.aclose()


async def send_usage(context: TurnContext, used: int, size: int) -> None:
    """Tell the client how full the model's mind is, and what all has cost."""
    members: dict[str, Json] = {"used": used, "size": size}
    if context.usage.cost is not None:
        members["cost"] = {"amount": context.usage.cost, "currency": "USD"}
    await context.tool_context.updates.send("usage_update", members)


def retry_notice(delay: Retrying) -> str:
    """Return when a service is asked again, as a sentence."""
    return f"It is asked again in {ceil(delay.seconds)} s."
