"""The prompts that wait for the end of the turn, each to be edited or removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.message import Message
from textual.strip import Strip

from acp_console.tui.cursor_list import CursorList, foreground_style
from acp_protocol.host.sanitize import single_line

SIGN: Final = "⋯ "
REMOVE: Final = " ✕ "
HINT: Final = "  enter edits · del removes"
"""Behind the chip under the cursor."""


class QueuedPrompts(CursorList):
    """One chip for each prompt, the next one first; hidden while there is none."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"queue--text", "queue--quiet", "queue--cursor"}
    DEFAULT_CSS = """
    QueuedPrompts {
        height: auto;
        max-height: 4;
        max-width: 100;
        scrollbar-size-horizontal: 0;
        margin: 0 1;
        padding: 0 1;
        display: none;
        &> .queue--text { color: $text; }
        &> .queue--quiet { color: $text-muted; }
        &> .queue--cursor { background: $primary-muted; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "edit", "Edit", show=False),
        Binding("delete,backspace", "remove", "Remove", show=False),
        Binding("escape", "leave", "Editor", show=False),
        Binding("tab", "app.focus('conversation')", "Transcript", show=False),
    ]

    @dataclass
    class Edited(Message):
        """The user wants the prompt in the editor."""

        place: int
        text: str

    @dataclass
    class Removed(Message):
        """The user wants the prompt not to be sent."""

        place: int
        text: str

    class EditorWanted(Message):
        """The user wants to go back to the editor."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._prompts: Sequence[str] = ()

    @property
    def count(self) -> int:
        return len(self._prompts)

    def show_prompts(self, prompts: Sequence[str]) -> None:
        """Show what waits now."""
        if tuple(prompts) == self._prompts:
            return
        had_focus = self.has_focus
        self._prompts = tuple(prompts)
        self.cursor = self.clamped(self.cursor)
        self.display = bool(prompts)
        self.lay_out()
        self.refresh(layout=True)
        if had_focus and not prompts:
            self.post_message(self.EditorWanted())

    def watch_cursor(self) -> None:
        self.refresh()

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        self.refresh()

    def action_edit(self) -> None:
        self.post_message(self.Edited(self.cursor, self._prompts[self.cursor]))

    def action_remove(self) -> None:
        self.post_message(self.Removed(self.cursor, self._prompts[self.cursor]))

    def action_leave(self) -> None:
        self.post_message(self.EditorWanted())

    def on_click(self, event: Click) -> None:
        event.stop()
        content = event.get_content_offset(self)
        place = self.scroll_offset.y + (0 if content is None else content.y)
        if content is None or place >= self.count:
            return
        wanted = self.Removed if content.x >= self.width - len(REMOVE) else self.Edited
        self.post_message(wanted(place, self._prompts[place]))

    def render_line(self, y: int) -> Strip:
        place, width = y + self.scroll_offset.y, self.width
        if place >= self.count:
            return Strip.blank(width, self.rich_style)
        quiet = self._style("quiet")
        hint = HINT if self.has_focus and place == self.cursor else ""
        room = max(width - len(SIGN) - len(hint) - len(REMOVE), 4)
        text = single_line(self._prompts[place], room, is_prose=True)
        middle = [Segment(text, self._style("text")), Segment(hint, quiet)]
        row = Strip([Segment(SIGN, quiet), *middle]).adjust_cell_length(
            max(width - len(REMOVE), 0), self.rich_style
        )
        row = Strip([*row, Segment(REMOVE, quiet)])
        if hint:
            row = row.apply_style(self.get_component_rich_style("queue--cursor", partial=True))
        return row

    def _style(self, name: str) -> Style:
        return self.rich_style + foreground_style(self, f"queue--{name}")
