"""Background tasks that end with a block."""

from __future__ import annotations

import anyio
from anyio.abc import TaskGroup


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
