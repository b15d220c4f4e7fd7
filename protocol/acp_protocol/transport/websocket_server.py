"""A connection over a WebSocket: all messages of both directions share it.

Source: ACP, RFD "Streamable HTTP and WebSocket transport", "WebSocket".
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from typing import Final

import anyio
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected

from acp_protocol.concurrency import BackgroundTasks, Change
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Batch,
    ErrorResponse,
    InvalidMessage,
    Message,
    Request,
    RequestId,
    SuccessResponse,
    encode_error,
    read_message,
)
from acp_protocol.transport.http import Reply
from acp_protocol.transport.served_connections import (
    CLOSE_CODES,
    Connections,
    EndedBy,
    OpenConnection,
)

logger = logging.getLogger(__name__)

SUBPROTOCOL: Final = "acp"
"""Chosen if the client offers it: a browser that offers one needs one back."""
CLOSE_TIMEOUT_S: Final = 1.0
"""Seconds for closing a WebSocket whose client may not read."""
MAX_REASON: Final = 123
"""Bytes of the reason that closes a WebSocket, at most."""
FRAME_OVERHEAD: Final = 1024
"""Bytes that a waiting message counts besides its own."""


async def serve_socket(connections: Connections, socket: WebSocket) -> None:
    """Serve one WebSocket until either side ends it."""
    connection = connections.new(is_socket=True)
    if isinstance(connection, Reply):
        reply = connection
        refused = Response(reply.body, reply.status, dict(reply.headers), reply.media_type)
        await socket.send_denial_response(refused)
        return
    try:
        headers = [(k.encode(), v.encode()) for k, v in connections.headers(connection).items()]
        offered: list[str] = socket.scope["subprotocols"]
        await socket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None, headers)
        connections.counts.sockets += 1
        try:
            await _ServedSocket(connections, connection, socket).serve()
        finally:
            connections.counts.sockets -= 1
    finally:
        connection.end("client", "the client closed the WebSocket")
        connections.close(connection)


class _ServedSocket:
    """One task receives messages, and one gives them to the agent."""

    def __init__(
        self, connections: Connections, connection: OpenConnection, socket: WebSocket
    ) -> None:
        self._connections = connections
        self._connection = connection
        self._socket = socket
        self._received: deque[bytes] = deque()
        self._received_bytes = 0
        self._arrived = Change()
        self._taken = Change()
        self._initialize: Request | None = None
        self._has_left = False
        self._sending_since: float | None = None
        self._stall_timer: asyncio.TimerHandle | None = None

    async def serve(self) -> None:
        try:
            await self._serve()
        finally:
            if self._stall_timer is not None:
                self._stall_timer.cancel()

    async def _serve(self) -> None:
        connection = self._connection
        async with BackgroundTasks() as tasks:
            tasks.start_soon(self._receive)
            tasks.start_soon(self._handle)
            ended_by = await connection.wait_end()
        if not self._has_left:
            # The client may be leaving now.
            leaving = suppress(WebSocketDisconnect, WebSocketDisconnected)
            with leaving, anyio.move_on_after(CLOSE_TIMEOUT_S):
                await self._close(ended_by, connection.reason)

    async def _close(self, ended_by: EndedBy, reason: str) -> None:
        if self._initialize is not None and self._connection.opening is None:
            refused = encode_error(
                self._initialize.id, INTERNAL_ERROR, f"Initialize failed: {reason}"
            )
            await self._send(refused)
            ended_by = "shutdown" if ended_by == "shutdown" else "error"
        text = reason.encode()[:MAX_REASON].decode("utf-8", "ignore")
        await self._socket.close(CLOSE_CODES[ended_by], text)

    async def _receive(self) -> None:
        """Receive messages, as long as not too many wait for the agent."""
        while True:
            while self._received_bytes >= self._connections.limits.unread:
                await self._taken.wait()
            received = await self._socket.receive()
            if received["type"] == "websocket.disconnect":
                self._leave()
                return
            text: str | None = received.get("text")
            if text is None:
                logger.debug("a binary message was ignored")
                continue
            frame = text.encode()
            self._received.append(frame)
            self._received_bytes += len(frame) + FRAME_OVERHEAD
            self._connections.counts.received(len(frame))
            self._connection.notify()
            self._arrived.notify()

    def _leave(self) -> None:
        self._has_left = True
        self._connection.end("client", "the client closed the WebSocket")

    async def _handle(self) -> None:
        """Give the agent what was received."""
        try:
            with anyio.move_on_after(self._connections.server_limits.body_s) as limit:
                while not self._connection.is_initialized:
                    await self._handle_first(await self._next())
                    if self._connection.ended_by is not None:
                        return
            if limit.cancelled_caught:
                self._connection.end("protocol", "initialize did not come in time")
            while True:
                await self._handle_next(await self._next())
        except ConnectionClosedError:
            self._connection.end("agent", "the agent ended")

    async def _next(self) -> bytes:
        while not self._received:
            await self._arrived.wait()
        frame = self._received.popleft()
        self._received_bytes -= len(frame) + FRAME_OVERHEAD
        self._taken.notify()
        return frame

    async def _handle_first(self, frame: bytes) -> None:
        message = read_message(frame, parse_entries=False)
        if await self._refuse(message) or isinstance(message, SuccessResponse | ErrorResponse):
            return
        if not isinstance(message, Request) or message.method != "initialize":
            self._connection.end("protocol", "First message must be initialize")
        elif message.id is None:
            self._connection.end("protocol", "Initialize request must include an ID")
        else:
            await self._open(message)

    async def _open(self, initialize: Request) -> None:
        self._initialize = initialize
        connection = self._connection
        connection.state.open(initialize)
        self._connections.start(connection, self._say)
        with anyio.move_on_after(self._connections.server_limits.initialize_s) as limit:
            await connection.open(initialize.raw)
        if limit.cancelled_caught:
            connection.end("error", "the agent did not answer in time")

    async def _handle_next(self, frame: bytes) -> None:
        message = read_message(frame, parse_entries=False)
        if isinstance(message, Request):
            if message.method == "initialize":
                reason = "The connection is initialized already"
                await self._send_error(message.id, INVALID_REQUEST, reason)
                return
            self._connection.state.note_request(message)
        if not await self._refuse(message):
            await self._connection.send(frame)

    async def _refuse(self, message: Message) -> bool:
        """Respond to what no agent has to see; return whether it is that."""
        if isinstance(message, Batch):
            await self._send_error(None, INVALID_REQUEST, "ACP has no batches")
        elif isinstance(message, InvalidMessage) and not message.is_response:
            await self._send_error(message.id, message.code, message.reason)
        else:
            return False
        return True

    async def _send_error(self, id_: RequestId, code: int, reason: str) -> None:
        await self._send(encode_error(id_, code, reason))

    async def _say(self, frame: bytes) -> None:
        """Send what the agent says."""
        connection = self._connection
        connection.check_open()
        await self._send(frame)
        if b'"id"' in frame or b"\\" in frame:
            # Else it is no response, and there is nothing to note.
            message = read_message(frame)
            if connection.opening is None and connection.state.answers_initialize(message):
                connection.opening, connection.is_initialized = frame, True
            connection.state.note(message)
        connection.notify()

    async def _send(self, frame: bytes) -> None:
        """Send a message to the client; end the connection if the client reads nothing."""
        text = frame.decode("utf-8", "replace")
        if self._sending_since is None:
            self._sending_since = time.monotonic()
        if self._stall_timer is None:
            self._watch_stall(self._connections.limits.stall_s)
        try:
            await self._socket.send_text(text)
        except (WebSocketDisconnect, WebSocketDisconnected):
            self._leave()
            return
        finally:
            self._sending_since = None
        self._connections.counts.sent(len(frame))

    def _watch_stall(self, seconds: float) -> None:
        """Look then whether a message still waits; a timer for each message costs more than it."""
        loop = asyncio.get_running_loop()
        self._stall_timer = loop.call_later(seconds, self._end_stalled)

    def _end_stalled(self) -> None:
        """End the connection if a message has waited for too long; else look again."""
        self._stall_timer = None
        if self._sending_since is None:
            return
        rest = self._sending_since + self._connections.limits.stall_s - time.monotonic()
        if rest > 0:
            self._watch_stall(rest)
        else:
            self._connections.end_stalled(self._connection)
