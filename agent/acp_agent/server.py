"""The agent's side of the protocol, version 1.

Source: ACP, Initialization; Session Setup; Prompt Turn; Session Modes.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, cast
from uuid import uuid4

import anyio

from acp_agent.models.demo import DemoModel
from acp_agent.permissions import MODES
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

Params = Mapping[str, Json]
Answerer = Callable[[Params], Awaitable[Json]]


class AgentServer:
    """Handles what a client asks; `connection` is set before the first frame is read."""

    connection: Connection

    def __init__(self, *, pace: float = 0.0) -> None:
        self._pace = pace
        self._model = DemoModel()
        self._client_capabilities: Params | None = None
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
        if self._client_capabilities is None and request.method != "initialize":
            raise RequestFailedError(jsonrpc.INVALID_REQUEST, "The first request is initialize")
        _check(request)
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

    async def _initialize(self, params: Params) -> Json:
        # Version 1 is answered whatever is asked: whoever cannot speak it has to leave.
        self._client_capabilities = _object(params.get("clientCapabilities"))
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentInfo": {"name": "acp-agent", "title": "acp-agent (demo)", "version": VERSION},
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
        cwd = Path(cast("str", params["cwd"]))
        if not cwd.is_absolute():
            raise _invalid("cwd is no absolute path")
        if not await anyio.Path(cwd).is_dir():
            raise _invalid("cwd is no directory")
        if len(self._sessions) >= SESSION_LIMIT:
            raise RequestFailedError(jsonrpc.INTERNAL_ERROR, "Too many open sessions")
        if params.get("mcpServers"):
            logger.warning("MCP servers are not connected by this agent yet")
        session_id = uuid4().hex
        session = Session(
            session_id, self.connection, self._workspace(session_id, cwd), self._model, self._pace
        )
        self._sessions[session_id] = session
        # Sent behind the answer: before it, the client does not know the session.
        return Followed({"sessionId": session_id, "modes": session.modes()}, session.announce)

    async def _list_sessions(self, params: Params) -> Json:
        cwd = params.get("cwd")
        return {
            "sessions": [
                {
                    "sessionId": session.id,
                    "cwd": str(session.cwd),
                    "title": session.title,
                    "updatedAt": session.updated_at.isoformat(timespec="milliseconds"),
                }
                for session in self._sessions.values()
                if cwd is None or str(session.cwd) == cwd
            ]
        }

    async def _close_session(self, params: Params) -> Json:
        session = self._session(params)
        session.cancel()
        del self._sessions[session.id]
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
        if session.is_busy:
            raise RequestFailedError(
                jsonrpc.INVALID_REQUEST, "A turn is running in this session; cancel it first"
            )
        text = prompt_text(cast("list[Params]", params["prompt"]))
        return {"stopReason": await session.prompt(text)}

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


def prompt_text(blocks: list[Params]) -> str:
    """Return what the blocks of a prompt say as text; resources stand by their name."""
    return "\n".join(text for block in blocks if (text := _block_text(block)))


def _block_text(block: Params) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[{uri}]"
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case _:
            return ""


def _check(request: Request) -> None:
    """Refuse params that do not fit their shape, by the name of the member."""
    # pydantic comes in with the first request, not with the start of the agent.
    from acp_protocol.schema.validate import check_params

    complaints = check_params(request.method, request.params)
    wrong = [str(complaint) for complaint in complaints if not complaint.lenient]
    if wrong:
        raise _invalid("; ".join(wrong))


def _invalid(reason: str) -> RequestFailedError:
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {reason}")


def _object(value: Json) -> Params:
    return cast("Params", value) if isinstance(value, dict) else {}
