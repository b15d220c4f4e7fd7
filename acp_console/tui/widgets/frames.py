"""The frames, one a line, read and drawn only where they are seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.events import Click, MouseScrollDown, MouseScrollUp, Resize
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive, var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from acp_console.tui.widgets.frames_rows import TableRow, row_text

DIGITS: Final = 4
"""Columns of the number, at least."""
_CACHED_LINES: Final = 512


class Rows(Protocol):
    """What a table shows, by position."""

    @property
    def digits(self) -> int:
        """Return how many digits the largest number has."""
        ...

    def __len__(self) -> int:
        """Return how many are shown."""
        ...

    def at(self, position: int) -> TableRow:
        """Return what stands at a position."""
        ...

    def delta(self, position: int) -> float:
        """Return the seconds since what stands before."""
        ...

    def is_marked(self, position: int) -> bool:
        """Tell whether somebody marked it."""
        ...


class FrameTable(ScrollView, can_focus=True):
    """A list of rows that takes any number of them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "frame-table--client",
        "frame-table--agent",
        "frame-table--beside",
        "frame-table--fault",
        "frame-table--cursor",
    }
    DEFAULT_CSS = """
    FrameTable {
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        overflow-x: hidden;
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
        &> .frame-table--cursor {
            background: $primary-muted;
            text-style: bold;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(False)", "First", show=False),
        Binding("end,G", "edge(True)", "Last", show=False),
    ]

    cursor: var[int] = var(-1)
    instead: reactive[str] = reactive("")
    """What is told where there is no row."""

    @dataclass
    class Moved(Message):
        """The cursor stands on another position; `position` -1: there is none."""

        table: FrameTable
        position: int

        @property
        def control(self) -> FrameTable:
            """The table."""
            return self.table

        def can_replace(self, message: Message) -> bool:
            """Let the newest stand for all that still wait."""
            return isinstance(message, FrameTable.Moved)

    def __init__(self, rows: Rows, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._rows = rows
        self._count = 0
        self.is_following = True
        self._has_open = False
        self.has_moved = False
        """Whether a person has moved the cursor; whoever takes note of it sets it back."""
        self.digits = DIGITS
        """Columns of the number."""
        self._cache: LRUCache[tuple[int, bool], Strip] = LRUCache(_CACHED_LINES)

    @property
    def chosen(self) -> int | None:
        """The number of the entry under the cursor; None for the newest while it is followed."""
        if self.is_following or not 0 <= self.cursor < self._count:
            return None
        return self._rows.at(self.cursor).n or None

    def sync(self) -> None:
        """Show what has come behind what is shown; nothing before it has changed."""
        count = len(self._rows)
        if count < self._count:
            self.show(self.cursor)
            return
        if count > self._count:
            is_seen = self._count < self.scroll_offset.y + self.size.height
            self._count = count
            self._resize()
            if is_seen:
                self.refresh()
            if self.is_following:
                self.cursor = count - 1
                self._reveal()
            elif self.cursor < 0:
                self.cursor = 0
        if self._has_open:
            # Questions that waited may have been answered.
            self._has_open = False
            self.redraw()

    def show(self, cursor: int) -> None:
        """Show other rows; the cursor stays on its line of the screen, if possible."""
        above = self.cursor - self.scroll_offset.y
        self._count = len(self._rows)
        self._cache.clear()
        self._resize()
        last = self._count - 1
        before = self.cursor
        self.cursor = last if self.is_following else max(min(cursor, last), min(0, last))
        if self.cursor == before:
            self.watch_cursor()
        self.scroll_to(y=max(self.cursor - max(above, 0), 0), animate=False, force=True)
        self._reveal()
        self.refresh()

    def go_to(self, position: int) -> None:
        """Put the cursor on a position, and follow no more."""
        self.is_following = False
        self.cursor = max(0, min(position, self._count - 1))
        self._reveal()

    def redraw(self) -> None:
        """Draw anew what is seen: something about it has changed."""
        self._cache.clear()
        self.refresh()

    def watch_cursor(self) -> None:
        """Tell where the cursor stands."""
        self.refresh()
        self.post_message(self.Moved(self, self.cursor if self.cursor < self._count else -1))

    def action_move(self, step: int) -> None:
        """Move the cursor by rows."""
        self._go(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Move the cursor by pages."""
        self._go(self.cursor + step * max(self.size.height - 1, 1))

    def action_edge(self, is_last: bool) -> None:
        """Move the cursor to the first or last row."""
        self._go(self._count - 1 if is_last else 0)

    def on_click(self, event: Click) -> None:
        """Put the cursor where the mouse is."""
        if event.y + self.scroll_offset.y < self._count:
            self._go(event.y + self.scroll_offset.y)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Look at earlier ones: whoever does so follows no more."""
        del event
        self.is_following = False
        self.post_message(self.Moved(self, self.cursor))

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Look at later ones."""
        del event

    def on_resize(self, event: Resize) -> None:
        """Draw for the new width."""
        del event
        self._cache.clear()
        self._resize()
        self._reveal()

    def render_line(self, y: int) -> Strip:
        """Draw one line of the window."""
        position = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if not self._count and y == self.size.height // 2:
            style = self.rich_style + self.get_component_rich_style(
                "frame-table--beside", partial=True
            )
            return Strip([Segment(self.instead.center(width)[:width], style)], width)
        if position >= self._count:
            return Strip.blank(width, self.rich_style)
        key = (position, position == self.cursor)
        strip = self._cache.get(key)
        if strip is None:
            strip = self._cache[key] = self._draw(position, width)
        return strip

    def _draw(self, position: int, width: int) -> Strip:
        row = self._rows.at(position)
        self._has_open |= row.is_open
        text = row_text(
            row,
            width,
            self.digits,
            delta=self._rows.delta(position),
            is_marked=self._rows.is_marked(position),
        )
        is_beside = row.kind in {"stderr", "event", "header", "end", "large"}
        name = "fault" if row.is_fault else "beside" if is_beside else row.side
        style = self.get_component_rich_style(f"frame-table--{name}")
        if position == self.cursor:
            style += self.get_component_rich_style("frame-table--cursor")
        style = Style.combine([self.rich_style, style])
        return Strip([Segment(set_cell_size(text, width), style)], width)

    def _go(self, position: int) -> None:
        if self._count:
            self.has_moved = True
            self.cursor = max(0, min(position, self._count - 1))
            self.is_following = self.cursor == self._count - 1
            self._reveal()

    def _reveal(self) -> None:
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        if self.cursor < 0:
            return
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def _resize(self) -> None:
        self.digits = max(DIGITS, self._rows.digits)
        self.virtual_size = Size(self.scrollable_content_region.width, self._count)
