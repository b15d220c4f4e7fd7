"""The HTTP of OpenOxide, as an ASGI application; see `dialects/openoxide_http.py`.

Sessions are found by their ids: a client need not name its connection, which `Acp-Connection-Id`
does. Without one that is known, a connection is opened for the message.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar, Final

from starlette.types import Receive, Send

from acp_protocol.dialects.openoxide_http import (
    PostedRequest,
    bare_answer,
    event_of,
    exchange_of,
    session_of,
)
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    ErrorResponse,
    InvalidMessage,
    Message,
    Request,
    RequestId,
    SuccessResponse,
    encode_request,
    id_key,
    read_message,
)
from acp_protocol.schema.vocabulary import RESTORING
from acp_protocol.transport.http import (
    CONNECTION_HEADER,
    EVENT_STREAM,
    JSON_TYPE,
    KEEP_ALIVE,
    EventStream,
    HttpLimits,
    Posted,
    Reply,
    ServedConnection,
    ascii_json,
    error_reply,
    read_post,
    refusal,
)
from acp_protocol.transport.http_server import (
    GoneError,
    HttpEndpoint,
    body_part,
    start_response,
    unless_gone,
)
from acp_protocol.transport.served_connections import Connections, NewState, OpenConnection

MAX_HOMES: Final = 4096
"""Sessions whose connection is remembered."""
_OWN_ID: Final = "acp-http"
"""The id of an `initialize` that no client has sent."""
_RESPONSE: Final = "\0response "
"""Begins the name of the stream with the response to one request."""


class ExchangeStreams(ServedConnection):
    """The frames of an agent, in a stream for each session, and for each other response.

    What names no session comes on the stream that was opened last.
    """

    def __init__(self, limits: HttpLimits, *, is_socket: bool = False) -> None:
        super().__init__(limits, is_socket=is_socket)
        self._exchanges: OrderedDict[str, PostedRequest] = OrderedDict()
        """What is read on the stream of each session."""
        self._left: set[str] = set()
        """Those of them whose reader has gone before the answer."""

    @property
    def is_idle(self) -> bool:
        return super().is_idle and not self._exchanges

    def begin(
        self, exchange: PostedRequest, message: Message, *, is_stream: bool
    ) -> EventStream | None:
        """Return the stream that the answer comes on; None if one like it is open."""
        session = exchange.session
        has_key = isinstance(message, Request)
        if has_key and id_key(message.id) in self._unanswered:
            return None
        if is_stream and session is not None:
            if session in self._exchanges:
                return None
            self._exchanges[session] = exchange
            name = session
        else:
            name = f"{_RESPONSE}{exchange.id!r}"
        if has_key:
            self.note_request(message, name)
            self._unanswered[id_key(message.id)] = name
        stream = self._stream(name)
        stream.has_reader = True
        return stream

    def can_stream(self, exchange: PostedRequest) -> bool:
        """Return whether the stream of the session has no reader."""
        return exchange.session is not None and exchange.session not in self._exchanges

    def finish(self, exchange: PostedRequest, stream: EventStream, *, is_answered: bool) -> None:
        """Note that a stream has no reader any more."""
        stream.has_reader = False
        if stream.name == exchange.session and not is_answered:
            self._left.add(stream.name or "")
            stream.clear()
            return
        if stream.name == exchange.session:
            self._exchanges.pop(stream.name or "", None)
        self._remove(stream)

    def forget_history(self, session: str | None) -> None:
        """Drop what was sent of a session that was opened again, because it was not read."""
        if session is not None and session not in self._exchanges:
            self._remove(self._stream(session))

    def put(self, frame: bytes) -> EventStream | None:
        stream = super().put(frame)
        if stream is None or (stream.name is not None and stream.name not in self._left):
            return stream
        stream.clear()
        exchange = self._exchanges.get(stream.name or "")
        if exchange is not None and exchange.is_answered_by(frame):
            self._left.discard(stream.name or "")
            self._exchanges.pop(stream.name or "", None)
            self._remove(stream)
        return stream

    def note(self, message: Message) -> str | None:
        if self.is_socket:
            return super().note(message)
        if isinstance(message, SuccessResponse | ErrorResponse):
            return super().note(message)
        session = bare_answer(message) or session_of(message)
        if isinstance(message, Request):
            self._agent_requests[id_key(message.id)] = session
        return session if session is not None else next(reversed(self._exchanges), None)

    def answered(self, id_: RequestId) -> None:
        """Note that a request of the agent has its response."""
        self._agent_requests.pop(id_key(id_), None)


class OpenoxideEndpoint(HttpEndpoint):
    """Serves the connections of clients that speak the dialect; WebSockets are as elsewhere."""

    new_state: ClassVar[NewState] = ExchangeStreams

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self._homes: OrderedDict[str, OpenConnection] = OrderedDict()
        """The connection of each session."""

    async def _get(self, headers: Mapping[str, str], receive: Receive, send: Send) -> Reply | None:
        del headers, receive, send
        reply = refusal(405, "Events come with the response to a prompt; GET has none")
        return Reply(405, reply.body, reply.media_type, {"Allow": "POST, DELETE"})

    async def _take(
        self, headers: Mapping[str, str], body: bytes, receive: Receive, send: Send
    ) -> Reply | None:
        posted = read_post(headers, body, self.connections.limits, has_connection=False)
        if isinstance(posted, Reply):
            return posted
        message = posted.message
        exchange = exchange_of(message)
        if exchange is None and isinstance(message, InvalidMessage) and not message.is_response:
            return error_reply(400, INVALID_REQUEST, message.reason, message.id)
        self.connections.counts.received(len(body))
        if isinstance(message, Request) and message.method == "initialize":
            return await self._initialize(posted, receive)
        connection = await self._home(posted, exchange, receive)
        if isinstance(connection, Reply):
            return connection
        if exchange is None:
            return await self._pass(connection, posted)
        accepts = headers.get("accept", "")
        return await self._exchange(connection, posted, exchange, accepts, receive, send)

    async def _home(
        self, posted: Posted, exchange: PostedRequest | None, receive: Receive
    ) -> OpenConnection | Reply:
        """Return the connection that a message belongs to."""
        if posted.connection is not None:
            return self.connections.find(posted.connection)
        home = self._homes.get(session_of(posted.message) or "")
        if home is not None and home.ended_by is None:
            return self.connections.find(home.id)
        if exchange is None:
            return refusal(400, "Acp-Connection-Id is missing, and there is no session to know it")
        raw = encode_request(_OWN_ID, "initialize", {})
        opening = Posted(read_message(raw), raw, None, None)
        opened = await self._initialize(opening, receive)
        if opened.status != 200:
            return opened
        return self.connections.find(opened.headers["Acp-Connection-Id"])

    async def _pass(self, connection: OpenConnection, posted: Posted) -> Reply:
        """Pass on what gets no response."""
        message = posted.message
        if isinstance(message, SuccessResponse | ErrorResponse):
            assert isinstance(connection.state, ExchangeStreams)
            connection.state.answered(message.id)
        try:
            await connection.send(posted.raw)
        except ConnectionClosedError:
            return self.connections.unknown(connection.id)
        return Reply(202)

    async def _exchange(
        self,
        connection: OpenConnection,
        posted: Posted,
        exchange: PostedRequest,
        accepts: str,
        receive: Receive,
        send: Send,
    ) -> Reply | None:
        state = connection.state
        assert isinstance(state, ExchangeStreams)
        await unless_gone(connection.wait_room, receive)
        is_stream = exchange.is_prompt or (
            EVENT_STREAM in accepts.lower() and state.can_stream(exchange)
        )
        stream = state.begin(exchange, posted.message, is_stream=is_stream)
        if stream is None:
            what = "prompt of this session" if exchange.is_prompt else "request with this id"
            return refusal(409, f"A {what} has no answer yet")
        if exchange.session is not None:
            self._note_home(exchange.session, connection)
        turn = _Turn(self, connection, state, exchange, stream)
        try:
            await connection.send(posted.raw)
            if not is_stream:
                return await turn.respond(posted.message, receive)
            await turn.write(receive, send)
        except ConnectionClosedError:
            return self.connections.unknown(connection.id)
        finally:
            state.finish(exchange, stream, is_answered=turn.is_over)
            connection.notify()
        return None

    def _note_home(self, session: str, connection: OpenConnection) -> None:
        self._homes[session] = connection
        self._homes.move_to_end(session)
        if len(self._homes) > MAX_HOMES:
            self._homes.popitem(last=False)

    def note_answer(self, frame: bytes, connection: OpenConnection) -> None:
        """Note the session that an answer names."""
        session = session_of(read_message(frame))
        if session is not None:
            self._note_home(session, connection)


class _Turn:
    """A request whose answer is read."""

    def __init__(
        self,
        endpoint: OpenoxideEndpoint,
        connection: OpenConnection,
        state: ExchangeStreams,
        exchange: PostedRequest,
        stream: EventStream,
    ) -> None:
        self._endpoint = endpoint
        self._connection = connection
        self._state = state
        self._exchange = exchange
        self._stream = stream
        self.is_over = False
        """Whether the answer has come, or the agent has ended."""

    async def respond(self, message: Message, receive: Receive) -> Reply:
        """Return the answer as JSON."""
        frames: list[bytes] = []

        async def wait() -> None:
            while not frames and not self._has_ended():
                if (event := self._state.next(self._stream)) is not None:
                    frames.append(event.frame)
                else:
                    await self._connection.wait_change()

        try:
            await unless_gone(wait, receive)
        finally:
            self.is_over = True
        headers = {CONNECTION_HEADER: self._connection.id}
        if not frames:
            reason = f"The agent has ended: {self._connection.reason}"
            failed = error_reply(500, INTERNAL_ERROR, reason, self._exchange.id)
            return Reply(500, failed.body, failed.media_type, headers)
        self._endpoint.note_answer(frames[0], self._connection)
        if isinstance(message, Request) and message.method in RESTORING:
            self._state.forget_history(self._exchange.session)
        return Reply(200, frames[0], JSON_TYPE, headers)

    async def write(self, receive: Receive, send: Send) -> None:
        """Write events until the answer; cancel the prompt if the client does not wait for it."""
        counts = self._endpoint.connections.counts
        counts.streams += 1
        headers = {
            "Content-Type": EVENT_STREAM,
            "X-Accel-Buffering": "no",
            CONNECTION_HEADER: self._connection.id,
        }
        try:
            await send(start_response(200, headers))
            await send(body_part(KEEP_ALIVE))
            await unless_gone(lambda: self._write_events(send), receive)
        except GoneError:
            cancellation = self._exchange.cancellation()
            if cancellation is not None and not self.is_over:
                with suppress(ConnectionClosedError):
                    await self._connection.send(cancellation)
        finally:
            counts.streams -= 1

    async def _write_events(self, send: Send) -> None:
        while not self.is_over:
            if (event := self._state.next(self._stream)) is not None:
                self._connection.notify()
                self.is_over = self._exchange.is_answered_by(event.frame)
                await self._write(event.frame, send)
            elif self._has_ended():
                self.is_over = True
                reason = f"The agent has ended: {self._connection.reason}"
                await self._write(self._exchange.failure(reason), send)
            else:
                await self._endpoint.wait_event(self._connection, send)
        await send(body_part(b"", more=False))

    async def _write(self, frame: bytes, send: Send) -> None:
        name, data = event_of(frame)
        encoded = b"event: %b\ndata: %b\n\n" % (name.encode(), ascii_json(data))
        await send(body_part(encoded))
        self._endpoint.connections.counts.sent(len(encoded))

    def _has_ended(self) -> bool:
        return self._connection.ended_by is not None
