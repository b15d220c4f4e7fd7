"""Ends the process when it was asked to end and does not do so by itself."""

from __future__ import annotations

import os
import threading
from typing import Final

from acp_protocol.host.process import kill_children

END_TIMEOUT_S: Final = 4.0
"""Seconds that a program has to end by itself."""


class EndTimer:
    """Ends the process if its event loop does not: kills its agents, and exits."""

    def __init__(self, timeout: float = END_TIMEOUT_S) -> None:
        self._timeout = timeout
        self._timer: threading.Timer | None = None

    def start(self, code: int) -> None:
        """End the process with `code` when the time is over; the first call counts."""
        if self._timer is None:
            self._timer = threading.Timer(self._timeout, self._end, [code])
            self._timer.daemon = True
            self._timer.start()

    def cancel(self) -> None:
        """Stop the clock: the program has ended, or asks the user first."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def restore(self) -> None:
        """Give back what the program has changed; nothing by default."""

    def _end(self, code: int) -> None:
        kill_children()
        self.restore()
        os._exit(code)
