"""Tasks that belong to a block and end with it; and how they take turns."""

from __future__ import annotations

import asyncio
from collections import deque
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


class Turnstile:
    """Lets one task through at a time, in the order in which they came.

    A lock whose free passage costs nothing: looking at `is_taken` and setting it.
    """

    __slots__ = ("_queue", "is_taken")

    def __init__(self) -> None:
        self._queue: deque[asyncio.Future[None]] = deque()
        self.is_taken = False
        """Somebody is inside, or was let in and is on the way."""

    def line_up(self) -> asyncio.Future[None]:
        """Return a place in the line, to be awaited by `wait`."""
        turn = asyncio.Future[None]()
        self._queue.append(turn)
        return turn

    async def wait(self, turn: asyncio.Future[None] | None = None) -> None:
        """Return when it is the caller's turn, who is then inside; `turn` is a place it has."""
        turn = turn or self.line_up()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The turn came together with the cancellation: somebody else may have it.
                self.pass_on()
            raise

    def pass_on(self) -> None:
        """Leave, and let the next one in."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.is_taken = False
