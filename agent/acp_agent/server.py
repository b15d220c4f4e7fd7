"""The agent's side of a connection: negotiates the version, then dispatches to its handlers.

It checks the order of requests and the schema of their params before a handler is called.

Source: ACP, Initialization, "Version Negotiation"; ACP version 2, Initialization.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import anyio
from anyio.abc import TaskGroup

from acp_agent.handlers.auth import AuthMode
from acp_agent.handlers.base import SESSION_LIMIT, TITLE, Handlers
from acp_agent.handlers.v1 import HandlersV1
from acp_agent.handlers.v2 import HandlersV2
from acp_agent.mcp.servers import McpClient, McpSettings
from acp_agent.models.demo import DemoModel
from acp_agent.models.types import Model
from acp_agent.params import Params, dict_or_empty, invalid_params
from acp_agent.services import AgentServices
from acp_agent.sessions.session import Session
from acp_agent.sessions.store import SessionRecord, SessionStore, StoreError
from acp_agent.sessions.suspended import IDLE_TIMEOUT_S, SuspendedSession
from acp_agent.turn.limits import Conduct
from acp_protocol import jsonrpc
from acp_protocol.connection import Connection
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import is_finite
from acp_protocol.jsonrpc import Json, Notification, Request

logger = logging.getLogger(__name__)

HANDLERS: Final[dict[int, type[Handlers]]] = {1: HandlersV1, 2: HandlersV2}
IDLE_CHECKS: Final = 4
"""Checks for idle sessions within one idle timeout."""
UNSUPPORTED_VERSION: Final = -32022
MAX_VERSION: Final = 65535
"""The greatest number of a version."""


def random_id() -> str:
    """Return an id that cannot be guessed: a UUID of version 4, as some clients expect.

    Source: RFC 9562, "UUID Version 4".
    """
    # Imported here, because it takes as long as much of what the agent does at its start.
    from uuid import UUID

    return str(UUID(bytes=os.urandom(16), version=4))


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Where sessions are stored, and how many are open for how long."""

    store: SessionStore
    limit: int = SESSION_LIMIT
    """Sessions that may be awake at once."""
    idle_timeout: float | None = IDLE_TIMEOUT_S
    """Seconds without activity after which a session is suspended; None: never."""
    is_unstable: bool = False
    """Whether unstable parts of the protocol are offered."""


class AgentServer:
    """Handles requests of a client; set `connection` and `tasks` before the first frame is read.

    `tasks` holds what runs for sessions beside their turns, such as MCP servers.

    `others` are models that a session may choose instead of `model`. `newest` is the newest version
    to speak: version 2 is a draft, and spoken only where somebody wants it. `new_id` names
    sessions. `pace` is in seconds, see `Context.pace`. `keeping` tells where sessions are kept and
    for how long; without it, in memory. `mcp` tells which MCP servers every session has,
    `conduct` what its turns may do and how far they go, `auth` who is let in. `namespace` stands
    before the names of commands, see `Staff`. `title` is what users know the agent by.
    """

    connection: Connection
    tasks: TaskGroup

    def __init__(
        self,
        *,
        model: Model | None = None,
        others: Sequence[Model] = (),
        pace: float = 0.0,
        newest: int = 1,
        new_id: Callable[[], str] = random_id,
        keeping: SessionSettings | None = None,
        mcp: McpSettings | None = None,
        conduct: Conduct | None = None,
        auth: AuthMode = "keys",
        namespace: str | None = None,
        title: str = TITLE,
    ) -> None:
        self._models = (model or DemoModel(), *others)
        self._pace = pace
        self._new_id = new_id
        self._keeping = keeping or SessionSettings(SessionStore())
        self._mcp = mcp or McpSettings()
        self._conduct = conduct or Conduct()
        self._auth: AuthMode = auth
        self._namespace = namespace
        self._title = title
        self._versions = tuple(version for version in HANDLERS if version <= newest)
        self._handlers: Handlers | None = None
        self._has_begun = False

    @property
    def version(self) -> int | None:
        """The negotiated version of the protocol; None before that."""
        return self._handlers.version if self._handlers is not None else None

    @property
    def open_sessions(self) -> Sequence[Session]:
        """The sessions that are open and awake."""
        return list(self._handlers.open.awake.values()) if self._handlers is not None else []

    @property
    def suspended_sessions(self) -> Mapping[str, SuspendedSession]:
        """The suspended sessions, by id."""
        return dict(self._handlers.open.suspended) if self._handlers is not None else {}

    def session_record(self, session_id: str) -> SessionRecord | None:
        """Return the record of a session; None if there is none."""
        return self._keeping.store.get(session_id)

    async def handle_request(self, request: Request) -> Json:
        """Return the result of a request of the client."""
        if request.method == "initialize":
            return self._initialize(request)
        handlers = self._handlers
        if handlers is None:
            raise RequestFailedError(jsonrpc.INVALID_REQUEST, "The first request is initialize")
        if handlers.version >= 2 and request.id is None:
            raise RequestFailedError(jsonrpc.INVALID_REQUEST, "A request needs an id")
        self._has_begun = True
        handler = handlers.handlers.get(request.method)
        if handler is None:
            raise RequestFailedError(
                jsonrpc.METHOD_NOT_FOUND, "Method not found", {"method": request.method}
            )
        try:
            return await handler(_read(request, handlers.version))
        except StoreError as problem:
            logger.error("%s: %s", request.method, problem)  # noqa: TRY400 - a sentence says it all
            sentence = f"The sessions cannot be kept: {problem}"
            raise RequestFailedError(jsonrpc.INTERNAL_ERROR, sentence) from None

    async def handle_notification(self, notification: Notification) -> None:
        """Handle a notification of the client; before `initialize` it is ignored."""
        if self._handlers is not None:
            self._handlers.notified(notification.method, dict_or_empty(notification.params))

    def cancel_all(self) -> None:
        """Cancel every running turn; their prompts end with `cancelled`."""
        if self._handlers is not None:
            self._handlers.cancel_all()

    async def suspend_idle(self) -> None:
        """Suspend sessions that have been idle for too long; runs until cancelled."""
        timeout = self._keeping.idle_timeout
        while timeout is not None:
            await anyio.sleep(timeout / IDLE_CHECKS)
            if self._handlers is not None:
                await self._handlers.open.suspend_idle(timeout)

    def _initialize(self, request: Request) -> Json:
        if self._has_begun:
            raise RequestFailedError(jsonrpc.INVALID_REQUEST, "initialize comes too late")
        requested = dict_or_empty(request.params)
        version = self._agreed(requested)
        if version >= 2 and request.id is None:
            raise RequestFailedError(jsonrpc.INVALID_REQUEST, "A request needs an id")
        if self._handlers is not None and version < self._handlers.version:
            raise RequestFailedError(
                jsonrpc.INVALID_REQUEST, f"Version {self._handlers.version} was agreed on already"
            )
        is_newer = requested["protocolVersion"] > version
        # A client that wants a newer version sends params that we cannot check.
        params = requested if is_newer else _read(request, version)
        handlers = HANDLERS[version](self.services())
        result = handlers.initialized(params)
        # Only now: an attempt that fails leaves an earlier agreement as it was.
        self._handlers = handlers
        if version < 2:
            self.connection.disallow_batches()
        return result

    def services(self) -> AgentServices:
        """Return what the sessions of the connection work with."""
        keeping, conduct = self._keeping, self._conduct
        return AgentServices(
            client=self.connection,
            models=self._models,
            store=keeping.store,
            new_id=self._new_id,
            mcp_client=McpClient(self.connection, self.tasks, self._mcp.limits),
            mcp=self._mcp,
            session_limit=keeping.limit,
            is_unstable=keeping.is_unstable,
            auth=self._auth,
            title=self._title,
            namespace=self._namespace,
            pace=self._pace,
            rules=conduct.rules,
            audit=conduct.audit,
            limits=conduct.limits,
            tools=conduct.tools,
            instructions=conduct.instructions,
        )

    def _agreed(self, params: Params) -> int:
        """Return the version to speak, before anything else in the params is checked."""
        if "protocolVersion" not in params:
            raise invalid_params("params.protocolVersion is missing")
        requested: Json = params["protocolVersion"]
        if type(requested) is not int or not 0 <= requested <= MAX_VERSION:
            raise invalid_params(f"params.protocolVersion is no integer from 0 to {MAX_VERSION}")
        if self._versions == (1,):
            # Version 1 has no such error: an agent answers what it speaks, and the client leaves.
            return 1
        spoken = [version for version in self._versions if version <= requested]
        if not spoken:
            raise RequestFailedError(
                UNSUPPORTED_VERSION,
                "Unsupported protocol version",
                {"requested": requested, "supported": list(self._versions)},
            )
        return max(spoken)


def _read(request: Request, version: int) -> Params:
    """Return the params as lenient readers take them; refuse those that do not fit the schema."""
    if not is_finite(request.params):
        raise invalid_params("a number is out of range")
    # The shapes come in with the first request, not with the start of the agent.
    from acp_protocol.schema.methods import find_method
    from acp_protocol.schema.validate import parse_params

    row = find_method(request.method, version, kind="request")
    if row is not None and row.sent_by == "agent":
        # A request of a dialect, whose name is taken by one that goes the other way.
        return dict_or_empty(request.params)

    params, errors = parse_params(request.method, request.params, version, kind="request")
    if wrong := [str(error) for error in errors if not error.is_tolerated]:
        raise invalid_params("; ".join(wrong))
    return dict_or_empty(params)
