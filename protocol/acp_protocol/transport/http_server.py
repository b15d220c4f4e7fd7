"""The endpoint of an agent over HTTP and WebSocket, as an ASGI application.

What a request means is in `http.py`; this reads requests and writes responses.

Source: ACP, RFD "Streamable HTTP and WebSocket transport".
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import anyio
import anyio.lowlevel
from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from acp_protocol.errors import ConnectionClosedError
from acp_protocol.jsonrpc import INTERNAL_ERROR, Request
from acp_protocol.transport.http import (
    CONNECTION_HEADER,
    EVENT_STREAM,
    JSON_TYPE,
    KEEP_ALIVE,
    LAST_EVENT_HEADER,
    EventStream,
    Posted,
    Reply,
    ServedConnection,
    SseEvent,
    comment,
    error_reply,
    read_post,
    refusal,
    too_large,
)
from acp_protocol.transport.served_connections import (
    Connections,
    NewState,
    OpenConnection,
    busy,
)
from acp_protocol.transport.websocket_server import serve_socket

_MAX_DIGITS: Final = 20
"""Digits of a length that are read; a number with more is too large anyway."""
WRITE_BYTES: Final = 64 * 1024
"""Bytes of events that are written together, if so many wait; one event may be larger."""
PAUSE_S: Final = 0.001
"""Seconds between two writes to a stream on which events come in quick succession."""
QUICK_S: Final = 0.0003
QUICK_WRITES: Final = 4
"""Writes within `QUICK_S` seconds of each other that make a quick succession."""


@dataclass
class HttpEndpoint:
    """Serves the connections; `connections.running` has to be entered first."""

    connections: Connections
    new_state: ClassVar[NewState] = ServedConnection

    def __post_init__(self) -> None:
        self._bodies = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await serve_socket(self.connections, WebSocket(scope, receive, send))
            return
        headers = _headers(scope)
        match scope["method"]:
            case "POST":
                reply = await self._post(headers, receive, send)
            case "GET":
                reply = await self._get(headers, receive, send)
            case "DELETE":
                reply = self._delete(headers)
            case _:
                reply = refusal(405, "Only GET, POST and DELETE are possible")
                reply = Reply(405, reply.body, reply.media_type, {"Allow": "GET, POST, DELETE"})
        if reply is not None:
            await send_reply(reply, send)

    async def _post(self, headers: Mapping[str, str], receive: Receive, send: Send) -> Reply | None:
        """Handle a message; return the response, or None if it was sent or the client has gone."""
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:_MAX_DIGITS]) > self.connections.limits.body:
            return too_large(self.connections.limits)
        body = bytearray()
        try:
            with anyio.move_on_after(self.connections.server_limits.body_s) as limit:
                if (refused := await self._read(body, receive)) is not None:
                    return refused
            if limit.cancelled_caught:
                return refusal(408, "The body did not come in time")
            return await self._take(headers, bytes(body), receive, send)
        except GoneError:
            return None
        finally:
            self._bodies -= len(body)

    async def _take(
        self, headers: Mapping[str, str], body: bytes, receive: Receive, send: Send
    ) -> Reply | None:
        """Handle a body; return the response, or None if it was sent."""
        del send
        posted = read_post(headers, body, self.connections.limits)
        if isinstance(posted, Reply):
            return posted
        self.connections.counts.received(len(body))
        if posted.connection is None:
            return await self._initialize(posted, receive)
        return await self._forward(posted, posted.connection, receive)

    async def _read(self, body: bytearray, receive: Receive) -> Reply | None:
        """Read the body of a request; return why it is refused, if it is."""
        has_more = True
        while has_more:
            message = await receive()
            if message["type"] != "http.request":
                raise GoneError
            chunk = message.get("body", b"")
            body += chunk
            self._bodies += len(chunk)
            if len(body) > self.connections.limits.body:
                return too_large(self.connections.limits)
            if self._bodies > self.connections.server_limits.bodies:
                return busy("Too many bodies are on their way")
            has_more = message.get("more_body", False)
        return None

    async def _initialize(self, posted: Posted, receive: Receive) -> Reply:
        request = posted.message
        assert isinstance(request, Request)
        connection = self.connections.new(new_state=self.new_state)
        if isinstance(connection, Reply):
            return connection
        try:
            connection.state.open(request)
            self.connections.start(connection)
            with anyio.move_on_after(self.connections.server_limits.initialize_s) as limit:
                await unless_gone(lambda: connection.open(posted.raw), receive)
            if limit.cancelled_caught:
                reason = "The agent did not answer initialize in time"
                return error_reply(504, INTERNAL_ERROR, reason, request.id)
        finally:
            connection.is_initialized = connection.opening is not None
            if not connection.is_initialized:
                connection.end("client", "initialize was not answered")
        if connection.opening is None:
            reason = f"The agent did not answer initialize: {connection.reason}"
            return error_reply(500, INTERNAL_ERROR, reason, request.id)
        return Reply(200, connection.opening, JSON_TYPE, self.connections.headers(connection))

    async def _forward(self, posted: Posted, id_: str, receive: Receive) -> Reply:
        connection = self.connections.find(id_)
        if isinstance(connection, Reply):
            return connection
        if isinstance(posted.message, Request) and connection.state.is_full:
            # Its response will have to wait for a reader, too.
            await unless_gone(connection.wait_room, receive)
        if (refused := connection.state.accept(posted)) is not None:
            return refused
        try:
            await connection.send(posted.raw)
        except ConnectionClosedError:
            return self.connections.unknown(id_)
        return Reply(202)

    def _delete(self, headers: Mapping[str, str]) -> Reply:
        connection = self.connections.find(headers.get(CONNECTION_HEADER))
        if isinstance(connection, Reply):
            return connection
        connection.end("client", "the client ended it")
        return Reply(202)

    async def _get(self, headers: Mapping[str, str], receive: Receive, send: Send) -> Reply | None:
        connection = self.connections.find(headers.get(CONNECTION_HEADER))
        if isinstance(connection, Reply):
            # A wrong Accept is reported first, but not that the events of a stream are gone.
            others = {name: each for name, each in headers.items() if name != LAST_EVENT_HEADER}
            opened = ServedConnection(self.connections.limits).open_stream(others)
            return opened if isinstance(opened, Reply) else connection
        stream = connection.state.open_stream(headers)
        if isinstance(stream, Reply):
            return stream
        counts = self.connections.counts
        counts.streams += 1
        try:
            await send(
                start_response(200, {"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no"})
            )
            await unless_gone(lambda: self._write(connection, stream, send), receive)
        except GoneError:
            pass
        finally:
            counts.streams -= 1
            connection.state.close_stream(stream)
            connection.notify_written()
            connection.attended_at = time.monotonic()
            connection.notify()
        return None

    async def _write(self, connection: OpenConnection, stream: EventStream, send: Send) -> None:
        """Write a stream; once its connection has ended, a client that does not read is left."""
        async with anyio.create_task_group() as tasks:

            async def watch_end() -> None:
                await connection.wait_end()
                await anyio.sleep(self.connections.server_limits.last_comment_s)
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch_end)
            await self._write_events(connection, stream, send)
            tasks.cancel_scope.cancel()

    async def _write_events(
        self, connection: OpenConnection, stream: EventStream, send: Send
    ) -> None:
        """Write the events of a stream until its connection ends."""
        # Headers go out at once with it, even if there is no event yet.
        await send(body_part(KEEP_ALIVE))
        quick, written = 0, -math.inf
        while True:
            if connection.state.is_early(stream):
                await self._wait_history(connection, stream)
            if connection.state.has_earlier(stream):
                # Some clients rely on the order in which the agent has said it.
                connection.hurry()
                await anyio.lowlevel.checkpoint()
            events = _some(connection.state, stream)
            if events:
                # There is room for as much, while the client may take its time to read this.
                connection.notify()
                await self._write_some(events, stream, send)
                connection.notify_written()
                # What comes in quick succession is written together: a write costs more than the
                # rest, and the pause is too short to be noticed.
                now = time.monotonic()
                is_quick = len(events) > 1 or now - written < QUICK_S
                quick, written = (quick + 1 if is_quick else 0), now
                if quick >= QUICK_WRITES:
                    await connection.pause(PAUSE_S)
            elif connection.ended_by is not None:
                break
            else:
                await self.wait_event(connection, send)
        if connection.ended_by not in {"agent", "client"}:
            await send(body_part(comment(f"the connection ended: {connection.reason}")))
        await send(body_part(b"", more=False))

    async def _wait_history(self, connection: OpenConnection, stream: EventStream) -> None:
        """Wait until the history is written that the next event ends, while its reader reads."""
        connection.hurry()
        while connection.state.is_early(stream):
            with anyio.move_on_after(self.connections.server_limits.history_s) as limit:
                await connection.wait_written()
            if limit.cancelled_caught:
                return

    async def _write_some(
        self, events: Sequence[SseEvent], stream: EventStream, send: Send
    ) -> None:
        """Write events together; if that fails, all of them wait again."""
        encoded = b"".join([each.encode() for each in events])
        stream.is_writing = True
        try:
            await send(body_part(encoded))
        except BaseException:
            stream.put_back(events)
            raise
        finally:
            stream.is_writing = False
        self.connections.counts.sent(len(encoded), len(events))

    async def wait_event(self, connection: OpenConnection, send: Send) -> None:
        """Return when the connection has changed, or when a comment has said that it has not."""
        with anyio.move_on_after(self.connections.server_limits.keep_alive_s) as limit:
            await connection.wait_change()
        if limit.cancelled_caught:
            await send(body_part(KEEP_ALIVE))


def _some(state: ServedConnection, stream: EventStream) -> list[SseEvent]:
    """Return the next events of a stream, as many as one write takes."""
    found: list[SseEvent] = []
    size = 0
    while size < WRITE_BYTES and not (found and state.is_early(stream)):
        event = state.next(stream)
        if event is None:
            break
        found.append(event)
        size += len(event.frame)
    return found


class GoneError(Exception):
    """The client has closed the request before its response."""


async def unless_gone(action: Callable[[], Awaitable[None]], receive: Receive) -> None:
    """Run `action`, whose request was read to its end.

    Raises:
        GoneError: the client closed the request meanwhile.
    """
    problem: Exception | None = GoneError()
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        try:
            await action()
            problem = None
        except ConnectionClosedError as error:
            # Here, because the group would wrap it.
            problem = error
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers of a request; one that comes twice has both values, as in a list."""
    headers: dict[str, str] = {}
    for raw_name, raw in scope["headers"]:
        name = raw_name.decode("latin-1")
        try:
            # Some clients write a session's id so, others in the encoding of the standard.
            value = raw.decode()
        except UnicodeDecodeError:
            value = raw.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def start_response(status: int, headers: Mapping[str, str]) -> AsgiMessage:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "http.response.start", "status": status, "headers": raw}


def body_part(data: bytes, *, more: bool = True) -> AsgiMessage:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def send_reply(reply: Reply, send: Send) -> None:
    """Send the response to a request."""
    headers = {"Content-Length": str(len(reply.body))} | dict(reply.headers)
    if reply.media_type:
        headers["Content-Type"] = reply.media_type
    await send(start_response(reply.status, headers))
    await send(body_part(reply.body, more=False))
