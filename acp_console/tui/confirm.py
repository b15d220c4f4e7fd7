"""A question with two answers, before something is lost."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static


class ConfirmScreen(ModalScreen[bool]):
    """Asks; `y` agrees, `n` and Esc do not, and Enter presses the button with the focus: No."""

    DEFAULT_CSS = """
    ConfirmScreen {
        align: center middle;
        & > Vertical {
            width: 64;
            max-width: 95%;
            height: auto;
            padding: 1 2;
            border: round $warning;
            background: $surface;
        }
        Horizontal {
            height: auto;
            margin-top: 1;
            align-horizontal: right;
        }
        Button {
            margin-left: 2;
            min-width: 12;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "agree", "Yes"),
        Binding("n,escape", "refuse", "No"),
        Binding("left,right", "app.focus_next", show=False),
    ]

    def __init__(self, text: str, *, yes: str = "Yes", no: str = "No") -> None:
        super().__init__()
        self._text = text
        self._yes, self._no = yes, no

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._text, markup=False)
            with Horizontal():
                yield Button(f"{self._yes} (y)", id="yes", variant="warning")
                yield Button(f"{self._no} (n)", id="no")

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    @on(Button.Pressed, "#yes")
    def action_agree(self) -> None:
        self.dismiss(True)

    @on(Button.Pressed, "#no")
    def action_refuse(self) -> None:
        self.dismiss(False)
