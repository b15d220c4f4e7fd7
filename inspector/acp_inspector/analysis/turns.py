"""Turns: one prompt up to its stop reason, or one stretch of work up to idle (version 2).

Source: ACP, Prompt Turn; ACP version 2, Prompt Lifecycle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from acp_protocol.jsonrpc import Json

OUTPUT: Final = frozenset(
    {
        *("agent_message_chunk", "agent_message", "agent_thought_chunk", "agent_thought"),
        *("tool_call", "tool_call_update", "tool_call_content_chunk", "plan", "plan_update"),
    }
)
"""Updates that a user has been waiting for."""


@dataclass(slots=True)
class Cursor:
    """Where a fold stands: what it has read last."""

    n: int = 0
    """Number of the frame."""
    at: float = 0.0
    """Seconds since the journal began."""
    turns: int = 0
    """Turns that have begun, in all sessions."""


@dataclass(slots=True, eq=False)
class Turn:
    """One turn of a session."""

    number: int
    """Among all of the connection, from 1."""
    session_id: str
    began: int
    """The frame that began it."""
    began_at: float
    """Seconds since the journal began, as all times here."""
    is_prompted: bool = True
    """A prompt began it, and not the agent by itself (version 2)."""
    first_update: float | None = None
    """Seconds from its begin to the first update of the session."""
    first_output: float | None = None
    """Seconds from its begin to the first word, thought, tool call or plan."""
    first_frames: tuple[int, int] = (0, 0)
    """The frames of these two."""
    has_run: bool = False
    """The agent has said that it works (version 2)."""
    ended: int | None = None
    """The frame that ended it."""
    ended_at: float | None = None
    stop_reason: str | None = None
    error: str | None = None
    usage: Json = None

    @property
    def duration(self) -> float | None:
        """Seconds from begin to end; None while it goes on."""
        return None if self.ended_at is None else self.ended_at - self.began_at

    def update(self, cursor: Cursor, name: str) -> None:
        """Take note of an update of its session."""
        after = cursor.at - self.began_at
        update_frame, output_frame = self.first_frames
        if self.first_update is None:
            self.first_update, update_frame = after, cursor.n
        if self.first_output is None and name in OUTPUT:
            self.first_output, output_frame = after, cursor.n
        self.first_frames = update_frame, output_frame

    def end(
        self, cursor: Cursor, stop_reason: str | None, error: str | None = None, usage: Json = None
    ) -> None:
        """End it here."""
        self.ended, self.ended_at = cursor.n, cursor.at
        self.stop_reason, self.error, self.usage = stop_reason, error, usage

    def at(self, n: int) -> Turn:
        """Return it as it stood after frame `n`; whether it has run is not told."""
        update_frame, output_frame = self.first_frames
        copy = replace(self, has_run=False)
        if update_frame > n:
            copy.first_update = None
        if output_frame > n:
            copy.first_output = None
        copy.first_frames = (
            update_frame if update_frame <= n else 0,
            output_frame if output_frame <= n else 0,
        )
        if self.ended is not None and self.ended > n:
            copy.ended = copy.ended_at = copy.stop_reason = copy.error = copy.usage = None
        return copy
