"""What the model of a session gets with each request, and how much of its window that takes.

Source: ACP, Prompt Turn, "Stop Reasons".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final

import anyio

from acp_agent.models.types import (
    AssistantMessage,
    HistoryEntry,
    Model,
    ModelEvent,
    ModelFailedError,
    PromptMessage,
    ReasoningDelta,
    Retrying,
    Stop,
    TextDelta,
    TokenUsage,
)
from acp_agent.permissions.audit import AuditLog
from acp_agent.permissions.decide import SessionPermissions
from acp_agent.settings.keys import LimitSettings
from acp_agent.store.entries import HistoryItem, LocalExchange, Summary
from acp_agent.tools.call import Tool
from acp_agent.turn.instructions import LoadedInstructions
from acp_agent.updates.v1 import SessionUpdates
from acp_agent.world.elicitation import SessionClient
from acp_agent.world.workspace import Workspace
from acp_protocol.jsonrpc import Json

COMPACT_AT: Final = 0.85
"""Part of the window from which on it counts as nearly full: results of tools are long."""
SUMMARY_PROMPT: Final = """\
To make room, what was said and done in this session so far was summed up. You go on from this
summary, which you have written yourself:

<summary>
{}
</summary>
"""
_OPEN_REQUESTS: Final = (
    "\nWhat the user has asked for last follows as it was. It may be done in part.\n"
)


@dataclass
class ContextWindow:
    """How full the context window of the model is, as far as that is known."""

    used: int = 0
    size: int = 0
    """Tokens; 0 if unknown."""
    was_compacted: bool = False
    """Whether it was compacted, and no reply has reported the usage since."""
    cannot_compact: bool = False
    """Whether compaction does not help, or fails."""

    @classmethod
    def from_update(cls, members: Mapping[str, Json] | None) -> ContextWindow:
        """Return what was last reported to the client, as far as it can be read."""
        match members:
            case {"used": int(used), "size": int(size)} if size > 0:
                return cls(used, size)
            case _:
                return cls()

    @property
    def needs_compaction(self) -> bool:
        """Whether to compact before the next request."""
        return self._is_nearly_full and not self.cannot_compact and not self.was_compacted

    def update(self, used: TokenUsage) -> None:
        """Store what a reply reports."""
        if used.window is not None:
            self.used, self.size = used.total, used.window
            # Trying again would cost a request that reads the whole window.
            self.cannot_compact = (
                self.was_compacted or self.cannot_compact
            ) and self._is_nearly_full
            self.was_compacted = False

    def mark_compacted(self, used: int) -> None:
        self.used, self.was_compacted, self.cannot_compact = used, True, False

    @property
    def _is_nearly_full(self) -> bool:
        return self.size > 0 and self.used >= COMPACT_AT * self.size


async def _no_instructions() -> LoadedInstructions | None:
    return None


class ModelHistory:
    """What the model gets of a history that only grows; each entry is looked at once."""

    def __init__(self) -> None:
        self.entries: list[HistoryEntry] = []
        """Without refused prompts and what followed them."""
        self._count = 0
        """Entries of the history that were looked at."""
        self._turn_start = 0
        self._summary: Sequence[HistoryEntry] = ()
        """What stays of a refused turn that was compacted."""

    def update(self, history: Sequence[HistoryItem]) -> list[HistoryEntry]:
        """Add what is new in `history`; return the entries."""
        for entry in history[self._count :]:
            self._add(entry)
        self._count = len(history)
        return self.entries

    def _add(self, entry: HistoryItem) -> None:
        if isinstance(entry, LocalExchange):
            return
        if isinstance(entry, Summary):
            self.entries = [_summary_prompt(entry), *entry.requests]
            self._turn_start, self._summary = 0, (_summary_prompt(replace(entry, requests=())),)
            return
        if isinstance(entry, PromptMessage):
            self._turn_start, self._summary = len(self.entries), ()
        self.entries.append(entry)
        if isinstance(entry, AssistantMessage) and any(
            isinstance(each, Stop) for each in entry.events
        ):
            self.entries[self._turn_start :] = self._summary


def model_history(history: Sequence[HistoryItem]) -> list[HistoryEntry]:
    """Return what the model gets of `history`."""
    return ModelHistory().update(history)


@dataclass(kw_only=True)
class TurnContext:
    """What a turn and its tool calls work with; it all belongs to the session."""

    session_id: str
    client: SessionClient
    updates: SessionUpdates
    workspace: Workspace
    permissions: SessionPermissions
    tools: Mapping[str, Tool]
    model: Model
    history: list[HistoryItem]
    model_history: ModelHistory = field(default_factory=ModelHistory)
    command_prefix: str = ""
    """What precedes the names of commands."""
    audit: AuditLog | None = None
    stream_delay_s: float = 0.0
    """Seconds between two pieces of a streamed reply."""
    is_streamed: bool = True
    """Whether the client gets a reply piece by piece."""
    usage: TokenUsage = field(default_factory=lambda: TokenUsage(0, 0))
    """What all replies of the session have used together."""
    limits: LimitSettings = field(default_factory=LimitSettings)
    read_instructions: Callable[[], Awaitable[LoadedInstructions | None]] = _no_instructions
    """Reads the project's instructions for the model."""
    context_window: ContextWindow = field(default_factory=ContextWindow)
    call_count: int = 0
    """Tool calls so far; their ids end with their number."""
    permission_lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Held while the user is asked: one request at a time, and none that the last one decides."""
    running: dict[str, anyio.CancelScope] = field(default_factory=dict[str, anyio.CancelScope])
    """The scopes of the calls that run, by their ids: each can be cancelled by itself."""


def _summary_prompt(entry: Summary) -> PromptMessage:
    text = SUMMARY_PROMPT.format(entry.summary)
    return PromptMessage(text + _OPEN_REQUESTS if entry.requests else text)


async def stream_model_reply(
    context: TurnContext, history: Sequence[HistoryEntry]
) -> AsyncGenerator[ModelEvent]:
    """Yield the events of the model's reply to `history`.

    Raises:
        ModelFailedError: it could not answer.
    """
    offers = [tool.offer for tool in context.tools.values()]
    instructions = await context.read_instructions()
    guidance = [instructions.guidance] if instructions is not None else []
    reply = context.model.reply([*guidance, *history], offers)
    try:
        async for event in reply if context.is_streamed else whole_texts(reply):
            yield event
    finally:
        if isinstance(reply, AsyncGenerator):
            # A stream that is not read to its end stays open until it is closed.
            await reply.aclose()


async def whole_texts(reply: AsyncIterator[ModelEvent]) -> AsyncGenerator[ModelEvent]:
    """Yield the events of a reply, with the pieces of each text joined."""
    joined: TextDelta | ReasoningDelta | None = None
    try:
        async for event in reply:
            match joined, event:
                case (TextDelta(), TextDelta()) | (ReasoningDelta(), ReasoningDelta()):
                    joined = replace(joined, text=joined.text + event.text)
                    continue
                case _:
                    pass
            if joined is not None:
                yield joined
            joined = event if isinstance(event, TextDelta | ReasoningDelta) else None
            if joined is None:
                yield event
    except ModelFailedError:
        # What has come is shown as far as it goes.
        if joined is not None:
            yield joined
        raise
    if joined is not None:
        yield joined


async def send_usage(context: TurnContext, used: int, size: int) -> None:
    """Send how full the context window is, and what the session has cost."""
    members: dict[str, Json] = {"used": used, "size": size}
    if context.usage.cost is not None:
        members["cost"] = {"amount": context.usage.cost, "currency": "USD"}
    await context.updates.send("usage_update", members)


def retry_notice(delay: Retrying) -> str:
    """Return when a service is asked again, as a sentence."""
    return f"It is asked again in {ceil(delay.seconds)} s."
