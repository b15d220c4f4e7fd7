"""Runs the handler of a connection: each message in a task and a context of its own, in order.

Notifications of one session are handled one after the other, in the order in which they came.
Requests run concurrently; a request starts, and a response reaches its caller, after the
notifications that came before it. Sessions do not wait for each other. A message that belongs to no
session waits for all messages before it, and all messages after it wait for it.

Source: ACP, Overview, "Communication Model"; ACP, Cancellation; ACP, Extensibility, "_meta".
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from acp_protocol import jsonrpc
from acp_protocol.concurrency import Change
from acp_protocol.endpoint import Endpoint
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.handler import ConnectionLimits, Handler, NotificationObserver, Response
from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json, Notification, Request, RequestId
from acp_protocol.trace_context import set_trace

logger = logging.getLogger(__name__)

is_in_notification: Final[ContextVar[bool]] = ContextVar("is_in_notification", default=False)
"""Whether the current task handles a notification."""


class Dispatcher:
    """Hands messages to `handler` and sends its responses with `send`; its tasks run in `tasks`."""

    def __init__(
        self,
        handler: Handler,
        endpoint: Endpoint,
        send: Callable[[bytes], Awaitable[None]],
        limits: ConnectionLimits,
        tasks: TaskGroup,
    ) -> None:
        self._handler = handler
        self.observer = handler if isinstance(handler, NotificationObserver) else None
        self._observed = 0
        self._endpoint = endpoint
        self._send = send
        self._limits = limits
        # Tasks start from one clean context, so that no handler sees the variables of another.
        self._spawn: Callable[..., object] = partial(copy_context().run, tasks.start_soon)
        self.queues = SessionQueues(self._spawn, limits.queue_length, limits.sessions)
        self._running: dict[RequestId, anyio.CancelScope] = {}
        self._unsent = 0
        """Responses that are being sent."""
        self._unsettled = 0
        """Requests that are handled, or whose response has not been sent."""
        self._started = 0
        self._sent = Change()
        self._settled = Change()

    async def handle_notification(self, notification: Notification) -> None:
        """Handle `notification` in its turn; return when it is queued."""
        session = session_of(notification.params)
        if self.observer is None:
            await self.queues.put(session, partial(self._handle_notification, notification))
            return
        await self.queues.call(session, partial(self._observe, self.observer, notification))
        self._observed += 1
        if self._observed % 64 == 0:
            # Frames that came together are read without waiting; others must have their turn.
            await anyio.lowlevel.checkpoint()

    async def handle_request(self, request: Request) -> None:
        """Respond to `request`, which starts in its turn; return when it has started or is queued.

        Waits while too many responses are unsent, so that a peer which sends requests and does not
        read must wait as well.
        """
        while self._unsent >= self._limits.unsent_responses:
            await self._sent.wait()
        self._unsettled += 1
        if len(self._running) >= self._limits.open_requests:
            self._spawn(self._respond, request, _TOO_MANY_REQUESTS)
        else:
            scope = self._running[request.id] = anyio.CancelScope()
            start = partial(self._spawn, self._serve, request, scope)
            await self.queues.call(session_of(request.params), start)
        self._started += 1
        if self._started % 16 == 0:
            # Frames that came together are read without waiting; handlers must have their turn.
            await anyio.lowlevel.checkpoint()

    def cancel(self, id: RequestId) -> None:  # noqa: A002
        """Cancel the handler of the request `id`, if it runs or waits; it still gets a response."""
        if (scope := self._running.get(id)) is not None:
            scope.cancel()

    async def wait_settled(self) -> None:
        """Return when every request has its response and the last one was sent."""
        while self._unsettled:
            await self._settled.wait()

    async def _handle_notification(self, notification: Notification) -> None:
        is_in_notification.set(True)
        try:
            await self._handler.handle_notification(notification)
        except (Exception, asyncio.CancelledError) as error:
            _raise_if_own_cancellation(error)
            logger.exception("handling %s failed", notification.method)

    def _observe(self, observer: NotificationObserver, notification: Notification) -> None:
        try:
            observer.observe_notification(notification)
        except Exception:
            logger.exception("handling %s failed", notification.method)

    async def _serve(self, request: Request, scope: anyio.CancelScope) -> None:
        set_trace(request.params)
        result: Json = _CANCELLED
        with scope:
            if not scope.cancel_called:
                result = await self._result(request)
        del self._running[request.id]
        await self._respond(request, result)

    async def _result(self, request: Request) -> Json:
        """Return what the handler returns, and an error as a value."""
        try:
            return await self._handler.handle_request(request)
        except RequestFailedError as error:
            return error
        except ConnectionClosedError:
            logger.debug("the peer left while %s was handled", request.method)
            return RequestFailedError(jsonrpc.INTERNAL_ERROR, "The connection is closed")
        except (Exception, asyncio.CancelledError) as error:
            _raise_if_own_cancellation(error)
            # The peer learns nothing about our inside.
            logger.exception("handling %s failed", request.method)
            return _INTERNAL_ERROR

    async def _respond(self, request: Request, result: Json) -> None:
        self._unsent += 1
        try:
            frame = self._frame(request, result)
            if frame is not None:
                await self._send(frame)
        except ConnectionClosedError:
            logger.debug("the peer left before the response to %s was sent", request.method)
        finally:
            self._unsent -= 1
            self._sent.notify()
        if isinstance(result, Response):
            await self._after_send(result, request.method)
        self._unsettled -= 1
        if not self._unsettled:
            self._settled.notify()

    async def _after_send(self, response: Response, method: str) -> None:
        try:
            await response.after_send()
        except ConnectionClosedError:
            logger.debug("the peer left after the response to %s", method)
        except (Exception, asyncio.CancelledError) as error:
            _raise_if_own_cancellation(error)
            logger.exception("the callback after the response to %s failed", method)

    def _frame(self, request: Request, result: Json) -> bytes | None:
        if isinstance(result, RequestFailedError):
            error = result
        else:
            try:
                value = result.result if isinstance(result, Response) else result
                return self._endpoint.send_result(request.id, value)
            except (ValueError, TypeError, RecursionError):
                logger.exception("the result of %s cannot be encoded as JSON", request.method)
                error = _INTERNAL_ERROR
        try:
            return self._endpoint.send_error(request.id, error.code, error.message, error.data)
        except (ValueError, TypeError, RecursionError):
            logger.exception("the error of %s cannot be encoded as JSON", request.method)
            return self._endpoint.send_error(request.id, error.code, error.message)


class SessionQueues:
    """One queue a session, and the queue `None` for entries that belong to no session.

    An entry starts when it is first in its queue. An entry of no session stands in all queues and
    starts when it is first in all of them. `spawn` starts the task of an entry that needs one.
    """

    def __init__(self, spawn: Callable[..., object], max_length: int, max_sessions: int) -> None:
        self._spawn = spawn
        self._max_length = max_length
        self._max_sessions = max_sessions
        self._queues: dict[str | None, deque[_Entry]] = {}
        """Queues that hold an entry; the first one of a queue may have started."""
        self._room = Change()

    async def put(self, session: str | None, handle: Callable[[], Awaitable[None]]) -> None:
        """Await `handle` in its turn, in a task; entries after it wait until it returns.

        Waits for room. `handle` must not raise.
        """
        await self._add(session, _Entry(handle, is_async=True))

    async def call(self, session: str | None, action: Callable[[], object]) -> None:
        """Call `action` in its turn, at once if nothing is before it. Waits for room."""
        is_first = session not in self._queues and None not in self._queues
        if not self._queues or (is_first and session is not None):
            action()
        else:
            await self._add(session, _Entry(action, is_async=False))

    async def _add(self, session: str | None, entry: _Entry) -> None:
        while (
            len(self._queues[session]) > self._max_length
            if session in self._queues
            else len(self._queues) >= self._max_sessions
        ):
            await self._room.wait()
        if session is None:
            entry.sessions = [None, *(name for name in self._queues if name is not None)]
        else:
            entry.sessions = [session]
            if session not in self._queues and None in self._queues:
                last = self._queues[None][-1]
                last.sessions.append(session)
                self._queues[session] = deque([last])
        for name in entry.sessions:
            queue = self._queues.setdefault(name, deque())
            entry.blockers += bool(queue)
            queue.append(entry)
        if not entry.blockers:
            self._start(entry)

    def _start(self, first: _Entry) -> None:
        """Start `first`, and whatever can start when it is finished at once."""
        startable = deque([first])
        while startable:
            entry = startable.popleft()
            if entry.is_async:
                self._spawn(self._run, entry)
            else:
                entry.run()
                startable.extend(self._remove(entry))

    async def _run(self, entry: _Entry) -> None:
        await entry.run()
        for following in self._remove(entry):
            self._start(following)

    def _remove(self, entry: _Entry) -> list[_Entry]:
        """Take a finished entry out of its queues; return the entries that can start now."""
        startable: list[_Entry] = []
        for name in entry.sessions:
            queue = self._queues[name]
            queue.popleft()
            if not queue:
                del self._queues[name]
                continue
            queue[0].blockers -= 1
            if not queue[0].blockers:
                startable.append(queue[0])
        self._room.notify()
        return startable


@dataclass(slots=True, eq=False)
class _Entry:
    """Something to run in turn, and the sessions in whose queues it stands."""

    run: Callable[[], Any]
    is_async: bool
    sessions: list[str | None] = field(default_factory=list[str | None])
    blockers: int = 0
    """Queues in which another entry is before this one."""


def session_of(params: Json) -> str | None:
    return get_text(params, "sessionId")


def _raise_if_own_cancellation(error: BaseException) -> None:
    """Re-raise the cancellation of this task; one that comes from elsewhere is a mere failure."""
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
        raise error


_CANCELLED: Final = RequestFailedError(jsonrpc.REQUEST_CANCELLED, "Request cancelled")
_INTERNAL_ERROR: Final = RequestFailedError(jsonrpc.INTERNAL_ERROR, "Internal error")
_TOO_MANY_REQUESTS: Final = RequestFailedError(jsonrpc.INTERNAL_ERROR, "Too many open requests")
