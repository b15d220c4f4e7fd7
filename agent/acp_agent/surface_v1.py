"""The agent's side of version 1.

Source: ACP, Initialization; Session Setup; Prompt Turn; Session Modes.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from acp_agent.prompts import read_prompt
from acp_agent.session import Session
from acp_agent.surface import Household, Params, Surface, blocks_of, invalid, members_of, mode_of
from acp_agent.updates import Updates
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.handling import Followed
from acp_protocol.jsonrpc import Json
from acp_protocol.version import VERSION

logger = logging.getLogger(__name__)


class SurfaceV1(Surface):
    """Answers the methods of version 1."""

    version = 1

    def __init__(self, household: Household) -> None:
        super().__init__(household)
        self._files: Params = {}
        self.answerers = {
            "authenticate": self._authenticate,
            "session/new": self._new_session,
            "session/list": self._list_sessions,
            "session/close": self._close_session,
            "session/set_mode": self._set_mode,
            "session/prompt": self._prompt,
        }

    def initialized(self, params: Params) -> Json:
        """Remember which files the client serves; tell who we are and what we can do."""
        self._files = members_of(members_of(params.get("clientCapabilities")).get("fs"))
        title = f"acp-agent ({self._household.model.name})"
        return {
            "protocolVersion": self.version,
            "agentInfo": {"name": "acp-agent", "title": title, "version": VERSION},
            "agentCapabilities": {
                "loadSession": False,
                "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": False, "sse": False},
                "sessionCapabilities": {"list": {}, "close": {}},
            },
            "authMethods": [],
        }

    def check_servers(self, servers: Sequence[Params]) -> None:
        """Take servers on stdio, which every agent of this version has to, and no others."""
        for place, server in enumerate(servers):
            if server.get("type", "stdio") != "stdio":
                raise invalid(f"params.mcpServers.{place}: {server['type']} was not offered")
        if servers:
            logger.warning("MCP servers are not connected by this agent yet")

    def cancel(self, session: Session) -> None:
        """End the running turn; its prompt is answered with `cancelled`."""
        session.cancel()

    async def _authenticate(self, params: Params) -> Json:
        method = params.get("methodId")
        raise invalid(f"methodId: there is no method {method!r}; none is needed")

    async def _new_session(self, params: Params) -> Json:
        client = self._household.client
        session = await self._opened(params, lambda id_: Updates(client, id_), self._files)
        # Sent behind the answer: before it, the client does not know the session.
        return Followed({"sessionId": session.id, **session.settings()}, session.announce)

    async def _list_sessions(self, params: Params) -> Json:
        return self._listed(params)

    async def _close_session(self, params: Params) -> Json:
        session = self._session(params)
        del self._sessions[session.id]
        await session.end()
        return {}

    async def _set_mode(self, params: Params) -> Json:
        session = self._session(params)
        await session.set_mode(mode_of(params["modeId"], "modeId"))
        return {}

    async def _prompt(self, params: Params) -> Json:
        session = self._session(params)
        blocks = blocks_of(params)
        if session.is_busy:
            raise RequestFailedError(
                jsonrpc.INVALID_REQUEST, "A turn is running in this session; cancel it first"
            )
        return {"stopReason": await session.prompt(read_prompt(blocks, session.cwd))}
