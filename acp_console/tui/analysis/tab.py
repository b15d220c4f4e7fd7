"""The base of the analysis tabs: lines, tables, and the queries for them."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Click
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Static

from acp_console.traffic.analysis import BackgroundFold, FoldProgress, Query
from acp_console.tui.cursor_list import CursorList, foreground_style
from acp_console.tui.transcript.rows import chop
from acp_console.wording.tables import GAP, MIN_FLEXIBLE_WIDTH, Layout, TableText
from acp_console.wording.values import format_number, plural

STYLES: Final = ("muted", "strong", "error", "warning", "info", "good", "accent")
"""Styles of a part of a line, besides the plain one."""
NARROWEST: Final = 16
"""Minimum columns for wrapping a text; with fewer, it is cut."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line; every text is safe to show."""

    parts: tuple[tuple[str, str], ...]
    """The style of each part, one of `STYLES` or empty, and its text."""
    target: int | str | None = None
    """The target of the line: the number of an entry, or a filter."""
    key: object = None
    """Identifies the line among other lines."""


def wrap_lines(lines: Sequence[Line], width: int) -> list[Line]:
    """Return the lines with their last part wrapped to the width."""
    wrapped: list[Line] = []
    for line in lines:
        *before, (style, text) = line.parts
        indent = sum(cell_len(part) for _, part in before) + len(text) - len(text.lstrip(" ")) + 2
        if cell_len(text) + indent - 2 <= width or width < indent + NARROWEST:
            wrapped.append(line)
            continue
        first, *rest = _wrapped(text, width - indent)
        wrapped.append(Line((*before, (style, first)), line.target, line.key))
        wrapped += [Line((("", " " * indent), (style, piece)), line.target) for piece in rest]
    return wrapped


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Yield pieces of at most this width, cut between words if possible."""
    while text:
        # Measure only a prefix: a piece rarely has more than two characters per column.
        piece = chop(text[: 2 * width], width)[0]
        cut = len(piece)
        if cut < len(text):
            cut = piece.rfind(" ", cut // 2) + 1 or cut
        yield text[:cut].rstrip()
        text = text[cut:]


class LineList(CursorList):
    """Shows lines; the cursor stays on the same line when the lines are replaced."""

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
    class CursorMoved(Message):
        """The cursor moved to another line."""

        list: LineList

        @property
        def control(self) -> LineList:
            return self.list

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, LineList.CursorMoved) and message.list is self.list

    @dataclass
    class LineClicked(Message):
        """The user clicked the line under the cursor."""

        list: LineList

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self.has_cursor = True
        """Whether a line can be chosen; False if a note is shown instead of lines."""

    def show(self, lines: Sequence[Line], *, has_cursor: bool = True) -> None:
        """Replace the lines; without `has_cursor`, they are a note, and none can be chosen."""
        self.has_cursor = has_cursor
        before = self.chosen
        above = self.cursor - self.scroll_offset.y
        self._lines = lines
        self.drawn.clear()
        self.lay_out()
        place = self.cursor
        if before is not None and before.key is not None:
            same = (at for at, line in enumerate(lines) if line.key == before.key)
            place = next(same, place)
        self.cursor = max(0, min(place, len(lines) - 1))
        if place != above + self.scroll_offset.y:
            self.scroll_to(y=max(self.cursor - above, 0), animate=False, force=True)
        self.reveal()
        self.refresh()
        self.post_message(self.CursorMoved(self))

    @property
    def count(self) -> int:
        return len(self._lines)

    @property
    def chosen(self) -> Line | None:
        """The line under the cursor; None if there is none."""
        return self._lines[self.cursor] if 0 <= self.cursor < len(self._lines) else None

    def watch_cursor(self) -> None:
        self.refresh()
        self.post_message(self.CursorMoved(self))

    def on_click(self, event: Click) -> None:
        if event.chain > 1 and event.y + self.scroll_offset.y < self.count:
            self.post_message(self.LineClicked(self))

    def render_line(self, y: int) -> Strip:
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
        for name, text in self._lines[place].parts:
            style = base + foreground_style(self, f"line-list--{name}") if name else base
            shown = text if cell_len(text) <= left else set_cell_size(text, max(left - 1, 0)) + "…"
            segments.append(Segment(shown, style))
            left -= cell_len(shown)
            if left <= 0:
                break
        return Strip(segments).adjust_cell_length(width, base)


@dataclass(frozen=True, slots=True)
class AnalysisRow:
    """One row; every text is safe to show."""

    cells: tuple[str, ...]
    target: int | str | None = None
    """The target of the row."""
    style: str = ""
    """The style of its last cell."""


def table_lines(table: TableText, rows: Sequence[AnalysisRow], width: int) -> list[Line]:
    """Return the rows of a table for a width."""
    fit = table.fit(width)
    lines: list[Line] = []
    for row in rows:
        parts = (("", table.line(row.cells, width)),)
        if row.style and fit.shown:
            before = table.line(row.cells, width, last=-1)
            parts = (("", before + " " * GAP), (row.style, row.cells[fit.shown[-1]]))
        lines.append(Line(parts, row.target, row.cells[:2]))
    return lines


class ColumnHead(Static):
    """One line above the others that stays when they scroll: names of columns, or an axis."""

    DEFAULT_CSS = """
    ColumnHead {
        height: 1;
        color: $text-muted;
    }
    """

    @dataclass
    class HeadClicked(Message):
        """The user clicked on it."""

        x: int
        """The column of the screen, from its left edge."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False

    def show(self, text: str) -> None:
        """Show a text; hide the line if it is empty."""
        self.display = bool(text)
        self.update(text)

    def on_click(self, event: Click) -> None:
        event.stop()
        self.post_message(self.HeadClicked(event.x))


T = TypeVar("T")
A = TypeVar("A")

QUERY_TIMEOUT_S: Final = 0.2
"""Minimum seconds between two queries while the fold changes."""
COST_FACTOR: Final = 5
"""The next query waits at least this many times as long as the last one took."""


@dataclass(frozen=True, slots=True)
class TimePoint:
    """The point in time that a tab shows."""

    n: int | None = None
    """The entry; None: the newest."""
    now: float | None = None
    """Seconds since the journal began, if it is live; None if it has ended."""
    is_untouched: bool = False
    """Whether the entry is the one at which the traffic was opened, before the user chose any."""


class AnalysisTab(Vertical, Generic[T, A]):
    """Lines about a fold, queried again whenever the fold or the chosen entry changes."""

    DEFAULT_CSS = """
    AnalysisTab {
        .tab-head {
            height: auto;
            max-height: 3;
            color: $text-muted;
        }
        LineList {
            height: 1fr;
        }
    }
    """

    lines = getters.query_one(LineList)
    column_head = getters.query_one(ColumnHead)

    @dataclass
    class TargetChosen(Message):
        """The user wants to see the target of a line in the traffic."""

        target: int | str
        """The number of an entry, or a filter."""

    class ViewChanged(Message):
        """The user wants to see something else in this tab."""

    def __init__(self, folding: BackgroundFold[T]) -> None:
        super().__init__()
        self.folding = folding
        self.moment = TimePoint()
        self._query: Query[T, A] | None = None
        self._query_key: object = self
        self._seen: object = None
        self._not_before = 0.0
        self.answer: A | None = None
        """The last result."""

    def compose(self) -> ComposeResult:
        yield Static(classes="tab-head", markup=False)
        yield ColumnHead()
        yield LineList()

    def on_mount(self) -> None:
        self.show_note("Loading …")

    def on_unmount(self) -> None:
        if self._query is not None:
            self._query.is_discarded = True

    # Overridden by each tab.

    @abstractmethod
    def query_function(self) -> Callable[[T], A]:
        """Return the function to run on the fold."""

    @abstractmethod
    def show(self, answer: A) -> None:
        """Show a result."""

    def query_key(self) -> object:
        return None

    def is_settled(self) -> bool:
        return False

    def select_entry(self, n: int | None) -> None:
        """Put the cursor on the line about entry `n`, if there is one."""
        del n

    # Queries.

    def seconds_to_next(self) -> float | None:
        """Return the seconds until time alone changes what is shown; None: it does not."""
        return None

    def look(self, moment: TimePoint) -> float | None:
        """Show a finished query and start the next if needed.

        Return the seconds after which it wants to look again; None: when there is news.
        """
        self.moment = moment
        self.folding.start()
        query, now = self._query, time.monotonic()
        if query is not None and query.is_done:
            self._query = None
            self._not_before = now + max(QUERY_TIMEOUT_S, query.cost * COST_FACTOR)
            if query.problem:
                self.show_note(f"This could not be computed: {query.problem}")
            elif query.result is not None:
                self.answer = query.result
                self.show_again()
        if self.answer is None and self.folding.progress.problem:
            self.show_note(f"This could not be computed: {self.folding.progress.problem}")
        if not self.folding.progress.read and self.folding.progress.is_busy:
            # Nothing has been read yet.
            return None
        key, state = self.query_key(), self._state()
        is_wanted = key != self._query_key or state != self._seen
        if self._query is not None or not is_wanted:
            return self.seconds_to_next()
        if key == self._query_key and now < self._not_before:
            return self._not_before - now
        self._query_key, self._seen = key, state
        self._query = self.folding.query(self.query_function())
        return None

    def show_again(self) -> None:
        """Show the last result again, e.g. after a resize."""
        if self.answer is not None and not self.folding.progress.read:
            self.show_heading("")
            self.show_note("No traffic yet.")
        elif self.answer is not None:
            self.show(self.answer)

    def show_heading(self, head: str) -> None:
        """Show a heading above the lines."""
        self.query_one(".tab-head", Static).update(head)

    def show_wrapped(self, lines: Sequence[Line], *, has_cursor: bool = True) -> None:
        """Show lines, wrapped to the width."""
        self.column_head.show("")
        self.lines.show(wrap_lines(lines, self.lines.width), has_cursor=has_cursor)

    def show_table(
        self,
        layout: Layout,
        rows: Sequence[AnalysisRow],
        *,
        least: int = MIN_FLEXIBLE_WIDTH,
        sorted_by: str = "",
        sign: str = "",
    ) -> TableText:
        """Show a table, and a sign at the column that it is sorted by; return it.

        Columns are hidden if the flexible one would get fewer than `least` characters.
        """
        table = TableText(layout, [row.cells for row in rows], min_flexible_width=least)
        width = self.lines.width
        self.column_head.show(table.heading(width, sorted_by=sorted_by, sign=sign))
        self.lines.show(table_lines(table, rows, width))
        return table

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_again)

    def show_note(self, note: str) -> None:
        """Show a note instead of lines."""
        self.show_wrapped([Line((("muted", note),))], has_cursor=False)

    def _state(self) -> object:
        progress = self.folding.progress
        if self.is_settled():
            return progress.renewals
        return progress.read, progress.renewals, progress.is_finished

    # Choosing a line.

    def focus_content(self) -> None:
        """Move the focus to the lines."""
        self.lines.focus()

    def choose(self) -> bool:
        """Show the target of the chosen line in the traffic; return whether it has one."""
        line = self.lines.chosen
        if line is None or line.target is None:
            return False
        self.post_message(self.TargetChosen(line.target))
        return True

    @on(LineList.LineClicked)
    def choose_clicked(self, event: LineList.LineClicked) -> None:
        event.stop()
        self.choose()


def progress_text(progress: FoldProgress, verb: str) -> str:
    """Return the progress of a fold as text; empty if it has read all the traffic."""
    if progress.problem:
        return f"stopped at {format_number(progress.read)}: {progress.problem}"
    if not progress.is_behind and progress.missed:
        missed = plural(progress.missed, "message")
        return f"acp-console has a bug: {missed} left out, the first is {progress.first_missed}"
    if not progress.is_behind:
        return ""
    known = format_number(progress.known) + ("" if progress.is_whole else "+")
    text = f"{verb} {format_number(progress.read)} of {known} frames"
    return f"{text}, p continues" if progress.is_paused else f"{text}, p pauses"
