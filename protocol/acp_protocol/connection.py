"""Drives a peer over a transport, and owns every task that this takes.

Order: what came over the wire is handled as `lanes` says: notifications of one session one after
the other, requests beside each other, an answer only after the notifications that stood before it.
Frames leave whole and one at a time.

Backpressure: a lane that is full stops the reader, the pipe fills up, the peer waits.

Trace: what a handler says while it serves a request carries that request's trace context.

Source: ACP, Overview, "Communication Model"; ACP, Cancellation; ACP, Extensibility, "_meta".
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from contextvars import ContextVar
from types import TracebackType
from typing import Final, Self, cast

import anyio
from anyio.abc import TaskGroup

from acp_protocol import jsonrpc
from acp_protocol.errors import (
    ConnectionClosedError,
    FrameTooLongError,
    LocalProtocolError,
    RequestFailedError,
    TimeLimitError,
)
from acp_protocol.handling import Followed, Handler, Limits
from acp_protocol.jsonrpc import Failure, Json, Notification, Request, RequestId, Result, id_key
from acp_protocol.lanes import Lanes
from acp_protocol.peer import CancelAsked, Fact, Fault, Peer
from acp_protocol.tasks import OwnedTasks, Turnstile
from acp_protocol.trace import entered, traced
from acp_protocol.transport import Transport
from acp_protocol.workers import Job, Workers

logger = logging.getLogger(__name__)

CLOSE_GRACE: Final = 2.0
"""Seconds that closing the transport may take."""
COURTESY: Final = 0.25
"""Seconds that telling the peer that we gave up may take."""

NOTES_IN_A_ROW: Final = 16
"""Notifications that one task may send before others get their turn."""

_is_in_notification: ContextVar[bool] = ContextVar("is_in_notification", default=False)


class _Waiter:
    """Somebody who waits for the answer to one request."""

    __slots__ = ("answer", "sending", "session")

    def __init__(self, session: str | None) -> None:
        self.session = session
        self.sending: anyio.CancelScope | None = None
        """Around the question, as long as it has not left."""
        # A bare future: an event with its checkpoints costs as much as all the rest of a request.
        self.answer: asyncio.Future[Result | Failure | None] = asyncio.Future()
        """Yields None when no answer will come."""

    def hand_over(self, answer: Result | Failure | None) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)
        if answer is None and self.sending is not None:
            # Nobody will answer a question that has not left yet.
            self.sending.cancel()


class Connection:
    """One side of a conversation, alive inside `async with`.

    On leaving, what still runs for the peer is cancelled, open requests of ours fail with
    `ConnectionClosedError`, and the transport is closed.
    """

    def __init__(
        self,
        transport: Transport,
        handler: Handler,
        *,
        limits: Limits | None = None,
        takes_batches: bool = False,
    ) -> None:
        """Drive a peer over `transport`, which is closed with the connection.

        `takes_batches` answers arrays as a draft of version 2 had it, instead of refusing them.
        """
        self._transport = transport
        self._handler = handler
        self._limits = limits or Limits()
        self._peer = Peer(takes_batches=takes_batches)
        self._waiters: dict[tuple[str, RequestId], _Waiter] = {}
        self._running: dict[tuple[str, RequestId], Job] = {}
        self._queued: dict[tuple[str, RequestId], str | None] = {}
        """Requests that wait in the lane of a session for what stands before them."""
        self._unanswered = 0
        self._leaving = 0
        """Answers that have not left yet."""
        self._has_left = anyio.Event()
        self._sending = Turnstile()
        self._sent_in_a_row = 0
        self._gone = anyio.Event()
        self._settled = anyio.Event()
        self._reason: Exception | None = None
        self._owned = OwnedTasks()
        self._tasks: TaskGroup
        self._lanes: Lanes
        self._workers: Workers
        self.faults: deque[Fault] = deque(maxlen=self._limits.faults)
        """The peer's mistakes, oldest first: broken frames, answers that nobody waits for."""

    @property
    def frame_limit(self) -> FrameTooLongError | None:
        """Why the connection was closed, if a frame of the peer was too long."""
        return self._reason if isinstance(self._reason, FrameTooLongError) else None

    @property
    def is_open(self) -> bool:
        """Whether the peer is still there."""
        return not self._gone.is_set()

    async def __aenter__(self) -> Self:
        """Start to read."""
        self._tasks = await self._owned.__aenter__()
        self._lanes = Lanes(self._tasks, self._limits.lane_length)
        self._workers = Workers(self._tasks, self._result, self._answer)
        self._tasks.start_soon(self._read)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop everything that runs for this connection and close the transport."""
        self._end(None)
        try:
            await self._owned.__aexit__(kind, error, trace)
        finally:
            with anyio.move_on_after(CLOSE_GRACE, shield=True):
                await self._transport.aclose()

    async def request(
        self, method: str, params: Json = None, *, time_limit: float | None = None
    ) -> Json:
        """Ask the peer and return its result; `time_limit` is in seconds.

        A caller that is cancelled, or whose time is up, lets the peer know by `$/cancel_request`.

        Raises:
            RequestFailedError: the peer answered with an error.
            ConnectionClosedError: the peer is gone, before the answer or before the question.
            TimeLimitError: no answer came within `time_limit`.
            LocalProtocolError: called while a notification is handled.
        """
        if _is_in_notification.get():
            raise LocalProtocolError(f"{method} cannot be asked while a notification is handled")
        self._check_open()
        id_, frame = self._peer.ask(method, traced(params))
        key = id_key(id_)
        waiter = self._waiters[key] = _Waiter(_session_of(params))
        try:
            if time_limit is None:
                await self._send_question(frame, waiter)
                return self._outcome(await waiter.answer)
            with anyio.move_on_after(time_limit):
                await self._send_question(frame, waiter)
                return self._outcome(await waiter.answer)
        finally:
            del self._waiters[key]
            if not waiter.answer.done() or waiter.answer.cancelled():
                await self._give_up(id_)
        raise TimeLimitError(f"the answer to {method}", time_limit)

    async def notify(self, method: str, params: Json = None) -> None:
        """Tell the peer something; return when the transport has taken it.

        A peer that says no more may still listen, so this does not ask whether it does.

        Raises:
            ConnectionClosedError: the peer is gone.
        """
        await self._send(self._peer.tell(method, traced(params)))
        # A pipe with room never makes its writer wait; the reader must have its turn all the same.
        self._sent_in_a_row += 1
        if self._sent_in_a_row >= NOTES_IN_A_ROW:
            self._sent_in_a_row = 0
            await anyio.lowlevel.checkpoint()

    def refuse_batches(self) -> None:
        """Take arrays for mistakes from here on: the version that was agreed on has none."""
        self._peer.refuse_batches()

    async def wait_closed(self) -> None:
        """Return when the peer has gone or the connection was closed."""
        await self._gone.wait()

    async def wait_settled(self) -> None:
        """Return when no request of the peer waits for our answer: the last one has left."""
        while self._unanswered:
            self._settled = anyio.Event()
            await self._settled.wait()

    # Reading

    async def _read(self) -> None:
        try:
            while True:
                raw = await self._transport.receive()
                for fact in self._peer.received(raw):
                    await self._take(fact)
        except (ConnectionClosedError, FrameTooLongError) as problem:
            reason = problem
        # What the peer said before it left is still handled, and only then do waiters learn of it.
        await self._lanes.follow(None, lambda: self._end(reason))

    async def _take(self, fact: Fact) -> None:
        # By type, the most frequent first: matching by pattern costs more than what is done here.
        kind = type(fact)
        if kind is Notification:
            notification = cast("Notification", fact)
            session = _session_of(notification.params)
            await self._lanes.put(session, lambda: self._handle(notification))
        elif kind is Result or kind is Failure:
            answer = cast("Result | Failure", fact)
            if (waiter := self._waiters.get(id_key(answer.id))) is None:
                return
            if self._lanes.is_free(waiter.session):
                waiter.hand_over(answer)
            else:
                await self._lanes.follow(waiter.session, lambda: waiter.hand_over(answer))
        elif kind is Request:
            await self._take_request(cast("Request", fact))
        elif kind is CancelAsked:
            id_ = cast("CancelAsked", fact).id
            if (key := id_key(id_)) in self._queued:
                await self._lanes.follow(self._queued[key], lambda: self._cancel(id_))
            else:
                self._cancel(id_)
        else:
            fault = cast("Fault", fact)
            self.faults.append(fault)
            await self._send_quietly(fault.reply)

    async def _take_request(self, request: Request) -> None:
        while self._leaving >= self._limits.leaving:
            # Who asks and does not read the answers has to wait, not our memory.
            self._has_left = anyio.Event()
            await self._has_left.wait()
        session = _session_of(request.params)
        if self._lanes.is_free(session):
            self._start(request)
        else:
            self._queued[id_key(request.id)] = session
            await self._lanes.follow(session, lambda: self._start(request))

    async def _handle(self, notification: Notification) -> None:
        token = _is_in_notification.set(True)
        try:
            await self._handler.handle_notification(notification)
        except (Exception, asyncio.CancelledError):
            _raise_if_cancelled()
            # The border between the wire and the handler: its failure must not end the connection.
            logger.exception("handling %s failed", notification.method)
        finally:
            _is_in_notification.reset(token)

    def _end(self, reason: Exception | None) -> None:
        if self._gone.is_set():
            return
        self._reason = reason
        self._gone.set()
        self._peer.closed()
        for waiter in self._waiters.values():
            waiter.hand_over(None)

    # The peer's requests

    def _start(self, request: Request) -> None:
        self._queued.pop(id_key(request.id), None)
        self._unanswered += 1
        if len(self._running) >= self._limits.open_requests:
            refusal = RequestFailedError(jsonrpc.INTERNAL_ERROR, "Too many open requests")
            self._leaving += 1
            self._tasks.start_soon(self._refuse, request, refusal)
            return
        job = self._running[id_key(request.id)] = Job(request)
        self._workers.give(job)

    async def _refuse(self, request: Request, refusal: RequestFailedError) -> None:
        # Counted when it was decided: a flood starts many before the first of them runs.
        self._leaving -= 1
        await self._answer(request, refusal)

    async def _answer(self, request: Request, result: Json) -> None:
        """Send the answer to `request`: a result, or a `RequestFailedError` as a value."""
        self._running.pop(id_key(request.id), None)
        try:
            frame = self._frame(request.id, result)
        except (ValueError, TypeError, RecursionError):
            # The border between the handler and the wire, once more: its result is no JSON.
            logger.exception("the answer to %s cannot be spelled in JSON", request.method)
            refusal = RequestFailedError(jsonrpc.INTERNAL_ERROR, "Internal error")
            frame = self._frame(request.id, refusal)
        self._leaving += 1
        try:
            await self._send_quietly(frame)
        finally:
            self._leaving -= 1
            self._has_left.set()
        if isinstance(result, Followed):
            await self._follow(result, request.method)
        self._unanswered -= 1
        if not self._unanswered:
            self._settled.set()

    def _frame(self, id: RequestId, result: Json) -> bytes | None:  # noqa: A002
        if isinstance(result, RequestFailedError):
            return self._peer.refuse(id, result.code, result.message, result.data)
        return self._peer.answer(id, result.result if isinstance(result, Followed) else result)

    async def _follow(self, answer: Followed, method: str) -> None:
        try:
            await answer.then()
        except ConnectionClosedError:
            logger.debug("the peer left before what follows on %s", method)
        except (Exception, asyncio.CancelledError):
            _raise_if_cancelled()
            # The border between the connection and the handler, as for the answer itself.
            logger.exception("what follows on %s failed", method)

    async def _result(self, request: Request) -> Json:
        """Return what the handler makes of `request`: a result, or an error as a value."""
        # The task and its context may have served another request before.
        _is_in_notification.set(False)
        entered(request.params)
        try:
            return await self._handler.handle_request(request)
        except RequestFailedError as refusal:
            return refusal
        except ConnectionClosedError:
            logger.debug("the peer left while %s was answered", request.method)
            return RequestFailedError(jsonrpc.INTERNAL_ERROR, "The connection is closed")
        except (Exception, asyncio.CancelledError):
            _raise_if_cancelled()
            # The border between the handler and the wire: nothing of our inside goes out.
            logger.exception("answering %s failed", request.method)
            return RequestFailedError(jsonrpc.INTERNAL_ERROR, "Internal error")

    def _cancel(self, id: RequestId) -> None:  # noqa: A002
        if (job := self._running.get(id_key(id))) is not None:
            job.cancel()

    # Sending

    async def _send(self, frame: bytes) -> None:
        if self._sending.is_taken:
            await self._sending.wait()
        self._sending.is_taken = True
        try:
            await self._transport.send(frame)
        finally:
            self._sending.pass_on()

    async def _send_quietly(self, frame: bytes | None) -> None:
        """Send what nobody waits for; when the peer is gone, the reader says so."""
        if frame is None:
            return
        try:
            await self._send(frame)
        except ConnectionClosedError:
            logger.debug("the peer left before it got %d bytes", len(frame))

    async def _send_question(self, frame: bytes, waiter: _Waiter) -> None:
        with anyio.CancelScope() as waiter.sending:
            await self._send(frame)
        waiter.sending = None

    async def _give_up(self, id: RequestId) -> None:  # noqa: A002
        frame = self._peer.give_up(id)
        if frame is not None and self.is_open:
            # Before anything else that the caller says now, but not worth a long wait.
            with anyio.move_on_after(COURTESY, shield=True):
                await self._send_quietly(frame)

    def _check_open(self) -> None:
        if not self.is_open:
            raise self._closed_error()

    def _outcome(self, answer: Result | Failure | None) -> Json:
        match answer:
            case Result(result=result):
                return result
            case Failure(code=code, message=message, data=data):
                raise RequestFailedError(code, message, data)
            case None:
                raise self._closed_error()

    def _closed_error(self) -> Exception:
        if self.frame_limit is not None:
            return ConnectionClosedError(f"the connection was closed: {self.frame_limit}")
        return ConnectionClosedError()


def _raise_if_cancelled() -> None:
    """Let a cancellation of this task go on; one that comes from elsewhere is a failure."""
    task = asyncio.current_task()
    error = sys.exception()
    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
        raise error


def _session_of(params: Json) -> str | None:
    """Return the session that params belong to; None for none."""
    if isinstance(params, dict):
        session = cast("dict[str, Json]", params).get("sessionId")
        if isinstance(session, str):
            return session
    return None
