"""An MCP server at an address: streamable HTTP, or the older stream of events.

The SDK says little of what goes wrong with one request, and gives up a server for some of it. So
each request of ours gets an answer here, whatever comes of it.

Source: MCP, Transports, "Streamable HTTP"; MCP 2024-11-05, Transports, "HTTP with SSE".
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from http import HTTPStatus
from typing import Any, Final, TypeAlias

import anyio
import httpx2
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from acp_agent.mcp.bodies import Events, TooLongError, message_event, whole
from acp_agent.mcp.config import Limits, WebServer
from acp_agent.mcp.errors import AWAY, BROKE_OFF, ELSEWHERE, RUBBISH, our_error
from acp_agent.mcp.messages import read_message

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
"""Seconds for the body of a response that is not read."""
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

    `on_end` hears why a server cannot be used any more, where one request decides that.
    """
    kept = {name: value for name, value in server.headers.items() if name.lower() not in _OURS}
    ours = {**kept, "Accept-Encoding": "identity"}
    connect_timeout = httpx2.Timeout(limits.spawn_timeout, read=None)
    if not server.is_sse:
        client = _Answering(limits, headers=ours, timeout=connect_timeout)
        return streamable_http_client(
            server.url,
            http_client=await stack.enter_async_context(client),
            max_sse_event_size=2 * limits.message_size,
        )

    def make(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        del headers, timeout, auth
        return _ReportingClient(limits, on_end, headers=ours, timeout=connect_timeout)

    return sse_client(server.url, httpx_client_factory=make)


class _Client(httpx2.AsyncClient):
    """Waits for an answer as long as the caller, and takes no flood."""

    def __init__(self, limits: Limits, **settings: Any) -> None:
        super().__init__(**settings)
        self.limit = limits.message_size

    async def opened(self, request: httpx2.Request, auth: Any) -> httpx2.Response:
        """Send a request, and return the response as soon as it has begun."""
        response = await super().send(request, stream=True, auth=auth, follow_redirects=False)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            # What a few packed bytes become has no bound.
            raise httpx2.DecodingError("the answer is packed, which was not asked for")
        return response

    def is_stream(self, response: httpx2.Response) -> bool:
        """Return whether a response goes on and on."""
        kind = response.headers.get("content-type", "").lower()
        return response.status_code == HTTPStatus.OK and kind.startswith(_EVENTS)

    def bind(self, response: httpx2.Response, refuse: Callable[[], bytes]) -> None:
        """Keep a stream of events in bounds; `refuse` returns what comes instead of too much."""
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = Events(response.stream, self.limit, refuse)

    async def read(self, response: httpx2.Response) -> httpx2.Response:
        """Return a response that answers nothing, as a whole; nobody waits long for its body."""
        body = b""
        with suppress(TooLongError, httpx2.TransportError), anyio.move_on_after(BODY_WAIT):
            body = await whole(response, self.limit)
        return _with_body(response, body)


class _Answering(_Client):
    """For streamable HTTP: each request gets its response, from the server or from us."""

    async def send(
        self,
        request: httpx2.Request,
        *,
        stream: bool = False,
        auth: Any = httpx2.USE_CLIENT_DEFAULT,
        follow_redirects: Any = httpx2.USE_CLIENT_DEFAULT,
    ) -> httpx2.Response:
        del stream, follow_redirects
        request_message = await _read_request(request)
        try:
            response = await self.opened(request, auth)
        except httpx2.RequestError as problem:
            return _failed(request, request_message, _failure_reason(problem))
        if self.is_stream(response):
            self.bind(response, lambda: self._refused(request_message))
            return response
        if request_message is None or response.next_request is not None:
            # The SDK follows a redirect that stays where it is.
            return await self.read(response)
        try:
            body = await whole(response, self.limit)
        except TooLongError:
            return _failed(request, request_message, SENT_TOO_MUCH.format(self.limit))
        except httpx2.TransportError:
            return _failed(request, request_message, BROKE_OFF)
        return self._answered(request, request_message, response, body)

    def _refused(self, request_message: JSONRPCRequest | None) -> bytes:
        if request_message is None:
            return b""
        return message_event(_error(request_message, SENT_TOO_MUCH.format(self.limit)))

    def _answered(
        self,
        request: httpx2.Request,
        request_message: JSONRPCRequest,
        response: httpx2.Response,
        body: bytes,
    ) -> httpx2.Response:
        """Return the answer to `asked` that a whole response holds, or why it holds none."""
        status = response.status_code
        try:
            message = read_message(body)
        except ValueError:
            message = None
        if isinstance(message, JSONRPCError) and message.id in {None, request_message.id}:
            return _with_body(
                response, _dumped(message.model_copy(update={"id": request_message.id}))
            )
        if status == HTTPStatus.NOT_FOUND and "mcp-session-id" in request.headers:
            return _failed(request, request_message, FORGOTTEN)
        if status != HTTPStatus.OK:
            return _failed(request, request_message, _status(status))
        if not isinstance(message, JSONRPCResponse):
            return _failed(request, request_message, RUBBISH)
        if message.id != request_message.id:
            return _failed(request, request_message, "answered something else than what was asked")
        return _with_body(response, _dumped(message))


class _ReportingClient(_Client):
    """For the stream of events: the SDK has no answer for a request that does not get through."""

    def __init__(self, limits: Limits, on_end: OnEnd, **settings: Any) -> None:
        super().__init__(limits, **settings)
        self._on_end = on_end
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
        try:
            response = await self.opened(request, auth)
        except httpx2.RequestError as problem:
            self._on_end(_failure_reason(problem))
            raise
        if self.is_stream(response):
            self.bind(response, self._refused)
            return response
        self._redirects = self._redirects + 1 if _stays(response) else 0
        is_followed = 0 < self._redirects <= self.max_redirects
        if response.status_code >= HTTPStatus.MULTIPLE_CHOICES and not is_followed:
            self._on_end(_status(response.status_code))
        return await self.read(response)

    def _refused(self) -> bytes:
        self._on_end(SENT_TOO_MUCH.format(self.limit))
        return b""


def _stays(response: httpx2.Response) -> bool:
    """Return whether a response sends the same request to another place of the same server."""
    sent, onward = response.request, response.next_request
    if onward is None or onward.method != sent.method:
        return False
    return all(
        getattr(onward.url, part) == getattr(sent.url, part)
        for part in ("scheme", "host", "port", "userinfo")
    )


async def _read_request(request: httpx2.Request) -> JSONRPCRequest | None:
    """Return the request of ours that one of HTTP carries, None if it carries none."""
    if request.method != "POST":
        return None
    try:
        message = jsonrpc_message_adapter.validate_json(await request.aread(), by_name=False)
    except ValidationError:
        return None
    return message if isinstance(message, JSONRPCRequest) else None


def _failure_reason(problem: httpx2.RequestError) -> str:
    """Return what became of a request to which no response has begun."""
    match problem:
        case httpx2.DecodingError():
            return RUBBISH
        case httpx2.NetworkError() | httpx2.ProtocolError() if not isinstance(
            problem, httpx2.ConnectError
        ):
            return BROKE_OFF
        case _:
            return AWAY


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


def _error(request_message: JSONRPCRequest | None, reason: str) -> bytes:
    error: ErrorData = our_error(reason)
    return _dumped(
        JSONRPCError(jsonrpc="2.0", id=request_message.id if request_message else None, error=error)
    )


def _dumped(message: JSONRPCResponse | JSONRPCError) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def _failed(
    request: httpx2.Request, request_message: JSONRPCRequest | None, reason: str
) -> httpx2.Response:
    """Return a response that fails a request of ours, for `reason`."""
    headers = {"Content-Type": "application/json"}
    return httpx2.Response(
        HTTPStatus.SERVICE_UNAVAILABLE,
        headers=headers,
        content=_error(request_message, reason),
        request=request,
    )


def _with_body(response: httpx2.Response, body: bytes) -> httpx2.Response:
    """Return a response with another body."""
    dropped = {"content-length", "transfer-encoding"}
    headers = [pair for pair in response.headers.multi_items() if pair[0].lower() not in dropped]
    made = httpx2.Response(
        response.status_code, headers=headers, content=body, request=response.request
    )
    made.next_request = response.next_request
    return made
