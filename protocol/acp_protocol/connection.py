"""Runs an endpoint over a transport, and owns every task that this takes.

One task reads. Handlers run in tasks of their own, in the order that `dispatch` promises. Frames
are sent whole and one at a time. When too much of the peer's is unfinished, reading stops, the pipe
fills up, and the peer has to wait.

Source: ACP, Overview, "Communication Model"; ACP, Cancellation; ACP, Extensibility, "_meta".
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, Self

import anyio
import anyio.lowlevel

from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.dispatch import Dispatcher, is_in_notification, session_of
from acp_protocol.endpoint import CancelRequested, Endpoint, EndpointEvent, ProtocolViolation
from acp_protocol.errors import (
    ConnectionClosedError,
    FrameTooLongError,
    LocalProtocolError,
    OperationTimeoutError,
    RequestFailedError,
)
from acp_protocol.handler import ConnectionLimits, Handler
from acp_protocol.jsonrpc import (
    PARSE_ERROR,
    ErrorResponse,
    Json,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    encode_error,
    encode_notification,
)
from acp_protocol.trace_context import add_trace
from acp_protocol.transport import Transport

logger = logging.getLogger(__name__)

CLOSE_TIMEOUT: Final = 2.0
"""Seconds that closing the transport may take."""
NOTIFIED_AT_ONCE: Final = 16
"""Notifications that a task may send, as long as there is room, before others have their turn."""
LAST_SEND_TIMEOUT: Final = 0.25
"""Seconds for sending the cancellation of a request, and what is being sent at the end."""


class Connection:
    """One side of a conversation, open inside `async with`.

    On leaving, the handlers that still run are cancelled, our open requests fail with
    `ConnectionClosedError`, and the transport is closed.
    """

    _dispatcher: Dispatcher

    def __init__(
        self,
        transport: Transport,
        handler: Handler,
        *,
        limits: ConnectionLimits | None = None,
        allow_batches: bool = False,
    ) -> None:
        """Connect to the peer over `transport`, which is closed with the connection.

        `allow_batches` accepts batches, as a draft of version 2 had them, instead of refusing them.
        """
        self._transport = transport
        self._handler = handler
        self._limits = limits or ConnectionLimits()
        self._endpoint = Endpoint(allow_batches=allow_batches)
        self._pending: dict[RequestId, _PendingRequest] = {}
        self._sending = asyncio.Lock()
        self._notified = 0
        self._closed = anyio.Event()
        self._close_reason: Exception | None = None
        self._tasks = BackgroundTasks()
        self.violations: deque[ProtocolViolation] = deque(maxlen=self._limits.violations)
        """The peer's violations, oldest first: broken frames, responses without a request."""
        self.received = 0
        """Frames that the peer has sent so far."""
        self.on_violation: Callable[[ProtocolViolation], object] = lambda violation: None
        """Called with each violation of the peer; must be quick."""

    @property
    def frame_error(self) -> FrameTooLongError | None:
        """The reason why the connection was closed, if a frame of the peer was too long."""
        reason = self._close_reason
        return reason if isinstance(reason, FrameTooLongError) else None

    @property
    def is_open(self) -> bool:
        return not self._closed.is_set()

    async def __aenter__(self) -> Self:
        tasks = await self._tasks.__aenter__()
        self._dispatcher = Dispatcher(
            self._handler, self._endpoint, self._send, self._limits, tasks
        )
        tasks.start_soon(self._read)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._end(None)
        try:
            with anyio.move_on_after(LAST_SEND_TIMEOUT, shield=True):
                # The lock is fair: frames that wait for it are sent first.
                async with self._sending:
                    pass
            await self._tasks.__aexit__()
        finally:
            with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
                await self._transport.aclose()

    async def request(
        self, method: str, params: Json = None, *, timeout: float | None = None
    ) -> Json:
        """Send a request and return the result; `timeout` is in seconds.

        If the caller is cancelled, or no response comes in time, the peer gets `$/cancel_request`.

        Raises:
            RequestFailedError: the peer responded with an error.
            ConnectionClosedError: the connection closed before the response came.
            OperationTimeoutError: no response came within `timeout`.
            LocalProtocolError: called while a notification is handled.
        """
        if is_in_notification.get():
            raise LocalProtocolError(f"{method} cannot be sent while a notification is handled")
        if not self.is_open:
            raise self._closed_error()
        id_, frame = self._endpoint.send_request(method, add_trace(params))
        pending = self._pending[id_] = _PendingRequest(session_of(params))
        has_timed_out = False
        try:
            with anyio.move_on_after(timeout) as pending.scope:
                await self._send(frame)
                await pending.answered
        finally:
            if self._pending.pop(id_, None) is not None:
                has_timed_out = pending.scope.cancelled_caught
                cancellation = self._endpoint.cancel(id_)
                if cancellation is not None and self.is_open:
                    with anyio.move_on_after(LAST_SEND_TIMEOUT, shield=True):
                        await self._try_to_send(cancellation)
        match pending.response:
            case SuccessResponse(result=result):
                return result
            case ErrorResponse(code=code, message=message, data=data):
                raise RequestFailedError(code, message, data)
            case None if has_timed_out and timeout is not None:
                raise OperationTimeoutError(f"the response to {method}", timeout)
            case None:
                raise self._closed_error()

    async def notify(self, method: str, params: Json = None) -> None:
        """Send a notification; return when the transport has taken it.

        This works as long as the peer reads, even if it has stopped sending.

        Raises:
            ConnectionClosedError: the peer does not read any more.
        """
        await self._send(encode_notification(method, add_trace(params)))
        self._notified += 1
        if self._notified % NOTIFIED_AT_ONCE == 0:
            # A transport with room never makes the sender wait, but others must have their turn.
            await anyio.lowlevel.checkpoint()

    def disallow_batches(self) -> None:
        self._endpoint.disallow_batches()

    async def wait_closed(self) -> None:
        await self._closed.wait()

    async def wait_quiet(self, quiet_s: float, limit_s: float) -> None:
        """Return once the peer has sent nothing for `quiet_s` seconds, or has left.

        A peer that never stops is waited for at most about `limit_s` seconds.
        """
        with anyio.move_on_after(limit_s):
            received = -1
            while self.is_open and received != self.received:
                received = self.received
                with anyio.move_on_after(quiet_s):
                    await self.wait_closed()

    async def wait_settled(self) -> None:
        await self._dispatcher.wait_settled()

    async def _read(self) -> None:
        try:
            while True:
                frame = await self._transport.receive()
                self.received += 1
                for event in self._endpoint.receive(frame):
                    await self._handle(event)
        except (ConnectionClosedError, FrameTooLongError) as error:
            reason = error
        if isinstance(reason, FrameTooLongError):
            # Where the next frame starts is not known.
            refusal = encode_error(None, PARSE_ERROR, "Parse error", {"reason": str(reason)})
            with anyio.move_on_after(LAST_SEND_TIMEOUT):
                await self._try_to_send(refusal)
        # What the peer sent before it left is still handled.
        await self._dispatcher.queues.call(None, partial(self._end, reason))

    async def _handle(self, event: EndpointEvent) -> None:
        if isinstance(event, Request):
            await self._dispatcher.handle_request(event)
        elif isinstance(event, Notification):
            await self._dispatcher.handle_notification(event)
        elif isinstance(event, ProtocolViolation):
            self.violations.append(event)
            self.on_violation(event)
            if event.reply is not None:
                await self._try_to_send(event.reply)
        elif isinstance(event, CancelRequested):
            self._dispatcher.cancel(event.id)
        elif (pending := self._pending.get(event.id)) is not None:
            await self._dispatcher.queues.call(pending.session, partial(self._deliver, event))
            if self._dispatcher.observer is not None:
                # The caller goes on before the notifications that came after the response.
                await anyio.lowlevel.checkpoint()

    def _deliver(self, response: SuccessResponse | ErrorResponse) -> None:
        """Resume the caller of `request`, if it still waits."""
        if (pending := self._pending.pop(response.id, None)) is not None:
            pending.response = response
            if not pending.answered.done():
                pending.answered.set_result(None)

    def _end(self, reason: Exception | None) -> None:
        if self.is_open:
            self._close_reason = reason
            self._closed.set()
            self._endpoint.close()
            while self._pending:
                _, pending = self._pending.popitem()
                # The request may still wait to be sent to a peer that will never read it.
                pending.scope.cancel()

    async def _send(self, frame: bytes) -> None:
        async with self._sending:
            await self._transport.send(frame)

    async def _try_to_send(self, frame: bytes) -> None:
        """Send `frame` if the peer still reads; if not, reading will end as well."""
        try:
            await self._send(frame)
        except ConnectionClosedError:
            logger.debug("the peer left before %d bytes were sent", len(frame))

    def _closed_error(self) -> ConnectionClosedError:
        if self.frame_error is not None:
            return ConnectionClosedError(f"the connection was closed: {self.frame_error}")
        if isinstance(self._close_reason, ConnectionClosedError):
            return ConnectionClosedError(self._close_reason.summary, hint=self._close_reason.hint)
        return ConnectionClosedError()


class _PendingRequest:
    __slots__ = ("answered", "response", "scope", "session")

    def __init__(self, session: str | None) -> None:
        self.session = session
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.response: SuccessResponse | ErrorResponse | None = None
        self.scope: anyio.CancelScope
