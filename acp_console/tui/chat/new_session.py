"""What a new session begins with: its directories and its MCP servers."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, SelectionList, Static

from acp_console.chat.chat_session import SessionSetup
from acp_console.tui.dialog import Dialog
from acp_console.tui.toggles import SignedSelectionList
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get_string, get_text
from acp_protocol.jsonrpc import Json


class NewSessionScreen(Dialog[SessionSetup | None]):
    """Returns where the session works and with what; None after Esc."""

    DEFAULT_CSS = """
    NewSessionScreen {
        Input {
            margin-bottom: 1;
        }
        SelectionList {
            max-height: 8;
        }
        #begin {
            color: $text-primary;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "begin", "Begin", priority=True),
    ]

    def __init__(
        self,
        setup: SessionSetup,
        servers: Sequence[Mapping[str, Json]],
        chosen: Sequence[Mapping[str, Json]],
        *,
        takes_directories: bool,
    ) -> None:
        """Offer `servers`, of which `chosen` are ticked."""
        super().__init__()
        self._setup = setup
        self._servers = servers
        self._chosen = {get_text(each, "name") for each in chosen}
        self._takes_directories = takes_directories

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "New session"
            yield Static("Directory", markup=False)
            yield Input(str(self._setup.cwd), id="setup-cwd", compact=True)
            if self._takes_directories:
                yield Static("Other directories that it may use, as in a shell", markup=False)
                others = shlex.join(map(str, self._setup.directories))
                yield Input(others, id="setup-directories", compact=True)
            if self._servers:
                yield Static("MCP servers (space ticks)", markup=False)
                yield SignedSelectionList[int](
                    *(
                        (_described(each), place, get_text(each, "name") in self._chosen)
                        for place, each in enumerate(self._servers)
                    ),
                    compact=True,
                )
            yield Static(id="setup-problem", classes="problem", markup=False)
            with Horizontal(classes="dialog-buttons"):
                yield Button("Begin (^s)", id="begin", compact=True)
                yield Button("Back", id="back", compact=True)

    def on_mount(self) -> None:
        self.query_one("#setup-cwd").focus()

    @on(Input.Submitted)
    def next_field(self) -> None:
        self.focus_next()

    @on(Button.Pressed)
    def press(self, event: Button.Pressed) -> None:
        if event.button.id == "begin":
            self.action_begin()
        else:
            self.dismiss(None)

    def action_begin(self) -> None:
        others: list[str] = []
        try:
            for each in self.query("#setup-directories").results(Input):
                others = shlex.split(each.value)
        except ValueError as problem:
            self._refuse(f"Other directories: {problem}")
            return
        paths: list[Path] = []
        for each in (self.query_one("#setup-cwd", Input).value, *others):
            try:
                paths.append(self._setup.cwd / Path(each).expanduser())
                is_directory = stat.S_ISDIR(paths[-1].stat().st_mode)
            except (OSError, RuntimeError, ValueError):
                is_directory = False
            if not is_directory:
                self._refuse(f"{each} is not a directory")
                return
        cwd, *directories = paths
        servers = self._setup.servers
        for each in self.query(SelectionList[int]):
            servers = [self._servers[place] for place in sorted(each.selected)]
        self.dismiss(SessionSetup(cwd, directories, servers))

    def _refuse(self, text: str) -> None:
        self.query_one("#setup-problem", Static).update(f"✗ {single_line(text, 300)}")


def _described(server: Mapping[str, Json]) -> Content:
    """Return name and command or address of a server, without its secrets."""
    where = get_text(server, "url") or get_string(server, "command")
    return Content(f"{single_line(get_text(server, 'name') or '?', 24)}  {single_line(where, 40)}")
