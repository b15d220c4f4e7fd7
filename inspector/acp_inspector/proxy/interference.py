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
        self._begin: dict[Side, Callable[[Lane], None]] = {}
        self._is_over = False

    @property
    def interceptor(self) -> Interceptor | None:
        """None as long as nobody has interfered."""
        return self._interceptor

    def get(self) -> Interceptor:
        """Return the interceptor; from now on frames have to be looked at where it says so.

        Never waits for the traffic.
        """
        with self._making:
            if self._interceptor is None:
                made = self._make()
                for side, begin in self._begin.items():
                    begin(made.lanes[side])
                self._interceptor = made
                if self._is_over:
                    made.finish()
            return self._interceptor

    def join(self, side: Side, begin: Callable[[Lane], None]) -> None:
        """Let a direction have its lane as soon as there is one, which may be at once."""
        with self._making:
            self._begin[side] = begin
            if self._interceptor is not None:
                begin(self._interceptor.lanes[side])

    def left(self) -> None:
        """Hear that nobody is attached any more who has done something."""
        if self._interceptor is not None:
            self._interceptor.observers_left()

    def finish(self) -> None:
        """Let everything leave: the agent has ended."""
        # Who is about to begin may wait for a peer that does not read; the end does not wait for
        # that. Either it sees the mark afterwards, or what it has made is seen here.
        self._is_over = True
        if self._interceptor is not None:
            self._interceptor.finish()
