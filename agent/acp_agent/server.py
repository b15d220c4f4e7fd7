"""The agent's side of the protocol, version 1.

Source: ACP, Initialization; Session Setup; Prompt Turn; Session Modes.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, cast

import anyio

from acp_agent.models.demo import DemoModel
from acp_agent.models.model import Model
from acp_agent.permissions import MODES
from acp_agent.prompts import read_prompt
from acp_agent.session import Session
from acp_agent.workspace import Workspace
from acp_protocol import jsonrpc
from acp_protocol.connection import Connection, Followed
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.version import VERSION

logger = logging.getLogger(__name__)

PROTOCOL_VERSION: Final = 1
SESSION_LIMIT: Final = 1000
"""Sessions that may be open at once."""
PROMPT_BLOCKS: Final = frozenset({"text", "resource_link", "resource"})
"""Kinds of content that a prompt may hold, as `initialize` tells."""

Params = Mapping[str, Json]
Answerer = Callable[[Params], Awaitable[Json]]


def random_id() -> str:
    """Return an id that nobody guesses."""
    return os.urandom(16).hex()


class AgentServer:
    """Handles what a client asks; `connection` is set before the first frame is read.

    `new_id` names sessions. `pace` is in seconds, see `Context.pace`.
    """

    connection: Connection

    def __init__(
        self,
        *,
        model: Model | None = None,
        pace: float = 0.0,
        new_id: Callable[[], str] = random_id,
    ) -> None:
        self._model = model or DemoModel()
        self._pace = pace
        self._new_id = new_id
        self._client_capabilities: Params | None = None
        self._has_begun = False
        self._sessions: dict[str, Session] = {}
        self._answerers: dict[str, Answerer] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._new_session,
            "session/list": self._list_sessions,
            "session/close": self._close_session,
            "session/set_mode": self._set_mode,
            "session/prompt": self._prompt,
        }

    async def handle_request(self, request: Request) -> Json:
        """Answer a request of the client."""
        answerer = self._answerers.get(request.method)
        if answerer is None:
            raise RequestFailedError(
                jsonrpc.METHOD_NOT_FOUND, "Method not found", {"method": request.method}
            )
        self._check_order(request.method)
        _check_shape(request)
        return await answerer(_object(request.params))

    async def handle_notification(self, notification: Notification) -> None:
        """Take note of what the client says; what is not known is ignored."""
        if notification.method == "session/cancel":
            session_id = _object(notification.params).get("sessionId")
            session = self._sessions.get(session_id) if isinstance(session_id, str) else None
            if session is not None:
                session.cancel()

    def cancel_all(self) -> None:
        """End every running turn; their prompts are answered with `cancelled`."""
        for session in self._sessions.values():
            session.cancel()

    def _check_order(self, method: str) -> None:
        if method == "initialize":
            if self._has_begun:
                raise RequestFailedError(jsonrpc.INVALID_REQUEST, "initialize comes too late")
        elif self._client_capabilities is None:
            raise RequestFailedError(jsonrpc.INVALID_REQUEST, "The first request is initialize")
        else:
            self._has_begun = True

    async def _initialize(self, params: Params) -> Json:
        # Version 1 is answered whatever is asked: whoever cannot speak it has to leave.
        self._client_capabilities = _object(params.get("clientCapabilities"))
        title = f"acp-agent ({self._model.name})"
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentInfo": {"name": "acp-agent", "title": title, "version": VERSION},
            "agentCapabilities": {
                "loadSession": False,
                "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": False, "sse": False},
                "sessionCapabilities": {"list": {}, "close": {}},
            },
            "authMethods": [],
        }

    async def _authenticate(self, params: Params) -> Json:
        method = params.get("methodId")
        raise _invalid(f"methodId: there is no method {method!r}; none is needed")

    async def _new_session(self, params: Params) -> Json:
        cwd = await _directory(cast("str", params["cwd"]))
        if params.get("additionalDirectories"):
            raise _invalid("additionalDirectories were not offered by this agent")
        _check_mcp_servers(cast("list[Params]", params.get("mcpServers") or []))
        if len(self._sessions) >= SESSION_LIMIT:
            raise RequestFailedError(jsonrpc.INTERNAL_ERROR, "Too many open sessions")
        session_id = self._new_id()
        session = Session(
            session_id, self.connection, self._workspace(session_id, cwd), self._model, self._pace
        )
        self._sessions[session_id] = session
        # Sent behind the answer: before it, the client does not know the session.
        return Followed({"sessionId": session_id, "modes": session.modes()}, session.announce)

    async def _list_sessions(self, params: Params) -> Json:
        if params.get("cursor") is not None:
            raise _invalid("cursor: this agent has given none")
        cwd = Path(params["cwd"]) if params.get("cwd") else None
        return {
            "sessions": [
                {
                    "sessionId": session.id,
                    "cwd": str(session.cwd),
                    "title": session.title,
                    "updatedAt": session.updated_at.isoformat(timespec="milliseconds"),
                }
                for session in self._sessions.values()
                if cwd in {None, session.cwd}
            ]
        }

    async def _close_session(self, params: Params) -> Json:
        session = self._session(params)
        del self._sessions[session.id]
        await session.end()
        return {}

    async def _set_mode(self, params: Params) -> Json:
        session = self._session(params)
        for mode, _, _ in MODES:
            if mode == params["modeId"]:
                await session.set_mode(mode)
                return {}
        raise _invalid(f"modeId: there is no mode {params['modeId']!r}")

    async def _prompt(self, params: Params) -> Json:
        session = self._session(params)
        blocks = cast("list[Params]", params["prompt"])
        for place, block in enumerate(blocks):
            if block.get("type") not in PROMPT_BLOCKS:
                raise _invalid(f"params.prompt.{place}: {block.get('type')} was not offered")
        if session.is_busy:
            raise RequestFailedError(
                jsonrpc.INVALID_REQUEST, "A turn is running in this session; cancel it first"
            )
        return {"stopReason": await session.prompt(read_prompt(blocks, session.cwd))}

    def _session(self, params: Params) -> Session:
        session_id = cast("str", params["sessionId"])
        if (session := self._sessions.get(session_id)) is None:
            raise RequestFailedError(
                jsonrpc.RESOURCE_NOT_FOUND, "There is no such session", {"sessionId": session_id}
            )
        return session

    def _workspace(self, session_id: str, cwd: Path) -> Workspace:
        files = _object((self._client_capabilities or {}).get("fs"))
        return Workspace(
            session_id,
            cwd,
            client=self.connection,
            client_reads=files.get("readTextFile") is True,
            client_writes=files.get("writeTextFile") is True,
        )


async def _directory(name: str) -> Path:
    """Return the directory of that name; refuse what is none."""
    cwd = Path(name)
    if not cwd.is_absolute():
        raise _invalid("cwd is no absolute path")
    try:
        is_directory = await anyio.Path(cwd).is_dir()
        if ".." in cwd.parts:
            cwd = Path(await anyio.Path(cwd).resolve())
    except OSError:
        is_directory = False
    if not is_directory:
        raise _invalid("cwd is no directory")
    return cwd


def _check_mcp_servers(servers: list[Params]) -> None:
    for place, server in enumerate(servers):
        if "type" in server:
            raise _invalid(f"params.mcpServers.{place}: {server['type']} was not offered")
    if servers:
        logger.warning("MCP servers are not connected by this agent yet")


def _check_shape(request: Request) -> None:
    """Refuse params that do not fit their shape, by the name of the member."""
    # The shapes come in with the first request, not with the start of the agent; and they are held
    # against it without pydantic, which alone takes longer to import than the agent to start.
    from acp_protocol.schema.complaints import find_complaints
    from acp_protocol.schema.methods import find_method
    from acp_protocol.schema.validate import shape

    method = find_method(request.method, kind="request")
    assert method is not None
    assert method.params is not None
    params: Json = {} if request.params is None else request.params
    complaints = find_complaints(shape(method.params), params, "params")
    if wrong := [str(complaint) for complaint in complaints if not complaint.lenient]:
        raise _invalid("; ".join(wrong))


def _invalid(reason: str) -> RequestFailedError:
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {reason}")


def _object(value: Json) -> Params:
    return cast("Params", value) if isinstance(value, dict) else {}
