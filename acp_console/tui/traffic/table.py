"""The frames, one per line; only visible ones are read and drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.events import Click, MouseScrollDown, MouseScrollUp
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive, var
from textual.strip import Strip
from textual.widget import Widget

from acp_console.traffic.model import TrafficModel
from acp_console.traffic.rows import EDGE, MARK, RELATIVE, Times, head_text, row_text
from acp_console.traffic.runs import Run
from acp_console.tui.cursor_list import CursorList, foreground_style
from acp_inspector.views.annotations import SEVERITY_LETTERS

DIGITS: Final = 4
"""Columns of the number, at least."""
WHEEL_LINES: Final = 3
"""Lines that one step of the wheel scrolls."""
FINDINGS: Final = {SEVERITY_LETTERS[severity]: severity for severity in SEVERITY_LETTERS}
"""The severity of each letter."""


class FrameHeading(Widget):
    """The heading above the rows, for the width that they have when it is drawn."""

    def __init__(self, table: FrameTable, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._table = table

    def on_mount(self) -> None:
        for name in ("virtual_size", "times"):
            self.watch(self._table, name, self._redraw)

    def _redraw(self) -> None:
        self.refresh()

    def render_line(self, y: int) -> Strip:
        del y
        table = self._table
        text = head_text(table.width, table.digits, table.times)[: table.width]
        return Strip([Segment(text, self.rich_style)]).adjust_cell_length(
            self.size.width, self.rich_style
        )


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
    times: reactive[Times] = reactive(RELATIVE)
    """How times are written."""
    instead: reactive[str] = reactive("")
    """What is shown if there is no row."""

    @dataclass
    class PositionChanged(Message):
        """The cursor moved to another position; `position` -1: there is none."""

        table: FrameTable
        position: int

        @property
        def control(self) -> FrameTable:
            return self.table

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, FrameTable.PositionChanged)

    @dataclass
    class PastEnd(Message):
        """The user moves on from the last line."""

    def __init__(self, rows: TrafficModel, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._rows = rows
        self._count = 0
        self.is_following = True
        self._has_open = False
        self.has_moved = False
        """Whether the user has moved the cursor; the reader of this flag resets it."""
        self._seen: tuple[tuple[int, ...], list[tuple[Run, str]]] | None = None
        """The visible lines, each with what was found about it."""
        self.digits = DIGITS
        """Columns of the number."""

    # Lines: a run of updates is one, if it is folded; each message of an unfolded frame is one.

    @property
    def line(self) -> Run:
        """The line under the cursor."""
        return self._rows.line_at(self.cursor)

    def _lines_from(self, position: int) -> list[Run]:
        """Return the lines that are visible if that of `position` is the first."""
        lines: list[Run] = []
        at = position
        while 0 <= at < self._count and len(lines) < self.size.height:
            line = self._line_at(at)
            lines += [line, *(replace(line, part=part + 1) for part in range(line.parts))]
            at = line.end
        return lines[: self.size.height]

    def _line_at(self, position: int) -> Run:
        """Return the line of a position, with no more messages below it than fit."""
        line = self._rows.line_at(position)
        return replace(line, parts=min(line.parts, max(self.size.height - 1, 1)))

    def _before(self, position: int, count: int, *, least: int = 0) -> int:
        """Return the first row from which on `count` lines at most precede that of `position`.

        It is at least `least` rows before it, if there are so many.
        """
        at = self._rows.line_at(position).begin
        while at > 0:
            line = self._line_at(at - 1)
            count -= 1 + line.parts
            if count < 0 and least <= 0:
                break
            at, least = line.begin, least - 1
        return at

    @property
    def top(self) -> int:
        """Where the first visible line begins."""
        return self._rows.line_at(self.scroll_offset.y).begin if self._count else 0

    def _put_on_top(self, position: int) -> None:
        self.scroll_to(y=position, animate=False, force=True)

    def reveal(self) -> None:
        if not 0 <= self.cursor < self._count:
            return
        begin = self.line.begin
        if begin < self.top or self.size.height == 0:
            self._put_on_top(begin)
        elif (
            first := self._before(begin, self.size.height - 1 - self._line_at(begin).parts)
        ) > self.top:
            self._put_on_top(first)

    def action_move(self, step: int) -> None:
        if not self._count:
            return
        if step == 1 and self.line.end >= self._count and self.has_focus:
            self.post_message(self.PastEnd())
        if step < 0:
            begin = self._before(self.cursor, -step, least=1)
        else:
            begin = self.line.begin
            while step > 0 and (line := self._line_at(begin)).end < self._count:
                begin = line.end
                step -= 1 + line.parts
        # The last frame of a run shows how things stood behind it.
        self.choose(self._rows.line_at(begin).last)

    def on_click(self, event: Click) -> None:
        event.prevent_default()
        lines = self._lines_from(self.top)
        if event.y < len(lines):
            self.choose(lines[event.y].last)

    def toggle(self) -> bool | None:
        """Unfold or fold the run, or the messages, under the cursor; None if there are none."""
        line = self.line if self._count else Run(0, 0)
        is_unfolded = self._rows.toggle(self.cursor) if self._count else None
        if is_unfolded is not None:
            self.is_following = False
            self.cursor = line.begin if is_unfolded else self._rows.line_at(self.cursor).last
            self.lay_out()
            self.reveal()
            self.redraw()
        return is_unfolded

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
            seen = self._lines_from(self.top)
            is_seen = len(seen) < max(self.size.height, 1) or seen[-1].end >= self._count
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
        """Redraw if findings or edits of visible rows changed."""
        seen = [] if self._seen is None else self._seen[1]
        if any(self._facts_of(line) != facts for line, facts in seen):
            self._seen = None
            self.refresh()

    def _facts_of(self, line: Run) -> str:
        """Return what was found about a line, and who edited it."""
        return f"{self._rows.finding_of(line)} {self._rows.edited_by(line)}"

    def show(self, cursor: int) -> None:
        seen = self._lines_from(self.top)
        above = sum(line.end <= self.cursor for line in seen)
        self._count = len(self._rows)
        self.drawn.clear()
        self.lay_out()
        last = self._count - 1
        before = self.cursor
        self.cursor = last if self.is_following else max(min(cursor, last), min(0, last))
        if self.cursor == before:
            self.watch_cursor()
        if self._count:
            self._put_on_top(self._before(self.cursor, above))
        self.reveal()
        self.refresh()

    def go_to(self, position: int) -> None:
        """Move the cursor to a position, unfold the run around it, and stop following."""
        self.is_following = False
        if self._count:
            line = self._rows.line_at(self.clamped(position))
            if line.is_folded and position != line.last:
                self._rows.toggle(position)
                self.lay_out()
                self.redraw()
        self.cursor = self.clamped(position)
        self.reveal()

    def watch_cursor(self) -> None:
        self.refresh()
        self.post_message(
            self.PositionChanged(self, self.cursor if self.cursor < self._count else -1)
        )

    def choose(self, place: int) -> None:
        """Move the cursor for the user; on the last row, new rows are followed."""
        if self._count:
            self.has_moved = True
            self.cursor = self.clamped(place)
            self.is_following = self.cursor == self._count - 1
            self.reveal()

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self.is_following = False
        if self._count:
            event.prevent_default().stop()
            self._put_on_top(self._before(self.top, WHEEL_LINES, least=1))
        self.post_message(self.PositionChanged(self, self.cursor))

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        lines = self._lines_from(self.top)
        if lines:
            event.prevent_default().stop()
            line = lines[min(WHEEL_LINES, len(lines) - 1)]
            self._put_on_top(line.end if line.part else line.begin)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._seen = None

    def _visible(self) -> list[tuple[Run, str]]:
        """Return the visible lines; found once for each picture."""
        key = (self.scroll_offset.y, self.size.height, self._count, len(self._rows))
        if self._seen is None or self._seen[0] != key:
            lines = self._lines_from(self.top)
            self._seen = key, [(line, self._facts_of(line)) for line in lines]
        return self._seen[1]

    def render_line(self, y: int) -> Strip:
        width = self.width
        if not self._count and y == self.size.height // 2:
            style = self.get_component_rich_style("frame-table--beside")
            return Strip([Segment(self.instead.center(width)[:width], style)], width)
        lines = self._visible()
        if y >= len(lines):
            return Strip.blank(width, self.rich_style)
        line, facts = lines[y]
        is_chosen = line.begin <= self.cursor < line.end and not line.part
        key = (line.begin, line.end, line.part, line.parts, is_chosen, hash(facts))
        strip = self.drawn.get(key)
        if strip is None:
            strip = self.drawn[key] = self._draw(line, width, is_chosen=is_chosen)
        return strip

    def _draw(self, line: Run, width: int, *, is_chosen: bool) -> Strip:
        row = self._rows.line_row(line)
        self._has_open |= row.is_open
        gap, delta = (
            (None, 0.0) if line.part else (self._rows.gap(line.begin), self._rows.delta(line.begin))
        )
        text = row_text(row, width, self.digits, gap=gap, delta=delta, times=self.times)
        is_beside = row.kind in {"stderr", "event", "header", "end", "large"}
        name = "fault" if row.is_fault else "beside" if is_beside else row.side
        style = self.get_component_rich_style(f"frame-table--{name}")
        if is_chosen:
            style += self.get_component_rich_style("frame-table--cursor")
        style = Style.combine([self.rich_style, style])
        letter = "" if line.part else self._rows.finding_of(line)
        letter_style = style
        if letter:
            letter_style += foreground_style(self, f"frame-table--{FINDINGS[letter.upper()]}")
            letter_style += Style(bold=letter.isupper())
        is_marked = self._rows.is_marked(line.begin, line.end - line.begin)
        mark = MARK if is_marked and not line.part else " "
        segments = [
            Segment(mark, style),
            Segment(letter or " ", letter_style),
            Segment(set_cell_size(f" {text}", max(width - EDGE + 1, 0)), style),
        ]
        return Strip(segments).adjust_cell_length(width, style)

    def lay_out(self) -> None:
        """Update the layout: number of rows, and width of rows and numbers."""
        self.digits = max(DIGITS, self._rows.digits)
        self._seen = None
        height = self.size.height
        # A line is scrolled to by its first row, also the first one of the last screen.
        end = 0
        if self._count and height:
            last = self._count - 1
            end = self._before(last, height - 1 - self._line_at(last).parts)
        self.virtual_size = Size(self.width, max(end + height, min(self._count, 1)))

    def watch_times(self) -> None:
        self.redraw()
