"""Tasks that take turns at reading, and serve requests beside each other.

One of them leads: it reads, and begins each request itself. A request that is answered without
waiting needs no other task. When one has to wait, its task stays with it, another one leads on, and
the first waits for work afterwards: waking a task costs a fraction of starting one and of opening a
cancel scope.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import TaskGroup

from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json, Request
from acp_protocol.readiness import Readiness, readiness

IDLE: Final = 64
"""Tasks that are kept waiting for work, at most."""


class Job:
    """A request on its way to an answer: `serve` makes the result and never raises."""

    __slots__ = ("_is_cancelled", "_scope", "_serve", "request", "result")

    def __init__(self, request: Request, serve: Callable[[], Awaitable[Json]]) -> None:
        self.request = request
        self.result: Json = RequestFailedError(jsonrpc.REQUEST_CANCELLED, "Request cancelled")
        """What the answer says; until the handler has said more, that it was cancelled."""
        self._serve = serve
        self._scope: anyio.CancelScope | None = None
        self._is_cancelled = False

    def cancel(self) -> None:
        """End the work on the request as soon as it can be; the answer follows."""
        self._is_cancelled = True
        if self._scope is not None:
            self._scope.cancel()

    async def run(self, scope: anyio.CancelScope) -> None:
        """Work on the request inside of `scope`, unless it was cancelled meanwhile."""
        if self._is_cancelled:
            return
        self._scope = scope
        try:
            self.result = await self._serve()
        finally:
            self._scope = None


class Workers:
    """Tasks of `tasks`, one of which is in `lead` at any time.

    `lead` reads until a request waits, and returns it as a job, for this task to go on with; None
    if there is none. `answer` sends what a job has come to. Neither may raise.
    """

    def __init__(
        self,
        tasks: TaskGroup,
        lead: Callable[[], Awaitable[Job | None]],
        answer: Callable[[Job], Awaitable[None]],
    ) -> None:
        self._tasks = tasks
        self._lead = lead
        self._answer = answer
        self._idle: list[Readiness[Job | None]] = []

    def lead(self) -> None:
        """Let a task lead, because the one that did has something else to do."""
        self._give(None)

    def give(self, job: Job) -> None:
        """Let a task take `job`."""
        self._give(job)

    def _give(self, job: Job | None) -> None:
        if self._idle:
            self._idle.pop().wake_next(job)
        else:
            self._tasks.start_soon(self._work, job)

    async def _work(self, job: Job | None) -> None:
        while True:
            # One scope for many requests, until one of them is cancelled and takes it along.
            with anyio.CancelScope() as scope:
                while True:
                    job = job or await self._lead()
                    if job is not None:
                        await job.run(scope)
                        if scope.cancel_called:
                            break
                        await self._answer(job)
                    if len(self._idle) >= IDLE:
                        return
                    job = await self._wait()
            assert job is not None, "only a job is ever cancelled"
            await self._answer(job)
            job = await self._wait()

    async def _wait(self) -> Job | None:
        waiting: Readiness[Job | None] = readiness(asyncio.get_running_loop())
        self._idle.append(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting in self._idle:
                self._idle.remove(waiting)
            raise
