"""Handlers of version 2, a draft.

A prompt gets its response as soon as it is part of the conversation; the outcome is sent as a state
update. A prompt that arrives while a turn runs waits until the turn has ended.

Source: ACP version 2, Initialization; Session Setup; Prompt Lifecycle; Session Config Options.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import cast

from acp_agent.handlers.base import Handlers
from acp_agent.handlers.params import (
    Handler,
    Params,
    invalid_params,
    markers,
    prompt_blocks,
)
from acp_agent.sessions.session import AgentSession
from acp_agent.store.errors import StoreError
from acp_agent.store.log import SessionLog
from acp_agent.turn.prompt import read_prompt
from acp_agent.updates.v1 import RenderedUpdates, new_message_id
from acp_agent.updates.v2 import SessionUpdatesV2, call_of
from acp_agent.world.elicitation import supported_modes
from acp_protocol import jsonrpc
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.handler import Response
from acp_protocol.json_values import get_object
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)


class HandlersV2(Handlers):
    """Handles the methods of version 2."""

    version = 2

    def own_handlers(self) -> Mapping[str, Handler]:
        return {
            "tool_call/cancel": self._cancel_call,
            "terminal/cancel": self._cancel_terminal,
        }

    def initialized(self, params: Params) -> Json:
        """Return the capabilities of the agent; files and terminals are its own in this version."""
        capabilities = get_object(params, "capabilities")
        self.elicitation_modes = supported_modes(capabilities)
        has_terminal = get_object(capabilities, "auth").get("terminal") is not None
        methods = ["delete", "additionalDirectories"]
        servers = ["stdio", "http"]
        if self.is_unstable:
            methods += ["fork", "archive", "status", "title"]
            servers.append("acp")
        prompt = ["embeddedContext"] if "resource" in self.offered_content else []
        prompt += ["image"] if self.takes_images else []
        session = markers(methods) | {
            "prompt": markers(prompt),
            "mcp": markers(servers),
        }
        providers = markers(["providers"] if self.is_unstable else [])
        return {
            "protocolVersion": self.version,
            "info": self.info(),
            "capabilities": {"session": session, **self.auth.capabilities(), **providers},
            "authMethods": self.auth.listed_methods(has_terminal=has_terminal),
        }

    def cancel(self, session: AgentSession) -> None:
        """Cancel the turn that runs or was accepted."""
        session.is_turn_cancelled = True
        session.cancel()

    def updates_for(self, log: SessionLog) -> SessionUpdatesV2:
        return SessionUpdatesV2(self.client, log.record.id, log)

    def result_for(self, session: AgentSession) -> dict[str, Json]:
        return {**session.settings(), "availableCommands": session.commands()}

    async def announce(self, session: AgentSession, *, is_new: bool) -> None:
        del is_new
        await session.warn()

    def state(self, session: AgentSession) -> dict[str, Json]:
        if session.turn_slot.value > 0:
            return {"state": "idle"}
        is_asking = cast("SessionUpdatesV2", session.updates).is_asking
        return {"state": "requires_action" if is_asking else "running"}

    async def _resume_session(self, params: Params) -> Json:
        start: Json = params.get("replayFrom")
        if start is not None and start.get("type") != "start":
            raise invalid_params(f"replayFrom.type: {start.get('type')!r} is not supported")
        session = await self.reopen(params)
        events = session.log.replayable() if start is not None else None

        async def then() -> RenderedUpdates:
            context = await session.context_updates() if start is not None else []
            return [*context, ("state_update", self.state(session))]

        await self.replay(session, events, then)
        return self.respond_then(session, self.result_for(session), session.warn)

    async def _close_session(self, params: Params) -> Json:
        # One that is not open, or not there, counts as closed.
        await self.sessions.close(params["sessionId"])
        return {}

    async def _cancel_call(self, params: Params) -> Json:
        if not await self._end_call(params, params["toolCallId"]):
            raise invalid_params("toolCallId: no such tool call runs")
        return {}

    async def _cancel_terminal(self, params: Params) -> Json:
        """Cancel the tool call that runs in a terminal."""
        if not await self._end_call(params, call_of(params["terminalId"])):
            raise invalid_params("terminalId: nothing runs in such a terminal")
        return {}

    async def _end_call(self, params: Params, call_id: str) -> bool:
        """Cancel one tool call; return whether it was running."""
        session_id = params["sessionId"]
        if (session := self.sessions.awake.get(session_id)) is not None:
            return session.end_call(call_id)
        if session_id not in self.sessions.suspended:
            raise await self.not_open(session_id)
        return False

    async def _prompt(self, params: Params) -> Json:
        async with self.prompting(params) as session:
            if session is None:
                raise _cancelled()
            blocks = prompt_blocks(params, session.model, self.offered_content)
            if not blocks:
                raise invalid_params("params.prompt is empty")
            message_id = new_message_id()
            await self._accept(session, partial(session.updates.user, message_id, blocks))
            return Response(
                {"messageId": message_id}, partial(self._turn, session, message_id, blocks)
            )

    async def _accept(self, session: AgentSession, record: Callable[[], Awaitable[None]]) -> None:
        """Return when the prompt is recorded and its turn is next.

        Raises:
            RequestFailedError: it was cancelled before; then it is no part of the conversation.
        """
        with self.sessions.waiting(session.id) as scope:
            await session.turn_slot.acquire()
            session.is_turn_cancelled = False
            try:
                await record()
            except BaseException:
                self._release(session)
                raise
        if scope.cancelled_caught:
            raise _cancelled()

    def _release(self, session: AgentSession) -> None:
        session.turn_slot.release()
        self.sessions.notify_idle()

    async def _turn(self, session: AgentSession, message_id: str, blocks: Sequence[Params]) -> None:
        """Run one turn, from the echo of the prompt to the idle state that ends it."""
        updates = cast("SessionUpdatesV2", session.updates)
        try:
            outcome = await self._outcome(session, updates, message_id, blocks)
            usage = session.take_turn_usage()
            await updates.state("idle", **outcome, **(usage if self.is_unstable else {}))
        finally:
            updates.is_asking = False
            self._release(session)

    async def _outcome(
        self,
        session: AgentSession,
        updates: SessionUpdatesV2,
        message_id: str,
        blocks: Sequence[Params],
    ) -> dict[str, Json]:
        """Run one turn; return its outcome as fields of a state update."""
        try:
            await updates.echo(message_id, blocks)
            await updates.state("running")
            # The response may have waited for the client; a cancellation does not wait for it.
            if session.is_turn_cancelled:
                return {"stopReason": "cancelled"}
            with self.auth.with_methods():
                return {"stopReason": await session.prompt(read_prompt(blocks, session.cwd))}
        except ConnectionClosedError:
            raise
        except RequestFailedError as problem:
            error = {"code": problem.code, "message": problem.message}
            if problem.data is not None:
                error["data"] = problem.data
        except StoreError as problem:
            message = f"The session cannot be kept: {problem}"
            error = {"code": jsonrpc.INTERNAL_ERROR, "message": message}
        except Exception:
            # The prompt has its response already, so a state update reports the error.
            logger.exception("a turn failed")
            error = {"code": jsonrpc.INTERNAL_ERROR, "message": "Internal error"}
        return {"stopReason": "error", "error": error}


def _cancelled() -> RequestFailedError:
    return RequestFailedError(jsonrpc.REQUEST_CANCELLED, "Request cancelled")
