"""Whether somebody interferes with a running proxy, and by what.

Most proxies only look on. What it takes to interfere is imported and made when it is first wanted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_inspector.intercept.interceptor import Interceptor
    from acp_inspector.intercept.lane import Lane
    from acp_protocol.framing import Side


class Interference:
    """Holds the interceptor, once there is one."""

    def __init__(self, make: Callable[[], Interceptor]) -> None:
        self._make = make
        self._making = threading.Lock()
        self._interceptor: Interceptor | None = None
        self._ended: set[Side] = set()
        self._is_over = False

    @property
    def interceptor(self) -> Interceptor | None:
        """None as long as nobody has interfered."""
        return self._interceptor

    def get(self) -> Interceptor:
        """Return the interceptor; from now on frames have to be looked at where it says so."""
        with self._making:
            if self._interceptor is None:
                made = self._make()
                for side in self._ended:
                    made.lanes[side].close()
                if self._is_over:
                    made.finish()
                self._interceptor = made
            return self._interceptor

    def lane(self, side: Side) -> Lane | None:
        """Return the lane of a direction; None as long as nobody has interfered."""
        return None if self._interceptor is None else self._interceptor.lanes[side]

    def ended(self, side: Side) -> None:
        """Hear that a direction has ended before anybody interfered with it."""
        with self._making:
            self._ended.add(side)

    def left(self) -> None:
        """Hear that nobody is attached any more who has done something."""
        if self._interceptor is not None:
            self._interceptor.observers_left()

    def finish(self) -> None:
        """Let everything leave: the agent has ended."""
        with self._making:
            self._is_over = True
        if self._interceptor is not None:
            self._interceptor.finish()
