"""A dialog for one line of text."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class InputScreen(ModalScreen[str | None]):
    """Returns what the user has written; None after Esc or for nothing."""

    DEFAULT_CSS = """
    InputScreen {
        align: center middle;
        & > Vertical {
            width: 70;
            max-width: 95%;
            height: auto;
            padding: 1 2;
            border: round $primary;
            background: $surface;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back")]

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

    def action_leave(self) -> None:
        self.dismiss(None)
