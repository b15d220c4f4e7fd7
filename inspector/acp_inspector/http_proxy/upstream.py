"""The one server that the proxy passes everything to."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx
from websockets.asyncio.client import ClientConnection, connect

from acp_inspector.http_proxy.headers import Headers, forwarded
from acp_protocol.errors import AcpError

CONNECT_TIMEOUT_S: Final = 10.0
"""Seconds that the server has to accept a connection."""
MAX_MESSAGE_BYTES: Final = 64 * 2**20
"""Bytes of a WebSocket message, at most."""
KEEP_ALIVE: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)
"""Options of sockets: a peer that has vanished is noticed after a while."""
_SCHEMES: Final = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
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


class UrlError(AcpError, ValueError):
    """The URL of the server is none that can be proxied."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of the server."""

    scheme: str
    host: str
    port: int | None
    path: str
    """The path of its endpoint."""
    is_socket: bool
    """Whether its URL is one of a WebSocket."""

    @classmethod
    def of(cls, url: str) -> Origin:
        """Return the origin of a URL.

        Raises:
            UrlError: it has another scheme, no host, or parts that would be lost.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as problem:
            raise UrlError(f"{url!r} is no URL: {problem}") from None
        if parts.scheme not in _SCHEMES or not host:
            raise UrlError(f"{url!r} is no URL of http, https, ws or wss")
        if parts.username is not None or parts.query or parts.fragment:
            hint = "the client sends its credentials and its query itself"
            raise UrlError(f"the URL of {host} has a user, a query or a fragment", hint=hint)
        scheme = _SCHEMES[parts.scheme]
        return cls(scheme, host, port, parts.path or "/", parts.scheme in {"ws", "wss"})

    @property
    def netloc(self) -> str:
        """What stands in `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.netloc}"


class _Connect(connect):
    """Opens a WebSocket at its URL and nowhere else: credentials go to one server only."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Follow no redirect."""
        return exc


class Upstream:
    """Sends requests to the server as they came; follows nothing and keeps no cookies."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        is_secure = origin.scheme == "https"
        # The certificates of the system, or those that SSL_CERT_FILE names.
        self._context = ssl.create_default_context() if is_secure else None
        self._transport = httpx.AsyncHTTPTransport(
            verify=self._context or False,
            http2=is_secure,
            trust_env=False,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            socket_options=KEEP_ALIVE,
        )

    async def request(
        self, method: str, target: bytes, headers: Headers, body: AsyncIterable[bytes] | None
    ) -> httpx.Response:
        """Send a request and return the response, whose body has to be read.

        Raises:
            httpx.TransportError: the server cannot be reached, or breaks off.
            httpx.InvalidURL: the target is none.
        """
        scheme, _, _ = self.origin.url.partition(":")
        url = httpx.URL(
            scheme=scheme, host=self.origin.host, port=self.origin.port, raw_path=target
        )
        request = httpx.Request(
            method,
            url,
            headers=[
                (b"host", self.origin.netloc.encode()),
                *forwarded(headers, without=_OWN),
                # What is compressed could be neither recorded nor changed.
                (b"accept-encoding", b"identity"),
            ],
            content=body,
            extensions={"timeout": {"connect": CONNECT_TIMEOUT_S}},
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
            f"{scheme}://{self.origin.netloc}{target.decode('ascii')}",
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
            for option in KEEP_ALIVE:
                plain.setsockopt(*option)
        return found

    async def close(self) -> None:
        await self._transport.aclose()
