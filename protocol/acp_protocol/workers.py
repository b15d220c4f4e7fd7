"""Tasks that take turns at reading, and work on what they read beside each other.

One of them leads: it reads, and begins what the peer asks and tells itself. What is done without
waiting needs no other task. When something has to wait, its task stays with it, another one leads
on, and the first waits for work afterwards: waking a task costs a fraction of starting one and of
opening a cancel scope.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
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


class Work(ABC):
    """What keeps a task busy; none of it may raise."""

    __slots__ = ()

    @abstractmethod
    async def run(self, scope: anyio.CancelScope) -> None:
        """Do it, inside of `scope`, which it may have cancelled."""

    async def finish(self) -> None:
        """Do what comes after it, even if it was cancelled."""
        return


class Job(Work):
    """A request on its way to an answer: `serve` makes the result, `answer` sends it."""

    __slots__ = ("_answer", "_is_cancelled", "_scope", "_serve", "request", "result")

    def __init__(
        self,
        request: Request,
        serve: Callable[[], Awaitable[Json]],
        answer: Callable[[Job], Awaitable[None]],
    ) -> None:
        self.request = request
        self.result: Json = RequestFailedError(jsonrpc.REQUEST_CANCELLED, "Request cancelled")
        """What the answer says; until the handler has said more, that it was cancelled."""
        self._serve = serve
        self._answer = answer
        self._scope: anyio.CancelScope | None = None
        self._is_cancelled = False

    def cancel(self) -> None:
        """End the work on the request as soon as it can be; the answer follows."""
        self._is_cancelled = True
        if self._scope is not None:
            self._scope.cancel()

    async def run(self, scope: anyio.CancelScope) -> None:
        """Work on the request, unless it was cancelled meanwhile."""
        if self._is_cancelled:
            return
        self._scope = scope
        try:
            self.result = await self._serve()
        finally:
            self._scope = None

    async def finish(self) -> None:
        """Send the answer."""
        await self._answer(self)


class LaneWork(Work):
    """The notifications of one session, until there are no more: `work_off` handles them."""

    __slots__ = ("_work_off",)

    def __init__(self, work_off: Callable[[], Awaitable[None]]) -> None:
        self._work_off = work_off

    async def run(self, scope: anyio.CancelScope) -> None:
        """Handle them; nobody cancels them."""
        del scope
        await self._work_off()


class Workers:
    """Tasks of `tasks`, one of which is in `lead` at any time.

    `lead` reads until something has to wait, and returns it as work for this task to go on with;
    None if there is none. It may not raise.
    """

    def __init__(self, tasks: TaskGroup, lead: Callable[[], Awaitable[Work | None]]) -> None:
        self._tasks = tasks
        self._lead = lead
        self._idle: list[Readiness[Work | None]] = []

    def lead(self) -> None:
        """Let a task lead, because the one that did has something else to do."""
        self._give(None)

    def give(self, work: Work) -> None:
        """Let a task take `work`."""
        self._give(work)

    def _give(self, work: Work | None) -> None:
        if self._idle:
            self._idle.pop().wake_next(work)
        else:
            self._tasks.start_soon(self._work, work)

    async def _work(self, work: Work | None) -> None:
        while True:
            # One scope for many requests, until one of them is cancelled and takes it along.
            with anyio.CancelScope() as scope:
                while True:
                    work = work or await self._lead()
                    if work is not None:
                        await work.run(scope)
                        if scope.cancel_called:
                            break
                        await work.finish()
                    if len(self._idle) >= IDLE:
                        return
                    work = await self._wait()
            assert work is not None, "only work is ever cancelled"
            await work.finish()
            work = await self._wait()

    async def _wait(self) -> Work | None:
        waiting: Readiness[Work | None] = readiness(asyncio.get_running_loop())
        self._idle.append(waiting)
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting in self._idle:
                self._idle.remove(waiting)
            raise
