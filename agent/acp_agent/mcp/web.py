"""An MCP server at an address: streamable HTTP, or the older stream of events.

The SDK speaks both. Its HTTP client is ours, because the SDK reads a body of any size, gives up a
server as soon as one request cannot be sent, and leaves some requests without an answer.

Source: MCP, Transports, "Streamable HTTP"; MCP 2024-11-05, Transports, "HTTP with SSE".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from http import HTTPStatus
from typing import Any, Final, TypeAlias

import anyio
import anyio.lowlevel
import httpx2
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from acp_agent.mcp.declarations import Limits, WebServer
from acp_agent.mcp.messages import ELSEWHERE, RUBBISH, mended, our_error, read_message, reason_of
from acp_protocol.errors import FrameTooLongError
from acp_protocol.framing import LineFramer

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
BODY_WAIT: Final = 1.0
"""Seconds for the body of a response that answers nothing."""
_EVENTS: Final = "text/event-stream"
SENT_TOO_MUCH: Final = "sent too much: an answer of more than {} bytes"
FORGOTTEN: Final = (
    "knows nothing of us any more (HTTP status 404): close the session and open it again"
)
OnEnd: TypeAlias = Callable[[str], None]


async def web_transport(
    server: WebServer, limits: Limits, stack: AsyncExitStack, on_end: OnEnd
) -> Transport:
    """Return the transport to a server, not yet entered; what it needs besides goes on `stack`.

    `on_end` gets the reason when one request decides that the server cannot be used any more.
    """
    kept = {name: value for name, value in server.headers.items() if name.lower() not in _OURS}
    client = _BoundedClient(
        limits.message_size,
        on_end if server.is_sse else None,
        # What a few packed bytes become has no bound.
        headers={**kept, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(limits.spawn_timeout, read=None),
    )
    if server.is_sse:
        return sse_client(
            server.url, httpx_client_factory=lambda headers=None, timeout=None, auth=None: client
        )
    return streamable_http_client(
        server.url,
        http_client=await stack.enter_async_context(client),
        max_sse_event_size=2 * limits.message_size,
    )


class _TooLongError(Exception):
    """A body holds more than it may."""


class _BoundedClient(httpx2.AsyncClient):
    """Bounds what a server sends, and answers each request that the server does not answer.

    With a stream of events there is no answer to give: `on_end` gets the reason instead.
    """

    def __init__(self, limit: int, on_end: OnEnd | None, **settings: Any) -> None:
        super().__init__(**settings)
        self._limit = limit
        self._on_end = on_end
        self._too_much = SENT_TOO_MUCH.format(limit)
        self._redirects = 0
        """How many have come in a row."""

    async def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        auth: Any = httpx2.USE_CLIENT_DEFAULT,
        follow_redirects: Any = httpx2.USE_CLIENT_DEFAULT,
    ) -> httpx2.Response:
        del stream, follow_redirects
        message = await _request_in(request)
        try:
            response = await super().send(request, stream=True, auth=auth, follow_redirects=False)
            if response.headers.get("content-encoding", "identity") != "identity":
                await response.aclose()
                raise httpx2.DecodingError("the answer is packed")
            kind = response.headers.get("content-type", "").lower()
            is_stream = response.status_code == HTTPStatus.OK and kind.startswith(_EVENTS)
            if is_stream and isinstance(response.stream, httpx2.AsyncByteStream):
                response.stream = _Events(
                    response.stream, self._limit, lambda: self._refuse(message)
                )
                return response
            if message is None or self._on_end is not None or response.next_request is not None:
                return await self._unanswering(response)
            body = await self._read(response)
        except _TooLongError:
            return _failed(request, message, self._too_much)
        except httpx2.RequestError as problem:
            reason = reason_of(problem)
            if self._on_end is not None:
                self._on_end(reason)
            elif request.method == "POST":
                return _failed(request, message, reason)
            raise
        return _answer(request, message, response, body)

    async def _read(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        try:
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > self._limit:
                    raise _TooLongError
        finally:
            await response.aclose()
        return bytes(body)

    async def _unanswering(self, response: httpx2.Response) -> httpx2.Response:
        """Return a response that answers no request; the body of it is not waited for."""
        status = response.status_code
        self._redirects = self._redirects + 1 if _is_followed(response) else 0
        is_followed = 0 < self._redirects <= self.max_redirects
        if self._on_end is not None and status >= HTTPStatus.MULTIPLE_CHOICES and not is_followed:
            self._on_end(_status(status))
        with suppress(_TooLongError, httpx2.TransportError), anyio.move_on_after(BODY_WAIT):
            await self._read(response)
        made = httpx2.Response(status, headers=_headers(response), request=response.request)
        made.next_request = response.next_request
        return made

    def _refuse(self, message: JSONRPCRequest | None) -> bytes:
        """Return the event that takes the place of one that is too long."""
        if self._on_end is not None:
            self._on_end(self._too_much)
            return b""
        error = _error(message, self._too_much)
        return f"event: message\ndata: {error}\n\n".encode() if message is not None else b""


class _Events(httpx2.AsyncByteStream):
    """A stream of events whose messages are mended; an event that is too long is the last.

    Instead of that one comes what `refuse` returns.
    """

    def __init__(
        self, stream: httpx2.AsyncByteStream, limit: int, refuse: Callable[[], bytes]
    ) -> None:
        self._stream = stream
        self._limit = limit
        self._refuse = refuse

    async def __aiter__(self) -> AsyncIterator[bytes]:
        framer = LineFramer(self._limit)
        event: list[bytes] = []
        size = 0
        try:
            async for chunk in self._stream:
                # A stream that always has more would never see that it is cancelled.
                await anyio.lowlevel.checkpoint_if_cancelled()
                for line in framer.feed(chunk):
                    size += len(line) + 1
                    if size > self._limit:
                        yield self._refuse()
                        return
                    event.append(_mended_line(line.rstrip(b"\r")) + b"\n")
                    if event[-1] == b"\n":
                        yield b"".join(event)
                        event.clear()
                        size = 0
        except FrameTooLongError:
            yield self._refuse()

    async def aclose(self) -> None:
        """Close what the events come from."""
        await self._stream.aclose()


def _mended_line(line: bytes) -> bytes:
    name, colon, value = line.partition(b":")
    if name != b"data" or not colon:
        return line
    return b"data: " + mended(value.removeprefix(b" "))


def _is_followed(response: httpx2.Response) -> bool:
    """Whether the SDK follows a redirect: it keeps the method and stays on the server."""
    sent, onward = response.request, response.next_request
    if onward is None or onward.method != sent.method:
        return False
    return all(
        getattr(onward.url, part) == getattr(sent.url, part)
        for part in ("scheme", "host", "port", "userinfo")
    )


async def _request_in(request: httpx2.Request) -> JSONRPCRequest | None:
    """Return the JSON-RPC request that an HTTP request carries, None if it carries none."""
    if request.method != "POST":
        return None
    try:
        message = jsonrpc_message_adapter.validate_json(await request.aread(), by_name=False)
    except ValidationError:
        return None
    return message if isinstance(message, JSONRPCRequest) else None


def _answer(
    request: httpx2.Request, sent: JSONRPCRequest, response: httpx2.Response, body: bytes
) -> httpx2.Response:
    """Return the answer to `sent` that a whole response holds, or why it holds none."""
    status = response.status_code
    try:
        message = read_message(body)
    except ValueError:
        message = None
    if isinstance(message, JSONRPCError) and message.id in {None, sent.id}:
        message.id = sent.id
    elif status == HTTPStatus.NOT_FOUND and "mcp-session-id" in request.headers:
        return _failed(request, sent, FORGOTTEN)
    elif status != HTTPStatus.OK:
        return _failed(request, sent, _status(status))
    elif not isinstance(message, JSONRPCResponse):
        return _failed(request, sent, RUBBISH)
    elif message.id != sent.id:
        return _failed(request, sent, "answered something else than what was asked")
    content = message.model_dump_json(by_alias=True, exclude_unset=True)
    return httpx2.Response(status, headers=_headers(response), content=content, request=request)


def _status(status: int) -> str:
    """Return what a response means that is no answer."""
    if status == HTTPStatus.ACCEPTED:
        return "took the request and does not answer it"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return ELSEWHERE
    try:
        return f"answered with HTTP status {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"answered with HTTP status {status}"


def _error(sent: JSONRPCRequest | None, reason: str) -> str:
    id_ = sent.id if sent is not None else None
    error = JSONRPCError(jsonrpc="2.0", id=id_, error=our_error(reason))
    return error.model_dump_json(by_alias=True, exclude_unset=True)


def _failed(request: httpx2.Request, sent: JSONRPCRequest | None, reason: str) -> httpx2.Response:
    """Return a response that fails a request of ours, for `reason`."""
    headers = {"Content-Type": "application/json"}
    return httpx2.Response(
        HTTPStatus.SERVICE_UNAVAILABLE,
        headers=headers,
        content=_error(sent, reason),
        request=request,
    )


def _headers(response: httpx2.Response) -> list[tuple[str, str]]:
    """Return the headers of a response, without those about the length of its body."""
    dropped = {"content-length", "transfer-encoding"}
    return [pair for pair in response.headers.multi_items() if pair[0].lower() not in dropped]
