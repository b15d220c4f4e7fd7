"""The one server that the proxy passes everything to."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Final
from urllib.parse import urlsplit

import httpx
from websockets.asyncio.client import ClientConnection, connect

from acp_inspector.http_proxy.headers import Headers, forwarded
from acp_protocol.net import keep_alive_options
from acp_protocol.transport.remote import (
    RemoteAddressError,
    RemoteAgent,
    network_problem,
    spare_lookups,
    ssl_context,
)

CONNECT_TIMEOUT_S: Final = 10.0
"""Seconds that the server has to accept a connection."""
IDLE_S: Final = 2.0
"""Seconds that a connection without a request is kept."""
MAX_MESSAGE_BYTES: Final = 64 * 2**20
"""Bytes of a WebSocket message, at most."""
_OWN: Final = frozenset({b"host", b"accept-encoding", b"expect"})
"""Headers of a request that the proxy writes itself."""
_HANDSHAKE: Final = frozenset(
    {
        b"sec-websocket-accept",
        b"sec-websocket-extensions",
        b"sec-websocket-key",
        b"sec-websocket-protocol",
        b"sec-websocket-version",
    }
)


class _Connect(connect):
    """Opens a WebSocket at its URL and nowhere else: credentials go to one server only."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Follow no redirect."""
        return exc


class Upstream:
    """Sends requests to the server as they came; follows nothing and keeps no cookies."""

    def __init__(self, agent: RemoteAgent) -> None:
        """Get ready; connects to nothing yet.

        Raises:
            RemoteAddressError: the URL has a query, or the certificates cannot be read.
        """
        parts = urlsplit(agent.url)
        if parts.query:
            hint = "the client sends its query itself"
            raise RemoteAddressError("the URL of the server has a query", hint=hint)
        spare_lookups()
        self._agent = agent
        self.host_name = parts.hostname or ""
        self.path = parts.path or "/"
        self._root = f"{'https' if agent.is_secure else 'http'}://{agent.host}/"
        # Not that of the transport, which offers HTTP/2 too.
        self._context = ssl_context(agent)
        self._transport = httpx.AsyncHTTPTransport(
            verify=ssl_context(agent) or False,
            http2=agent.is_secure,
            trust_env=False,
            limits=httpx.Limits(
                max_connections=None,
                max_keepalive_connections=20,
                # Before servers close them, which fails a request that comes just then.
                keepalive_expiry=IDLE_S,
            ),
            socket_options=keep_alive_options(),
        )

    async def request(
        self, method: str, target: bytes, headers: Headers, body: AsyncIterable[bytes] | None
    ) -> httpx.Response:
        """Send a request and return the response, whose body has to be read.

        Raises:
            httpx.TransportError: the server cannot be reached, or breaks off.
        """
        request = httpx.Request(
            method,
            self._root,
            headers=[
                (b"host", self._agent.host.encode()),
                *forwarded(headers, without=_OWN),
                # What is compressed could be neither recorded nor changed.
                (b"accept-encoding", b"identity"),
            ],
            content=body,
            # The target as it came: a URL would be normalized.
            extensions={"timeout": {"connect": CONNECT_TIMEOUT_S}, "target": target},
        )
        return await self._transport.handle_async_request(request)

    async def open_socket(
        self, target: bytes, headers: Headers, *protocols: str
    ) -> ClientConnection:
        """Open a WebSocket.

        Raises:
            websockets.exceptions.InvalidStatus: the server has answered with another status.
            websockets.exceptions.InvalidHandshake: it speaks no WebSocket.
            OSError: it cannot be reached.
        """
        scheme = "wss" if self._context is not None else "ws"
        passed = forwarded(headers, without=_OWN | _HANDSHAKE)
        found = await _Connect(
            f"{scheme}://{self._agent.host}{target.decode('ascii')}",
            additional_headers=[
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in passed
            ],
            subprotocols=[*protocols] or None,  # pyright: ignore[reportArgumentType] - plain text
            user_agent_header=None,
            compression=None,
            max_size=MAX_MESSAGE_BYTES,
            max_queue=4,
            ping_interval=None,
            open_timeout=CONNECT_TIMEOUT_S,
            close_timeout=CONNECT_TIMEOUT_S,
            proxy=None,
            ssl=self._context,
        )
        plain = found.transport.get_extra_info("socket")
        if plain is not None:
            for option in keep_alive_options():
                plain.setsockopt(*option)
        return found

    def reason(self, problem: Exception) -> str:
        """Return why the server could not be reached, or has broken off."""
        if isinstance(problem, httpx.ConnectError | OSError):
            return network_problem(self._agent, problem).reason
        if isinstance(problem, httpx.ConnectTimeout | TimeoutError):
            return f"{self._agent.host} does not accept the connection in time"
        return f"{self._agent.host} failed: {str(problem).strip() or type(problem).__name__}"

    async def close(self) -> None:
        await self._transport.aclose()
