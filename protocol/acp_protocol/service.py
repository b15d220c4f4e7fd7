"""Serves the peer's requests: each gets one answer, whatever its handler does.

A request that is answered without waiting is begun and done in one go, by whoever read it. Others
become jobs, which run beside each other and can be cancelled.

Source: ACP, Overview, "Communication Model"; ACP, Cancellation; ACP, Extensibility, "_meta".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from functools import partial
from typing import Final

import anyio
from anyio.abc import TaskGroup

from acp_protocol import jsonrpc
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.handling import Followed, Handler, Limits
from acp_protocol.jsonrpc import Json, Request, RequestId
from acp_protocol.outbox import Outbox
from acp_protocol.peer import Peer
from acp_protocol.stepping import Steps, rest_of
from acp_protocol.trace import entered
from acp_protocol.workers import Job

logger = logging.getLogger(__name__)


class Service:
    """Answers requests with what `handler` makes of them, through `outbox`.

    What that takes longer belongs to `tasks`.
    """

    def __init__(
        self, handler: Handler, peer: Peer, outbox: Outbox, limits: Limits, tasks: TaskGroup
    ) -> None:
        self._handle = handler.handle_request
        self._peer = peer
        self._outbox = outbox
        self._tasks = tasks
        self._open_limit = limits.open_requests
        self._leaving_limit = limits.leaving
        self._running: dict[RequestId, Job] = {}
        self._unanswered = 0
        self._leaving = 0
        """Answers that have not left yet."""
        self._has_left = anyio.Event()
        self.has_room = True
        """Whether another answer may wait for the peer to read it."""
        self._settled: anyio.Event | None = None
        """Set when nothing waits for its answer, for who waits for that."""

    async def wait_room(self) -> None:
        """Return when there is room: who asks and reads no answers waits, not our memory."""
        while not self.has_room:
            self._has_left = anyio.Event()
            await self._has_left.wait()

    async def wait_settled(self) -> None:
        """Return when no request waits for its answer: the last one has left."""
        while self._unanswered:
            self._settled = self._settled or anyio.Event()
            await self._settled.wait()
        await self._outbox.wait_empty()

    def begin(self, request: Request) -> Job | None:
        """Serve `request` up to where it has to wait; return the job that is left, if any.

        This very task has to run it, before it awaits anything else.
        """
        if len(self._running) >= self._open_limit:
            self._refuse(request)
            return None
        params = request.params
        is_traced = isinstance(params, dict) and "_meta" in params
        if is_traced:
            entered(params)
        try:
            steps = self._handle(request)
            awaited = steps.send(None)
        except StopIteration as end:
            result = end.value
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the border
            result = _refusal(request, error)
        else:
            self._unanswered += 1
            job = Job(request, partial(self._rest, request, steps, awaited), self._answer)
            self._running[request.id] = job
            return job
        if (sending := self._send(request, result)) is not None:
            self._unanswered += 1
            self._tasks.start_soon(_awaited, sending)
        if is_traced:
            entered(None)
        return None

    def job(self, request: Request) -> Job | None:
        """Return a job that serves `request` from its beginning, for any task; None if refused."""
        if len(self._running) >= self._open_limit:
            self._refuse(request)
            return None
        self._unanswered += 1
        job = Job(request, partial(self._result, request), self._answer)
        self._running[request.id] = job
        return job

    async def _answer(self, job: Job) -> None:
        del self._running[job.request.id]
        sending = self._send(job.request, job.result)
        if sending is None:
            self._count_answered()
        else:
            await sending

    def cancel(self, id: RequestId) -> None:  # noqa: A002
        """End the work on a request, if there is any; the answer follows."""
        if (job := self._running.get(id)) is not None:
            job.cancel()

    def _refuse(self, request: Request) -> None:
        if (sending := self._send(request, _TOO_MANY)) is not None:
            self._unanswered += 1
            self._tasks.start_soon(_awaited, sending)

    def _send(self, request: Request, result: Json) -> Awaitable[None] | None:
        """Send the answer to `request`: a result, or a `RequestFailedError` as a value.

        Returns what has to be awaited if that, or what follows on it, takes longer.
        """
        sending = None
        try:
            frame = self._frame(request, result)
            if frame is not None:
                sending = self._outbox.put(frame)
        except ConnectionClosedError:
            logger.debug("the peer left before %s was answered", request.method)
        if sending is None and not isinstance(result, Followed):
            return None
        # Counted when it was decided: a flood starts many before the first of them runs.
        self._leaving += 1
        self.has_room = self._leaving < self._leaving_limit
        return self._see_off(request, result, sending)

    async def _see_off(
        self, request: Request, result: Json, sending: Awaitable[None] | None
    ) -> None:
        """Return when the answer to `request` has left, and what follows on it is done."""
        try:
            await (sending or self._outbox.wait_empty())
        except ConnectionClosedError:
            logger.debug("the peer left before %s was answered", request.method)
        finally:
            self._leaving -= 1
            self.has_room = self._leaving < self._leaving_limit
            self._has_left.set()
        if isinstance(result, Followed):
            await self._follow(result, request.method)
        self._count_answered()

    async def _follow(self, answer: Followed, method: str) -> None:
        try:
            await answer.then()
        except ConnectionClosedError:
            logger.debug("the peer left before what follows on %s", method)
        except (Exception, asyncio.CancelledError) as error:
            raise_if_cancelled(error)
            # The border between the connection and the handler, as for the answer itself.
            logger.exception("what follows on %s failed", method)

    def _count_answered(self) -> None:
        self._unanswered -= 1
        if not self._unanswered and self._settled is not None:
            self._settled.set()
            self._settled = None

    def _frame(self, request: Request, result: Json) -> bytes | None:
        try:
            if type(result) is dict:
                return self._peer.answer(request.id, result)
            if isinstance(result, RequestFailedError):
                return self._peer.refuse(request.id, result.code, result.message, result.data)
            return self._peer.answer(
                request.id, result.result if isinstance(result, Followed) else result
            )
        except (ValueError, TypeError, RecursionError):
            # The border between the handler and the wire, once more: its result is no JSON.
            logger.exception("the answer to %s cannot be spelled in JSON", request.method)
            return self._peer.refuse(request.id, _BROKEN.code, _BROKEN.message)

    async def _result(self, request: Request) -> Json:
        """Return what the handler makes of `request`: a result, or an error as a value."""
        entered(request.params)
        try:
            return await self._handle(request)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the border
            return _refusal(request, error)

    async def _rest(self, request: Request, steps: Steps[Json], awaited: object) -> Json:
        """Return what the handler makes of `request`, of which it has taken the first step."""
        try:
            return await rest_of(steps, awaited)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the border
            return _refusal(request, error)


async def _awaited(what: Awaitable[None]) -> None:
    await what


def raise_if_cancelled(error: BaseException) -> None:
    """Let a cancellation of this task go on; one that comes from elsewhere is a failure."""
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
        raise error


def _refusal(request: Request, error: BaseException) -> RequestFailedError:
    """Return the answer to `request` whose handler raised `error`."""
    if isinstance(error, RequestFailedError):
        return error
    if isinstance(error, ConnectionClosedError):
        logger.debug("the peer left while %s was answered", request.method)
        return RequestFailedError(jsonrpc.INTERNAL_ERROR, "The connection is closed")
    raise_if_cancelled(error)
    # The border between the wire and the handler: nothing of our inside goes out.
    logger.error("answering %s failed", request.method, exc_info=error)
    return _BROKEN


_BROKEN: Final = RequestFailedError(jsonrpc.INTERNAL_ERROR, "Internal error")
_TOO_MANY: Final = RequestFailedError(jsonrpc.INTERNAL_ERROR, "Too many open requests")
