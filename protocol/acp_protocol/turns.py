"""Finds the end of a turn of version 2, whose prompt gets its response at the beginning.

Source: ACP version 2, Prompt Lifecycle, `state_update`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

import anyio

from acp_protocol import jsonrpc
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.connection import Connection
from acp_protocol.errors import ConnectionClosedError, RemoteProtocolError, RequestFailedError
from acp_protocol.jsonrpc import Json

Update: TypeAlias = Mapping[str, Json]


@dataclass(slots=True)
class _Session:
    """Updates of a session since its last prompt."""

    updates: list[Update] = field(default_factory=list[Update])
    """Echoes of prompts and idle states, in order."""
    waiting: set[anyio.Event] = field(default_factory=set[anyio.Event])
    """Set on new updates, for each turn whose end is awaited."""

    def wake(self) -> None:
        for event in self.waiting:
            event.set()


MAX_UPDATES: Final = 1000
"""Echoes and states that are kept while no turn waits."""


class TurnTracker:
    """Keeps the updates of each session that mark the beginning and end of turns."""

    names_messages = True
    """False for the draft before this one, whose responses name no message."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}

    def observe(self, session_id: str, update: Json) -> None:
        match update:
            case {"sessionUpdate": "user_message" | "user_message_chunk", "messageId": str()} | {
                "sessionUpdate": "state_update",
                "state": "idle",
            }:
                session = self._sessions.setdefault(session_id, _Session())
                if session.waiting or len(session.updates) < MAX_UPDATES:
                    session.updates.append(cast("Update", update))
                session.wake()
            case _:
                pass

    def begin(self, session_id: str) -> None:
        """Begin a turn: earlier updates are not part of it."""
        session = self._sessions.setdefault(session_id, _Session())
        if not session.waiting:
            session.updates.clear()

    async def wait_for_end(
        self, session_id: str, response: Update, connection: Connection
    ) -> Update:
        """Return the state that ends the turn of the prompt with this response.

        Raises:
            RemoteProtocolError: the response has no message id.
            RequestFailedError: the turn ended with an error.
            ConnectionClosedError: the connection ended before.
        """
        message_id = response.get("messageId")
        if not isinstance(message_id, str) and self.names_messages:
            raise RemoteProtocolError("the agent's response to session/prompt has no messageId")
        session = self._sessions.setdefault(session_id, _Session())
        # The echo may have come before the response, and the end of the turn too.
        start = _place_of(session.updates, message_id)
        more = anyio.Event()

        async def wake_at_close() -> None:
            await connection.wait_closed()
            session.wake()

        try:
            async with BackgroundTasks() as tasks:
                tasks.start_soon(wake_at_close)
                while (state := _idle(session.updates[start:])) is None and connection.is_open:
                    session.waiting.discard(more)
                    more = anyio.Event()
                    session.waiting.add(more)
                    await more.wait()
        finally:
            session.waiting.discard(more)
        if state is None:
            raise ConnectionClosedError
        if state.get("stopReason") == "error":
            raise _failure(state.get("error"))
        return {**state, "stopReason": state.get("stopReason") or "end_turn"}


def _place_of(updates: list[Update], message_id: Json) -> int:
    """Return where the turn of a message begins: at its echo, or after all updates."""
    echoes = [place for place, update in enumerate(updates) if "messageId" in update]
    if message_id is None:
        return echoes[-1] if echoes else 0
    named = [place for place in echoes if updates[place]["messageId"] == message_id]
    return named[0] if named else len(updates)


def _idle(updates: list[Update]) -> Update | None:
    return next((update for update in updates if "state" in update), None)


def _failure(error: Json) -> RequestFailedError:
    match error:
        case {"code": int(code), "message": str(message), **more}:
            return RequestFailedError(code, message, cast("Json", more.get("data")))
        case _:
            return RequestFailedError(jsonrpc.INTERNAL_ERROR, "the turn ended with an error")
