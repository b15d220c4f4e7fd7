"""Asks where to save the rows, which, in which format, and whether with their secrets."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, get_args

from anyio import to_thread
from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Checkbox, RadioSet, Static

from acp_console.traffic.saving import SUFFIXES, SaveFormat, save_rows, saved_size
from acp_console.tui.confirm import ConfirmScreen
from acp_console.tui.dialog import Dialog
from acp_console.tui.path_input import PathInput
from acp_console.tui.toggles import SignedCheckbox, SignedRadioButton
from acp_console.wording.values import below_home, format_number, format_size, plural
from acp_inspector.filter.entries import EntrySequence
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import escape_controls, single_line


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """What to save, and where."""

    path: Path
    rows: Sequence[int]
    format: SaveFormat
    redacts: bool
    overwrites: bool
    """Whether the user agreed to replace the file."""


class SaveScreen(Dialog[SaveRequest | None]):
    """Returns what the user wants to save."""

    DEFAULT_CSS = """
    SaveScreen {
        & > Vertical { width: 70; }
        Horizontal { height: auto; margin: 1 0; }
        RadioSet {
            width: 1fr;
            border: none;
            padding: 0;
            background: transparent;
        }
        RadioSet:focus { border: none; }
        RadioSet:blur > RadioButton.-selected > .toggle--label { background: transparent; }
        RadioButton.-on { text-style: bold; color: $text; }
        Static { color: $text-muted; }
        #save-preview { color: $text; margin-top: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        # Wherever the focus is; space chooses.
        Binding("enter,ctrl+s", "save", "Save", priority=True),
    ]

    line = getters.query_one(PathInput)

    def __init__(
        self,
        entries: EntrySequence,
        selections: Mapping[str, Sequence[int]],
        chosen: str,
        *,
        format_: SaveFormat = "recording",
        name: str = "saved",
    ) -> None:
        """Offer to save the rows of one of the `selections`, at first those of `chosen`.

        `format_` and the `name` of the file, without its suffix, can be changed.
        """
        super().__init__()
        self._file_name = name
        self._entries = entries
        self._names = list(selections)
        self._selections = selections
        self._chosen = chosen
        self._format: SaveFormat = format_

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Save"
            yield PathInput(f"{self._file_name}{SUFFIXES[self._format]}", id="save-path")
            yield Static(id="save-folder", markup=False)
            with Horizontal():
                with RadioSet(id="save-rows"):
                    for name, rows in self._selections.items():
                        yield SignedRadioButton(
                            Content(f"{name} ({_counted(name, rows)})"),
                            name == self._chosen,
                            disabled=not rows,
                        )
                with RadioSet(id="save-format"):
                    for name in get_args(SaveFormat):
                        yield SignedRadioButton(Content(f"as {name}"), name == self._format)
            yield SignedCheckbox(
                "replace secrets by placeholders", value=True, compact=True, id="save-redacted"
            )
            yield Static(id="save-preview", markup=False)
            yield Static("space chooses · enter or ctrl+s saves · esc closes", markup=False)

    def on_mount(self) -> None:
        self.line.focus()
        self.show_folder()
        self._preview()

    @on(PathInput.Changed)
    def show_folder(self) -> None:
        """Say in which folder the file will be, as far as the line names one."""
        path = self._path()
        where = "" if path is None else f"in {below_home(path.parent)}"
        self.query_one("#save-folder", Static).update(single_line(where, 200))

    @on(RadioSet.Changed, "#save-rows")
    def choose_rows(self, event: RadioSet.Changed) -> None:
        self._chosen = self._names[event.index]
        self._preview()

    @on(RadioSet.Changed, "#save-format")
    def choose_format(self, event: RadioSet.Changed) -> None:
        before = SUFFIXES[self._format]
        self._format = get_args(SaveFormat)[event.index]
        if self.line.value.endswith(before):
            self.line.value = self.line.value.removesuffix(before) + SUFFIXES[self._format]
        self._preview()

    @on(Checkbox.Changed)
    def choose_redaction(self) -> None:
        self._preview()

    @property
    def _redacts(self) -> bool:
        return self.query_one("#save-redacted", Checkbox).value

    @work(group="preview", exclusive=True)
    async def _preview(self) -> None:
        rows = self._selections[self._chosen]
        try:
            size = await to_thread.run_sync(saved_size, self._entries, rows)
        except AcpError:
            size = 0
        secrets = "without secrets" if self._redacts else "WITH all secrets"
        of = f"{format_number(len(rows))} of {format_number(len(self._entries))}"
        about = f"{self._chosen}: {of}, {format_size(size)} · as {self._format}, {secrets}"
        self.query_one("#save-preview", Static).update(about)

    @work(group="save", exclusive=True)
    async def action_save(self) -> None:
        path = self._target()
        if path is None:
            return
        is_there = await to_thread.run_sync(os.path.lexists, path)
        if is_there:
            text = f"{single_line(str(path), 200)} exists already. Replace it?"
            asking = ConfirmScreen(text, yes="Replace", no="Keep")
            if not await self.app.push_screen_wait(asking):
                return
        rows = self._selections[self._chosen]
        self.dismiss(SaveRequest(path, rows, self._format, self._redacts, is_there))

    def _target(self) -> Path | None:
        path = self._path()
        if path is None:
            self.notify("Write the name of a file", severity="warning")
        return path

    def _path(self) -> Path | None:
        """Return the file that the line names; None if it names none."""
        text = self.line.value.strip()
        with suppress(OSError, RuntimeError, ValueError):
            path = Path(text).expanduser().absolute()
            if text and "\0" not in text and not path.is_dir():
                return path
        return None


def _counted(name: str, rows: Sequence[int]) -> str:
    """Return how many rows there are, with what they are where the name does not say it."""
    unit = "" if "row" in name else " entry" if len(rows) == 1 else " entries"
    return f"{format_number(len(rows))}{unit}"


async def save_as_wanted(
    widget: Widget, entries: EntrySequence, wanted: SaveRequest, edits: Collection[int] = ()
) -> None:
    """Save what the user wants, and say where it is or why it is not; see `save_rows`."""
    save = partial(
        save_rows,
        entries,
        wanted.rows,
        wanted.path,
        redacts=wanted.redacts,
        format_=wanted.format,
        overwrites=wanted.overwrites,
        edits=edits,
    )
    try:
        secrets = await to_thread.run_sync(save)
    except AcpError as problem:
        widget.notify(escape_controls(str(problem)), severity="error", markup=False)
        return
    replaced = f", {plural(secrets, 'secret')} replaced" if wanted.redacts else ""
    widget.notify(escape_controls(f"Saved to {wanted.path}{replaced}"), markup=False)
