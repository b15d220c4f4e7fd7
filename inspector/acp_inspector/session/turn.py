"""One turn of a session: from a prompt to its stop reason, or in version 2 to the state `idle`.

Source: ACP, Prompt Turn; ACP version 2, Prompt Lifecycle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from acp_inspector.journal import Frame
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import OUTPUT

AGENT_ENDED: Final = "the agent has ended"
SESSION_CLOSED: Final = "the session was closed"


@dataclass(slots=True, eq=False)
class SessionTurn:
    """One turn of a session."""

    number: int
    """Its number within the connection, from 1."""
    session_id: str
    """Empty: its prompt names no session."""
    began: int
    """The frame that began it."""
    began_at: float
    """Seconds since the journal began, like all times here."""
    is_prompted: bool = True
    """Whether a prompt began it, and not the agent by itself (version 2)."""
    prompts: int = 0
    """Its prompts that were not rejected; in version 2 a prompt joins the running turn."""
    unanswered: int = 0
    """Those of them without a response."""
    first_update: float | None = None
    """Seconds from its beginning to the first update of the session."""
    first_output: float | None = None
    """Seconds from its beginning to the first text, thought, tool call or plan."""
    first_frames: tuple[int, int] = (0, 0)
    """The frames of these two."""
    has_run: bool = False
    """Whether the agent has reported that it runs (version 2)."""
    ended: int | None = None
    """The frame that ended it."""
    ended_at: float | None = None
    stop_reason: str | None = None
    error: str | None = None
    usage: Json = None

    @property
    def duration(self) -> float | None:
        """Seconds from begin to end; None while it runs."""
        return None if self.ended_at is None else self.ended_at - self.began_at

    @property
    def is_under_way(self) -> bool:
        """Whether the agent has begun to work on it."""
        is_taken = self.unanswered < self.prompts
        return self.has_run or is_taken or self.first_output is not None

    def update(self, frame: Frame, kind: str) -> None:
        """Note an update of the session while the turn runs."""
        if self.first_output is not None:
            return
        after = frame.time - self.began_at
        update_frame, output_frame = self.first_frames
        if self.first_update is None:
            self.first_update, update_frame = after, frame.seq
        if kind in OUTPUT:
            self.first_output, output_frame = after, frame.seq
        self.first_frames = update_frame, output_frame

    def end(
        self,
        n: int,
        at: float,
        stop_reason: str | None = None,
        error: str | None = None,
        usage: Json = None,
    ) -> None:
        """End the turn with entry `n`."""
        self.ended, self.ended_at = n, at
        self.stop_reason, self.error, self.usage = stop_reason, error, usage

    def at(self, n: int) -> SessionTurn:
        """Return the turn as it was after frame `n`; `has_run` and prompts have no history."""
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
