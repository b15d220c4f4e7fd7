"""The bridge of the Continuum Router: a client reaches servers that the agent has configured.

It runs the other way round than MCP over ACP: the client opens a connection, and what it sends is a
whole JSON-RPC message, of which the agent reads nothing but the id.

Source: Continuum Router, "MCP-over-ACP Bridge".
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, Protocol, TypeAlias, cast

import anyio
from anyio.abc import TaskGroup
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import (
    METHOD_NOT_FOUND,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from acp_agent.mcp.config import Limits, Server, StdioServer, WebServer
from acp_agent.mcp.errors import reason_of
from acp_agent.mcp.names import ID_RULE, is_server_id
from acp_agent.mcp.process import open_process
from acp_agent.mcp.web import web_transport
from acp_protocol import jsonrpc
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.jsonrpc import Json

logger = logging.getLogger(__name__)

METHOD: Final = "mcp/message"


class _Waiter:
    """Somebody who waits for an answer."""

    def __init__(self) -> None:
        self.has_come = anyio.Event()
        self.answer: dict[str, Json] | None = None


class Connection:
    """One server, and who waits for its answers."""

    def __init__(
        self, name: str, server: StdioServer | WebServer, client: NotificationSender, limits: Limits
    ) -> None:
        self._name = name
        self._server = server
        self._client = client
        self._limits = limits
        self._waiting: dict[str | int, _Waiter] = {}
        self._send: Callable[[SessionMessage], Awaitable[None]] | None = None
        self.trouble: str | None = None
        """Why the server cannot be used; the words fit behind its id."""
        self.has_opened = anyio.Event()
        self.is_leaving = anyio.Event()
        """Set to end the connection."""
        self.has_ended = anyio.Event()
        """To be set by who runs it."""

    @property
    def server_id(self) -> str:
        """The id of the server."""
        return self._server.id

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self._send is not None

    async def run(self, cwd: Path) -> None:
        """Start the server, and hand on what it says until either side leaves."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._wait_leaving, tasks)
                await self._talk(cwd)
                tasks.cancel_scope.cancel()
        except Exception as problem:  # noqa: BLE001 - a server is a plug-in: it cannot end the agent
            self._note(reason_of(problem))
            logger.warning("MCP server %s %s", self._server.id, self.trouble)
        finally:
            self._send = None
            self._note("has closed the connection")
            self.has_opened.set()
            for waiter in self._waiting.values():
                waiter.has_come.set()

    async def send(self, message: dict[str, Json]) -> dict[str, Json] | None:
        """Hand a message on; return the server's answer, nothing for what needs none.

        None stands for a server that is gone or takes too long.

        Raises:
            RequestFailedError: it is no message, or its id is that of an open request.
        """
        try:
            read = jsonrpc_message_adapter.validate_python(message, by_name=False)
        except ValidationError:
            raise _invalid("message is no JSON-RPC message") from None
        if not isinstance(read, JSONRPCRequest):
            return {} if await self._write(read) else None
        if read.id in self._waiting:
            raise _invalid("message.id is that of an open request")
        waiter = self._waiting[read.id] = _Waiter()
        try:
            with anyio.move_on_after(self._limits.call_timeout):
                if await self._write(read):
                    await waiter.has_come.wait()
        finally:
            del self._waiting[read.id]
        return waiter.answer

    async def _talk(self, cwd: Path) -> None:
        async with AsyncExitStack() as stack:
            opened = await self._opened(cwd, stack)
            from_server, to_server = await stack.enter_async_context(opened)
            self._send = to_server.send
            self.has_opened.set()
            async for item in from_server:
                if not isinstance(item, Exception):
                    await self._take(item.message)

    async def _opened(self, cwd: Path, stack: AsyncExitStack) -> Transport:
        if isinstance(self._server, StdioServer):
            return open_process(self._server, cwd, self._limits, self._note)
        return await web_transport(self._server, self._limits, stack, self._note)

    def _note(self, reason: str) -> None:
        self.trouble = self.trouble or reason

    async def _wait_leaving(self, tasks: TaskGroup) -> None:
        await self.is_leaving.wait()
        self._note("was disconnected")
        tasks.cancel_scope.cancel()

    async def _write(self, message: JSONRPCMessage) -> bool:
        """Return whether the server has got the message."""
        if self._send is None:
            return False
        with anyio.move_on_after(self._limits.call_timeout):
            try:
                await self._send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return False
            return True
        return False

    async def _take(self, message: JSONRPCMessage) -> None:
        frame = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        match message:
            case JSONRPCNotification():
                params: Json = {"connectionId": self._name, "message": frame}
                try:
                    await self._client.notify(METHOD, params)
                except ConnectionClosedError:
                    self.is_leaving.set()
            case JSONRPCRequest():
                # The bridge has no way back for questions.
                error = ErrorData(code=METHOD_NOT_FOUND, message="Method not found")
                await self._write(JSONRPCError(jsonrpc="2.0", id=message.id, error=error))
            case _:
                waiter = None if message.id is None else self._waiting.get(message.id)
                if waiter is not None:
                    waiter.answer = frame
                    waiter.has_come.set()


def _invalid(reason: str) -> RequestFailedError:
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {reason}")


LIMITED: Final = -33000
MISSING: Final = -33001
BROKEN: Final = -33002
"""Codes for what goes wrong on this side of a server, as for MCP over ACP."""

Params: TypeAlias = Mapping[str, Json]
Handler: TypeAlias = Callable[[Params], Awaitable[Json]]


class NotificationSender(Protocol):
    """Sends notifications to the client."""

    async def notify(self, method: str, params: Json = None) -> None:
        """Tell the client."""
        ...


class Bridge:
    """The connections of one client to configured servers."""

    def __init__(
        self,
        servers: Sequence[Server],
        client: NotificationSender,
        tasks: TaskGroup,
        *,
        cwd: Path,
        new_id: Callable[[], str],
        limits: Limits | None = None,
        allowed: Collection[str] = (),
    ) -> None:
        self._servers = {
            each.id: each
            for each in servers
            if isinstance(each, StdioServer | WebServer) and (not allowed or each.id in allowed)
        }
        self._client = client
        self._tasks = tasks
        self._cwd = cwd
        self._new_id = new_id
        self._limits = limits or Limits()
        self._open: dict[str, Connection] = {}
        self.handlers: Mapping[str, Handler] = {
            "mcp/connect": self._connect,
            "mcp/message": self._message,
            "mcp/disconnect": self._disconnect,
        }

    async def aclose(self) -> None:
        """Close every connection, side by side."""
        connections = list(self._open.values())
        for connection in connections:
            connection.is_leaving.set()
        for connection in connections:
            await connection.has_ended.wait()

    async def _connect(self, params: Params) -> Json:
        id_ = params.get("id")
        if not isinstance(id_, str) or not is_server_id(id_):
            raise RequestFailedError(
                jsonrpc.INVALID_PARAMS, f"Invalid params: {ID_RULE}", {"id": id_}
            )
        server = self._servers.get(id_)
        if server is None:
            raise RequestFailedError(MISSING, "There is no such MCP server", {"id": id_})
        most = self._limits.connections
        if len(self._open) >= most:
            raise RequestFailedError(LIMITED, f"Too many MCP connections: {most} may be open")

        name = self._new_id()
        connection = self._open[name] = Connection(name, server, self._client, self._limits)
        self._tasks.start_soon(self._serve, name, connection)
        try:
            with anyio.move_on_after(self._limits.spawn_timeout):
                await connection.has_opened.wait()
        finally:
            if not connection.has_opened.is_set():
                connection.is_leaving.set()
        if not connection.is_open:
            raise _broken(connection)
        return {"connectionId": name}

    async def _serve(self, name: str, connection: Connection) -> None:
        try:
            await connection.run(self._cwd)
        finally:
            del self._open[name]
            connection.has_ended.set()

    async def _message(self, params: Params) -> Json:
        message: Json = params.get("message")
        if not isinstance(message, dict):
            raise RequestFailedError(jsonrpc.INVALID_PARAMS, "Invalid params: message is no object")
        connection = self._connection(params)
        answer = await connection.send(cast("dict[str, Json]", message))
        if answer is None:
            raise _broken(connection)
        return answer

    async def _disconnect(self, params: Params) -> Json:
        connection = self._connection(params)
        connection.is_leaving.set()
        await connection.has_ended.wait()
        return {}

    def _connection(self, params: Params) -> Connection:
        id_ = params.get("connectionId")
        connection = self._open.get(id_) if isinstance(id_, str) else None
        if connection is None:
            raise RequestFailedError(MISSING, "There is no such MCP connection", {"id": id_})
        return connection


def _broken(connection: Connection) -> RequestFailedError:
    reason = connection.trouble or "takes too long"
    return RequestFailedError(BROKEN, f"The MCP server {connection.server_id} {reason}")
