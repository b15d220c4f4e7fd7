"""The proxy as an ASGI application.

What is not intercepted passes as it came: status, headers but those of one hop, and the bytes of
bodies and streams, chunk by chunk.

Source: ACP, RFD "Streamable HTTP and WebSocket transport"; RFC 9110, section 7.6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

import anyio

from acp_inspector.http_proxy.context import ProxyContext
from acp_inspector.http_proxy.exchange import HttpExchange
from acp_inspector.http_proxy.requests import (
    Body,
    ClientLeftError,
    Incoming,
    Receive,
    Scope,
    Send,
    is_initialize,
    respond,
)
from acp_inspector.http_proxy.sockets import SocketExchange

LARGE_BODY: Final = 2**20
LARGE_BODIES: Final = 8
"""Requests with a longer body than `LARGE_BODY` that are in memory at once; others wait."""


class HttpProxy:
    """Passes requests on, and what comes back."""

    def __init__(self, context: ProxyContext, warn: Callable[[str], None]) -> None:
        self._context = context
        self._warn = warn
        self._large = asyncio.Semaphore(LARGE_BODIES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["type"] == "http":
                await self._http(Incoming.of(scope), receive, send)
            elif scope["type"] == "websocket":
                await SocketExchange(self._context, Incoming.of(scope), scope, receive, send).run()
        except Exception as problem:
            self._warn(f"acp-console has a bug: a request failed ({problem!r})")
            raise

    async def _http(self, incoming: Incoming, receive: Receive, send: Send) -> None:
        if (refusal := self._context.refusal(incoming)) is not None:
            await respond(send, *refusal)
            return
        body = Body(receive, incoming)
        async with AsyncExitStack() as stack:
            try:
                await body.read(min(LARGE_BODY, self._context.max_body))
                if not body.is_whole:
                    # Clients that never end their bodies must not stop the others.
                    with anyio.move_on_after(self._context.large_wait_s) as limit:
                        await stack.enter_async_context(self._large)
                    if not limit.cancelled_caught:
                        await body.read(self._context.max_body)
            except ClientLeftError:
                return
            await self._exchange(incoming, body, receive, send)

    async def _exchange(self, incoming: Incoming, body: Body, receive: Receive, send: Send) -> None:
        opens = incoming.method == "POST" and body.is_whole and is_initialize(body.beginning)
        connection, is_first = await self._context.connections.take(incoming.headers, opens=opens)
        exchange = HttpExchange(self._context, connection, incoming, body, send, is_first=is_first)
        try:
            await exchange.run(receive)
        finally:
            self._context.connections.release(connection)
