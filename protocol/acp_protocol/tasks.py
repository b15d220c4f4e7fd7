"""Background tasks that belong to a block and end with it."""

from __future__ import annotations

from types import TracebackType

import anyio
from anyio.abc import TaskGroup


class OwnedTasks:
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
