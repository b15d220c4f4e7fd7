"""Tasks that serve requests beside each other, and are kept for the next one.

Waking a task that waits costs a fraction of starting one and of opening a cancel scope, and most
requests are answered at once.
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

IDLE: Final = 64
"""Tasks that are kept waiting for work, at most."""


class Job:
    """A request on its way to an answer."""

    __slots__ = ("_is_cancelled", "_scope", "request", "result")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.result: Json = RequestFailedError(jsonrpc.REQUEST_CANCELLED, "Request cancelled")
        """What the answer says; until the handler has said more, that it was cancelled."""
        self._scope: anyio.CancelScope | None = None
        self._is_cancelled = False

    def cancel(self) -> None:
        """End the work on the request as soon as it can be; the answer follows."""
        self._is_cancelled = True
        if self._scope is not None:
            self._scope.cancel()

    async def run(
        self, serve: Callable[[Request], Awaitable[Json]], scope: anyio.CancelScope
    ) -> None:
        """Work on the request inside of `scope`, unless it was cancelled meanwhile."""
        if self._is_cancelled:
            return
        self._scope = scope
        try:
            self.result = await serve(self.request)
        finally:
            self._scope = None


class Workers:
    """Serves jobs: `serve` makes a result, `answer` sends it. Neither may raise."""

    def __init__(
        self,
        tasks: TaskGroup,
        serve: Callable[[Request], Awaitable[Json]],
        answer: Callable[[Request, Json], Awaitable[None]],
    ) -> None:
        self._tasks = tasks
        self._serve = serve
        self._answer = answer
        self._idle: list[asyncio.Future[Job]] = []

    def give(self, job: Job) -> None:
        """Let a task that waits take `job`, or a new one if none does."""
        if self._idle:
            self._idle.pop().set_result(job)
        else:
            self._tasks.start_soon(self._work, job)

    async def _work(self, job: Job) -> None:
        while True:
            # One scope for many requests, until one of them is cancelled and takes it along.
            with anyio.CancelScope() as scope:
                while True:
                    await job.run(self._serve, scope)
                    if scope.cancel_called:
                        break
                    await self._answer(job.request, job.result)
                    if len(self._idle) >= IDLE:
                        return
                    job = await self._wait()
            await self._answer(job.request, job.result)
            job = await self._wait()

    async def _wait(self) -> Job:
        waiting = asyncio.Future[Job]()
        self._idle.append(waiting)
        try:
            return await waiting
        finally:
            if waiting in self._idle:
                self._idle.remove(waiting)
