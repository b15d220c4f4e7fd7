"""What the keys do."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from acp_console.tui.commands import COMMANDS, EDITOR_KEYS, SCOPES, SIGNS


class HelpScreen(ModalScreen[None]):
    """A table of the keys."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,enter", "dismiss_help", "Close"),
    ]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help-box"):
            yield Static(self._table(), id="help-table")

    def action_dismiss_help(self) -> None:
        """Go back."""
        self.dismiss(None)

    def on_mount(self) -> None:
        """Name the box."""
        self.query_one("#help-box").border_title = "Keys"
        self.query_one("#help-box").border_subtitle = "Esc closes"

    @staticmethod
    def _table() -> Table:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), expand=True)
        table.add_column(style="bold", no_wrap=True, width=16)
        table.add_column()
        for scope, title in SCOPES.items():
            table.add_row(f"[bold underline]{title}[/]", "")
            for command in COMMANDS:
                if command.scope == scope:
                    table.add_row(command.key.replace("slash", "/"), command.help)
            if scope == "chat":
                for key, text in EDITOR_KEYS:
                    table.add_row(key, text)
            for sign, text in SIGNS if scope == "traffic" else ():
                table.add_row(sign, text)
            table.add_row("", "")
        return table
