"""MCP servers that the client serves over ACP itself.

Every request of ours travels by itself, as `mcp/message`, and its response is a carrier that holds
either the result or the error of the server. There are no connections, and no `initialize`.

Source: ACP, unstable, "MCP over ACP", schema of 2026-11.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from acp_agent.mcp.process import Streams, stream_pair
from acp_agent.world.terminals import RequestSender
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.json_values import as_object, get_int, get_object, get_text
from acp_protocol.jsonrpc import MCP_LIMITED, Json

logger = logging.getLogger(__name__)

METHOD: Final = "mcp/message"
BUFFER: Final = 64
"""Messages of the client that may wait for a session; notifications beyond are left out."""
LISTEN: Final = "subscriptions/listen"
SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
ACTIVE: Final = 64
"""Requests that may be open at one server at once."""


class AcpTransports:
    """The open requests to all servers of one client; requests are named apart from each other."""

    def __init__(self, client: RequestSender) -> None:
        self.client = client
        self.names = (f"mcp_{number}" for number in itertools.count(1))
        self.requests: dict[tuple[str, str], tuple[_Transport, JSONRPCRequest]] = {}

    @asynccontextmanager
    async def open(self, server_id: str) -> AsyncGenerator[Streams]:
        """Carry the messages of a session to the server that the client calls `server_id`."""
        with stream_pair(BUFFER) as (session_side, (to_session, from_session)):
            async with BackgroundTasks() as tasks:
                transport = _Transport(self, server_id, to_session, tasks)
                tasks.start_soon(transport.carry, from_session)
                yield session_side

    def notified(self, params: Mapping[str, Json]) -> None:
        """Take an `mcp/message` notification; one that belongs to no open request is left out."""
        server_id, request_id = params.get("serverId"), params.get("requestId")
        if isinstance(server_id, str) and isinstance(request_id, str):
            found = self.requests.get((server_id, request_id))
            if found is not None:
                transport, request = found
                transport.notified(request, params)


class _Transport:
    """The messages of one session of the SDK."""

    def __init__(
        self,
        acp_transports: AcpTransports,
        server_id: str,
        to_session: MemoryObjectSendStream[SessionMessage | Exception],
        tasks: TaskGroup,
    ) -> None:
        self._transports = acp_transports
        self.server_id = server_id
        self._to_session = to_session
        self._tasks = tasks
        self._running: dict[str | int, anyio.CancelScope] = {}

    async def carry(self, from_session: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for each in from_session:
            match each.message:
                case JSONRPCRequest() if len(self._running) >= ACTIVE:
                    reason = f"{ACTIVE} requests are open already"
                    self._tasks.start_soon(self._send, _error(each.message, MCP_LIMITED, reason))
                case JSONRPCRequest():
                    scope = self._running[each.message.id] = anyio.CancelScope()
                    self._tasks.start_soon(self._ask, each.message, scope)
                case JSONRPCNotification(method="notifications/cancelled", params=params):
                    # This cancels the request to the client, too.
                    scope = self._running.get((params or {}).get("requestId", ""))
                    if scope is not None:
                        scope.cancel()
                case _:
                    logger.debug("an MCP message for no server over ACP")

    def notified(self, request: JSONRPCRequest, params: Mapping[str, Json]) -> None:
        method, inner = params.get("method"), params.get("params")
        if not isinstance(method, str) or not (inner is None or isinstance(inner, dict)):
            return
        members = None if inner is None else as_object(inner)
        if request.method == LISTEN:
            # On the wire a subscription has the id that the request has there.
            members = members or {}
            members |= {"_meta": {**get_object(members, "_meta"), SUBSCRIPTION: request.id}}
        message = JSONRPCNotification(jsonrpc="2.0", method=method, params=members)
        try:
            self._to_session.send_nowait(SessionMessage(message))
        except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            logger.warning("MCP server %s: a notification was left out", self.server_id)

    async def _ask(self, request: JSONRPCRequest, scope: anyio.CancelScope) -> None:
        name = next(self._transports.names)
        params: dict[str, Json] = {
            "serverId": self.server_id,
            "requestId": name,
            "method": request.method,
        }
        if request.params is not None:
            params["params"] = request.params
        self._transports.requests[self.server_id, name] = (self, request)
        try:
            with scope:
                carrier = await self._transports.client.request(METHOD, params)
                await self._send(_answer(request, carrier))
        except RequestFailedError as refusal:
            await self._send(_error(request, refusal.code, refusal.message))
        except ConnectionClosedError as problem:
            await self._send(_error(request, CONNECTION_CLOSED, str(problem)))
        finally:
            del self._transports.requests[self.server_id, name]
            del self._running[request.id]

    async def _send(self, answer: JSONRPCResponse | JSONRPCError) -> None:
        try:
            await self._to_session.send(SessionMessage(answer))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            logger.debug("an answer came after the session")


def _answer(request: JSONRPCRequest, carrier: Json) -> JSONRPCResponse | JSONRPCError:
    """Return what a carrier holds; of a result and an error, the result counts."""
    members = as_object(carrier)
    if isinstance(members.get("result"), dict):
        return JSONRPCResponse(jsonrpc="2.0", id=request.id, result=get_object(members, "result"))
    error = get_object(members, "error")
    code, message = get_int(error, "code"), get_text(error, "message")
    if "result" not in members and code is not None and message is not None:
        return _error(request, code, message, error.get("data"))
    return _error(request, INTERNAL_ERROR, "the client's answer holds no result and no error")


def _error(request: JSONRPCRequest, code: int, message: str, data: Json = None) -> JSONRPCError:
    error = ErrorData(code=code, message=message, data=data)
    return JSONRPCError(jsonrpc="2.0", id=request.id, error=error)
