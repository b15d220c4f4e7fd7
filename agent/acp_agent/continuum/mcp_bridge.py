"""The bridge of the Continuum Router: a client reaches servers that the agent has configured.

It works in the opposite direction of MCP over ACP: the client opens a connection and sends whole
JSON-RPC messages, of which the agent reads only the id.

Source: Continuum Router, "MCP-over-ACP Bridge".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import anyio
from anyio.abc import TaskGroup

from acp_agent.handlers.params import Handler, Params
from acp_agent.mcp.declarations import Limits, Server, StdioServer, WebServer
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import MCP_LIMITED, MCP_NOT_FOUND, Json
from acp_protocol.user_files.mcp_ids import ID_RULE, is_server_id

if TYPE_CHECKING:
    from acp_agent.continuum.bridged_server import BridgedServer


class NotificationSender(Protocol):
    async def notify(self, method: str, params: Json = None) -> None:
        """Send a notification to the client."""
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
        self._open: dict[str, BridgedServer] = {}
        self.handlers: Mapping[str, Handler] = {
            "mcp/connect": self._connect,
            "mcp/message": self._message,
            "mcp/disconnect": self._disconnect,
        }

    async def aclose(self) -> None:
        """Close every connection, side by side."""
        connections = list(self._open.values())
        for connection in connections:
            connection.close()
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
            raise RequestFailedError(MCP_NOT_FOUND, "There is no such MCP server", {"id": id_})
        most = self._limits.connections
        if len(self._open) >= most:
            raise RequestFailedError(MCP_LIMITED, f"Too many MCP connections: {most} may be open")

        # The SDK takes a second to import.
        from acp_agent.continuum.bridged_server import BridgedServer

        name = self._new_id()
        connection = self._open[name] = BridgedServer(
            name, server, self._limits, self._client.notify
        )
        self._tasks.start_soon(self._serve, name, connection)
        try:
            with anyio.move_on_after(self._limits.spawn_timeout):
                await connection.has_opened.wait()
            if not connection.is_open:
                raise connection.broken()
        finally:
            if not connection.has_opened.is_set():
                connection.close()
        return {"connectionId": name}

    async def _serve(self, name: str, connection: BridgedServer) -> None:
        try:
            await connection.run(self._cwd)
        finally:
            del self._open[name]
            connection.has_ended.set()

    async def _message(self, params: Params) -> Json:
        message: Json = params.get("message")
        if not isinstance(message, dict):
            raise RequestFailedError(
                jsonrpc.INVALID_PARAMS, "Invalid params: message is not an object"
            )
        return await self._connection(params).send(cast("dict[str, Json]", message))

    async def _disconnect(self, params: Params) -> Json:
        connection = self._connection(params)
        connection.close()
        await connection.has_ended.wait()
        return {}

    def _connection(self, params: Params) -> BridgedServer:
        id_ = params.get("connectionId")
        connection = self._open.get(id_) if isinstance(id_, str) else None
        if connection is None:
            raise RequestFailedError(MCP_NOT_FOUND, "There is no such MCP connection", {"id": id_})
        return connection
