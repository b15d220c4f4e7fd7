"""A dialog for one line of text."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from acp_console.tui.dialog import Dialog


class InputScreen(Dialog[str | None]):
    """Returns what the user has written; None after Esc or for nothing."""

    DEFAULT_CSS = "InputScreen > Vertical { width: 70; }"

    def __init__(self, label: str, text: str = "") -> None:
        super().__init__()
        self._label = label
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._label, markup=False)
            yield Input(self._text, compact=True)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def take(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)
