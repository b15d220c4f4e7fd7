"""Asks where to save the rows, which, and whether with their secrets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Checkbox, Input, Static

from acp_console.render.values import format_number


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """What to save, and where."""

    path: Path
    only_shown: bool
    redacts: bool


class SaveScreen(ModalScreen[SaveRequest | None]):
    """Returns what the user wants to save."""

    DEFAULT_CSS = """
    SaveScreen {
        align: center middle;
        #save-box {
            width: 70;
            max-width: 95%;
            height: auto;
            border: round $primary;
            background: $surface;
            padding: 1 2;
        }
        Checkbox { border: none; background: transparent; }
        Static { color: $text-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", priority=True),
        Binding("escape", "leave", "Close"),
    ]

    def __init__(self, shown: int, every: int) -> None:
        """Offer to save all of `every` entries, or the `shown` ones."""
        super().__init__()
        self._shown = shown
        self._every = every

    def compose(self) -> ComposeResult:
        with Vertical(id="save-box") as box:
            box.border_title = "Save a recording"
            yield Input("saved.acp.ndjson", id="save-path", compact=True)
            yield Checkbox(
                f"only the {format_number(self._shown)} rows that the filter shows",
                self._shown < self._every,
                id="save-shown",
                disabled=self._shown == self._every,
            )
            yield Checkbox("replace secrets by placeholders", value=True, id="save-redacted")
            yield Static("enter saves · tab goes on · esc closes", markup=False)

    @on(Input.Submitted)
    def action_save(self) -> None:
        text = self.query_one(Input).value.strip()
        if text:
            self.dismiss(
                SaveRequest(
                    Path(text).expanduser().absolute(),
                    self.query_one("#save-shown", Checkbox).value,
                    self.query_one("#save-redacted", Checkbox).value,
                )
            )

    def action_leave(self) -> None:
        self.dismiss(None)
