"""Requests of clients, as the proxy reads them, and responses of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from acp_inspector.http_proxy.headers import Headers, value_of
from acp_protocol import jsonrpc

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

PLAIN: Final = (b"content-type", b"text/plain; charset=utf-8")
LENGTH: Final = b"content-length"
_WITHOUT_BODY: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Incoming:
    """The head of a request."""

    method: str
    target: bytes
    """Path and query, as they came."""
    version: str
    headers: Headers

    @classmethod
    def of(cls, scope: Scope) -> Incoming:
        target: bytes = scope.get("raw_path") or scope["path"].encode()
        if query := scope.get("query_string"):
            target += b"?" + query
        version = "HTTP/" + str(scope.get("http_version", "1.1"))
        return cls(scope.get("method", "GET"), target, version, [*scope["headers"]])

    def value(self, name: bytes) -> str | None:
        return value_of(self.headers, name)

    @property
    def announces_body(self) -> bool:
        """Whether its headers say that a body follows."""
        return any(self.value(name) is not None for name in (LENGTH, b"transfer-encoding"))


class ClientLeftError(Exception):
    """The client has gone before its request was whole."""


class Body:
    """The body of a request: all of it, or its beginning if it is too long."""

    def __init__(self, receive: Receive, incoming: Incoming) -> None:
        self._receive = receive
        self.beginning = b""
        # Over HTTP/2 the server does not say that there is none.
        self.is_whole = incoming.method in _WITHOUT_BODY and not incoming.announces_body

    async def read(self, limit: int) -> None:
        """Read up to `limit` bytes or a chunk more.

        Raises:
            ClientLeftError: the client has left.
        """
        chunks = [self.beginning]
        size = len(self.beginning)
        while not self.is_whole and size <= limit:
            chunks.append(await self._next())
            size += len(chunks[-1])
        self.beginning = b"".join(chunks)

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield all of it."""
        yield self.beginning
        while not self.is_whole:
            yield await self._next()

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeftError
        self.is_whole = not message.get("more_body", False)
        return message.get("body", b"")


def is_initialize(body: bytes) -> bool:
    """Return whether a body is the request that opens a connection."""
    if b"initialize" not in body:
        return False
    message = jsonrpc.read_message(body)
    return isinstance(message, jsonrpc.Request) and message.method == "initialize"


async def respond(send: Send, status: int, body: bytes, extra: Headers = ()) -> None:
    """Send a whole response of our own."""
    headers = [PLAIN, (LENGTH, str(len(body)).encode()), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
