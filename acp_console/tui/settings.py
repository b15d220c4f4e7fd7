"""The settings screen: what `config.toml` says, and the theme. Each change is kept at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Final, get_args

from pydantic import BaseModel
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from acp_console.config import Config
from acp_console.config_edit import EditableConfig
from acp_console.paths import write_private
from acp_console.tui.dialog import Overlay
from acp_console.tui.outside import edit
from acp_console.tui.themes import THEME_NAMES
from acp_console.wording.values import below_home
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls, single_line

NAME_WIDTH: Final = 22
KEYS: Final = "enter changes · ← → other themes · e opens the file in $EDITOR"
NAMES: Final = 200
"""Characters of names that are listed."""


class SettingsScreen(Overlay[None]):
    """Lists the settings, and writes those that are changed."""

    DEFAULT_CSS = """
    SettingsScreen #settings-about {
        height: 2;
        color: $text-muted;
        margin-top: 1;
    }
    SettingsScreen #settings-rest {
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", show=False),
        Binding("e", "edit_file", "Edit the file"),
        Binding("right,space", "change(1)", "Change", show=False),
        Binding("left", "change(-1)", show=False),
    ]

    rows = getters.query_one(OptionList)

    def __init__(self, path: Path) -> None:
        """Show what the file at `path` says, whether it exists or not."""
        super().__init__()
        self._path = path
        self._settings: list[tuple[str, str, Sequence[bool | str]]] = []
        """The table, the key and the values of each row below the theme, the current one first."""
        self._about: list[str] = []
        """What each row is."""

    def compose(self) -> ComposeResult:
        with Vertical():
            yield OptionList(markup=False)
            yield Static(id="settings-about", markup=False)
            yield Static(id="settings-rest", classes="note", markup=False)
            yield Static(id="settings-problem", classes="note problem", markup=False)
            yield Static(KEYS, classes="note", markup=False)

    def on_mount(self) -> None:
        self.query_one(Vertical).border_title = "Settings"
        self.query_one(Vertical).border_subtitle = "Esc closes"
        self._show()
        self.rows.focus()

    def _show(self) -> None:
        place = self.rows.highlighted or 0
        problem, rest = "", ""
        themes = f"{THEME_NAMES.index(self.app.theme) + 1} of {len(THEME_NAMES)}"
        lines = [_line("theme", self.app.theme)]
        self._settings, self._about = [], [f"The colours; {themes}"]
        try:
            config = EditableConfig(self._path).config
        except AcpError as why:
            problem = f"✗ {why}"
        else:
            for table, key, values, about in _settings(config):
                self._settings.append((table, key, values))
                now = values[0] if isinstance(values[0], str) else "on" if values[0] else "off"
                lines.append(_line(f"{table}.{key}", now))
                self._about.append(about)
            rest = _rest(config)
        self.rows.set_options(Option(line) for line in lines)
        self.rows.highlighted = min(place, len(lines) - 1)
        self._explain()
        state = "" if self._path.exists() else "  (not there yet)"
        file = f"file     {single_line(below_home(self._path), NAMES)}{state}"
        self.query_one("#settings-rest", Static).update("\n".join(filter(None, (file, rest))))
        self.query_one("#settings-problem", Static).update(escape_controls(problem))
        self.query_one("#settings-problem").display = bool(problem)

    @on(OptionList.OptionHighlighted)
    def _explain(self) -> None:
        about = self._about[self.rows.highlighted or 0]
        self.query_one("#settings-about", Static).update(about)

    @on(OptionList.OptionSelected)
    def change_row(self, event: OptionList.OptionSelected) -> None:
        self._change(event.option_index, 1)

    def action_change(self, by: int) -> None:
        self._change(self.rows.highlighted or 0, by)

    def _change(self, row: int, by: int) -> None:
        if row == 0:
            place = (THEME_NAMES.index(self.app.theme) + by) % len(THEME_NAMES)
            self.app.theme = THEME_NAMES[place]
        else:
            table, key, values = self._settings[row - 1]
            try:
                EditableConfig(self._path).set_value(table, key, values[by % len(values)])
            except AcpError as why:
                self.notify(escape_controls(str(why)), severity="error", markup=False)
        self._show()

    def action_edit_file(self) -> None:
        try:
            if not self._path.exists():
                write_private(self._path, "")
        except AcpError as why:
            self.notify(escape_controls(str(why)), severity="error", markup=False)
            return
        edit(self, self._path)
        self._show()


def _settings(config: Config) -> Iterator[tuple[str, str, Sequence[bool | str], str]]:
    """Yield table, key, values and explanation of what has few values, the current one first."""
    for name in Config.__slots__:
        table = getattr(config, name)
        if not isinstance(table, BaseModel):
            continue
        for key, field in type(table).model_fields.items():
            choices = (True, False) if field.annotation is bool else get_args(field.annotation)
            if choices and all(isinstance(each, bool | str) for each in choices):
                at = choices.index(getattr(table, key))
                about = " ".join((field.description or "").split())
                yield name, key, (*choices[at:], *choices[:at]), about


def _rest(config: Config) -> str:
    """Return what can only be changed in the file."""
    parts = (("agents", config.agents), ("servers", config.mcp), ("keys", config.keys))
    return "\n".join(
        f"{title:<8} {single_line(', '.join(found), NAMES) if found else 'none'}"
        for title, found in parts
    )


def _line(name: str, value: str) -> Content:
    return Content.assemble((f"{name:<{NAME_WIDTH}} ", "bold"), (value, "$text-accent"))
