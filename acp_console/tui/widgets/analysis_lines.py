"""Lines that stand for something, of which one is chosen; any number, drawn where they are seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

STYLES: Final = ("muted", "strong", "error", "warning", "info", "good", "accent")
"""Ways to write a part of a line, beside the plain one."""
NARROWEST: Final = 16
"""Columns in which a text is wrapped, at least; where there are fewer, it is cut."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line; every text is safe to show."""

    parts: tuple[tuple[str, str], ...]
    """How each part is written, one of `STYLES` or nothing, and its text."""
    target: int | str | None = None
    """What it leads to: the number of an entry, or a filter."""
    key: object = None
    """What it stands for, by which it is found again among other lines."""


class Lines(Protocol):
    """Lines by their place."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def line(self, place: int, width: int) -> Line:
        """Return the line at a place, for a width in columns."""
        ...

    def place_of(self, key: object) -> int | None:
        """Return the place of the line that stands for `key`, if there is one."""
        ...


class GivenLines:
    """Lines that are the same for any width."""

    def __init__(self, lines: Sequence[Line] = ()) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, place: int, width: int) -> Line:
        """Return the line at a place."""
        del width
        return self._lines[place]

    def place_of(self, key: object) -> int | None:
        """Return the place of the line that stands for `key`, if there is one."""
        places = (place for place, line in enumerate(self._lines) if line.key == key)
        return next(places, None)


class WrappedLines(GivenLines):
    """Lines whose last part goes on in further lines where the width ends."""

    def __init__(self, lines: Sequence[Line], width: int) -> None:
        super().__init__([piece for line in lines for piece in _pieces(line, width)])


def _pieces(line: Line, width: int) -> Iterator[Line]:
    *before, (style, text) = line.parts
    indent = sum(cell_len(part) for _, part in before) + len(text) - len(text.lstrip(" ")) + 2
    if cell_len(text) + indent - 2 <= width or width < indent + NARROWEST:
        yield line
        return
    pieces = _wrapped(text, width - indent)
    yield Line((*before, (style, next(pieces))), line.target, line.key)
    for piece in pieces:
        yield Line((("", " " * indent), (style, piece)), line.target)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Yield pieces that are no wider, cut between words where that is possible."""
    while text:
        # No character is narrower than none: more need not be measured.
        piece = chop_cells(text[: 2 * width], width)[0]
        cut = len(piece)
        if cut < len(text):
            cut = piece.rfind(" ", cut // 2) + 1 or cut
        yield text[:cut].rstrip()
        text = text[cut:]


class LineList(ScrollView, can_focus=True):
    """Shows lines; the cursor stays on what it stands on when others take their place."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"line-list--{name}" for name in (*STYLES, "cursor")}
    DEFAULT_CSS = """
    LineList {
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        overflow-x: hidden;
        &> .line-list--muted {
            color: $text-muted;
        }
        &> .line-list--strong {
            text-style: bold;
        }
        &> .line-list--error {
            color: $text-error;
            text-style: bold;
        }
        &> .line-list--warning {
            color: $text-warning;
        }
        &> .line-list--info {
            color: $text-primary;
        }
        &> .line-list--good {
            color: $text-success;
        }
        &> .line-list--accent {
            color: $text-accent;
        }
        &> .line-list--cursor {
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

    cursor: var[int] = var(0)

    @dataclass
    class Moved(Message):
        """The cursor stands on another line."""

        list: LineList

        @property
        def control(self) -> LineList:
            """The list."""
            return self.list

        def can_replace(self, message: Message) -> bool:
            """Let the newest stand for all that still wait."""
            return isinstance(message, LineList.Moved) and message.list is self.list

    @dataclass
    class Opened(Message):
        """Somebody clicked the line on which the cursor stood already."""

        list: LineList

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._lines: Lines = GivenLines()
        self._cache: LRUCache[tuple[int, bool], Strip] = LRUCache(256)

    def show(self, lines: Lines) -> None:
        """Show other lines."""
        before = self.chosen
        above = self.cursor - self.scroll_offset.y
        self._lines = lines
        self._cache.clear()
        self._resize()
        place = self.cursor
        if before is not None and before.key is not None:
            found = lines.place_of(before.key)
            place = place if found is None else found
        self.cursor = max(0, min(place, len(lines) - 1))
        if place != above + self.scroll_offset.y:
            self.scroll_to(y=max(self.cursor - above, 0), animate=False, force=True)
        self._reveal()
        self.refresh()
        self.post_message(self.Moved(self))

    @property
    def width(self) -> int:
        """Columns that a line has."""
        return self.scrollable_content_region.width

    @property
    def chosen(self) -> Line | None:
        """The line under the cursor; None if there is none."""
        if not 0 <= self.cursor < len(self._lines):
            return None
        return self._lines.line(self.cursor, self.width)

    def go_to(self, place: int) -> None:
        """Put the cursor on a line."""
        if len(self._lines):
            self.cursor = max(0, min(place, len(self._lines) - 1))
            self._reveal()

    def watch_cursor(self) -> None:
        """Tell that the cursor has moved."""
        self.refresh()
        self.post_message(self.Moved(self))

    def action_move(self, step: int) -> None:
        """Move the cursor by lines."""
        self.go_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Move the cursor by pages."""
        self.go_to(self.cursor + step * max(self.size.height - 1, 1))

    def action_edge(self, is_last: bool) -> None:
        """Move the cursor to the first or last line."""
        self.go_to(len(self._lines) - 1 if is_last else 0)

    def on_click(self, event: Click) -> None:
        """Put the cursor where the mouse is; a second click opens what stands there."""
        place = event.y + self.scroll_offset.y
        if place < len(self._lines):
            if event.chain > 1:
                self.post_message(self.Opened(self))
            self.go_to(place)

    def on_resize(self, event: Resize) -> None:
        """Draw for the new width."""
        del event
        self._cache.clear()
        self._resize()
        self._reveal()

    def render_line(self, y: int) -> Strip:
        """Draw one line of the window."""
        place, width = y + self.scroll_offset.y, self.width
        if place >= len(self._lines) or width <= 0:
            return Strip.blank(width, self.rich_style)
        key = (place, place == self.cursor)
        strip = self._cache.get(key)
        if strip is None:
            strip = self._cache[key] = self._draw(place, width)
        return strip

    def _draw(self, place: int, width: int) -> Strip:
        base = self.rich_style
        if place == self.cursor:
            base += self.get_component_rich_style("line-list--cursor")
        segments: list[Segment] = []
        left = width
        for name, text in self._lines.line(place, width).parts:
            style = base + self._style(name) if name else base
            shown = text if cell_len(text) <= left else set_cell_size(text, max(left - 1, 0)) + "…"
            segments.append(Segment(shown, style))
            left -= cell_len(shown)
            if left <= 0:
                break
        return Strip(segments).adjust_cell_length(width, base)

    def _style(self, name: str) -> Style:
        # Not the background: the cursor has its own.
        found = self.get_component_rich_style(f"line-list--{name}")
        return Style(color=found.color, bold=found.bold)

    def _reveal(self) -> None:
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def _resize(self) -> None:
        self.virtual_size = Size(self.width, len(self._lines))
        self.refresh()
