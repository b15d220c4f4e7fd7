"""Changing a frame that is held."""

from __future__ import annotations

import json
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import encode


class EditScreen(ModalScreen[str | None]):
    """Returns the new frame on one line; None: it stays as it is."""

    CSS_PATH = "edit.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send", priority=True),
        Binding("escape", "leave", "Leave it as it is", priority=True),
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(id="edit-box"):
            yield TextArea(self._text, language="json", id="edit-text", tab_behavior="indent")
            yield Static("Ctrl+S sends it, Esc leaves it as it is", id="edit-hint", markup=False)

    def on_mount(self) -> None:
        """Name the box."""
        self.query_one("#edit-box").border_title = "Edit the frame"
        self.query_one(TextArea).focus()

    def action_send(self) -> None:
        """Send what stands there, if it is JSON."""
        try:
            line = encode(json.loads(self.query_one(TextArea).text)).decode()
        except ValueError as problem:
            hint = self.query_one("#edit-hint", Static)
            hint.update(one_line(f"This is no JSON: {problem}", 200))
            hint.add_class("-wrong")
        else:
            self.dismiss(line)

    def action_leave(self) -> None:
        """Change nothing."""
        self.dismiss(None)
