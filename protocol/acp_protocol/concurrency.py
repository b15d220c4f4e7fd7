"""Background tasks that belong to a block and end with it, and a fair lock."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

import anyio
from anyio.abc import TaskGroup


class BackgroundTasks:
    """A task group for background tasks: leaving the block cancels them.

    What the block raises comes out as it is, where a task group of anyio would wrap it in an
    `ExceptionGroup`: a caller can catch `ConnectionClosedError` by its name. What a background task
    raises is a bug; it ends the block and comes out in a group.
    """

    _group: TaskGroup

    async def __aenter__(self) -> TaskGroup:
        """Return the group to start tasks in."""
        self._group = await anyio.create_task_group().__aenter__()
        return self._group

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cancel the tasks and wait until they have ended."""
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)


class FifoLock:
    """A lock for tasks, in the order in which they came; any task may release it.

    If it is not `is_taken`, set `is_taken` to acquire it; otherwise `wait`.
    """

    def __init__(self) -> None:
        self._queue: deque[asyncio.Future[None]] = deque()
        self.is_locked = False

    async def wait_for_lock(self) -> None:
        """Wait for the lock, which the caller then holds."""
        turn = asyncio.Future[None]()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The lock came together with the cancellation.
                self.release()
            raise

    def release(self) -> None:
        """Release the lock to the next task that waits."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.is_locked = False
