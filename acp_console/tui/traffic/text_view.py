"""Long texts, in a pane and on a separate screen."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip

from acp_console.tui.cursor_list import foreground_style
from acp_console.tui.footer import KeyFooter
from acp_console.tui.outside import copy
from acp_console.tui.transcript.rows import chop
from acp_console.wording.values import plural

MAX_MEASURED_CHARS: Final = 4096
"""Characters of the longest line whose width is measured; longer ones are cut by counting."""

_TOKENS: Final = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*+"(?=\s*:))|(?P<string>"(?:[^"\\]|\\.)*+")'
    r"|(?P<number>-?\d[\d.eE+-]*|\b(?:true|false|null)\b)"
)


class TextLines(ScrollView, can_focus=True):
    """Shows a text; the owner has made it safe to show."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "text-lines--key",
        "text-lines--string",
        "text-lines--number",
        "text-lines--note",
    }
    DEFAULT_CSS = """
    TextLines {
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        overflow-x: hidden;
        &> .text-lines--key {
            color: $text-accent;
        }
        &> .text-lines--string {
            color: $text-success;
        }
        &> .text-lines--number {
            color: $text-warning;
        }
        &> .text-lines--note {
            color: $text-muted;
            text-style: italic;
        }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._lines: list[str] = []
        self._ends: list[int] = []
        self._is_json = False
        self._note = ""

    def show(self, text: str, *, is_json: bool = False, note: str = "") -> None:
        self._lines = text.split("\n")
        if note:
            self._lines.append(note)
        self._is_json = is_json
        self._note = note
        self._wrap()
        self.scroll_to(y=0, animate=False, force=True)

    def on_resize(self, event: Resize) -> None:
        del event
        self._wrap()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        wanted = y + self.scroll_offset.y
        place = bisect_right(self._ends, wanted)
        if place >= len(self._ends) or width <= 0:
            return Strip.blank(width, self.rich_style)
        line = self._lines[place]
        begin, end = _piece(line, width, wanted - (self._ends[place - 1] if place else 0))
        segments = list(self._segments(line, begin, end, is_note=self._is_note(place)))
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _is_note(self, place: int) -> bool:
        return bool(self._note) and place == len(self._lines) - 1

    def _segments(self, line: str, begin: int, end: int, *, is_note: bool) -> Iterator[Segment]:
        plain = self.rich_style
        if is_note:
            yield Segment(line[begin:end], plain + self._component("note"))
            return
        at = begin
        if self._is_json and len(line) <= MAX_MEASURED_CHARS:
            for token in _TOKENS.finditer(line):
                first, behind = max(token.start(), begin), min(token.end(), end)
                if first >= behind:
                    continue
                yield Segment(line[at:first], plain)
                style = plain + self._component(token.lastgroup or "string")
                yield Segment(line[first:behind], style)
                at = behind
        yield Segment(line[at:end], plain)

    def _component(self, name: str) -> Style:
        return foreground_style(self, f"text-lines--{name}")

    def _wrap(self) -> None:
        width = self.scrollable_content_region.width
        counts = [_rows_of(line, width) for line in self._lines] if width > 0 else []
        self._ends = list(accumulate(counts))
        self.virtual_size = Size(width, self._ends[-1] if self._ends else 0)
        self.refresh()


def _rows_of(line: str, width: int) -> int:
    if len(line) * 2 <= width or (len(line) <= width and line.isascii()):
        return 1
    if len(line) <= MAX_MEASURED_CHARS and not line.isascii():
        return len(_pieces(line, width))
    return -(-len(line) // _step(line, width))


def _step(line: str, width: int) -> int:
    # A character takes two columns at most.
    return width if line.isascii() else max(width // 2, 1)


def _piece(line: str, width: int, row: int) -> tuple[int, int]:
    """Return begin and end of one row of a wrapped line."""
    if len(line) > MAX_MEASURED_CHARS or line.isascii():
        step = _step(line, width)
        return row * step, (row + 1) * step
    return _pieces(line, width)[row]


def _pieces(line: str, width: int) -> list[tuple[int, int]]:
    ends = list(accumulate(len(piece) for piece in chop(line, width)))
    return list(zip([0, *ends[:-1]], ends, strict=True))


class ValueScreen(ModalScreen[None]):
    """Shows a text of any length."""

    DEFAULT_CSS = """
    ValueScreen {
        TextLines {
            height: 1fr;
            border: round $primary;
            padding: 0 1;
            background: $background;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,v", "leave", "Close"),
        Binding("c", "copy", "Copy"),
    ]

    def __init__(self, text: str, *, is_json: bool) -> None:
        super().__init__()
        self._text = text
        self._is_json = is_json

    def compose(self) -> ComposeResult:
        yield TextLines(id="value")
        yield KeyFooter()

    def on_mount(self) -> None:
        lines = self.query_one("#value", TextLines)
        lines.border_title = "Whole value"
        lines.border_subtitle = Content(plural(len(self._text), "character"))
        lines.show(self._text, is_json=self._is_json)
        lines.focus()

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_copy(self) -> None:
        self.notify(f"Copied {copy(self._text, self.app.copy_to_clipboard)}", markup=False)
