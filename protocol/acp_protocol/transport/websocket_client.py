"""The client's end of ACP over a WebSocket: one message in each text frame.

Source: ACP, RFD "Streamable HTTP and WebSocket transport", "WebSocket profile".
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.request import getproxies

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.datastructures import Headers
from websockets.exceptions import (
    ConnectionClosed,
    InvalidMessage,
    InvalidStatus,
    InvalidURI,
    ProxyError,
    WebSocketException,
)
from websockets.http11 import Response

from acp_protocol.errors import ConnectionClosedError, FrameTooLongError
from acp_protocol.transport.http_exchanges import REDIRECTS, Refusal, redirected, refusal_of
from acp_protocol.transport.remote import (
    LIMITS,
    NEEDS_TLS_HINT,
    Notify,
    RemoteAddressError,
    RemoteAgent,
    RemoteClosedError,
    RemoteFrames,
    RemoteLimits,
    WireObserver,
    as_closed,
    in_one_line,
    messages_in,
    network_problem,
    shown_headers,
    shown_url,
    ssl_context,
)
from acp_protocol.version import VERSION

logger = logging.getLogger(__name__)

MAX_REDIRECTS: Final = 5
EXCHANGE: Final = 1
"""The number of the upgrade request for the observer."""
TOO_LONG: Final = 1009
"""The code with which a message beyond the limit ends a WebSocket."""
_CODES: Final = {
    1000: "the server has ended the connection",
    1001: "the server goes away",
    1002: "the server says that we violated the protocol",
    1003: "the server does not take what we sent",
    1005: "the server has ended the connection",
    1006: "the connection broke, and what was sent meanwhile may be lost",
    1007: "the server says that we sent invalid text",
    1008: "the server says that a limit was exceeded",
    1009: "the server says that a message is too long",
    1011: "the server failed",
    1012: "the server restarts",
    1013: "the server has too much to do",
}
_NO_WEBSOCKET: Final = frozenset(
    {
        HTTPStatus.OK,
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.NOT_ACCEPTABLE,
        HTTPStatus.UPGRADE_REQUIRED,
    }
)
"""What servers say that take the upgrade for a request of their HTTP."""
_MAY_RETURN: Final = frozenset({1000, 1001, 1005, 1006, 1011, 1012, 1013})


class WebSocketTransport(RemoteFrames):
    """Frames over a WebSocket; made by `open_websocket`."""

    def __init__(
        self,
        agent: RemoteAgent,
        socket: ClientConnection,
        limits: RemoteLimits,
        observer: WireObserver | None,
        notify: Notify,
    ) -> None:
        super().__init__(agent, limits, observer, notify)
        self._socket = socket
        self._has_reported_end = False

    async def send(self, line: bytes) -> None:
        """Send a frame; line breaks in it separate messages, as they would in a stream."""
        for each in messages_in(line):
            await self._send_one(each)

    async def _send_one(self, line: bytes) -> None:
        if self._is_closing:
            raise ConnectionClosedError
        if self._observer is not None:
            self._observer.event("ws_message", id=EXCHANGE, kind="text")
            self._observer.wire("client", self.framed(line))
        try:
            # The bytes go out as they are; the library would check text, and refuse it.
            await self._socket.send(line, text=True)
        except ConnectionClosed as closed:
            raise as_closed(self._ended(closed)) from None

    async def receive(self) -> bytes:
        while True:
            try:
                message = await self._socket.recv(decode=None)
            except ConnectionClosed as closed:
                raise self._ended(closed) from None
            if (frame := self._accepted(message)) is not None:
                self._received = self.framed(frame)
                return frame

    def _accepted(self, message: str | bytes) -> bytes | None:
        """Return the frame in a message; None for a binary one, which is ignored."""
        is_text = isinstance(message, str)
        frame = in_one_line(
            message.encode("utf-8", "replace") if isinstance(message, str) else message
        )
        if self._observer is not None:
            kind = "text" if is_text else "binary"
            self._observer.event("ws_message", id=EXCHANGE, kind=kind)
            self._observer.wire("agent", self.framed(frame))
        if is_text:
            return frame
        logger.warning("a binary message of %d bytes was ignored", len(frame))
        return None

    async def aclose(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        with anyio.move_on_after(self._limits.close_s, shield=True):
            await self._socket.close()
        self._report_end(1000, "client")

    def _ended(self, closed: ConnectionClosed) -> ConnectionClosedError | FrameTooLongError:
        """Note why the connection has ended, and return it."""
        if self._end is None:
            self._end = self._reason(closed)
        return self.closed_error()

    def _reason(self, closed: ConnectionClosed) -> ConnectionClosedError | FrameTooLongError:
        ours, theirs = closed.sent, closed.rcvd
        if ours is not None and ours.code == TOO_LONG and not closed.rcvd_then_sent:
            self._report_end(TOO_LONG, "client")
            return FrameTooLongError(self._limits.frame)
        code = 1006 if theirs is None else theirs.code
        self._report_end(code, "agent")
        if self._is_closing:
            return ConnectionClosedError()
        words = _CODES.get(code, "the server has ended the connection")
        detail = "" if theirs is None else _in_one_line(theirs.reason)
        if theirs is None and ours is not None and "ping" in ours.reason:
            words = "the server does not respond any more"
        more = f": {detail}" if detail else ""
        return RemoteClosedError(f"{words} ({code}){more}", can_return=code in _MAY_RETURN)

    def _report_end(self, code: int, side: str) -> None:
        if not self._has_reported_end and self._observer is not None:
            self._observer.event("ws_close", id=EXCHANGE, code=code, **{"from": side})
        self._has_reported_end = True


class _Upgrade(connect):
    """An upgrade that follows no redirect by itself, because it would take our headers along."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


@asynccontextmanager
async def open_websocket(
    agent: RemoteAgent,
    *,
    limits: RemoteLimits = LIMITS,
    observer: WireObserver | None = None,
    notify: Notify = logger.warning,
) -> AsyncGenerator[WebSocketTransport]:
    """Connect to an agent by a WebSocket; close it with the block.

    Raises:
        RemoteAddressError: the user's certificates or the proxy cannot be used.
        RemoteClosedError: the server cannot be reached, or refuses.
    """
    socket = await _connect(agent, limits, observer)
    transport = WebSocketTransport(agent, socket, limits, observer, notify)
    try:
        yield transport
    finally:
        await transport.aclose()


async def _connect(
    agent: RemoteAgent, limits: RemoteLimits, observer: WireObserver | None
) -> ClientConnection:
    url, cookies = agent.url, SimpleCookie()
    for _ in range(MAX_REDIRECTS):
        socket = await _try(agent, url, cookies, limits, observer)
        if isinstance(socket, ClientConnection):
            return socket
        _keep_cookies(cookies, socket.headers)
        status, location = socket.status_code, socket.headers.get("location")
        target = redirected(url, status, location, "GET")
        if isinstance(target, Refusal):
            raise RemoteClosedError(target.reason, hint=target.hint)
        # A redirect names http for the same place.
        url = f"ws{target.removeprefix('http')}" if target.startswith("http") else target
    raise RemoteClosedError("the server redirects again and again")


async def _try(
    agent: RemoteAgent,
    url: str,
    cookies: SimpleCookie,
    limits: RemoteLimits,
    observer: WireObserver | None,
) -> ClientConnection | Response:
    """Return an open WebSocket, or the redirect that came in its place.

    Raises:
        RemoteClosedError: the server cannot be reached, or refuses.
    """
    headers = _headers(agent, cookies)
    context = ssl_context(agent)
    has_proxy = not agent.is_on_this_machine and bool(getproxies())
    if observer is not None:
        shown = shown_headers(
            [("host", agent.host), ("upgrade", "websocket"), *headers.raw_items()],
            agent.own_headers,
        )
        observer.event(
            "http_request",
            id=EXCHANGE,
            method="GET",
            path=shown_url(url),
            version="HTTP/1.1",
            headers=shown,
        )
    try:
        socket = await _Upgrade(
            url,
            additional_headers=headers,
            user_agent_header=None,
            proxy=True if has_proxy else None,
            ssl=context,
            max_size=limits.frame,
            open_timeout=limits.connect_s,
            ping_interval=limits.ping_s,
            ping_timeout=limits.silence_s,
            close_timeout=limits.close_s,
        )
    except InvalidStatus as refused:
        response = refused.response
        _note_response(observer, response.status_code, response.headers)
        if response.status_code in REDIRECTS:
            return response
        kind = response.headers.get("content-type", "")
        refusal = _refusal(response.status_code, bytes(response.body or b""), kind)
        raise RemoteClosedError(
            refusal.reason, hint=refusal.hint, can_return=refusal.is_passing
        ) from None
    except (OSError, TimeoutError, WebSocketException, ValueError, ImportError) as problem:
        raise _unreachable(agent, problem, limits) from None
    if socket.response is not None:
        _note_response(observer, HTTPStatus.SWITCHING_PROTOCOLS, socket.response.headers)
    return socket


def _headers(agent: RemoteAgent, cookies: SimpleCookie) -> Headers:
    own = {name.lower(): value for name, value in agent.own_headers.items()}
    sent = [f"{name}={each.coded_value}" for name, each in cookies.items()]
    given = own.pop("cookie", "")
    headers = Headers({"user-agent": f"acp-console/{VERSION}", **own})
    if given or sent:
        headers["cookie"] = "; ".join(filter(None, [given, *sent]))
    return headers


def _keep_cookies(cookies: SimpleCookie, headers: Headers) -> None:
    """Keep the cookies of a redirect for the next upgrade to the same origin."""
    for each in headers.get_all("set-cookie"):
        try:
            cookies.load(each)
        except CookieError:
            logger.warning("a cookie of the server cannot be read")


def _refusal(status: int, body: bytes, kind: str) -> Refusal:
    if status in _NO_WEBSOCKET:
        found = refusal_of(status, body, kind)
        reason = f"the server opens no WebSocket{found.reason[found.reason.find(' (') :]}"
        return Refusal(status, reason, "it may speak HTTP only: use http:// or https://")
    return refusal_of(status, body, kind)


def _unreachable(
    agent: RemoteAgent, problem: Exception, limits: RemoteLimits
) -> RemoteClosedError | RemoteAddressError:
    host = agent.host
    if isinstance(problem, ProxyError | ImportError):
        return RemoteAddressError(
            "the proxy that the environment names, as in HTTPS_PROXY, cannot be used"
        )
    if isinstance(problem, TimeoutError):
        reason = f"{host}: no WebSocket within {limits.connect_s:g} s"
        return RemoteClosedError(reason, can_return=True)
    if isinstance(problem, InvalidURI):
        return RemoteAddressError(f"{agent.shown_url!r} is not the URL of a WebSocket")
    if isinstance(problem, InvalidMessage):
        hint = "is it an ACP endpoint?" if agent.is_secure else NEEDS_TLS_HINT
        return RemoteClosedError(f"{host} does not speak HTTP", hint=hint)
    if not isinstance(problem, OSError):
        return RemoteClosedError(f"{host} opens no WebSocket: {_in_one_line(str(problem))}")
    found = network_problem(agent, problem)
    return RemoteClosedError(found.reason, hint=found.hint, can_return=found.is_passing)


def _note_response(observer: WireObserver | None, status: int, headers: Headers) -> None:
    if observer is not None:
        shown = shown_headers(headers.raw_items())
        observer.event("http_response", id=EXCHANGE, status=int(status), headers=shown)


def _in_one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:200]
