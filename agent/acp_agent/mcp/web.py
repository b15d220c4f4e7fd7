"""An MCP server at an address: streamable HTTP, or the older stream of events.

Source: MCP, Transports, "Streamable HTTP"; MCP 2024-11-05, Transports, "HTTP with SSE".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, suppress
from http import HTTPStatus
from typing import Any, Final

import httpx2
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED

from acp_agent.mcp.declarations import WebServer
from acp_agent.mcp.limits import Limits

_OURS: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
    }
)
"""Headers that the transport sets; those of a declaration do not count."""
_EVENTS: Final = "text/event-stream"


async def web_transport(server: WebServer, limits: Limits, stack: AsyncExitStack) -> Transport:
    """Return the transport to a server, not yet entered; what it needs besides goes on `stack`."""
    if not server.is_sse:
        client = await stack.enter_async_context(_client(server.headers, limits, _PatientClient))
        return streamable_http_client(
            server.url, http_client=client, max_sse_event_size=limits.message_size
        )

    def make(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        del headers, timeout, auth
        return _client(server.headers, limits)

    return sse_client(server.url, httpx_client_factory=make)


def _client(
    headers: Mapping[str, str],
    limits: Limits,
    kind: type[httpx2.AsyncClient] = httpx2.AsyncClient,
) -> httpx2.AsyncClient:
    """Return a client that waits for an answer as long as whoever asks, and takes no flood."""

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            # What a few packed bytes become has no bound.
            raise httpx2.DecodingError("the answer is packed, which was not asked for")
        is_stream = response.headers.get("content-type", "").startswith(_EVENTS)
        if not is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream, limits.message_size)

    kept = {name: value for name, value in headers.items() if name.lower() not in _OURS}
    return kind(
        headers={**kept, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(limits.spawn_timeout, read=None),
        event_hooks={"response": [bound]},
    )


class _PatientClient(httpx2.AsyncClient):
    """Answers a request that does not get through, where the SDK would give up the server."""

    async def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        auth: Any = httpx2.USE_CLIENT_DEFAULT,
        follow_redirects: Any = httpx2.USE_CLIENT_DEFAULT,
    ) -> httpx2.Response:
        try:
            return await super().send(
                request, stream=stream, auth=auth, follow_redirects=follow_redirects
            )
        except httpx2.RequestError:
            error = {"code": CONNECTION_CLOSED, "message": "the request did not get through"}
            told = {"jsonrpc": "2.0", "id": None, "error": error}
            return httpx2.Response(HTTPStatus.SERVICE_UNAVAILABLE, json=told, request=request)


class _BoundedStream(httpx2.AsyncByteStream):
    """A body that breaks off where it has become too long."""

    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        # What is cut off, here or on its way, is no JSON, and fails one request only.
        with suppress(httpx2.TransportError):
            async for chunk in self._stream:
                count += len(chunk)
                if count > self._limit:
                    return
                yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
