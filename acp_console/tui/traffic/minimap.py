"""One line for all of the traffic: a column for each stretch of time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.segment import Segment
from textual.events import Click
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from acp_console.traffic.overview import Overview, Span
from acp_console.traffic.rows import MARK
from acp_console.tui.cursor_list import foreground_style

_LEVELS: Final = "▁▂▃▄▅▆▇█"


class Minimap(Widget):
    """Shows how much was said when, errors, waits for a person, marks, and the cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "minimap--level",
        "minimap--error",
        "minimap--wait",
        "minimap--mark",
        "minimap--cursor",
    }
    DEFAULT_CSS = """
    Minimap {
        height: 1;
        &> .minimap--level { color: $text-muted; }
        &> .minimap--error { color: $text-error; }
        &> .minimap--wait { color: $text-warning; }
        &> .minimap--mark { color: $text-accent; text-style: bold; }
        &> .minimap--cursor { color: $text; background: $primary-muted; text-style: bold; }
    }
    """

    @dataclass
    class Chosen(Message):
        """A place was clicked: the first row from there on."""

        row: int

    def __init__(self, overview: Overview, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._overview = overview
        self._spans: list[Span] = []
        self._row: int | None = None
        self._cursor: int | None = None

    def on_resize(self) -> None:
        self.sync(self._row)

    def sync(self, row: int | None) -> None:
        """Show what is known by now, and the cursor at `row`."""
        self._row = row
        spans = self._overview.spans(self.size.width)
        place = None
        if spans and row is not None:
            place = self._overview.place_of(row, len(spans))
        if spans is not self._spans or place != self._cursor:
            self._spans, self._cursor = spans, place
            self.refresh()

    def on_click(self, event: Click) -> None:
        if event.x < len(self._spans):
            self.post_message(self.Chosen(min(self._spans[event.x].begin, self._spans[-1].end - 1)))

    def render_line(self, y: int) -> Strip:
        del y
        most = max((span.count for span in self._spans), default=0)
        cells = [self._cell(place, span, most) for place, span in enumerate(self._spans)]
        return Strip(cells).adjust_cell_length(self.size.width, self.rich_style)

    def _cell(self, place: int, span: Span, most: int) -> Segment:
        name, sign = "level", _LEVELS[0]
        if span.is_marked:
            name, sign = "mark", MARK
        elif span.has_error:
            name, sign = "error", "✗"
        elif span.is_wait:
            name, sign = "wait", "?"
        elif span.count:
            share = math.log1p(span.count) / math.log1p(most)
            sign = _LEVELS[min(math.ceil(share * len(_LEVELS)), len(_LEVELS)) - 1]
        style = self.rich_style + foreground_style(self, f"minimap--{name}")
        if place == self._cursor:
            style += self.get_component_rich_style("minimap--cursor")
        return Segment(sign, style)
