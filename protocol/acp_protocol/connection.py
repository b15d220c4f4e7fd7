"""Drives a peer over a transport, and owns every task that this takes.

Order: what came over the wire is handled as `lanes` says: notifications of one session one after
the other, requests beside each other, an answer only after the notifications that stood before it.
Frames leave whole and one at a time.

Backpressure: a lane that is full stops the reader, the pipe fills up, the peer waits.

Source: ACP, Overview, "Communication Model"; ACP, Cancellation.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self, assert_never, cast

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
from acp_protocol.jsonrpc import Failure, Json, Notification, Request, RequestId, Result, id_key
from acp_protocol.lanes import LANE_LENGTH, Lanes
from acp_protocol.peer import Answered, Asked, CancelAsked, Fault, Peer, Told
from acp_protocol.tasks import OwnedTasks
from acp_protocol.transport import Transport

logger = logging.getLogger(__name__)

CLOSE_GRACE: Final = 2.0
"""Seconds that closing the transport, or one last courtesy frame, may take."""

_is_in_notification: ContextVar[bool] = ContextVar("is_in_notification", default=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of the peer's is held before it has to wait or is refused."""

    open_requests: int = 1024
    """Requests of the peer that are worked on at once; more are answered with an error."""
    lane_length: int = LANE_LENGTH
    """Entries of one session that wait before the reader waits."""
    faults: int = 1000
    """Faults that are remembered; older ones are forgotten."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A result, and what is to be done once its frame has left."""

    result: Json
    then: Callable[[], Awaitable[None]]


class Handler(Protocol):
    """What a side does with what the other side says."""

    async def handle_request(self, request: Request) -> Json:
        """Return the result of `request`, or a `Followed` one.

        Raises:
            RequestFailedError: the error answer. Any other exception is logged and answered with
                -32603, without its text.
        """
        ...

    async def handle_notification(self, notification: Notification) -> None:
        """Take note of `notification`; later ones of its session wait until this returns.

        It must not await a request on the same connection: the answer could stand behind
        notifications that wait for this one.
        """
        ...


class _Waiter:
    """Somebody who waits for the answer to one request."""

    __slots__ = ("answer", "arrived", "session")

    def __init__(self, session: str | None) -> None:
        self.session = session
        self.arrived = anyio.Event()
        self.answer: Result | Failure | None = None
        """None after `arrived`: no answer will come."""


class Connection:
    """One side of a conversation, alive inside `async with`.

    On leaving, what still runs for the peer is cancelled, open requests of ours fail with
    `ConnectionClosedError`, and the transport is closed.
    """

    def __init__(
        self, transport: Transport, handler: Handler, *, limits: Limits | None = None
    ) -> None:
        self._transport = transport
        self._handler = handler
        self._limits = limits or Limits()
        self._peer = Peer()
        self._waiters: dict[tuple[str, RequestId], _Waiter] = {}
        self._running: dict[tuple[str, RequestId], anyio.CancelScope] = {}
        self._unanswered = 0
        self._sending = anyio.Lock()
        self._gone = anyio.Event()
        self._settled = anyio.Event()
        self._reason: Exception | None = None
        self._owned = OwnedTasks()
        self._tasks: TaskGroup
        self._lanes: Lanes
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
        id_, frame = self._peer.ask(method, params)
        waiter = self._waiters[id_key(id_)] = _Waiter(_session_of(params))
        try:
            with anyio.move_on_after(time_limit):
                await self._send(frame)
                await waiter.arrived.wait()
        finally:
            del self._waiters[id_key(id_)]
            if not waiter.arrived.is_set():
                await self._give_up(id_)
        if not waiter.arrived.is_set():
            assert time_limit is not None
            raise TimeLimitError(f"the answer to {method}", time_limit)
        return self._outcome(waiter.answer)

    async def notify(self, method: str, params: Json = None) -> None:
        """Tell the peer something; return when the transport has taken it.

        A peer that says no more may still listen, so this does not ask whether it does.

        Raises:
            ConnectionClosedError: the peer is gone.
        """
        await self._send(self._peer.tell(method, params))

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
                await self._take(await self._transport.receive())
        except (ConnectionClosedError, FrameTooLongError) as problem:
            reason = problem
        # What the peer said before it left is still handled, and only then do waiters learn of it.
        await self._lanes.follow(None, lambda: self._end(reason))

    async def _take(self, raw: bytes) -> None:
        match self._peer.received(raw):
            case Told(notification):
                session = _session_of(notification.params)
                await self._lanes.put(session, lambda: self._handle(notification))
            case Answered(id, answer):
                if (waiter := self._waiters.get(id_key(id))) is not None:
                    await self._lanes.follow(waiter.session, lambda: _hand_over(waiter, answer))
            case Asked(request):
                session = _session_of(request.params)
                await self._lanes.follow(session, lambda: self._start(request))
            case CancelAsked(id):
                await self._lanes.follow(None, lambda: self._cancel(id))
            case Fault() as fault:
                self.faults.append(fault)
                if fault.reply is not None:
                    await self._send_quietly(fault.reply)
            case _ as unexpected:
                assert_never(unexpected)

    async def _handle(self, notification: Notification) -> None:
        token = _is_in_notification.set(True)
        try:
            await self._handler.handle_notification(notification)
        except Exception:
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
            waiter.arrived.set()

    # The peer's requests

    def _start(self, request: Request) -> None:
        if len(self._running) >= self._limits.open_requests:
            refusal = RequestFailedError(jsonrpc.INTERNAL_ERROR, "Too many open requests")
            self._tasks.start_soon(self._refuse, request.id, refusal)
            return
        self._unanswered += 1
        scope = self._running[id_key(request.id)] = anyio.CancelScope()
        self._tasks.start_soon(self._serve, request, scope)

    async def _serve(self, request: Request, scope: anyio.CancelScope) -> None:
        # The context was copied from whoever started the task, which may be a notification's lane.
        _is_in_notification.set(False)
        result: Json = RequestFailedError(jsonrpc.REQUEST_CANCELLED, "Request cancelled")
        with scope:
            result = await self._result(request)
        del self._running[id_key(request.id)]
        if isinstance(result, RequestFailedError):
            await self._refuse(request.id, result)
        elif isinstance(result, Followed):
            await self._send_quietly(self._peer.answer(request.id, result.result))
            await self._follow(result, request.method)
        else:
            await self._send_quietly(self._peer.answer(request.id, result))
        self._unanswered -= 1
        if not self._unanswered:
            self._settled.set()

    async def _follow(self, answer: Followed, method: str) -> None:
        try:
            await answer.then()
        except ConnectionClosedError:
            logger.debug("the peer left before what follows on %s", method)
        except Exception:
            # The border between the connection and the handler, as for the answer itself.
            logger.exception("what follows on %s failed", method)

    async def _result(self, request: Request) -> Json:
        """Return what the handler makes of `request`: a result, or an error as a value."""
        try:
            return await self._handler.handle_request(request)
        except RequestFailedError as refusal:
            return refusal
        except ConnectionClosedError:
            logger.debug("the peer left while %s was answered", request.method)
            return RequestFailedError(jsonrpc.INTERNAL_ERROR, "The connection is closed")
        except Exception:
            # The border between the handler and the wire: nothing of our inside goes out.
            logger.exception("answering %s failed", request.method)
            return RequestFailedError(jsonrpc.INTERNAL_ERROR, "Internal error")

    async def _refuse(self, id: RequestId, refusal: RequestFailedError) -> None:  # noqa: A002
        await self._send_quietly(self._peer.refuse(id, refusal.code, refusal.message, refusal.data))

    def _cancel(self, id: RequestId) -> None:  # noqa: A002
        if (scope := self._running.get(id_key(id))) is not None:
            scope.cancel()

    # Sending

    async def _send(self, frame: bytes) -> None:
        async with self._sending:
            await self._transport.send(frame)

    async def _send_quietly(self, frame: bytes) -> None:
        """Send what nobody waits for; when the peer is gone, the reader says so."""
        try:
            await self._send(frame)
        except ConnectionClosedError:
            logger.debug("the peer left before it got %d bytes", len(frame))

    async def _give_up(self, id: RequestId) -> None:  # noqa: A002
        frame = self._peer.give_up(id)
        if frame is not None and self.is_open:
            with anyio.move_on_after(CLOSE_GRACE, shield=True):
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


def _hand_over(waiter: _Waiter, answer: Result | Failure) -> None:
    waiter.answer = answer
    waiter.arrived.set()


def _session_of(params: Json) -> str | None:
    """Return the session that params belong to; None for none."""
    if isinstance(params, dict):
        session = cast("dict[str, Json]", params).get("sessionId")
        if isinstance(session, str):
            return session
    return None
