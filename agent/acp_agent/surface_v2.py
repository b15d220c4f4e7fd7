"""The agent's side of version 2, a draft.

A prompt is answered as soon as it stands in the conversation; what comes of it is told by states. A
prompt that comes while a turn runs is held until the turn has ended.

Source: ACP version 2, Initialization; Session Setup; Prompt Lifecycle; Session Config Options.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import anyio

from acp_agent.prompts import read_prompt
from acp_agent.session import Session
from acp_agent.surface import (
    SESSION_LIMIT,
    Household,
    Params,
    Surface,
    blocks_of,
    invalid,
    mode_of,
)
from acp_agent.updates_v2 import MODE, UpdatesV2, new_message_id
from acp_protocol import jsonrpc
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.handling import Followed
from acp_protocol.jsonrpc import Json
from acp_protocol.tasks import Turnstile
from acp_protocol.version import VERSION

logger = logging.getLogger(__name__)


class _Place:
    """What version 2 knows of a session beside its conversation."""

    def __init__(self, updates: UpdatesV2) -> None:
        self.updates = updates
        self.turns = Turnstile()
        self.held: set[anyio.CancelScope] = set()
        """The waits of prompts that do not stand in the conversation yet."""
        self.is_cancelled = False
        """Whether the turn that was taken last was cancelled, however little of it had begun."""
        self.is_open = True
        """Whether it is active on this connection; what is closed can be resumed."""


class SurfaceV2(Surface):
    """Answers the methods of version 2."""

    version = 2

    def __init__(self, household: Household) -> None:
        super().__init__(household)
        self._places: dict[str, _Place] = {}
        self.answerers = {
            "session/new": self._new_session,
            "session/list": self._list_sessions,
            "session/resume": self._resume_session,
            "session/close": self._close_session,
            "session/set_config_option": self._set_config_option,
            "session/prompt": self._prompt,
            "tool_call/cancel": self._cancel_part,
            "terminal/cancel": self._cancel_part,
        }

    def initialized(self, params: Params) -> Json:
        """Tell who we are and what we can do; files and terminals are ours in this version."""
        del params
        title = f"acp-agent ({self._household.model.name})"
        return {
            "protocolVersion": self.version,
            "info": {"name": "acp-agent", "title": title, "version": VERSION},
            "capabilities": {"session": {"prompt": {"embeddedContext": {}}}},
            "authMethods": [],
        }

    def check_servers(self, servers: Sequence[Params]) -> None:
        """Refuse all: this version offers each way to reach a server, and we offer none."""
        if servers:
            raise invalid("mcpServers: none of them was offered by this agent")

    def cancel(self, session: Session) -> None:
        """End the running turn, and refuse the prompts that are held."""
        place = self._places[session.id]
        place.is_cancelled = True
        for wait in place.held:
            wait.cancel()
        session.cancel()

    async def _new_session(self, params: Params) -> Json:
        self._forget_closed()
        client = self._household.client
        made: list[UpdatesV2] = []

        def updates(session_id: str) -> UpdatesV2:
            made.append(UpdatesV2(client, session_id))
            return made[0]

        session = await self._opened(params, updates, files={})
        self._places[session.id] = _Place(made[0])
        return {"sessionId": session.id, **self._offered(session)}

    def _forget_closed(self) -> None:
        """Make room for a new session: what was closed longest ago can be resumed no more."""
        while len(self._sessions) >= SESSION_LIMIT:
            closed = (id_ for id_, place in self._places.items() if not place.is_open)
            if (oldest := next(closed, None)) is None:
                return
            del self._places[oldest], self._sessions[oldest]

    async def _list_sessions(self, params: Params) -> Json:
        return self._listed(params)

    async def _resume_session(self, params: Params) -> Json:
        session = self._session(params)
        self._check_extent(params)
        if params["cwd"] != str(session.cwd):
            raise invalid("cwd is not the session's")
        start: Json = params.get("replayFrom")
        if start is not None and start.get("type") != "start":
            raise invalid(f"replayFrom.type: {start.get('type')!r} is not supported")
        place = self._places[session.id]
        place.is_open = True
        state = "running" if place.turns.is_taken else "idle"
        await place.updates.replay(state, has_history=start is not None)
        return self._offered(session)

    async def _close_session(self, params: Params) -> Json:
        session = self._sessions.get(params["sessionId"])
        if session is not None:
            place = self._places[session.id]
            place.is_open = False
            self.cancel(session)
            # The last turn has to be over, its last state included.
            if place.turns.is_taken:
                await place.turns.wait()
                place.turns.pass_on()
        return {}

    async def _set_config_option(self, params: Params) -> Json:
        session = self._active(params)
        if params["configId"] != MODE:
            raise invalid(f"configId: there is no option {params['configId']!r}")
        if params["type"] != "id":
            raise invalid(f"type: {params['type']!r} does not fit this option")
        await session.set_mode(mode_of(params["value"], "value"))
        return session.settings()

    async def _cancel_part(self, params: Params) -> Json:
        """Refuse to end a single tool call or terminal: none was told to be endable."""
        self._active(params)
        raise invalid("it cannot be cancelled by itself")

    async def _prompt(self, params: Params) -> Json:
        session = self._active(params)
        blocks = blocks_of(params)
        if not blocks:
            raise invalid("params.prompt is empty")
        place = self._places[session.id]
        await self._take_turn(place)
        message_id = new_message_id()
        return Followed(
            {"messageId": message_id}, lambda: self._turn(session, place, message_id, blocks)
        )

    async def _take_turn(self, place: _Place) -> None:
        """Return when the prompt stands next; cancelled meanwhile, it never stood anywhere."""
        if place.turns.is_taken:
            with anyio.CancelScope() as wait:
                place.held.add(wait)
                try:
                    await place.turns.wait()
                finally:
                    place.held.discard(wait)
            if wait.cancelled_caught:
                raise RequestFailedError(jsonrpc.REQUEST_CANCELLED, "Request cancelled")
        place.turns.is_taken = True
        place.is_cancelled = False

    async def _turn(
        self, session: Session, place: _Place, message_id: str, blocks: Sequence[Params]
    ) -> None:
        """Run one turn, from the echo of the prompt to the idle state that ends it."""
        updates = place.updates
        try:
            await updates.user(message_id, blocks)
            await updates.state("running")
            # The answer may have waited for its reader, and the cancellation not for the turn.
            is_wanted = not place.is_cancelled
            said = read_prompt(blocks, session.cwd)
            stop = await session.prompt(said) if is_wanted else "cancelled"
            await updates.state("idle", stopReason=stop)
        except ConnectionClosedError:
            raise
        except Exception:
            # The prompt has its answer: what goes wrong now can only be told by a state.
            logger.exception("a turn failed")
            error = {"code": jsonrpc.INTERNAL_ERROR, "message": "Internal error"}
            await updates.state("idle", stopReason="error", error=error)
        finally:
            place.turns.pass_on()

    def _offered(self, session: Session) -> dict[str, Json]:
        return {**session.settings(), "availableCommands": session.commands()}

    def _active(self, params: Params) -> Session:
        session = self._session(params)
        if not self._places[session.id].is_open:
            data = {"sessionId": session.id}
            raise RequestFailedError(jsonrpc.RESOURCE_NOT_FOUND, "The session is closed", data)
        return session
