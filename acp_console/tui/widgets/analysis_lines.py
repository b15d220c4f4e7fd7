"""Lines that stand for something, of which one is chosen; any number, drawn where they are seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from textual.events import Click
from textual.message import Message
from textual.strip import Strip

from acp_console.tui.widgets.cursor_list import CursorList
from acp_console.tui.widgets.ink import ink

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


class LineList(CursorList):
    """Shows lines; the cursor stays on what it stands on when others take their place."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"line-list--{name}" for name in (*STYLES, "cursor")}
    DEFAULT_CSS = """
    LineList {
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
        self.has_cursor = True
        """Whether a line can be chosen; a sentence in place of lines cannot."""

    def show(self, lines: Lines, *, has_cursor: bool = True) -> None:
        """Show other lines; without `has_cursor`, they are a sentence of which none is chosen."""
        self.has_cursor = has_cursor
        before = self.chosen
        above = self.cursor - self.scroll_offset.y
        self._lines = lines
        self.drawn.clear()
        self.lay_out()
        place = self.cursor
        if before is not None and before.key is not None:
            found = lines.place_of(before.key)
            place = place if found is None else found
        self.cursor = max(0, min(place, len(lines) - 1))
        if place != above + self.scroll_offset.y:
            self.scroll_to(y=max(self.cursor - above, 0), animate=False, force=True)
        self.reveal()
        self.refresh()
        self.post_message(self.Moved(self))

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    @property
    def chosen(self) -> Line | None:
        """The line under the cursor; None if there is none."""
        if not 0 <= self.cursor < len(self._lines):
            return None
        return self._lines.line(self.cursor, self.width)

    def watch_cursor(self) -> None:
        """Tell that the cursor has moved."""
        self.refresh()
        self.post_message(self.Moved(self))

    def on_click(self, event: Click) -> None:
        """Open what a second click is on; the first has put the cursor there."""
        if event.chain > 1 and event.y + self.scroll_offset.y < self.count:
            self.post_message(self.Opened(self))

    def render_line(self, y: int) -> Strip:
        """Draw one line of the window."""
        place, width = y + self.scroll_offset.y, self.width
        if place >= len(self._lines) or width <= 0:
            return Strip.blank(width, self.rich_style)
        key = (place, place == self.cursor and self.has_cursor)
        strip = self.drawn.get(key)
        if strip is None:
            strip = self.drawn[key] = self._draw(place, width)
        return strip

    def _draw(self, place: int, width: int) -> Strip:
        base = self.rich_style
        if place == self.cursor and self.has_cursor:
            base += self.get_component_rich_style("line-list--cursor")
        segments: list[Segment] = []
        left = width
        for name, text in self._lines.line(place, width).parts:
            style = base + ink(self, f"line-list--{name}") if name else base
            shown = text if cell_len(text) <= left else set_cell_size(text, max(left - 1, 0)) + "…"
            segments.append(Segment(shown, style))
            left -= cell_len(shown)
            if left <= 0:
                break
        return Strip(segments).adjust_cell_length(width, base)
