"""Futures whose tasks go on without a detour through the loop.

A future that is done has the task that awaits it run in the loop's next round: one more look at
every descriptor, for every frame that is read and every answer that somebody waits for. A callback
of the loop may as well run these tasks itself, one after the other. That is all that the loop would
do.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

GoesOn: TypeAlias = Callable[[asyncio.Future[Any]], object]
"""What runs a task until it waits again."""
_Waking: TypeAlias = "tuple[Callable[..., object], GoesOn, Readiness[Any]]"


class Readiness(asyncio.Future[T]):
    """A future that one task awaits.

    Done or cancelled as any future, it behaves like any. Made by `readiness`.
    """

    __slots__ = ("context", "goes_on")
    context: Context | None
    goes_on: GoesOn | None

    def add_done_callback(self, fn: GoesOn, /, *, context: Context | None = None) -> None:
        """Keep how the task goes on; call whatever else comes as any future does."""
        if self.goes_on is None and context is not None and not self.done():
            self.goes_on, self.context = fn, context
        else:
            super().add_done_callback(fn, context=context)

    def wake(self, result: T) -> None:
        """Run the task until it waits again, then those for which it has called `wake_next`.

        Only a callback of the loop may call this: tasks do not run inside of each other.
        """
        if self.done():
            return
        self.set_result(result)
        if self.goes_on is None or self.context is None:
            return
        waking: list[_Waking] = []
        _round.waking = waking
        rest = iter(waking)
        try:
            self.context.run(self.goes_on, self)
            # The list may grow meanwhile.
            for run, goes_on, other in rest:
                run(goes_on, other)
        except BaseException:
            # Something like an interrupt came out of a task: the others go on all the same.
            for _, _, other in rest:
                other.hand_back()
            raise
        finally:
            _round.waking = None

    def wake_next(self, result: T) -> None:
        """Have the task run as soon as the one that runs now waits."""
        waking = _round.waking
        if waking is None:
            self.wake_later(result)
        elif not self.done():
            self.set_result(result)
            if self.goes_on is not None and self.context is not None:
                waking.append((self.context.run, self.goes_on, self))

    def wake_later(self, result: T) -> None:
        """Have the task run in the next round of the loop."""
        if not self.done():
            self.hand_back()
            self.set_result(result)

    def cancel(self, msg: Any = None) -> bool:
        """Cancel the wait, as with any future."""
        if not self.done():
            self.hand_back()
        return super().cancel(msg)

    def hand_back(self) -> None:
        """Leave to the loop when the task goes on, as any future does."""
        if self.goes_on is not None:
            super().add_done_callback(self.goes_on, context=self.context)
            self.goes_on = None


def readiness(loop: asyncio.AbstractEventLoop) -> Readiness[Any]:
    """Return a future of `loop`."""
    # An `__init__` would double the price, and there is one for each chunk and each answer.
    made: Readiness[Any] = Readiness(loop=loop)
    made.goes_on = made.context = None
    return made


class _Round(threading.local):
    """What the callback that runs in this thread has to do."""

    waking: list[_Waking] | None = None


_round = _Round()
