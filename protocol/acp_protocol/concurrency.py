"""Background tasks that end with a block, and waits for changes and for interruptions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

Result = TypeVar("Result")


class BackgroundTasks:
    """A task group for background tasks: leaving the block cancels them.

    An exception of the block is raised unchanged, where a task group of anyio would wrap it in an
    `ExceptionGroup`: a caller can catch `ConnectionClosedError` by its name. An exception of a
    background task is a bug; it ends the block and is raised in a group.
    """

    _group: TaskGroup

    async def __aenter__(self) -> TaskGroup:
        self._group = await anyio.create_task_group().__aenter__()
        return self._group

    async def __aexit__(self, *_: object) -> None:
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)


class Change:
    """Wakes everything that waits for the next change; costs nearly nothing while nothing waits."""

    _event: asyncio.Event | None = None

    async def wait(self) -> None:
        # A wait that ends in each turn of the loop would never see that it is cancelled.
        await anyio.lowlevel.checkpoint_if_cancelled()
        self._event = self._event or asyncio.Event()
        await self._event.wait()

    def notify(self) -> None:
        if self._event is not None:
            self._event.set()
            self._event = None


class InterruptibleWaits:
    """Waits that end with an error as soon as it is known that what they wait for will not come.

    A wait takes no task of its own: its caller goes on in the same turn of the loop as without.
    """

    def __init__(self) -> None:
        self._scopes: list[anyio.CancelScope] = []
        self._reason: Exception | None = None

    async def wait(self, awaited: Awaitable[Result]) -> Result:
        """Return the result; raise the reason of `interrupt` if that is called meanwhile."""
        results: list[Result] = []
        with anyio.CancelScope() as scope:
            self._scopes.append(scope)
            try:
                results.append(await awaited)
            finally:
                self._scopes.remove(scope)
        if scope.cancel_called and self._reason is not None:
            raise self._reason
        return results[0]

    def interrupt(self, reason: Exception) -> None:
        """End all that waits now."""
        self._reason = reason
        for scope in self._scopes:
            scope.cancel()
