"""Tasks that belong to a block and end with it."""

from __future__ import annotations

from types import TracebackType

import anyio
from anyio.abc import TaskGroup


class OwnedTasks:
    """A task group for helpers of a block: leaving the block cancels them.

    What the block raises comes out as it is, where a task group of anyio would wrap it in an
    `ExceptionGroup`: who opens a connection should be able to catch `ConnectionClosedError` by its
    name. What a helper raises ends the block and does come out in a group, because it is a mistake
    of ours.
    """

    _group: TaskGroup

    async def __aenter__(self) -> TaskGroup:
        """Return the group to start helpers in."""
        self._group = await anyio.create_task_group().__aenter__()
        return self._group

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cancel the helpers and wait until they are gone."""
        self._group.cancel_scope.cancel()
        await self._group.__aexit__(None, None, None)
