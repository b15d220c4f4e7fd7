"""A question with two answers, before something is lost."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Static

from acp_console.tui.dialog import Dialog


class ConfirmScreen(Dialog[bool]):
    """Asks; `y` agrees, `n` and Esc do not, and Enter presses the button with the focus: No."""

    DEFAULT_CSS = """
    ConfirmScreen {
        & > Vertical {
            width: 64;
            border: round $warning;
        }
        VerticalScroll {
            height: auto;
            max-height: 1fr;
        }
        #yes {
            color: $text-warning;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "agree", "Yes"),
        Binding("n,escape", "refuse", "No"),
        Binding("left,right", "app.focus_next", show=False),
        Binding("up,pageup", "scroll(-1)", show=False),
        Binding("down,pagedown", "scroll(1)", show=False),
    ]

    def __init__(self, text: str, *, yes: str = "Yes", no: str = "No") -> None:
        super().__init__()
        self._text = text
        self._yes, self._no = yes, no

    def compose(self) -> ComposeResult:
        with Vertical():
            with VerticalScroll(can_focus=False):
                yield Static(self._text, markup=False)
            with Horizontal(classes="dialog-buttons"):
                yield Button(f"{self._yes} (y)", id="yes", compact=True)
                yield Button(f"{self._no} (n)", id="no", compact=True)

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    @on(Button.Pressed, "#yes")
    def action_agree(self) -> None:
        text = self.query_one(VerticalScroll)
        if text.scroll_y < text.max_scroll_y:
            # Consent needs sight of all of it.
            self.app.bell()
            text.scroll_page_down(animate=False)
        else:
            self.dismiss(True)

    @on(Button.Pressed, "#no")
    def action_refuse(self) -> None:
        self.dismiss(False)
