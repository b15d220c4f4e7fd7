"""One request over HTTP and its response, and requests for frames that are injected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
import httpx

from acp_inspector.http_proxy.connection import (
    Carrier,
    Handover,
    Posting,
    ProxyConnection,
    body_members,
    connection_named,
    session_of,
)
from acp_inspector.http_proxy.context import ProxyContext
from acp_inspector.http_proxy.headers import Headers, forwarded
from acp_inspector.http_proxy.requests import (
    LENGTH,
    Body,
    ClientLeftError,
    Incoming,
    Receive,
    Send,
    is_initialize,
    respond,
)
from acp_inspector.http_proxy.streams import EventSender
from acp_inspector.http_proxy.upstream import Upstream
from acp_inspector.intercept.message import InterceptedFrame, ProxyRefusal
from acp_protocol.jsonrpc import Json

if TYPE_CHECKING:
    from acp_inspector.intercept.rules import RequestFault

MAX_TEXT_BYTES: Final = 1 << 16
"""Bytes of a response without a message that is waited for."""
MAX_SHOWN: Final = 1000
"""Bytes of a response that a note repeats."""
PROXY: Final = "proxy"
"""What has responded, if it is not the server."""


class HttpExchange:
    """A request and its response."""

    def __init__(
        self,
        context: ProxyContext,
        connection: ProxyConnection,
        incoming: Incoming,
        body: Body,
        send: Send,
        *,
        is_first: bool,
    ) -> None:
        self.connection = connection
        self.number = connection.new_exchange()
        self.incoming = incoming
        self._context = context
        self._body = body
        self._is_first = is_first
        self._send = send
        self._scope = anyio.CancelScope()
        self._posting = Posting()
        self.has_begun = False
        """Whether the response has."""
        self.has_ended = False
        self._is_settled = False
        self._broken_by = ""
        """Why the exchange was broken off; empty if it was not."""
        self._fault: RequestFault | None = None
        self._written = 0
        """Bytes of the response that were written, where a rule may break it off."""

    async def run(self, receive: Receive) -> None:
        """Carry out the exchange, until it is done, the client leaves or it is broken off."""
        with self.connection.exchange(self.number, self.abort):
            try:
                async with anyio.create_task_group() as tasks:
                    with self._scope:
                        if self._body.is_whole:
                            tasks.start_soon(self._watch, receive)
                        await self._run()
                    if self._broken_by and not self.has_begun:
                        await respond(self._send, 502, self._broken_by.encode() + b"\n")
                    tasks.cancel_scope.cancel()
            finally:
                self._posting.close()
                self._posting.answer.close()
                self._settle(0, ())

    def abort(self, why: str, **side: Json) -> None:
        """Break the exchange off; `side` says `from` which side, if it was one."""
        self._note_end(**side, why=why)
        self._broken_by = why
        self._scope.cancel()

    async def _watch(self, receive: Receive) -> None:
        """Break the exchange off when the client leaves."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._note_end(**{"from": "client"})
        self._scope.cancel()

    def _note_end(self, **data: Json) -> None:
        if not self.has_ended:
            self.has_ended = True
            self.connection.event("http_end", id=self.number, **data)

    def _settle(self, status: int, answer: Headers) -> None:
        if self._is_first and not self._is_settled:
            self._is_settled = True
            self._context.connections.settle(
                self.connection, self.incoming.headers, status or 500, answer
            )

    # The request.

    async def _run(self) -> None:
        frame = await self._admit()
        self._fault = self.connection.fault_of(self.incoming.method, self.number)
        if self._fault is not None and self._fault.refusal is not None:
            self._posting.close()
            await self._refuse_by(self._fault.refusal)
            return
        if self._fault is not None and self._fault.delay:
            await self.connection.pause(self._fault.delay)
        if frame is None:
            frame, is_sent = await self._posting.decision()
            if not is_sent:
                await self._respond_for_dropped(frame)
                return
        await self._forward(frame)

    async def _admit(self) -> InterceptedFrame | None:
        """Record the request; return its frame once it may go on at once, None if it may not."""
        incoming, redactor = self.incoming, self.connection.redactor
        data: dict[str, Json] = {
            "id": self.number,
            "method": incoming.method,
            "path": redactor.target(incoming.target),
            "version": incoming.version,
            "headers": redactor.headers(incoming.headers),
        }
        body = self._body.beginning
        if not self._is_message(body):
            shown = body_members(body) if self._body.is_whole else {"bytes": len(body)}
            self.connection.event("http_request", **data, **shown)
            return _no_frame(body)
        connection = self.connection
        connection.posted_with, connection.posted_to = incoming.headers, incoming.target
        connection.poster = connection.poster or Poster(self._context.upstream, connection)
        return await self.connection.admit("client", "http_request", data, body, self._posting)

    def _is_message(self, body: bytes) -> bool:
        incoming = self.incoming
        if incoming.method != "POST" or not self._body.is_whole or not body:
            return False
        if incoming.value(b"content-encoding") not in {None, "identity"}:
            return False
        kind = (incoming.value(b"content-type") or "").partition(";")[0].strip().lower()
        is_named = incoming.value(b"acp-connection-id") is not None
        return is_named or kind == "application/json" or b'"jsonrpc"' in body

    async def _forward(self, frame: InterceptedFrame) -> None:
        for copy in range(1, frame.copies + 1):
            try:
                response = await self._request(frame)
            except ClientLeftError:
                return
            except CutError:
                self._posting.close()
                await self._refuse(502, "the request was cut off", "cut")
                return
            except httpx.TransportError as problem:
                self._posting.close()
                why = self._context.upstream.reason(problem)
                await self._refuse(502, why, why)
                return
            try:
                if copy < frame.copies:
                    self._note_copy(response, copy)
                    continue
                self._posting.close()
                late = frame.late or (self._fault.late if self._fault is not None else 0)
                await self._take_all(response, late)
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()

    async def _request(self, frame: InterceptedFrame) -> httpx.Response:
        incoming = self.incoming
        is_changed = frame.raw is not frame.frame.data or frame.prefix
        headers = incoming.headers
        if is_changed:
            length = str(len(frame.prefix) + len(frame.raw)).encode()
            headers = [each for each in headers if each[0].lower() != LENGTH]
            headers = [*headers, (LENGTH, length)]
        has_body = self._body.beginning or not self._body.is_whole or is_changed
        content = self._content(frame) if has_body else None
        if not has_body and incoming.method in {"POST", "PUT", "PATCH"}:
            headers = [each for each in headers if each[0].lower() != LENGTH]
            headers = [*headers, (LENGTH, b"0")]
        return await self._context.upstream.request(
            incoming.method, incoming.target, headers, content
        )

    async def _content(self, frame: InterceptedFrame) -> AsyncIterator[bytes]:
        """Yield what is sent of the request's body."""
        if not self._body.is_whole:
            async for chunk in self._body.stream():
                yield chunk
        else:
            whole = frame.prefix + frame.raw
            if frame.cut_at is not None:
                yield whole[: len(frame.prefix) + frame.cut_at]
                raise CutError
            for piece in frame.pieces(whole):
                if isinstance(piece, bytes):
                    yield piece
                else:
                    await self.connection.pause(piece)
        # What was posted behind this may go on now, whenever the server responds.
        self._posting.close()

    def _note_copy(self, response: httpx.Response, copy: int) -> None:
        self.connection.event(
            "http_response", id=self.number, status=response.status_code, copy=copy
        )

    # The response.

    async def _take_all(self, response: httpx.Response, late: float) -> None:
        """Record the response and pass it on, whatever it is."""
        if not 200 <= response.status_code < 600:
            why = f"the server's status {response.status_code} is none"
            await self._refuse(502, why, why)
            return
        try:
            await self._take(response, late)
        except httpx.TransportError as problem:
            self.abort(self._context.upstream.reason(problem), **{"from": "agent"})

    async def _take(self, response: httpx.Response, late: float) -> None:
        """Record the response and pass it on."""
        raw = response.headers.raw
        self._settle(response.status_code, raw)
        if self.incoming.method == "DELETE" and response.status_code in {200, 202, 204, 404}:
            self.connection.is_over = True
        data: dict[str, Json] = {
            "id": self.number,
            "status": response.status_code,
            "headers": self.connection.redactor.headers(raw),
        }
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            await self._stream_events(response, data)
            return
        try:
            body = await self._whole_body(response, kind)
        except httpx.TransportError as problem:
            reason = self._context.upstream.reason(problem)
            await self._refuse(502, reason, reason)
            return
        if body is None:
            self.connection.event("http_response", **data)
            await self._pause_late(late)
            await self._stream(response)
        elif b'"jsonrpc"' in body:
            await self._pass_message(response, data, body, late)
        else:
            self.connection.event("http_response", **data, **body_members(body))
            await self._pause_late(late)
            await self._begin(response.status_code, forwarded(raw))
            await self._end(body)

    async def _pause_late(self, seconds: float) -> None:
        if seconds:
            await self.connection.pause(seconds)

    async def _whole_body(self, response: httpx.Response, kind: str) -> bytes | None:
        """Return the body if it can be waited for; else it has not been read."""
        if response.headers.get("content-encoding", "identity") != "identity":
            return None
        is_json = kind.endswith("json")
        length = response.headers.get("content-length", "")
        size = int(length) if length.isascii() and length.isdigit() else None
        if not is_json and (size is None or size > MAX_TEXT_BYTES):
            is_empty = self.incoming.method == "HEAD" or response.status_code in {204, 304}
            return b"" if is_empty else None
        if size is not None and size > self._context.max_body:
            return None
        chunks: list[bytes] = []
        received = 0
        self._read = chunks
        async for chunk in response.aiter_raw():
            chunks.append(chunk)
            received += len(chunk)
            if received > self._context.max_body:
                return None
        return b"".join(chunks)

    _read: list[bytes]
    """The beginning of a body that was too long."""

    async def _pass_message(
        self, response: httpx.Response, data: dict[str, Json], body: bytes, late: float
    ) -> None:
        """Pass a response on whose body is a message."""
        handover = Handover()
        try:
            frame = await self.connection.admit("agent", "http_response", data, body, handover)
            if frame is None:
                frame, is_sent = await handover.decision()
                if not is_sent:
                    # The client gets no response.
                    await anyio.sleep_forever()
            await self._pause_late(late)
            await self._send_message(response.status_code, response.headers.raw, frame)
        finally:
            handover.close()

    async def _send_message(self, status: int, raw: Headers, frame: InterceptedFrame) -> None:
        whole = frame.prefix + frame.raw
        headers = forwarded(raw)
        if frame.raw is not frame.frame.data or frame.prefix:
            length = (LENGTH, str(len(whole)).encode())
            headers = [*(each for each in headers if each[0].lower() != LENGTH), length]
        await self._begin(status, headers)
        if frame.cut_at is not None:
            await self.write(whole[: len(frame.prefix) + frame.cut_at])
            self.abort(f"cut by {frame.cut_by}")
            return
        for piece in frame.pieces(whole):
            if isinstance(piece, bytes):
                await self.write(piece)
            else:
                await self.connection.pause(piece)
        await self._end()

    async def _stream(self, response: httpx.Response) -> None:
        await self._begin(response.status_code, forwarded(response.headers.raw))
        for chunk in getattr(self, "_read", ()):
            await self.write(chunk)
        if not response.is_stream_consumed:
            async for chunk in response.aiter_raw():
                await self.write(chunk)
        self._note_end()
        await self._end()

    async def _stream_events(self, response: httpx.Response, data: dict[str, Json]) -> None:
        self.connection.event("http_response", **data)
        await self._begin(response.status_code, forwarded(response.headers.raw))
        # Over HTTP/2 the head waits for the first bytes of the body.
        await self._send({"type": "http.response.body", "body": b"", "more_body": True})
        sender = EventSender(self)
        session = self.incoming.value(b"acp-session-id")
        if self.incoming.method == "GET":
            self.connection.open_stream(session, sender)
        try:
            async for chunk in response.aiter_raw():
                await sender.move(chunk)
            await sender.finish()
        except httpx.TransportError:
            await sender.finish()
            raise
        finally:
            self.connection.close_stream(session, sender)
        self._note_end()
        await self._end()

    # What the client gets.

    async def _respond_for_dropped(self, frame: InterceptedFrame) -> None:
        """Respond to a request whose frame is not sent."""
        if self._broken_by:
            return
        if frame.refusal is not None:
            await self._refuse_by(frame.refusal)
        elif frame.replies and is_initialize(frame.frame.data):
            answer, is_sent = await self._posting.answer.decision()
            if is_sent:
                headers: Headers = [(b"content-type", b"application/json")]
                length = (LENGTH, str(len(answer.raw)).encode())
                self._posting.answer.close()
                await self._begin(200, [*headers, length])
                await self._end(answer.raw)
        else:
            self.connection.event("http_response", id=self.number, status=202, by=PROXY)
            await self._begin(202, [(LENGTH, b"0")])
            await self._end()

    async def _refuse_by(self, refusal: ProxyRefusal) -> None:
        extra: list[tuple[bytes, bytes]] = []
        if refusal.retry_after is not None:
            extra.append((b"retry-after", str(refusal.retry_after).encode()))
        await self._refuse(refusal.status, refusal.body, "", extra)

    async def _refuse(self, status: int, text: str, why: str, extra: Headers = ()) -> None:
        body = text.encode() + b"\n" if text else b""
        # The body says it too, unless it is about the request.
        members: dict[str, Json] = {"why": why} if why not in {"", text} else {}
        self.connection.event(
            "http_response",
            id=self.number,
            status=status,
            by=PROXY,
            **members,
            **body_members(body),
        )
        if not self.has_begun:
            self.has_begun = True
            await respond(self._send, status, body, extra)
        self.has_ended = True

    async def _begin(self, status: int, headers: Headers) -> None:
        self.has_begun = True
        await self._send({"type": "http.response.start", "status": status, "headers": [*headers]})

    async def write(self, data: bytes) -> None:
        """Write a part of the body; waits for a reader that is slow."""
        # A stream that always has more would never see that it is cancelled.
        await anyio.lowlevel.checkpoint_if_cancelled()
        fault = self._fault
        if fault is None or fault.cut_at is None:
            await self._send({"type": "http.response.body", "body": data, "more_body": True})
            return
        data = data[: fault.cut_at - self._written]
        self._written += len(data)
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        if self._written >= fault.cut_at:
            self.abort(f"cut by {fault.by}")
            # The caller is cancelled here.
            await anyio.lowlevel.checkpoint()

    async def _end(self, data: bytes = b"") -> None:
        if self._fault is not None and self._fault.cut_at is not None and data:
            await self.write(data)
            data = b""
        self.has_ended = True
        await self._send({"type": "http.response.body", "body": data, "more_body": False})


class Poster(Carrier):
    """Posts frames of the client that are injected, as the client has posted its last one."""

    def __init__(self, upstream: Upstream, connection: ProxyConnection) -> None:
        super().__init__()
        self._upstream = upstream
        self._connection = connection

    async def send(self, frame: InterceptedFrame, wire: bytes) -> None:
        """Post a frame; does not wait for the response."""
        del wire
        written = asyncio.Event()
        self._connection.tasks.start_soon(self._post, frame, written)
        await written.wait()

    async def _post(self, frame: InterceptedFrame, written: asyncio.Event) -> None:
        connection, number = self._connection, frame.frame.seq

        async def content() -> AsyncIterator[bytes]:
            yield frame.raw
            written.set()

        try:
            response = await self._upstream.request(
                "POST", connection.posted_to, self._headers(frame.raw), content()
            )
            try:
                body = await response.aread()
            finally:
                await response.aclose()
        except httpx.TransportError as problem:
            connection.event("note", of=number, by=PROXY, text=self._upstream.reason(problem))
            return
        finally:
            written.set()
        status = response.status_code
        if b'"jsonrpc"' in body:
            data: dict[str, Json] = {"id": connection.new_exchange(), "status": status}
            await connection.admit("agent", "http_response", data, body, self)
        elif status >= 400:
            shown = body[:MAX_SHOWN].decode("utf-8", "replace").strip()
            text = f"the server responds with {status}{': ' if shown else ''}{shown}"
            connection.event("note", of=number, by=PROXY, text=text)

    def _headers(self, raw: bytes) -> Headers:
        own = {LENGTH, b"content-type", b"acp-session-id", b"transfer-encoding"}
        kept = [each for each in self._connection.posted_with if each[0].lower() not in own]
        headers = [*kept, (b"content-type", b"application/json")]
        id_ = self._connection.id
        if id_ is not None and connection_named(kept) is None:
            # Only `initialize` was posted so far.
            headers.append((b"acp-connection-id", id_.encode("latin-1")))
        if (session := session_of(raw)) is not None:
            headers.append((b"acp-session-id", session.encode("utf-8")))
        return [*headers, (LENGTH, str(len(raw)).encode())]


class CutError(Exception):
    """A rule has cut off what was being sent."""


def _no_frame(body: bytes) -> InterceptedFrame:
    from acp_inspector.journal import Frame

    return InterceptedFrame.of(Frame(0, 0.0, "client", body))
