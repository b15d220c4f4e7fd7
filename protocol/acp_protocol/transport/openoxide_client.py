"""The client's end of OpenOxide over HTTP; see `dialects/openoxide_http.py`.

Each message is a POST; the response to a request is a message, or a stream of events with one in
each. A stream that ends before its response is an error of its request: nothing can resume it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from http import HTTPStatus
from typing import Final

import anyio
import httpx

from acp_protocol.dialects.openoxide_http import PostedRequest, exchange_of
from acp_protocol.errors import FrameTooLongError
from acp_protocol.jsonrpc import Request, read_message
from acp_protocol.transport.http import CONNECTION_HEADER, EVENT_STREAM, JSON_TYPE
from acp_protocol.transport.http_exchanges import REDIRECTS, Refusal, refusal_of, response_in
from acp_protocol.transport.http_frames import (
    HttpFrames,
    HttpSetup,
    events_in,
    mapped_error,
    opened,
)
from acp_protocol.transport.remote import (
    LIMITS,
    Notify,
    RemoteAgent,
    RemoteClosedError,
    RemoteLimits,
    WireObserver,
    as_closed,
    in_one_line,
)

logger = logging.getLogger(__name__)

_HEADERS: Final = {"content-type": JSON_TYPE, "accept": f"{JSON_TYPE}, {EVENT_STREAM}"}


class OpenoxideTransport(HttpFrames):
    """Frames over the HTTP of OpenOxide; made by `open_openoxide`."""

    def __init__(self, setup: HttpSetup) -> None:
        super().__init__(setup)
        self._id: str | None = None
        self._opened: anyio.Event | None = None
        """Set when `initialize` has a response; None before it is sent."""
        self._posts = anyio.Semaphore(setup.limits.open_posts)

    async def send(self, line: bytes) -> None:
        """Post a frame; wait only if too many are on their way."""
        await self._posts.acquire()
        if self._end is not None or self._is_closing:
            self._posts.release()
            raise as_closed(self.closed_error())
        if self._observer is not None:
            self._observer.wire("client", self.framed(line))
        self._tasks.start_soon(self._run, line)

    async def _delete(self) -> None:
        if self._id is not None:
            with suppress(httpx.HTTPError):
                headers = {CONNECTION_HEADER: self._id}
                await self._client.delete(self._agent.url, headers=headers)

    async def _run(self, frame: bytes) -> None:
        message = read_message(frame)
        exchange = exchange_of(message)
        is_opening = isinstance(message, Request) and message.method == "initialize"
        try:
            if is_opening:
                self._opened = anyio.Event()
            elif self._opened is not None:
                await self._opened.wait()
            await self._post(frame, exchange, is_opening=is_opening)
        except FrameTooLongError as problem:
            self._finish(problem)
        finally:
            if is_opening and self._opened is not None:
                self._opened.set()
            self._posts.release()

    async def _post(
        self, frame: bytes, exchange: PostedRequest | None, *, is_opening: bool
    ) -> None:
        headers = dict(_HEADERS)
        if self._id is not None:
            headers[CONNECTION_HEADER] = self._id
        try:
            async with self._client.stream(
                "POST", self._agent.url, content=frame, headers=headers
            ) as response:
                await self._take(response, exchange, is_opening=is_opening)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            self._refuse(exchange, mapped_error(self._agent, error, self._limits), is_opening)

    async def _take(
        self, response: httpx.Response, exchange: PostedRequest | None, *, is_opening: bool
    ) -> None:
        """Take what a POST has got."""
        media_type = response.headers.get("content-type", "")
        if response.is_success and media_type.startswith(EVENT_STREAM):
            await self._take_events(response, exchange)
            return
        body = await self._body(response)
        if exchange is not None and response_in(body) is not None:
            if is_opening and response.is_success:
                self._id = response.headers.get(CONNECTION_HEADER)
            await self._hand_on(in_one_line(body))
        elif not response.is_success or exchange is not None:
            refusal = refusal_of(response.status_code, body, media_type)
            if response.status_code in REDIRECTS:
                refusal = Refusal(response.status_code, f"{refusal.reason}: it is elsewhere")
            self._refuse(exchange, refusal, is_opening)

    async def _take_events(self, response: httpx.Response, exchange: PostedRequest | None) -> None:
        async with aclosing(events_in(response, self._limits)) as events:
            async for event in events:
                frame = in_one_line(event.data.encode("utf-8", "replace"))
                if len(frame) > self._limits.frame:
                    raise FrameTooLongError(self._limits.frame)
                if frame:
                    await self._hand_on(frame)
                if exchange is not None and exchange.is_answered_by(frame):
                    return
        reason = "the stream ended before the answer; the agent may have done what was asked"
        self._refuse(exchange, Refusal(HTTPStatus.OK, reason), is_opening=False)

    def _refuse(self, exchange: PostedRequest | None, refusal: Refusal, is_opening: bool) -> None:
        """Give a request the error response that will not come; report any other message."""
        if is_opening:
            self._finish(RemoteClosedError(refusal.reason, hint=refusal.hint))
        elif exchange is None:
            self._notify(f"a message did not reach the agent: {refusal.reason}")
        elif self._end is None and not self._is_closing:
            self._take_frame(exchange.failure(refusal.reason))

    async def _hand_on(self, frame: bytes) -> None:
        """Let a frame be received; wait while too many are not received yet."""
        self._take_frame(frame)
        await self._wait_room()

    def _take_frame(self, frame: bytes) -> None:
        self._observe(frame)
        self._put(frame)


@asynccontextmanager
async def open_openoxide(
    agent: RemoteAgent,
    *,
    limits: RemoteLimits = LIMITS,
    observer: WireObserver | None = None,
    notify: Notify = logger.warning,
) -> AsyncGenerator[OpenoxideTransport]:
    """Connect to an agent over the HTTP of OpenOxide; end the connection with the block.

    `observer` gets all frames; `notify` a sentence about each that did not reach the agent.

    Raises:
        RemoteAddressError: the user's certificates or the proxy cannot be used.
    """
    async with opened(OpenoxideTransport, agent, limits, observer, notify) as transport:
        yield transport
