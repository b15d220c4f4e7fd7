"""A driver that lets the terminal forget the images before it is left to others."""

from __future__ import annotations

from collections.abc import Callable

from textual.driver import Driver


def leaving_driver(driver: type[Driver], leave: Callable[[], str]) -> type[Driver]:
    """Return a driver that writes what `leave` returns before it gives the terminal back.

    That is at the end, and while another program has the terminal.
    """

    class LeavingDriver(driver):
        def stop_application_mode(self) -> None:
            if command := leave():
                self.write(command)
            super().stop_application_mode()

    return LeavingDriver
