"""The agent's side of a connection: negotiates the version, then dispatches to its handlers.

It checks the order of requests and the schema of their params before a handler is called.

Source: ACP, Initialization, "Version Negotiation"; ACP version 2, Initialization.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

import anyio
from anyio.abc import TaskGroup

from acp_agent.handlers.base import Handlers
from acp_agent.handlers.dialect import ClientDialect
from acp_agent.handlers.params import Params, invalid_params
from acp_agent.handlers.v1 import HandlersV1
from acp_agent.handlers.v2 import HandlersV2
from acp_agent.services import AgentServices
from acp_agent.sessions.manager import SessionManager
from acp_agent.store.errors import StoreError
from acp_protocol import jsonrpc
from acp_protocol.connection import Connection
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import as_object, is_finite
from acp_protocol.jsonrpc import UNSUPPORTED_VERSION, Json, Notification, Request

logger = logging.getLogger(__name__)

HANDLERS: Final[dict[int, type[Handlers]]] = {1: HandlersV1, 2: HandlersV2}
IDLE_CHECKS: Final = 4
"""Checks for idle sessions within one idle timeout."""
MAX_VERSION: Final = 65535
"""The greatest version number of the protocol."""


class AgentServer:
    """Handles requests of a client; set `connection` and `tasks` before the first frame is read.

    `tasks` runs what sessions need beside their turns, such as MCP servers.
    """

    connection: Connection
    tasks: TaskGroup

    def __init__(
        self, services: AgentServices | None = None, dialects: Sequence[ClientDialect] = ()
    ) -> None:
        """`dialects` are those of clients; the first one counts until another is spoken."""
        self.services = services or AgentServices()
        self._dialects = dialects or (ClientDialect(),)
        self.spoken_dialect: Callable[[], str | None] = lambda: None
        """Returns the name of the dialect that the client speaks, as far as that is known."""
        protocol = self.services.settings.protocol
        newest = max(protocol.version, 2) if protocol.dialect == BATCHES else protocol.version
        self._versions = tuple(version for version in HANDLERS if version <= newest)
        self._handlers: Handlers | None = None
        self._has_begun = False

    @property
    def version(self) -> int | None:
        """The negotiated version of the protocol; None before that."""
        return self._handlers.version if self._handlers is not None else None

    @property
    def sessions(self) -> SessionManager | None:
        """The open sessions; None before the version is negotiated."""
        return self._handlers.sessions if self._handlers is not None else None

    async def handle_request(self, request: Request) -> Json:
        """Return the result of a request of the client."""
        if request.method == "initialize":
            return self._initialize(request)
        handlers = self._handlers
        if handlers is None:
            raise RequestFailedError(jsonrpc.INVALID_REQUEST, "The first request is initialize")
        _check_id(request, handlers.version)
        self._has_begun = True
        handler = handlers.handlers.get(request.method)
        if handler is None:
            raise RequestFailedError(
                jsonrpc.METHOD_NOT_FOUND, "Method not found", {"method": request.method}
            )
        try:
            return await handler(_read(request, handlers.version))
        except StoreError as problem:
            logger.error("%s: %s", request.method, problem)  # noqa: TRY400 - the message is enough
            sentence = f"The sessions cannot be kept: {problem}"
            raise RequestFailedError(jsonrpc.INTERNAL_ERROR, sentence) from None

    async def handle_notification(self, notification: Notification) -> None:
        """Handle a notification of the client; before `initialize` it is ignored."""
        if self._handlers is not None:
            self._handlers.notified(notification.method, as_object(notification.params))

    def cancel_all(self) -> None:
        """Cancel every running turn; their prompts end with `cancelled`."""
        if self._handlers is not None:
            self._handlers.cancel_all()

    async def release_sessions(self) -> None:
        """Let other connections open the sessions of this one, whose turns have ended."""
        if self._handlers is not None:
            await self._handlers.sessions.release_all()

    async def suspend_idle(self) -> None:
        """Suspend sessions that have been idle for too long; runs until cancelled."""
        timeout = self.services.settings.sessions.idle_timeout
        while timeout is not None:
            await anyio.sleep(timeout / IDLE_CHECKS)
            if self._handlers is not None:
                await self._handlers.sessions.suspend_idle(timeout)

    def new_handlers(self, version: int) -> Handlers:
        """Return handlers of that version."""
        spoken = self.spoken_dialect()
        dialect = next((each for each in self._dialects if each.name == spoken), self._dialects[0])
        # A dialect that is recognised later is adopted by the requests that have its fields.
        is_spoken = dialect.name == spoken
        services = dialect.services_for_client(self.services) if is_spoken else self.services
        return HANDLERS[version](services, self.connection, self.tasks, dialect)

    def _initialize(self, request: Request) -> Json:
        if self._has_begun:
            raise RequestFailedError(jsonrpc.INVALID_REQUEST, "initialize comes too late")
        requested = as_object(request.params)
        version = self._negotiate(requested)
        _check_id(request, version)
        if self._handlers is not None and version < self._handlers.version:
            raise RequestFailedError(
                jsonrpc.INVALID_REQUEST, f"Version {self._handlers.version} was agreed on already"
            )
        is_newer = requested["protocolVersion"] > version
        # A client that wants a newer version sends params that we cannot check.
        params = requested if is_newer else _read(request, version)
        handlers = self.new_handlers(version)
        result = handlers.initialized(params)
        # Only now: an attempt that fails leaves an earlier agreement as it was.
        self._handlers = handlers
        if version < 2:
            self.connection.disallow_batches()
        return result

    def _negotiate(self, params: Params) -> int:
        """Return the version to speak, before anything else in the params is checked."""
        if "protocolVersion" not in params:
            raise invalid_params("params.protocolVersion is missing")
        requested: Json = params["protocolVersion"]
        if type(requested) is not int or not 0 <= requested <= MAX_VERSION:
            raise invalid_params(
                f"params.protocolVersion is not an integer from 0 to {MAX_VERSION}"
            )
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


def _check_id(request: Request, version: int) -> None:
    if version >= 2 and request.id is None:
        raise RequestFailedError(jsonrpc.INVALID_REQUEST, "A request needs an id")


def _read(request: Request, version: int) -> Params:
    """Return the params as lenient readers take them; refuse those that do not fit the schema."""
    if not is_finite(request.params):
        raise invalid_params("a number is out of range")
    # The schema is imported with the first request, not at the agent's start.
    from acp_protocol.schema.methods import find_method
    from acp_protocol.schema.validate import parse_params

    row = find_method(request.method, version, kind="request")
    if row is not None and row.sent_by == "agent":
        # A dialect uses this name for a request in the other direction.
        return as_object(request.params)
    params, errors = parse_params(request.method, request.params, version, kind="request")
    if wrong := [str(error) for error in errors if not error.is_tolerated]:
        raise invalid_params("; ".join(wrong))
    return as_object(params)
