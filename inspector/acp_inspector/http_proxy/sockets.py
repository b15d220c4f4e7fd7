"""A WebSocket through the proxy: message by message, as text or as bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import anyio
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from acp_inspector.http_proxy.connection import (
    Carrier,
    CarrierGoneError,
    ProxyConnection,
    body_members,
)
from acp_inspector.http_proxy.context import ProxyContext
from acp_inspector.http_proxy.headers import Headers, forwarded
from acp_inspector.http_proxy.requests import Incoming, Receive, Scope, Send
from acp_inspector.intercept.message import InterceptedFrame
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json

LOST: Final = 1006
"""The code of a socket that was lost without a close frame."""
NO_CODE: Final = 1005
"""The code of a close frame that has none."""
_ACCEPTED_BY: Final = frozenset(
    {b"sec-websocket-accept", b"sec-websocket-extensions", b"sec-websocket-protocol", b"date"}
)


class SocketSender(Carrier):
    """Sends frames on a socket, as text or as bytes."""

    def __init__(
        self,
        exchange: SocketExchange,
        write: Callable[[list[bytes | float]], Awaitable[None]],
    ) -> None:
        super().__init__()
        self._exchange = exchange
        self._write = write

    async def send(self, frame: InterceptedFrame, wire: bytes) -> None:
        """Send a frame as a message; its pieces are fragments."""
        del wire
        if self._exchange.has_ended:
            raise CarrierGoneError("the socket is closed")
        if frame.prefix:
            await self._write([frame.prefix.rstrip(b"\r\n")])
        if frame.cut_at is not None:
            await self._write([frame.raw[: frame.cut_at]])
            self._exchange.abort(f"cut by {frame.cut_by}")
            return
        for _ in range(frame.copies):
            # An empty message has no pieces, and is a message.
            await self._write([*frame.pieces(frame.raw)] or [b""])


class SocketExchange:
    """A request for a WebSocket, and what is said on it."""

    def __init__(
        self, context: ProxyContext, incoming: Incoming, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._context = context
        self._incoming = incoming
        self._offered: list[str] = [*scope.get("subprotocols", ())]
        self._receive = receive
        self._send = send
        self._scope = anyio.CancelScope()
        self.has_ended = False
        self.number = 0

    async def run(self) -> None:
        """Connect to the server, accept the client, and pass messages on until either closes."""
        await self._receive()
        if (refusal := self._context.refusal(self._incoming)) is not None:
            status, reason = refusal
            await self._refuse(status, [], reason)
            return
        connections = self._context.connections
        connection, _ = await connections.take(self._incoming.headers, opens=True)
        self.number = connection.new_exchange()
        try:
            with connection.exchange(self.number, self.abort), self._scope:
                self._connection = connection
                await self._run(connection)
        finally:
            connections.release(connection)

    def abort(self, why: str) -> None:
        """Break the socket off, without a close frame."""
        self._note_close(LOST, None, why)
        self._scope.cancel()

    async def _run(self, connection: ProxyConnection) -> None:
        incoming = self._incoming
        connection.event(
            "http_request",
            id=self.number,
            method=incoming.method,
            path=connection.redactor.target(incoming.target),
            version=incoming.version,
            headers=connection.redactor.headers(incoming.headers),
        )
        fault = connection.fault_of("WebSocket", self.number)
        if fault is not None and fault.refusal is not None:
            body = fault.refusal.body.encode()
            self._note_response(fault.refusal.status, (), body, by="proxy")
            self._settle(fault.refusal.status, ())
            await self._refuse(fault.refusal.status, (), body)
            return
        if fault is not None:
            await connection.pause(fault.delay)
        try:
            upstream = await self._context.upstream.open_socket(
                incoming.target, incoming.headers, *self._offered
            )
        except InvalidStatus as problem:
            response = problem.response
            raw = _raw(response.headers)
            body = bytes(response.body or b"")
            # A status that is none, or says that all is well, refuses nothing.
            status = response.status_code if 300 <= response.status_code < 600 else 502
            self._note_response(response.status_code, raw, body)
            self._settle(status, raw)
            await self._refuse(status, forwarded(raw), body)
        except (InvalidHandshake, OSError, TimeoutError) as problem:
            body = self._context.upstream.reason(problem).encode() + b"\n"
            self._note_response(502, (), body, by="proxy")
            self._settle(502, ())
            await self._refuse(502, [], body)
        else:
            if fault is not None:
                await connection.pause(fault.late)
            await self._converse(upstream)

    def _settle(self, status: int, answer: Headers) -> None:
        self._context.connections.settle(self._connection, (), status, answer)

    def _note_response(self, status: int, raw: Headers, body: bytes = b"", **more: Json) -> None:
        self._connection.event(
            "http_response",
            id=self.number,
            status=status,
            headers=self._connection.redactor.headers(raw),
            **more,
            **body_members(body),
        )

    async def _converse(self, upstream: ClientConnection) -> None:
        assert upstream.response is not None
        raw = _raw(upstream.response.headers)
        self._settle(101, raw)
        self._note_response(101, raw)
        connection = self._connection
        to_agent, to_client = self._senders(upstream)
        connection.sockets = {"client": to_agent["text"], "agent": to_client["text"]}
        try:
            await self._send(
                {
                    "type": "websocket.accept",
                    "subprotocol": upstream.subprotocol,
                    "headers": [
                        each for each in forwarded(raw) if each[0].lower() not in _ACCEPTED_BY
                    ],
                }
            )
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._from_client, upstream, to_agent, tasks.cancel_scope)
                tasks.start_soon(self._from_agent, upstream, to_client, tasks.cancel_scope)
        finally:
            connection.sockets = {}
            self._context.connections.end(connection)
            if self._scope.cancel_called:
                upstream.transport.abort()
            else:
                self._note_close(LOST, "agent")

    def _senders(
        self, upstream: ClientConnection
    ) -> tuple[dict[str, SocketSender], dict[str, SocketSender]]:
        """Return what sends to the server and what sends to the client, by kind of message."""

        def to_agent(is_text: bool) -> Callable[[list[bytes | float]], Awaitable[None]]:
            async def write(pieces: list[bytes | float]) -> None:
                try:
                    await upstream.send(self._fragments(pieces), text=is_text)
                except ConnectionClosed:
                    raise CarrierGoneError("the socket is closed") from None

            return write

        def to_client(is_text: bool) -> Callable[[list[bytes | float]], Awaitable[None]]:
            async def write(pieces: list[bytes | float]) -> None:
                whole = b"".join([piece async for piece in self._fragments(pieces)])
                data: Any = whole.decode("utf-8", "replace") if is_text else whole
                key = "text" if is_text else "bytes"
                try:
                    await self._send({"type": "websocket.send", key: data})
                except OSError:
                    raise CarrierGoneError("the client has left") from None

            return write

        return (
            {
                "text": SocketSender(self, to_agent(True)),
                "bytes": SocketSender(self, to_agent(False)),
            },
            {
                "text": SocketSender(self, to_client(True)),
                "bytes": SocketSender(self, to_client(False)),
            },
        )

    async def _fragments(self, pieces: list[bytes | float]) -> AsyncIterator[bytes]:
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                await self._connection.pause(piece)

    async def _from_client(
        self,
        upstream: ClientConnection,
        to_agent: dict[str, SocketSender],
        scope: anyio.CancelScope,
    ) -> None:
        while (message := await self._receive())["type"] == "websocket.receive":
            text, data = message.get("text"), message.get("bytes")
            kind = "bytes" if text is None else "text"
            raw = text.encode() if text is not None else data or b""
            await self._pass("client", kind, raw, to_agent[kind])
        code, reason = message.get("code", NO_CODE), message.get("reason")
        if reason is None and code in {NO_CODE, LOST}:
            # The client has vanished.
            self._note_close(LOST, "client")
            upstream.transport.abort()
        else:
            await _settle(to_agent)
            self._note_close(code, "client", reason or "")
            await _close(upstream, code, reason or "")
        scope.cancel()

    async def _from_agent(
        self,
        upstream: ClientConnection,
        to_client: dict[str, SocketSender],
        scope: anyio.CancelScope,
    ) -> None:
        try:
            while True:
                message = await upstream.recv()
                kind = "text" if isinstance(message, str) else "bytes"
                raw = message.encode() if isinstance(message, str) else message
                await self._pass("agent", kind, raw, to_client[kind])
        except ConnectionClosed:
            code = upstream.close_code or LOST
            reason = upstream.close_reason or ""
        await _settle(to_client)
        self._note_close(code, "agent", reason)
        if code != LOST:
            # Without a code, the client gets none either.
            shown = None if code == NO_CODE else code
            # The client may have closed it, too.
            with suppress(OSError):
                await self._send({"type": "websocket.close", "code": shown, "reason": reason})
        scope.cancel()

    async def _pass(self, side: Side, kind: str, raw: bytes, sender: SocketSender) -> None:
        members: dict[str, Json] = {
            "id": self.number,
            "kind": "binary" if kind == "bytes" else "text",
        }
        frame = await self._connection.admit(side, "ws_message", members, raw, sender)
        if frame is not None:
            try:
                await sender.send(frame, raw)
            except CarrierGoneError:
                return

    def _note_close(self, code: int, side: Side | None, reason: str = "") -> None:
        if not self.has_ended:
            self.has_ended = True
            members: dict[str, Json] = {"from": side, "reason": reason}
            known = {key: value for key, value in members.items() if value}
            self._connection.event("ws_close", id=self.number, code=code, **known)

    async def _refuse(self, status: int, headers: Headers, body: bytes) -> None:
        """Answer the upgrade with another status."""
        self.has_ended = True
        without = {b"content-length", b"content-encoding"}
        kept = [each for each in headers if each[0].lower() not in without]
        await self._send(
            {"type": "websocket.http.response.start", "status": status, "headers": kept}
        )
        await self._send({"type": "websocket.http.response.body", "body": body})


async def _settle(senders: dict[str, SocketSender]) -> None:
    """Wait until what is under way is sent."""
    for sender in senders.values():
        await sender.wait_settled()


async def _close(upstream: ClientConnection, code: int, reason: str) -> None:
    """Close the socket to the server as the client has closed its own."""
    if code == NO_CODE:
        # `close` always sends a code.
        with suppress(ConnectionClosed):
            async with upstream.send_context():
                upstream.protocol.send_close()
    else:
        await upstream.close(code, reason)


def _raw(headers: Any) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.raw_items()]
