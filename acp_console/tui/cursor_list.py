"""A list of lines with a cursor, drawn line by line; a base for lists of any length."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.style import Style
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.events import Click, Resize
from textual.geometry import Size
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget


def foreground_style(widget: Widget, component: str) -> Style:
    """Return colour, weight and slant of a component of a widget, and no background.

    Muted colours are blended with the background of the widget, which a partial style lacks:
    unblended, they would be too bright, or invisible in a light theme.
    """
    found = widget.get_component_rich_style(component)
    return Style(color=found.color, bold=found.bold, italic=found.italic)


_CACHED_LINES: Final = 512


class CursorList(ScrollView, can_focus=True):
    """Any number of lines; only visible ones are drawn, by subclasses."""

    DEFAULT_CSS = """
    CursorList {
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        overflow-x: hidden;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("ctrl+u", "half(-1)", "Half a page up", show=False),
        Binding("ctrl+d", "half(1)", "Half a page down", show=False),
        Binding("home,g", "edge(False)", "First", show=False),
        Binding("end,G", "edge(True)", "Last", show=False),
    ]

    cursor: var[int] = var(0)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.drawn: LRUCache[tuple[int, ...], Strip] = LRUCache(_CACHED_LINES)
        """Cache of drawn lines, by position and whether the cursor is there."""

    # Overridden by each list.

    @property
    def count(self) -> int:
        raise NotImplementedError

    def choose(self, place: int) -> None:
        """Move the cursor for the user; a line that does not exist is clamped."""
        if self.count:
            self.cursor = self.clamped(place)
            self.reveal()

    def lay_out(self) -> None:
        self.virtual_size = Size(self.width, self.count)

    # Shared by all lists.

    @property
    def width(self) -> int:
        return self.scrollable_content_region.width

    def clamped(self, place: int) -> int:
        return max(0, min(place, self.count - 1))

    def reveal(self) -> None:
        """Scroll to the cursor; while the list has no size yet, nothing is scrolled."""
        top, height = self.scroll_offset.y, self.size.height
        if self.cursor < 0 or not height:
            return
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def redraw(self) -> None:
        self.drawn.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Redraw everything: the theme may have changed."""
        self.drawn.clear()
        super().notify_style_update()

    def action_move(self, step: int) -> None:
        self.choose(self.cursor + step)

    def action_page(self, step: int) -> None:
        self.action_move(step * max(self.size.height - 1, 1))

    def action_half(self, step: int) -> None:
        self.action_move(step * max(self.size.height // 2, 1))

    def action_edge(self, is_last: bool) -> None:
        self.choose(self.count - 1 if is_last else 0)

    def on_click(self, event: Click) -> None:
        place = event.y + self.scroll_offset.y
        if place < self.count:
            self.choose(place)

    def on_resize(self, event: Resize) -> None:
        del event
        self.drawn.clear()
        self.lay_out()
        self.reveal()
