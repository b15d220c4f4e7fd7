"""Changing a frame that is held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer

from acp_console.tui.desk import Desk, HeldFrame
from acp_console.tui.desk_countdown import LOOK, Countdown
from acp_console.tui.desk_remarks import on_edit
from acp_console.tui.widgets.intercept_editor import FrameEditor
from acp_inspector.intercept.spelling import as_it_stands, gather, joined
from acp_protocol import jsonrpc


@dataclass(frozen=True, slots=True)
class Edited:
    """What shall leave in place of the frame."""

    raw: bytes
    is_forced: bool
    """Whether it leaves even if it is no JSON."""


class EditScreen(ModalScreen[Edited | None]):
    """Returns the new frame on one line; None: it stays held as it is."""

    CSS_PATH = "edit.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send", priority=True),
        Binding("f4", "flaw", "To the error", priority=True),
        Binding("f8", "force", "Send as it stands", priority=True),
        Binding("escape", "leave", "Keep it held", priority=True),
    ]

    editor = getters.query_one(FrameEditor)

    def __init__(self, desk: Desk, hold: HeldFrame, text: str, raw: bytes) -> None:
        """Begin with `text`, which spells `raw`: what nobody changes leaves as these bytes."""
        super().__init__()
        self._hold = hold
        self._begin = text
        self._raw = raw
        self._countdown = Countdown(desk, hold.id, text)

    def compose(self) -> ComposeResult:
        with Vertical(id="edit-box", classes="desk-box"):
            yield FrameEditor(self._begin, on_edit(jsonrpc.read_message(self._raw)))
        yield Footer()

    def on_mount(self) -> None:
        """Name the box and begin to count."""
        whose = "client → agent" if self._hold.side == "client" else "agent → client"
        self.query_one("#edit-box").border_title = Content(f"Edit frame {self._hold.n}, {whose}")
        self.editor.area.focus()
        self.set_interval(LOOK, self._count_down)
        self._count_down()

    def action_send(self) -> None:
        """Send what stands there, if it is JSON."""
        if self._may_send() and self.editor.check_now() is None:
            text = self.editor.text
            raw = self._raw if text == self._begin else gather(text)
            # What came broken and is sent unchanged is nobody's mistake here.
            self.dismiss(Edited(raw, is_forced=raw is self._raw))
        elif self.editor.flaw is not None:
            self.action_flaw()

    def action_force(self) -> None:
        """Send what stands there, whatever it is; several lines leave as one."""
        if not self._may_send():
            return
        text = self.editor.text
        if "\n" not in text.strip("\r\n"):
            raw = as_it_stands(text)
        else:
            raw = gather(text) if self.editor.check_now() is None else joined(text)
        self.dismiss(Edited(raw, is_forced=True))

    def action_flaw(self) -> None:
        """Go to where it is no JSON."""
        self.editor.go_to_flaw()

    def action_leave(self) -> None:
        """Change nothing."""
        self.dismiss(None)

    def _may_send(self) -> bool:
        if self._countdown.has_left:
            self.notify("This frame has left as it was", severity="error")
        return not self._countdown.has_left

    def _count_down(self) -> None:
        box = self.query_one("#edit-box")
        box.border_subtitle = Content(self._countdown.look(self.editor.text))
        box.set_class(self._countdown.has_left, "-gone")
