"""The help screen: all keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from acp_console.tui.commands import COMMANDS, EDITOR_KEYS, SCOPES, SIGNS, Scope
from acp_console.tui.dialog import Overlay

KEYS: Final = 11
"""Columns of the keys."""


class HelpScreen(Overlay[None]):
    """A table of the keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1,question_mark,q,enter", "leave", "Close", show=False),
    ]

    def __init__(
        self, scopes: Sequence[Scope] = (), keys: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Show the keys of `scopes` first; `keys` are those that the user has changed."""
        super().__init__()
        self._keys = keys
        self.scopes: list[Scope] = list(dict.fromkeys([*scopes, *SCOPES]))
        """The sections, in their order."""

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title, box.border_subtitle = "Keys", "Esc closes"
            yield Static(self._tables(), markup=False)

    def _tables(self) -> Group:
        parts: list[RenderableType] = []
        for scope in self.scopes:
            keys = [
                (self._shown(self._keys.get(command.id, command.key)), command.help)
                for command in COMMANDS
                if command.scope == scope
            ]
            keys += EDITOR_KEYS if scope == "chat" else ()
            parts += [Text(SCOPES[scope], "bold underline"), _table(keys), Text()]
            if scope == "traffic":
                parts += [Text("Signs before the rows", "bold underline"), _table(SIGNS), Text()]
        return Group(*parts)

    def _shown(self, keys: str) -> str:
        """Return keys as the footer shows them."""
        return " ".join(self.app.get_key_display(Binding(key, "")) for key in keys.split(","))


def _table(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), expand=True)
    table.add_column(style="bold", no_wrap=True, width=KEYS)
    table.add_column(ratio=1)
    for key, text in rows:
        table.add_row(Text(key), Text(text))
    return table
