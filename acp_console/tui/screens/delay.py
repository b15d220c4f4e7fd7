"""How long a frame that is held shall still wait."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static

from acp_inspector.intercept.passage import WAIT_LIMIT

BEGIN: Final = "5"
"""Seconds that are offered."""


class DelayScreen(ModalScreen[float | None]):
    """Returns the seconds; None: nothing is decided."""

    CSS_PATH = "delay.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Delay it", priority=True),
        Binding("escape", "leave", "Back", priority=True),
    ]

    input = getters.query_one("#delay-seconds", Input)

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def compose(self) -> ComposeResult:
        with Vertical(id="delay-box"):
            yield Static("It leaves by itself after so many seconds, and what waits behind it too.")
            yield Input(BEGIN, id="delay-seconds", compact=True)
            yield Static(id="delay-check", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Name the box."""
        self.query_one("#delay-box").border_title = Content(f"Delay frame {self._number}")
        self.input.focus()
        self.input.select_all()

    @on(Input.Changed, "#delay-seconds")
    def check(self) -> None:
        """Say whether that is a time."""
        is_wrong = self._seconds() is None
        check = self.query_one("#delay-check", Static)
        check.update(f"✗ a number of seconds from 0 to {WAIT_LIMIT:.0f}" if is_wrong else "✓")
        check.set_class(is_wrong, "-wrong")

    def action_send(self) -> None:
        """Decide, if that is a time."""
        seconds = self._seconds()
        if seconds is not None:
            self.dismiss(seconds)

    def action_leave(self) -> None:
        """Decide nothing."""
        self.dismiss(None)

    def _seconds(self) -> float | None:
        try:
            seconds = float(self.input.value.replace(",", ".").removesuffix("s"))
        except ValueError:
            return None
        return seconds if 0 <= seconds <= WAIT_LIMIT else None
