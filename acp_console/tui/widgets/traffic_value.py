"""One value, all of it, on a screen of its own."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer

from acp_console.render.values import format_number
from acp_console.tui.clipboard import copy
from acp_console.tui.widgets.traffic_text import TextLines


class ValueScreen(ModalScreen[None]):
    """Shows a text of any length."""

    DEFAULT_CSS = """
    ValueScreen {
        TextLines {
            height: 1fr;
            border: round $primary;
            padding: 0 1;
            background: $background;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,v", "leave", "Close"),
        Binding("c", "copy", "Copy"),
    ]

    def __init__(self, text: str, *, is_json: bool) -> None:
        super().__init__()
        self._text = text
        self._is_json = is_json

    def compose(self) -> ComposeResult:
        yield TextLines(id="value")
        yield Footer()

    def on_mount(self) -> None:
        """Show it."""
        lines = self.query_one("#value", TextLines)
        lines.border_title = "Whole value"
        lines.border_subtitle = Content(f"{format_number(len(self._text))} characters")
        lines.show(self._text, is_json=self._is_json)
        lines.focus()

    def action_leave(self) -> None:
        """Go back."""
        self.dismiss(None)

    def action_copy(self) -> None:
        """Copy all of it, as it is shown."""
        self.notify(f"Copied {copy(self._text, self.app.copy_to_clipboard)}", markup=False)
