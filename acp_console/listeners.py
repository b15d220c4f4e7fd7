"""What works in the background calls its listeners when there is news.

All that goes on beside the screens, in threads and in tasks, is reported in this way. Nothing polls
while nothing happens; `Lookout` is for the few things without a report.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final, TypeAlias

logger = logging.getLogger(__name__)

Listener: TypeAlias = Callable[[], object]

LONGEST_WAIT_S: Final = 1.0
"""Seconds between two looks at something that has not changed for long."""


class Listeners:
    """Functions to call when there is news, from any thread; they must be quick."""

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()

    def add(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` from now on; return a function that ends it."""
        self._listeners = (*self._listeners, listener)
        return lambda: self._remove(listener)

    def _remove(self, listener: Listener) -> None:
        self._listeners = tuple(each for each in self._listeners if each != listener)

    def __call__(self) -> None:
        """Say that there is news."""
        for listener in self._listeners:
            listener()


class Lookout:
    """A thread that polls what has no listeners, such as a file that another program writes.

    The longer nothing has changed, the longer it waits until the next look.
    """

    def __init__(
        self,
        look: Callable[[], object],
        *,
        wait: float,
        longest_wait: float = LONGEST_WAIT_S,
        name: str = "lookout",
    ) -> None:
        """Prepare; `start` starts the thread.

        Args:
            look: Returns what there is, in the thread. The first look counts as a change.
            wait: Seconds between two looks at something that changes.
            longest_wait: Seconds between two looks at something that does not.
            name: The name of the thread.
        """
        self.changed = Listeners()
        self._look = look
        self._wait = wait
        self._longest_wait = max(wait, longest_wait)
        self._name = name
        self._is_closed = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def close(self) -> None:
        self._is_closed.set()

    def _run(self) -> None:
        before, wait = object(), self._wait
        while not self._is_closed.is_set():
            try:
                now = self._look()
            except Exception:
                # Boundary: catch everything, because the next look may succeed.
                logger.exception("a look failed")
                now = before
            if now == before:
                wait = min(wait * 2, self._longest_wait)
            else:
                before, wait = now, self._wait
                self.changed()
            self._is_closed.wait(wait)
