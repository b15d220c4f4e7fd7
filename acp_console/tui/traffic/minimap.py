"""One line for all of the traffic: a column for each stretch of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.events import Click
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from acp_console.traffic.overview import Overview, Span, levels
from acp_console.traffic.rows import MARK
from acp_console.tui.cursor_list import foreground_style
from acp_inspector.views.annotations import SEVERITY_LETTERS

_LEVELS: Final = "▁▂▃▄▅▆▇█"
WAIT: Final = "░"
"""Where a person was waited for, and nothing was said."""
SEVERITY_NAMES: Final = {letter: name for name, letter in SEVERITY_LETTERS.items()}


class Minimap(Widget):
    """Shows how much was said when, what broke, waits for a person, marks, and the cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "minimap--level",
        "minimap--error",
        "minimap--warning",
        "minimap--info",
        "minimap--wait",
        "minimap--mark",
        "minimap--cursor",
    }
    DEFAULT_CSS = """
    Minimap {
        height: 1;
        &> .minimap--level { color: $text-muted; }
        &> .minimap--error { color: $text-error; text-style: bold; }
        &> .minimap--warning { color: $text-warning; text-style: bold; }
        &> .minimap--info { color: $text-primary; }
        &> .minimap--wait { color: $text-disabled; background: $foreground 10%; }
        &> .minimap--mark { color: $text-accent; text-style: bold; }
        &> .minimap--cursor { color: $text; background: $primary-muted; text-style: bold; }
    }
    """

    @dataclass
    class PlaceChosen(Message):
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
            self.post_message(
                self.PlaceChosen(min(self._spans[event.x].begin, self._spans[-1].end - 1))
            )

    def render_line(self, y: int) -> Strip:
        del y
        heights = levels(self._spans)
        cells = [self._cell(place, span, heights[place]) for place, span in enumerate(self._spans)]
        return Strip(cells).adjust_cell_length(self.size.width, self.rich_style)

    def _cell(self, place: int, span: Span, level: int) -> Segment:
        name, sign = self._sign(span, level)
        style = self.rich_style
        if span.is_wait:
            # Not a sign: to wait for a person is common.
            style += Style(bgcolor=self.get_component_rich_style("minimap--wait").bgcolor)
        style += foreground_style(self, f"minimap--{name}")
        if place == self._cursor:
            style += self.get_component_rich_style("minimap--cursor")
        return Segment(sign, style)

    @staticmethod
    def _sign(span: Span, level: int) -> tuple[str, str]:
        """Return what is most important in a span: the name of its style, and its sign."""
        if span.is_marked:
            return "mark", MARK
        if span.finding == "E":
            return "error", span.finding
        if span.has_error:
            return "error", "✗"
        if span.finding:
            return SEVERITY_NAMES[span.finding], span.finding
        if span.is_wait and not level:
            return "wait", WAIT
        return "level", _LEVELS[level]
