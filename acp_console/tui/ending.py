"""Ends the console when it is asked to, whatever its event loop does.

A signal or the quit key starts a clock in a thread. Normally the app ends its agents, restores the
terminal and is gone long before. If the event loop is too busy to notice, the thread kills the
agents, restores the terminal and ends the process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from textual.events import Key
from textual.message import Message

from acp_console.end_timer import END_TIMEOUT_S, EndTimer

if TYPE_CHECKING:
    from textual.app import App
    from textual.driver import Driver

END_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
"""Signals by which the console is asked to end; a terminal that is closed sends the second."""
QUIT_KEY: Final = "ctrl+q"
_RESTORE: Final = b"".join(
    b"\x1b[?%dl" % mode for mode in (1000, 1002, 1003, 1004, 1006, 1015, 1016, 2004, 2048, 1049)
) + (b"\x1b[<u\x1b[?25h\x1b[0m")
"""Leaves the alternate screen and the modes that the driver has set."""


class ConsoleEndTimer(EndTimer):
    """Ends the console if the app does not; restores the terminal."""

    def __init__(self, timeout: float = END_TIMEOUT_S) -> None:
        super().__init__(timeout)
        self._terminal: list[Any] | None = None
        with suppress(termios.error, ValueError, OSError):
            self._terminal = termios.tcgetattr(sys.__stdin__.fileno() if sys.__stdin__ else 0)

    def listen(self, app: App[int]) -> None:
        """End `app` on a signal, also while its event loop is busy."""
        loop = asyncio.get_running_loop()

        def on_signal(number: int, frame: FrameType | None) -> None:
            del frame
            # A terminal that is closed sends this after the second: the driver would start again.
            signal.signal(signal.SIGCONT, signal.SIG_IGN)
            self.start(128 + number)
            # A loop that is closed has nothing left to end.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(lambda: app.exit(return_code=128 + number))

        for number in END_SIGNALS:
            signal.signal(number, on_signal)

    def watch(self, driver: type[Driver]) -> type[Driver]:
        """Return a driver that starts the clock at the quit key, before the app gets the key."""
        start = self.start

        class QuitDriver(driver):
            _is_started = False

            def start_application_mode(self) -> None:
                if self._is_started:
                    # Continued by a signal without having been suspended.
                    self.suspend_application_mode()
                self._is_started = True
                super().start_application_mode()

            def stop_application_mode(self) -> None:
                self._is_started = False
                super().stop_application_mode()

            def process_message(self, message: Message) -> None:
                if isinstance(message, Key) and message.key == QUIT_KEY:
                    start(0)
                super().process_message(message)

        return QuitDriver

    def restore(self) -> None:
        with suppress(termios.error, OSError):
            if self._terminal is not None:
                termios.tcsetattr(0, termios.TCSANOW, self._terminal)
            # The terminal may no longer read.
            os.set_blocking(2, False)
            os.write(2, _RESTORE)
