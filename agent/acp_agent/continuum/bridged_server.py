"""One server behind the bridge: messages go to it and come back as they are.

Source: Continuum Router, "MCP-over-ACP Bridge", "Process Lifecycle".
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectSendStream
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

from acp_agent.mcp.declarations import Limits, StdioServer, WebServer
from acp_agent.mcp.messages import reason_of
from acp_agent.mcp.process import open_process
from acp_agent.mcp.web import web_transport
from acp_protocol import jsonrpc
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.jsonrpc import MCP_FAILED, Json

logger = logging.getLogger(__name__)

METHOD: Final = "mcp/message"


class BridgedServer:
    """A connection to one server, and the client's requests that it has not answered."""

    def __init__(
        self,
        connection_id: str,
        server: StdioServer | WebServer,
        limits: Limits,
        notify: Callable[[str, Json], Awaitable[None]],
    ) -> None:
        self._connection_id = connection_id
        self._server = server
        self._limits = limits
        self._notify = notify
        self._pending: dict[str | int, MemoryObjectSendStream[dict[str, Json]]] = {}
        self._send: Callable[[SessionMessage], Awaitable[None]] | None = None
        self._scope = anyio.CancelScope()
        self.failure: str | None = None
        """Why the server cannot be used; the text fits behind its id."""
        self.has_opened = anyio.Event()
        self.has_ended = anyio.Event()
        """Set by the caller when `run` has returned."""

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self._send is not None

    def close(self) -> None:
        """Have `run` end."""
        self._set_failure("was disconnected")
        self._scope.cancel()

    async def run(self, cwd: Path) -> None:
        """Start the server and forward its messages until either side closes the connection."""
        try:
            with self._scope:
                await self._forward_messages(cwd)
        except Exception as problem:  # noqa: BLE001 - a failing server must not end the agent
            self._set_failure(reason_of(problem))
            logger.warning("MCP server %s %s", self._server.id, self.failure)
        finally:
            self._send = None
            self._set_failure("has closed the connection")
            self.has_opened.set()
            for pending in self._pending.values():
                pending.close()

    def broken(self) -> RequestFailedError:
        """Return the error for a server that is gone, or too slow."""
        reason = self.failure or "takes too long"
        return RequestFailedError(MCP_FAILED, f"The MCP server {self._server.id} {reason}")

    async def send(self, message: dict[str, Json]) -> dict[str, Json]:
        """Forward a message; return the response, {} if it needs none.

        Raises:
            RequestFailedError: it is no message, its id is that of an open request, or the server
                does not respond.
        """
        try:
            read = jsonrpc_message_adapter.validate_python(message, by_name=False)
        except ValidationError:
            raise _invalid("message is not a JSON-RPC message") from None
        if not isinstance(read, JSONRPCRequest):
            await self._write(read)
            return {}
        if read.id in self._pending:
            raise _invalid("message.id is that of an open request")
        pending, response = anyio.create_memory_object_stream[dict[str, Json]](1)
        self._pending[read.id] = pending
        try:
            with (
                pending,
                response,
                suppress(anyio.EndOfStream),
                anyio.move_on_after(self._limits.call_timeout),
            ):
                await self._write(read)
                return await response.receive()
        finally:
            self._pending.pop(read.id, None)
        raise self.broken()

    async def _forward_messages(self, cwd: Path) -> None:
        async with AsyncExitStack() as stack:
            server, limits = self._server, self._limits
            if isinstance(server, StdioServer):
                transport = open_process(server, cwd, limits, self._set_failure)
            else:
                transport = await web_transport(server, limits, stack, self._set_failure)
            from_server, to_server = await stack.enter_async_context(transport)
            self._send = to_server.send
            self.has_opened.set()
            async for item in from_server:
                if not isinstance(item, Exception):
                    await self._receive(item.message)

    def _set_failure(self, reason: str) -> None:
        self.failure = self.failure or reason

    async def _write(self, message: JSONRPCMessage) -> None:
        with (
            anyio.move_on_after(self._limits.call_timeout),
            suppress(anyio.BrokenResourceError, anyio.ClosedResourceError),
        ):
            if self._send is not None:
                await self._send(SessionMessage(message))
                return
        raise self.broken()

    async def _receive(self, message: JSONRPCMessage) -> None:
        content = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        match message:
            case JSONRPCNotification():
                params: Json = {"connectionId": self._connection_id, "message": content}
                try:
                    await self._notify(METHOD, params)
                except ConnectionClosedError:
                    self.close()
            case JSONRPCRequest():
                # The bridge cannot forward requests to the client.
                error = ErrorData(code=METHOD_NOT_FOUND, message="Method not found")
                with suppress(RequestFailedError):
                    await self._write(JSONRPCError(jsonrpc="2.0", id=message.id, error=error))
            case _:
                pending = None if message.id is None else self._pending.pop(message.id, None)
                if pending is not None:
                    pending.send_nowait(content)


def _invalid(reason: str) -> RequestFailedError:
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {reason}")
