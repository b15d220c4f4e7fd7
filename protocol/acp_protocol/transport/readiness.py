"""What a task waits for that is to go on without a detour through the loop.

A future that is done has the task that awaits it run in the loop's next round, which for a reader
is one more look at every descriptor for each frame. A callback of the loop may as well run the task
itself: that is all that the loop would do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any


class Readiness(asyncio.Future[None]):
    """A future for one task, which `wake` runs at once.

    Done or cancelled in any other way, it behaves like the future it is.
    """

    def __init__(self) -> None:
        super().__init__()
        self._goes_on: Callable[[asyncio.Future[None]], object] | None = None
        self._context: Context | None = None

    def add_done_callback(
        self, fn: Callable[[asyncio.Future[None]], object], /, *, context: Context | None = None
    ) -> None:
        """Keep how the task goes on; others are called when it is done, as by any future."""
        if self._goes_on is None and context is not None and not self.done():
            self._goes_on, self._context = fn, context
        else:
            super().add_done_callback(fn, context=context)

    def wake(self) -> None:
        """Run the task until it waits again. Only a callback of the loop may call this: no task."""
        if self.done():
            return
        self.set_result(None)
        if self._goes_on is not None and self._context is not None:
            self._context.run(self._goes_on, self)

    def wake_later(self) -> None:
        """Have the task run in the next round of the loop; whoever likes may call this."""
        if not self.done():
            self._hand_back()
            self.set_result(None)

    def cancel(self, msg: Any = None) -> bool:
        """Cancel the wait, as with any future."""
        if not self.done():
            self._hand_back()
        return super().cancel(msg)

    def _hand_back(self) -> None:
        """Leave to the future how the task goes on."""
        if self._goes_on is not None:
            super().add_done_callback(self._goes_on, context=self._context)
            self._goes_on = None
