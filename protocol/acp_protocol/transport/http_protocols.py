"""The protocols of uvicorn, with limits that it lacks.

A connection of the network that begins no request in time is closed, and one too many at once.
Over HTTP/2 a response waits for its reader, as it does over HTTP/1.1.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final, cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.auto_zttp_impl import AutoZttpProtocol
from uvicorn.protocols.http.zttp_h2_impl import ZttpH2Protocol
from uvicorn.protocols.http.zttp_impl import ZttpProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState

from acp_protocol.transport.http_guard import refuse

UNSENT_BYTES: Final = 64 * 1024
"""Bytes that wait: over HTTP/2 for the reader of a response, over WebSocket to be sent together."""


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """What connections of the network may take, whatever they ask for."""

    sockets: int = 4096
    """Connections at once."""
    head_s: float = 10.0
    """Seconds that a client may take to send the head of a request."""
    keep_alive_s: float = 15.0
    """Seconds that a connection may wait for another request."""
    ping_s: float = 20.0
    """Seconds between pings of a WebSocket; 0 for none."""
    pong_s: float = 60.0
    """Seconds that a client may take to respond to one."""
    close_s: float = 5.0
    """Seconds that a WebSocket may take to close."""


class LimitedConfig(uvicorn.Config):
    """The settings of a server, with its limits."""

    def __init__(
        self,
        app: ASGIApp,
        limits: SocketLimits,
        tls: ssl.SSLContext | None,
        max_message: int | None,
        *,
        has_date: bool = True,
    ) -> None:
        """`max_message` is the bytes of one WebSocket message, at most; None: there are none."""

        def tls_context(*_: object) -> ssl.SSLContext:
            assert tls is not None
            return tls

        self.limits = limits
        super().__init__(
            _refusing_codings(app),
            http=LimitedHttp1 if tls is None else LimitedTls,
            ws="none" if max_message is None else LimitedWebSocket,
            ws_max_size=max_message or 0,
            ws_per_message_deflate=False,
            ws_ping_interval=limits.ping_s,
            ws_ping_timeout=limits.pong_s,
            lifespan="off",
            log_config=None,
            # It logs what clients do wrong, and requests that the end cancels.
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=has_date,
            proxy_headers=False,
            timeout_keep_alive=math.ceil(limits.keep_alive_s),
            timeout_graceful_shutdown=1,
            ssl_context_factory=None if tls is None else tls_context,
        )


def _refusing_codings(app: ASGIApp) -> ASGIApp:
    """Return `app` without requests whose transfer coding is not only `chunked`.

    The HTTP library takes `gzip, chunked` and decodes the chunks alone: the application would get
    compressed bytes as the body.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        for name, value in scope["headers"]:
            if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
                reason = "Only chunked is possible as Transfer-Encoding."
                await refuse(scope, send, 501, reason, ((b"connection", b"close"),))
                return
        await app(scope, receive, send)

    return checked


class SparingTransport:
    """Spares system calls.

    What is written in one turn of the loop is written together, but for the first: in most turns it
    is the only one. Reading pauses only when something comes while it should: most pauses end
    before.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._unwritten: list[bytes] = []
        self._is_due = False
        self._size = 0
        self._should_pause = False
        self._is_paused = False

    def pause_reading(self) -> None:
        self._should_pause = True

    def resume_reading(self) -> None:
        self._should_pause = False
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()

    def note_received(self) -> None:
        """Pause now if reading should."""
        if self._should_pause and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def write(self, data: bytes) -> None:
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._flush)
            self._transport.write(data)
            return
        self._unwritten.append(data)
        self._size += len(data)
        if self._size >= UNSENT_BYTES:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        self._is_due = False
        if self._unwritten:
            data = b"".join(self._unwritten)
            self._unwritten.clear()
            self._size = 0
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """Ends for a client that does not read, and where text that is no UTF-8 comes after its end.

    A head that the library of WebSockets does not take is answered: it would be left waiting.
    """

    def connection_made(self, transport: Any) -> None:
        self._sparing = SparingTransport(transport, self.loop)
        super().connection_made(cast("asyncio.Transport", self._sparing))

    def data_received(self, data: bytes) -> None:
        self._sparing.note_received()
        try:
            super().data_received(data)
        except InvalidState:
            self.transport.abort()
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self._refuse_head()

    def _refuse_head(self) -> None:
        refused = self.conn.reject(HTTPStatus.BAD_REQUEST, "The upgrade cannot be read.")
        self.handshake_initiated = self.handshake_complete = self.close_sent = True
        # The library has given the connection up, and sends nothing any more.
        self.transport.write(refused.serialize())
        self.transport.close()

    def shutdown(self) -> None:
        """End it, also if it is closing already, which the server does not expect."""
        try:
            super().shutdown()
        except InvalidState:
            self.transport.abort()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        if not self.disconnected:
            # What was written last would stay in memory for as long as it is not read.
            self.loop.call_later(limits_of(self.config).close_s, self._abort)

    def _abort(self) -> None:
        # The transport cannot be ended once more if it has written the rest meanwhile.
        if not self.disconnected:
            self.transport.abort()


def limits_of(config: uvicorn.Config) -> SocketLimits:
    return config.limits if isinstance(config, LimitedConfig) else SocketLimits()


class _Limited(asyncio.Protocol):
    """Closes what sends no whole head of a request in time, and what is one too many.

    It is mixed into one of uvicorn's protocols, which has these attributes.
    """

    config: Any
    connections: Any
    cycle: Any
    loop: Any
    transport: Any
    _head_timer: asyncio.TimerHandle | None = None
    _is_upgraded = False
    """Whether another protocol has taken the connection over, for a WebSocket."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > limits_of(self.config).sockets:
            transport.abort()
        else:
            self._watch_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def is_waiting(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _watch_head(self) -> None:
        if self._is_upgraded or self.transport.is_closing() or not self.is_waiting():
            self._forget_head()
        elif self._head_timer is None:
            limit = limits_of(self.config).head_s
            self._head_timer = self.loop.call_later(limit, self.transport.abort)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


_TLS_HANDSHAKE: Final = b"\x16\x03"
"""Begins what a client sends that takes a server for one with TLS."""


class LimitedHttp1(_Limited, ZttpProtocol):
    """HTTP/1.1; its heads have 100 lines, 16 KiB in one and 64 KiB in all, at most."""

    def data_received(self, data: bytes) -> None:
        if self.cycle is None and data.startswith(_TLS_HANDSHAKE):
            # Without an end of a line in it, both would wait for the other.
            self.handle_remote_protocol_error()
        else:
            super().data_received(data)

    def handle_events(self, event: Any) -> None:
        try:
            super().handle_events(event)
        except UnicodeDecodeError:
            # The path has letters that are not escaped, which the server does not expect.
            self.handle_remote_protocol_error()

    def handle_remote_protocol_error(self) -> None:
        if self.cycle is None or self.is_waiting() or not self.cycle.response_started:
            super().handle_remote_protocol_error()
        else:
            # There is no room for another response within one.
            self.transport.abort()

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._is_upgraded = True
        super().handle_websocket_upgrade(event)


class _LimitedH2(_Limited, ZttpH2Protocol):
    """Waits for the reader of each stream: uvicorn waits only for that of the connection."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._has_read = asyncio.Event()

    def is_waiting(self) -> bool:
        return not self.cycles

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._wake()

    def handle_request(self, event: Any) -> None:
        try:
            super().handle_request(event)
        except UnicodeDecodeError:
            # As over HTTP/1.1.
            self.transport.abort()
            return
        cycle = self.cycles.get(event.stream_id)
        if cycle is not None:
            # The application gets `cycle.send` when its task runs, which is later.
            setattr(cycle, "send", partial(self._send, cycle, cycle.send))  # noqa: B010 - a method

    async def _send(self, cycle: Any, send: Callable[[Any], Awaitable[None]], message: Any) -> None:
        while not cycle.disconnected and (cycle.stream.pending_bytes or 0) > UNSENT_BYTES:
            await self._has_read.wait()
        await send(message)

    def _wake(self) -> None:
        self._has_read.set()
        self._has_read = asyncio.Event()


class LimitedTls(AutoZttpProtocol):
    """HTTP/1.1 and HTTP/2 over TLS, by ALPN."""

    def _switch(self, http2: bool, initial_data: bytes = b"") -> None:
        chosen = _LimitedH2 if http2 else LimitedHttp1
        protocol = chosen(self.config, self.server_state, self.app_state, self.loop)
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        if initial_data:
            protocol.data_received(initial_data)
