"""Opens and saves what a message holds besides text; the user sees first what is run."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from anyio import to_thread
from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from acp_console.chat.attachments import AttachedContent, attachments_of
from acp_console.tui.chat.form import has_browser
from acp_console.tui.chat.input_screen import InputScreen
from acp_console.tui.confirm import ConfirmScreen
from acp_console.tui.dialog import Overlay
from acp_console.wording.values import decoded_size, format_size
from acp_inspector.session.items import Item
from acp_protocol.errors import describe_os_error
from acp_protocol.host.sanitize import escape_controls, single_line

OPENERS = {"darwin": "open"}


def show_attachments(widget: Widget, item: Item, cwd: Path) -> None:
    """List what an item holds besides text; paths are relative to `cwd`."""
    if attachments := attachments_of(item):
        widget.app.push_screen(AttachmentsScreen(attachments, cwd))
    else:
        widget.notify("This card holds nothing to save or open.")


class AttachmentsScreen(Overlay[None]):
    """Lists attachments; `o` opens one in another program, `s` saves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", "Open"),
        Binding("s,ctrl+s", "save", "Save"),
    ]

    options = getters.query_one(OptionList)

    def __init__(self, attachments: Sequence[AttachedContent], cwd: Path) -> None:
        super().__init__()
        self._attachments = attachments
        self._cwd = cwd

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Attachments"
            lines = [Option(single_line(_described(each), 76)) for each in self._attachments]
            yield OptionList(*lines, markup=False)
            yield Static(
                "s saves · o opens it, after showing how · esc back", classes="note", markup=False
            )

    def on_mount(self) -> None:
        self.options.highlighted = 0
        self.options.focus()

    @property
    def _chosen(self) -> AttachedContent:
        return self._attachments[self.options.highlighted or 0]

    @on(OptionList.OptionSelected)
    def open_selected(self) -> None:
        self.action_open()

    @work
    async def action_save(self) -> None:
        attachment = self._chosen
        if attachment.data is None:
            self.notify("This is a link: there is nothing to save.", severity="warning")
            return
        label = "Save to this file, which must not exist yet:"
        suggested = str(self._cwd / attachment.file_name)
        name = await self.app.push_screen_wait(InputScreen(label, suggested))
        if name is not None:
            self._write(attachment, Path(name))

    def _write(self, attachment: AttachedContent, path: Path) -> bool:
        """Write a new file; return whether that worked."""
        try:
            content = attachment.content()
            path = self._cwd / path.expanduser()
            with path.open("xb") as file:
                file.write(content)
        except OSError as problem:
            reason = describe_os_error(problem)
        except RuntimeError:
            reason = "there is no such user"
        except ValueError:
            reason = "not base64"
        else:
            self.notify(f"Saved: {escape_controls(str(path))}", markup=False)
            return True
        text = f"Not saved to {path}: {reason}"
        self.notify(escape_controls(text), severity="error", markup=False)
        return False

    @work
    async def action_open(self) -> None:
        attachment = self._chosen
        if attachment.data is None:
            await self._open_link(attachment.uri)
            return
        program = shutil.which(OPENERS.get(sys.platform, "xdg-open"))
        if program is None or not attachment.can_be_shown:
            text = "No program shows this here; s saves it."
            self.notify(text, severity="warning", markup=False)
            return
        path = Path(tempfile.mkdtemp(prefix="acp-console-")) / attachment.file_name
        command = [program, str(path)]
        text = f"Run this program?\n\n{escape_controls(shlex.join(command))}"
        wants = await self.app.push_screen_wait(ConfirmScreen(text, yes="Run", no="Back"))
        if not wants or not self._write(attachment, path):
            shutil.rmtree(path.parent, ignore_errors=True)
            return
        try:
            # It may go on after this dialog.
            await to_thread.run_sync(_run, command, abandon_on_cancel=True)
        except OSError as problem:
            self.notify(describe_os_error(problem), severity="error", markup=False)

    async def _open_link(self, uri: str) -> None:
        if not uri.startswith("https://") or not uri.isascii() or not uri.isprintable():
            text = f"Only https links are opened: {single_line(uri, 200)}"
            self.notify(text, severity="warning", markup=False)
            return
        text = f"Open this address in the browser?\n\n{uri}"
        if not await self.app.push_screen_wait(ConfirmScreen(text, yes="Open", no="Back")):
            return
        if not has_browser() or not webbrowser.open(uri):
            self.notify("There is no browser here.", severity="warning")


def _run(command: Sequence[str]) -> None:
    nothing = subprocess.DEVNULL
    subprocess.run(command, stdin=nothing, stdout=nothing, stderr=nothing, check=False)


def _described(attachment: AttachedContent) -> str:
    size = "" if attachment.data is None else format_size(decoded_size(attachment.data))
    if attachment.is_text and attachment.data is not None:
        size = format_size(len(attachment.data))
    name = attachment.name or attachment.uri
    return " · ".join(filter(None, (attachment.kind, name, attachment.mime_type, size)))
