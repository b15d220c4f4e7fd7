"""The frames, one per line; only visible ones are read and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.events import MouseScrollUp
from textual.message import Message
from textual.reactive import reactive, var
from textual.strip import Strip

from acp_console.state.traffic.model import TrafficModel
from acp_console.state.traffic.rows import EDGE, MARK, row_text
from acp_console.tui.cursor_list import CursorList, foreground_style
from acp_inspector.analysis.annotations import SEVERITY_LETTERS

DIGITS: Final = 4
"""Columns of the number, at least."""
FINDINGS: Final = {SEVERITY_LETTERS[severity]: severity for severity in SEVERITY_LETTERS}
"""The severity of each letter."""


class FrameTable(CursorList):
    """A list of rows that takes any number of them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "frame-table--client",
        "frame-table--agent",
        "frame-table--beside",
        "frame-table--fault",
        "frame-table--cursor",
        *(f"frame-table--{name}" for name in FINDINGS.values()),
    }
    DEFAULT_CSS = """
    FrameTable {
        &> .frame-table--client {
            color: $text-accent;
        }
        &> .frame-table--agent {
            color: $text;
        }
        &> .frame-table--beside {
            color: $text-muted;
        }
        &> .frame-table--fault {
            color: $text-error;
            text-style: bold;
        }
        &> .frame-table--error {
            color: $text-error;
            text-style: bold;
        }
        &> .frame-table--warning {
            color: $text-warning;
            text-style: bold;
        }
        &> .frame-table--info {
            color: $text-primary;
            text-style: bold;
        }
        &> .frame-table--cursor {
            background: $primary-muted;
            text-style: bold;
        }
    }
    """
    cursor: var[int] = var(-1)
    instead: reactive[str] = reactive("")
    """What is shown if there is no row."""

    @dataclass
    class Moved(Message):
        """The cursor moved to another position; `position` -1: there is none."""

        table: FrameTable
        position: int

        @property
        def control(self) -> FrameTable:
            return self.table

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, FrameTable.Moved)

    def __init__(self, rows: TrafficModel, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._rows = rows
        self._count = 0
        self.is_following = True
        self._has_open = False
        self.has_moved = False
        """Whether the user has moved the cursor; the reader of this flag resets it."""
        self._found = (0, "")
        self.digits = DIGITS
        """Columns of the number."""

    @property
    def count(self) -> int:
        return self._count

    @property
    def chosen(self) -> int | None:
        """The number of the entry under the cursor; None for the newest while it is followed."""
        return None if self.is_following else self.under_cursor

    @property
    def under_cursor(self) -> int | None:
        """The number of the entry under the cursor; None if there is none."""
        if not 0 <= self.cursor < self._count:
            return None
        return self._rows.at(self.cursor).seq or None

    def sync(self) -> None:
        count = len(self._rows)
        if count < self._count:
            self.show(self.cursor)
            return
        if count > self._count:
            is_seen = self._count < self.scroll_offset.y + self.size.height
            self._count = count
            self.lay_out()
            if is_seen:
                self.refresh()
            if self.is_following:
                self.cursor = count - 1
                self.reveal()
            elif self.cursor < 0:
                self.cursor = 0
        if self._has_open:
            # Pending requests may have got their responses.
            self._has_open = False
            self.redraw()

    def sync_findings(self) -> None:
        """Redraw if findings of visible rows changed."""
        top = self.scroll_offset.y
        seen = range(top, min(top + self.size.height, self._count))
        letters = "".join(self._rows.finding_at(position) or " " for position in seen)
        if (top, letters) != self._found:
            self._found = top, letters
            self.redraw()

    def show(self, cursor: int) -> None:
        above = self.cursor - self.scroll_offset.y
        self._count = len(self._rows)
        self.drawn.clear()
        self.lay_out()
        last = self._count - 1
        before = self.cursor
        self.cursor = last if self.is_following else max(min(cursor, last), min(0, last))
        if self.cursor == before:
            self.watch_cursor()
        self.scroll_to(y=max(self.cursor - max(above, 0), 0), animate=False, force=True)
        self.reveal()
        self.refresh()

    def go_to(self, position: int) -> None:
        """Move the cursor to a position, and stop following."""
        self.is_following = False
        self.cursor = self.clamped(position)
        self.reveal()

    def watch_cursor(self) -> None:
        self.refresh()
        self.post_message(self.Moved(self, self.cursor if self.cursor < self._count else -1))

    def choose(self, place: int) -> None:
        """Move the cursor for the user; on the last row, new rows are followed."""
        if self._count:
            self.has_moved = True
            self.cursor = self.clamped(place)
            self.is_following = self.cursor == self._count - 1
            self.reveal()

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        del event
        self.is_following = False
        self.post_message(self.Moved(self, self.cursor))

    def render_line(self, y: int) -> Strip:
        position = y + self.scroll_offset.y
        width = self.width
        if not self._count and y == self.size.height // 2:
            style = self.get_component_rich_style("frame-table--beside")
            return Strip([Segment(self.instead.center(width)[:width], style)], width)
        if position >= self._count:
            return Strip.blank(width, self.rich_style)
        key = (position, position == self.cursor)
        strip = self.drawn.get(key)
        if strip is None:
            strip = self.drawn[key] = self._draw(position, width)
        return strip

    def _draw(self, position: int, width: int) -> Strip:
        row = self._rows.at(position)
        self._has_open |= row.is_open
        text = row_text(row, width, self.digits, delta=self._rows.delta(position))
        is_beside = row.kind in {"stderr", "event", "header", "end", "large"}
        name = "fault" if row.is_fault else "beside" if is_beside else row.side
        style = self.get_component_rich_style(f"frame-table--{name}")
        if position == self.cursor:
            style += self.get_component_rich_style("frame-table--cursor")
        style = Style.combine([self.rich_style, style])
        letter = self._rows.finding_at(position)
        letter_style = style
        if letter:
            letter_style += foreground_style(self, f"frame-table--{FINDINGS[letter.upper()]}")
            letter_style += Style(bold=letter.isupper())
        mark = MARK if self._rows.is_marked(position) else " "
        segments = [
            Segment(mark, style),
            Segment(letter or " ", letter_style),
            Segment(set_cell_size(f" {text}", max(width - EDGE + 1, 0)), style),
        ]
        return Strip(segments).adjust_cell_length(width, style)

    def lay_out(self) -> None:
        """Update the layout: number of rows, and width of rows and numbers."""
        self.digits = max(DIGITS, self._rows.digits)
        super().lay_out()
