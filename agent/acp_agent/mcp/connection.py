"""One server behind the bridge: messages go to it and come back as they are.

Source: Continuum Router, "MCP-over-ACP Bridge", "Process Lifecycle".
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

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

from acp_agent.mcp.bridge import Teller
from acp_agent.mcp.declarations import StdioServer, WebServer
from acp_agent.mcp.limits import Limits
from acp_agent.mcp.process import open_process
from acp_agent.mcp.reasons import reason_of
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
        self, name: str, server: StdioServer | WebServer, client: Teller, limits: Limits
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
        """To be set by whoever wants the connection to end."""
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
        told = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        match message:
            case JSONRPCNotification():
                params: Json = {"connectionId": self._name, "message": told}
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
                    waiter.answer = told
                    waiter.has_come.set()


def _invalid(reason: str) -> RequestFailedError:
    return RequestFailedError(jsonrpc.INVALID_PARAMS, f"Invalid params: {reason}")
