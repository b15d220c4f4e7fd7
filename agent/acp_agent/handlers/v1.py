"""Handlers of version 1.

Source: ACP, Initialization; Session Setup; Prompt Turn; Session Modes; Session Config Options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from acp_agent.continuum.mcp_bridge import Bridge
from acp_agent.handlers.base import Handlers
from acp_agent.handlers.providers import ProviderHandlers
from acp_agent.handlers.replay import replay, respond_then
from acp_agent.handlers.sessions import SessionHandlers
from acp_agent.params import (
    CONTINUUM,
    Handler,
    Params,
    dict_or_empty,
    has_placed_cwd,
    invalid_params,
    markers,
    option_value,
    session_busy,
)
from acp_agent.services import AgentServices
from acp_agent.sessions.log import SessionLog
from acp_agent.sessions.options import MODE, MODEL, options_for
from acp_agent.sessions.session import Session
from acp_agent.turn.prompt import blocks_of, read_prompt, requested_model
from acp_agent.updates.elicitation import supported_modes
from acp_agent.updates.v1 import SessionUpdates, new_message_id
from acp_agent.workspace import Workspace
from acp_protocol.jsonrpc import Json


class HandlersV1(Handlers):
    """Handles the methods of version 1."""

    version = 1

    def __init__(self, services: AgentServices) -> None:
        super().__init__(services)
        self._files: Params = {}
        self._has_terminals = False
        self._shows_notices = self._shows_compactions = False
        self.handlers = {
            "session/new": self._new_session,
            "session/load": self._load_session,
            "session/resume": self._resume_session,
            "session/close": self._close_session,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_config_option,
            "session/prompt": self._prompt,
            **(self._unstable() if services.is_unstable else {}),
            **self.auth.handlers,
            **SessionHandlers(self).handlers,
            **_bridge_of(services),
        }

    def initialized(self, params: Params) -> Json:
        """Store the capabilities of the client; return those of the agent."""
        able = dict_or_empty(params.get("clientCapabilities"))
        self.elicitation_modes = supported_modes(able)
        terminals = dict_or_empty(able.get("auth")).get("terminal")
        self._files = dict_or_empty(able.get("fs"))
        self._has_terminals = able.get("terminal") is True
        shown = dict_or_empty(able.get("session"))
        self._shows_notices = shown.get("notices") is not None
        self._shows_compactions = shown.get("compaction") is not None
        offers = ["list", "close", "resume", "delete", "additionalDirectories"]
        if self.services.is_unstable:
            offers += ["fork", "archive", "status", "title"]
        # What the Continuum dialect claims, and the published protocol has no word for.
        bridge = {"mcp": True, "mcpCapabilities": {"acp": True}}
        claims = {"_meta": {CONTINUUM: bridge}} if self.services.mcp.configured else {}
        if self.services.is_unstable:
            claims["providers"] = {}
        return {
            "protocolVersion": self.version,
            "agentInfo": self.info(),
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {
                    "image": self.takes_images,
                    "audio": False,
                    "embeddedContext": True,
                },
                "mcpCapabilities": self._reached(),
                "sessionCapabilities": markers(offers),
                **self.auth.capabilities(),
                **claims,
            },
            "authMethods": self.auth.listed_methods(has_terminal=terminals is True),
        }

    def cancel(self, session: Session) -> None:
        """Cancel the running turn; its prompt ends with `cancelled`."""
        session.cancel()

    def updates_for(self, log: SessionLog) -> SessionUpdates:
        """Return what notifies the client of a session."""
        updates = SessionUpdates(self.services.client, log.record.id, log)
        updates.shows_notices = self._shows_notices
        updates.shows_compactions = self._shows_compactions
        return updates

    def workspace_for(self, session_id: str, directories: Sequence[Path]) -> Workspace:
        """Return a workspace that uses the client's files and terminals where it offers them."""
        return Workspace(
            session_id,
            directories[0],
            additional=directories[1:],
            client=self.services.client,
            client_reads=self._files.get("readTextFile") is True,
            client_writes=self._files.get("writeTextFile") is True,
            terminal_tasks=self.services.mcp_client.tasks if self._has_terminals else None,
        )

    def _unstable(self) -> Mapping[str, Handler]:
        """Return the handlers of unstable methods."""
        providers = ProviderHandlers(self.services.models).handlers
        return {"session/fork": self._fork_session, **providers}

    def _wanted(self, params: Params) -> dict[str, str]:
        """Return the initial mode of a session, which only a dialect can set."""
        mode = _of_continuum(params).get("mode")
        if mode is None:
            return {}
        options = options_for(self.services.models)
        option = next(each for each in options if each.id == MODE)
        return {MODE: option_value(option, mode, "mode")}

    def _reached(self) -> dict[str, Json]:
        """Return the transports of MCP servers beside stdio."""
        return {"http": True, "sse": True} | ({"acp": True} if self.services.is_unstable else {})

    async def _new_session(self, params: Params) -> Json:
        session = await self.new(params, self._wanted(params))
        # Sent behind the answer: before it, the client does not know the session.
        return respond_then(
            self, session, {"sessionId": session.id, **session.settings()}, session.announce
        )

    async def _load_session(self, params: Params) -> Json:
        if (open_one := self.open.awake.get(params["sessionId"])) is not None:
            _check_free(open_one)
        session = await self.reopened(self._at_home(params))
        await replay(self, session, session.log.replayable(), session.context_updates)
        record = session.log.current()
        times = {"createdAt": record.created, "updatedAt": record.updated}
        kept = times | {"historyLength": session.history_length}
        history: dict[str, Json] = {"_meta": {CONTINUUM: kept}} if _of_continuum(params) else {}
        return respond_then(self, session, session.settings() | history, session.announce)

    async def _resume_session(self, params: Params) -> Json:
        session = await self.reopened(self._at_home(params))
        return respond_then(self, session, session.settings(), session.send_context)

    async def _fork_session(self, params: Params) -> Json:
        session = await self.forked(self._at_home(params))
        return respond_then(
            self, session, {"sessionId": session.id, **session.settings()}, session.send_context
        )

    def _at_home(self, params: Params) -> Params:
        """Return `params` with the session's own `cwd` if the client has sent none."""
        if not has_placed_cwd(params):
            return params
        return {**params, "cwd": self.recorded(params["sessionId"]).cwd}

    async def _close_session(self, params: Params) -> Json:
        if not await self.close(params["sessionId"]):
            raise self.closed(params["sessionId"])
        return {}

    async def _set_mode(self, params: Params) -> Json:
        async with self.using(params) as session:
            option = session.option(MODE)
            assert option is not None
            await session.set_option(option, option_value(option, params["modeId"], "modeId"))
            return {}

    async def _set_config_option(self, params: Params) -> Json:
        async with self.using(params) as session:
            if (option := session.option(params["configId"])) is None:
                raise invalid_params(f"configId: there is no option {params['configId']!r}")
            await session.set_option(option, option_value(option, params["value"], "value"))
            return {"configOptions": session.settings()["configOptions"]}

    async def _prompt(self, params: Params) -> Json:
        async with self.prompting(params) as session:
            if session is None:
                return {"stopReason": "cancelled"}
            with session.tasks.running():
                await _let_answer(session, params)
            blocks = blocks_of(params, session.model)
            _check_free(session)
            record = partial(session.updates.user, new_message_id(), blocks)
            with self.auth.with_methods():
                stop = await session.prompt(read_prompt(blocks, session.cwd), record)
            used = session.take_used()
            return {"stopReason": stop, **(used if self.services.is_unstable else {})}


def _bridge_of(services: AgentServices) -> Mapping[str, Handler]:
    """Return the handlers by which a client uses configured servers, if there are any."""
    mcp = services.mcp
    if not mcp.configured:
        return {}
    bridge = Bridge(
        mcp.configured,
        services.client,
        services.mcp_client.tasks,
        cwd=Path.cwd(),
        new_id=services.new_id,
        limits=mcp.limits,
        allowed=mcp.allowed,
    )
    return bridge.handlers


def _of_continuum(params: Params) -> Params:
    """Return the fields of the Continuum dialect in `_meta`."""
    return dict_or_empty(dict_or_empty(params.get("_meta")).get(CONTINUUM))


async def _let_answer(session: Session, params: Params) -> None:
    """Choose the model that the prompt names, for this and the following prompts."""
    option = session.option(MODEL)
    assert option is not None
    wanted = requested_model(params, option)
    if wanted is not None and wanted != session.model.name:
        _check_free(session)
        await session.set_option(option, wanted)


def _check_free(session: Session) -> None:
    """Refuse a request that cannot run beside a turn."""
    if session.is_busy:
        raise session_busy()
