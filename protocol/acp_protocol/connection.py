"""Drives a peer over a transport, and owns every task that this takes.

Order: what came over the wire is handled as `lanes` says: notifications of one session one after
the other, requests beside each other, an answer only after the notifications that stood before it.
Who asked goes on before what stands behind the answer is looked at.
Frames leave whole and one at a time.

Backpressure: a lane that is full stops the reader, the pipe fills up, the peer waits.

Trace: what a handler says while it serves a request carries that request's trace context.

Source: ACP, Overview, "Communication Model"; ACP, Cancellation; ACP, Extensibility, "_meta".
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Iterator
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Final, NoReturn, Self, cast

import anyio
from anyio.abc import TaskGroup

from acp_protocol.errors import (
    ConnectionClosedError,
    FrameTooLongError,
    LocalProtocolError,
    RequestFailedError,
    TimeLimitError,
)
from acp_protocol.handling import Handler, Limits
from acp_protocol.jsonrpc import Failure, Json, Notification, Request, RequestId, Result
from acp_protocol.lanes import Lanes
from acp_protocol.outbox import Outbox
from acp_protocol.peer import CancelAsked, Fact, Fault, Peer
from acp_protocol.questions import Questions
from acp_protocol.service import Service, raise_if_cancelled
from acp_protocol.stepping import rest_of
from acp_protocol.tasks import OwnedTasks
from acp_protocol.trace import entered, traced
from acp_protocol.transport import Transport
from acp_protocol.transport.eager import eager
from acp_protocol.workers import LaneWork, Work, Workers

logger = logging.getLogger(__name__)

CLOSE_GRACE: Final = 2.0
"""Seconds that closing the transport may take."""
COURTESY: Final = 0.25
"""Seconds that the last we have to say may take: that we gave up, or what we said when we left."""

NOTES_IN_A_ROW: Final = 16
"""Notifications that one task may send before others get their turn."""

_is_in_notification: ContextVar[bool] = ContextVar("is_in_notification", default=False)


class Connection:
    """One side of a conversation, alive inside `async with`.

    On leaving, what still runs for the peer is cancelled, open requests of ours fail with
    `ConnectionClosedError`, and the transport is closed.
    """

    _tasks: TaskGroup
    _questions: Questions
    _lanes: Lanes
    _workers: Workers
    _outbox: Outbox
    _service: Service

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
        self._transport = eager(transport)
        self._handler = handler
        self._limits = limits or Limits()
        self._peer = Peer(takes_batches=takes_batches)
        self._queued: dict[RequestId, str | None] = {}
        """Requests that wait in the lane of a session for what stands before them."""
        self._facts: Iterator[Fact] = iter(())
        """What the frame that was read last says and nobody has looked at yet."""
        self._has_answered = False
        """Whether an answer was handed over and who asked may not have gone on yet."""
        self._sent_in_a_row = 0
        self._is_gone = False
        self._gone = anyio.Event()
        self._reason: Exception | None = None
        self._owned = OwnedTasks()
        self.faults: deque[Fault] = deque(maxlen=self._limits.faults)
        """The peer's mistakes, oldest first: broken frames, answers that nobody waits for."""

    @property
    def frame_limit(self) -> FrameTooLongError | None:
        """Why the connection was closed, if a frame of the peer was too long."""
        return self._reason if isinstance(self._reason, FrameTooLongError) else None

    @property
    def is_open(self) -> bool:
        """Whether the peer is still there."""
        return not self._is_gone

    async def __aenter__(self) -> Self:
        """Start to read."""
        self._tasks = await self._owned.__aenter__()
        self._questions = Questions()
        self._lanes = Lanes(self._tasks, self._limits.lane_length)
        self._outbox = Outbox(self._transport, self._tasks, self._questions.lose)
        self._service = Service(self._handler, self._peer, self._outbox, self._limits, self._tasks)
        self._workers = Workers(self._tasks, self._lead)
        self._workers.lead()
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
            if not self._outbox.release():
                with anyio.move_on_after(COURTESY, shield=True):
                    await self._outbox.wait_empty()
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
        if self._is_gone:
            raise self._closed_error()
        id_, frame = self._peer.ask(method, traced(params))
        answer = self._questions.open(id_, params)
        try:
            if time_limit is None:
                if (sending := self._outbox.put(frame, id_)) is not None:
                    await self._questions.leave(id_, sending)
                outcome = await answer
            else:
                with anyio.fail_after(time_limit):
                    if (sending := self._outbox.put(frame, id_)) is not None:
                        await self._questions.leave(id_, sending)
                    outcome = await answer
        except BaseException as problem:
            if self._questions.close(id_):
                await self._give_up(id_)
            if time_limit is not None and isinstance(problem, TimeoutError):
                raise TimeLimitError(f"the answer to {method}", time_limit) from None
            raise
        return outcome.result if isinstance(outcome, Result) else self._failed(outcome)

    async def notify(self, method: str, params: Json = None) -> None:
        """Tell the peer something; return when the transport has taken it.

        A peer that says no more may still listen, so this does not ask whether it does.

        Raises:
            ConnectionClosedError: the peer is gone.
        """
        frame = self._peer.tell(method, traced(params))
        # Not held for company: the caller learns at once that nobody listens.
        self._outbox.release()
        if (sending := self._outbox.put(frame)) is not None:
            await sending
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
        await self._service.wait_settled()

    # Reading

    async def _lead(self) -> Work | None:
        """Take what comes, until something has to wait: return it; None when all was taken."""
        # The task and its context may have served another request before.
        _is_in_notification.set(False)
        entered(None)
        take, receive_nowait = self._take, self._transport.receive_nowait
        lanes, hand_over, service = self._lanes.open, self._questions.answer, self._service
        facts, self._facts = self._facts, iter(())
        try:
            while True:
                for fact in facts:
                    if type(fact) is Result and not lanes:
                        hand_over(fact.id, fact)
                        self._has_answered = True
                        continue
                    if self._has_answered:
                        # Who asked goes on before what stands behind the answer is looked at.
                        self._has_answered = False
                        await anyio.lowlevel.checkpoint()
                    if type(fact) is Request and not lanes and service.has_room:
                        rest = service.begin(fact)
                    else:
                        rest = take(fact)
                    if rest is None:
                        continue
                    work = rest if isinstance(rest, Work) else await rest
                    if work is not None:
                        self._facts = facts
                        self._workers.lead()
                        return work
                if (raw := receive_nowait()) is not None:
                    self._outbox.is_gathering = True
                else:
                    raw = await self._transport.receive()
                facts = iter(self._peer.received(raw))
        except (ConnectionClosedError, FrameTooLongError) as problem:
            reason = problem
        # What the peer said before it left is still handled, and only then do waiters learn of it.
        await self._lanes.follow(None, lambda: self._end(reason))
        return None

    def _take(self, fact: Fact) -> Work | Awaitable[Work | None] | None:
        """Do at once what can be done at once; return what else has to be awaited or worked on."""
        if isinstance(fact, Request):
            is_free = not self._lanes.open or self._lanes.is_free(_session_of(fact.params))
            if is_free and self._service.has_room:
                return self._service.begin(fact)
            return self._take_in_turn(fact)
        if isinstance(fact, Notification):
            return self._take_notification(fact)
        if isinstance(fact, _ANSWERS):
            return self._take_answer(fact)
        return self._take_other(fact)

    def _take_answer(self, answer: Result | Failure) -> Awaitable[None] | None:
        id_ = answer.id
        if self._questions.has(id_):
            session = self._questions.session(id_)
            if not self._lanes.is_free(session):
                return self._lanes.follow(session, lambda: self._questions.answer(id_, answer))
        self._questions.answer(id_, answer)
        self._has_answered = True
        return None

    async def _take_in_turn(self, request: Request) -> Work | None:
        await self._service.wait_room()
        session = _session_of(request.params)
        if self._lanes.is_free(session):
            return self._service.begin(request)
        self._queued[request.id] = session
        await self._lanes.follow(session, lambda: self._start(request))
        return None

    async def _take_other(self, fact: Fact) -> None:
        if isinstance(fact, CancelAsked):
            cancel = partial(self._service.cancel, fact.id)
            if fact.id in self._queued:
                await self._lanes.follow(self._queued[fact.id], cancel)
            else:
                cancel()
        elif isinstance(fact, Fault):
            self.faults.append(fact)
            await self._send_quietly(fact.reply)

    def _start(self, request: Request) -> None:
        """Let a task serve `request`, whose turn in its lane has come."""
        del self._queued[request.id]
        if (job := self._service.job(request)) is not None:
            self._workers.give(job)

    def _take_notification(self, notification: Notification) -> Work | Awaitable[None] | None:
        """Handle a notification up to where it has to wait, unless its turn has not come."""
        session = _session_of(notification.params)
        if not self._lanes.has_room(session):
            return self._lanes.put(session, partial(self._handle, notification))
        token = _is_in_notification.set(True)
        try:
            steps = self._handler.handle_notification(notification)
            awaited = steps.send(None)
        except StopIteration:
            return None
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the border
            _note_failure(notification, error)
            return None
        finally:
            _is_in_notification.reset(token)
        rest = partial(self._handle, notification, rest_of(steps, awaited))
        return LaneWork(self._lanes.occupy(session, rest))

    async def _handle(
        self, notification: Notification, rest: Awaitable[None] | None = None
    ) -> None:
        """Let the handler have `notification`, or what it has left to do of it."""
        token = _is_in_notification.set(True)
        try:
            await (rest or self._handler.handle_notification(notification))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the border
            _note_failure(notification, error)
        finally:
            _is_in_notification.reset(token)

    def _end(self, reason: Exception | None) -> None:
        if not self._is_gone:
            self._is_gone = True
            self._reason = reason
            self._gone.set()
            self._peer.closed()
            self._questions.lose_all()

    # Sending

    async def _send_quietly(self, frame: bytes | None) -> None:
        """Send what nobody waits for; when the peer is gone, the reader says so."""
        if frame is None:
            return
        try:
            if (sending := self._outbox.put(frame)) is not None:
                await sending
        except ConnectionClosedError:
            logger.debug("the peer left before it got %d bytes", len(frame))

    async def _give_up(self, id: RequestId) -> None:  # noqa: A002
        frame = self._peer.give_up(id)
        if frame is not None and self.is_open:
            # Before anything else that the caller says now, but not worth a long wait.
            with anyio.move_on_after(COURTESY, shield=True):
                await self._send_quietly(frame)

    def _failed(self, answer: Failure | None) -> NoReturn:
        if answer is None:
            raise self._closed_error()
        raise RequestFailedError(answer.code, answer.message, answer.data)

    def _closed_error(self) -> Exception:
        if self.frame_limit is not None:
            return ConnectionClosedError(f"the connection was closed: {self.frame_limit}")
        return ConnectionClosedError()


def _note_failure(notification: Notification, error: BaseException) -> None:
    """Go on after a handler has raised `error`: that must not end the connection."""
    raise_if_cancelled(error)
    logger.error("handling %s failed", notification.method, exc_info=error)


def _session_of(params: Json) -> str | None:
    """Return the session that params belong to; None for none."""
    if isinstance(params, dict):
        session = cast("dict[str, Json]", params).get("sessionId")
        if isinstance(session, str):
            return session
    return None


_ANSWERS: Final = (Result, Failure)
