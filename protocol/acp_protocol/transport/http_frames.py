"""What clients over HTTP have in common: the connection to the server, and frames that came in.

Source: HTML, "Server-sent events".
"""

from __future__ import annotations

import socket
import ssl
from abc import abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies

import anyio
import httpx
from anyio.abc import TaskGroup
from httpx_sse import EventSource, ServerSentEvent

from acp_protocol.concurrency import BackgroundTasks, Change
from acp_protocol.errors import ConnectionClosedError, FrameTooLongError
from acp_protocol.transport.http import EVENT_STREAM
from acp_protocol.transport.http_exchanges import EventBytes, Refusal
from acp_protocol.transport.remote import (
    Notify,
    RemoteAddressError,
    RemoteAgent,
    RemoteFrames,
    RemoteLimits,
    WireObserver,
    network_problem,
    spare_lookups,
    ssl_context,
)
from acp_protocol.version import VERSION

ERROR_BODY: Final = 64 * 2**10
"""Bytes of a refusal that are read."""
INBOX: Final = 8
"""Frames that wait to be received before streams are read no further."""
_KEEP_ALIVE: Final = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),)


@dataclass(frozen=True, slots=True)
class HttpSetup:
    """What a transport over HTTP is opened with."""

    agent: RemoteAgent
    client: httpx.AsyncClient
    tasks: TaskGroup
    limits: RemoteLimits
    observer: WireObserver | None
    notify: Notify


class HttpFrames(RemoteFrames):
    """Frames over HTTP: those that came on any response wait in one place to be received."""

    def __init__(self, setup: HttpSetup) -> None:
        super().__init__(setup.agent, setup.limits, setup.observer, setup.notify)
        self._client = setup.client
        self._tasks = setup.tasks
        self._inbox: deque[bytes] = deque()
        self._changed = Change()

    async def receive(self) -> bytes:
        while not self._inbox:
            if self._end is not None or self._is_closing:
                raise self.closed_error()
            await self._changed.wait()
        frame = self._inbox.popleft()
        self._changed.notify()
        self._received = self.framed(frame)
        return frame

    async def aclose(self) -> None:
        """End the connection on the server too."""
        if self._is_closing:
            return
        self._is_closing = True
        self._changed.notify()
        await self._stop()
        with anyio.move_on_after(self._limits.close_s, shield=True):
            await self._delete()
            await self._client.aclose()

    async def _stop(self) -> None:
        """End what is still sent and read."""

    @abstractmethod
    async def _delete(self) -> None:
        """Send the DELETE of the connection, if the server has given it an id."""

    def _observe(self, frame: bytes) -> None:
        """Show the observer a frame of the agent."""
        if self._observer is not None:
            self._observer.wire("agent", self.framed(frame))

    def _put(self, frame: bytes) -> None:
        """Let a frame be received."""
        self._inbox.append(frame)
        self._changed.notify()

    async def _wait_room(self) -> None:
        """Wait while too many frames are not received yet; several streams may wait."""
        while len(self._inbox) >= INBOX and self._end is None and not self._is_closing:
            await self._changed.wait()

    def _finish(self, reason: ConnectionClosedError | FrameTooLongError) -> None:
        """End the connection; what came before is still received."""
        if self._end is None and not self._is_closing:
            self._end = reason
            self._changed.notify()

    async def _body(self, response: httpx.Response) -> bytes:
        """Return a body; one of a success that is beyond the limit ends the connection."""
        limit = self._limits.frame if response.is_success else ERROR_BODY
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > limit:
                if response.is_success:
                    self._finish(FrameTooLongError(limit))
                break
        return bytes(body[:limit])


Opened = TypeVar("Opened", bound=HttpFrames)


@asynccontextmanager
async def opened(
    kind: Callable[[HttpSetup], Opened],
    agent: RemoteAgent,
    limits: RemoteLimits,
    observer: WireObserver | None,
    notify: Notify,
) -> AsyncGenerator[Opened]:
    """Open a transport of a kind; end it with the block."""
    client = open_client(agent, limits)
    async with BackgroundTasks() as tasks:
        transport = kind(HttpSetup(agent, client, tasks, limits, observer, notify))
        try:
            yield transport
        finally:
            await transport.aclose()


def open_client(agent: RemoteAgent, limits: RemoteLimits) -> httpx.AsyncClient:
    spare_lookups()
    # Without TLS no certificates are read, which takes long.
    verify = ssl_context(agent) or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    has_proxies = not agent.is_on_this_machine and bool(getproxies())
    pool = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    headers = {"accept-encoding": "identity", "user-agent": f"acp-console/{VERSION}"}
    own = {name.lower(): value for name, value in agent.own_headers.items()}
    cookies = _cookies(agent, own.pop("cookie", ""))
    try:
        transport = None
        if not has_proxies:
            transport = httpx.AsyncHTTPTransport(
                verify=verify,
                http2=agent.is_secure,
                limits=pool,
                trust_env=False,
                socket_options=_KEEP_ALIVE,
            )
        return httpx.AsyncClient(
            verify=verify,
            http2=agent.is_secure,
            limits=pool,
            trust_env=has_proxies,
            transport=transport,
            timeout=httpx.Timeout(None, connect=limits.connect_s),
            headers={**headers, **own},
            cookies=cookies,
        )
    except (ImportError, ValueError, httpx.InvalidURL):
        raise RemoteAddressError(
            "the proxy that the environment names, as in HTTPS_PROXY, cannot be used"
        ) from None


def _cookies(agent: RemoteAgent, header: str) -> httpx.Cookies:
    """Return the cookies that the user gives; those of the server are kept beside them."""
    cookies = httpx.Cookies()
    host = urlsplit(agent.url).hostname or ""
    for pair in filter(None, (each.strip() for each in header.split(";"))):
        name, _, value = pair.partition("=")
        cookies.set(name, value, domain=host if "." in host else f"{host}.local")
    return cookies


class _CleanStream(httpx.AsyncByteStream):
    """The body of a stream of events, prepared for the decoder; see `EventBytes`.

    A server that sends comments is not silent for long; then the stream counts as broken.
    """

    def __init__(self, response: httpx.Response, limits: RemoteLimits) -> None:
        self._response = response
        self._limits = limits

    async def __aiter__(self) -> AsyncIterator[bytes]:
        cleaner = EventBytes(self._limits.frame)
        chunks = self._response.aiter_bytes()
        while True:
            with anyio.fail_after(self._limits.silence_s if cleaner.has_comments else None):
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            if cleaned := cleaner.feed(chunk):
                yield cleaned


async def events_in(
    response: httpx.Response, limits: RemoteLimits
) -> AsyncGenerator[ServerSentEvent]:
    """Yield the events of a stream.

    Raises:
        TimeoutError: a server that sends comments is silent.
        FrameTooLongError: an event is beyond the limit.
    """
    cleaned = httpx.Response(
        HTTPStatus.OK,
        # The standard fixes the charset, whatever the header says.
        headers={"content-type": f"{EVENT_STREAM}; charset=utf-8"},
        stream=_CleanStream(response, limits),
    )
    async with aclosing(EventSource(cleaned).aiter_sse()) as events:
        async for event in events:
            yield event


UNSENT: Final = (
    httpx.ConnectTimeout,
    httpx.ConnectError,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
"""Errors before anything was sent."""


def mapped_error(agent: RemoteAgent, error: Exception, limits: RemoteLimits) -> Refusal:
    """Return an error of httpx for people."""
    if isinstance(error, httpx.ConnectTimeout):
        reason = f"{agent.host}: no connection within {limits.connect_s:g} s"
        return Refusal(0, reason, is_passing=True)
    if isinstance(error, UNSENT):
        problem = network_problem(agent, error)
        return Refusal(0, problem.reason, problem.hint, problem.is_passing)
    return Refusal(0, str(error) or f"the connection to {agent.host} broke")
