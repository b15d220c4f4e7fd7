"""The frames, one a line, drawn only where they are seen."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.cells import cell_len, set_cell_size
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

from acp_inspector.analysis.summary import Row

WIDE: Final = 130
"""Columns from which on everything has a column of its own."""
MIDDLE: Final = 76
"""Columns from which on time, latency and size are shown too."""
_CACHED_LINES: Final = 512


class FrameTable(ScrollView, can_focus=True):
    """A list of rows that takes any number of them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "frame-table--client",
        "frame-table--agent",
        "frame-table--fault",
        "frame-table--cursor",
    }
    DEFAULT_CSS = """
    FrameTable {
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        &> .frame-table--client {
            color: $text-accent;
        }
        &> .frame-table--agent {
            color: $text;
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
        Binding("home", "edge(False)", "First", show=False),
        Binding("end", "edge(True)", "Last", show=False),
    ]

    cursor: var[int] = var(-1)

    @dataclass
    class Moved(Message):
        """The cursor stands on another row; `row` None: there is none."""

        table: FrameTable
        row: Row | None

        @property
        def control(self) -> FrameTable:
            """The table."""
            return self.table

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.rows: list[Row] = []
        self.is_following = True
        self._cache: LRUCache[tuple[int, int, bool], Strip] = LRUCache(_CACHED_LINES)

    def show(self, rows: list[Row]) -> None:
        """Show `rows` in place of those shown."""
        self.rows = rows
        self._cache.clear()
        self._resize()
        self.cursor = len(rows) - 1 if self.is_following else min(self.cursor, len(rows) - 1)
        self._reveal()
        self.refresh()

    def extend(self, rows: list[Row]) -> None:
        """Show more rows behind those shown."""
        if not rows:
            return
        self.rows.extend(rows)
        self._resize()
        if self.is_following:
            self.cursor = len(self.rows) - 1
            self._reveal()
        elif self.cursor < 0:
            self.cursor = 0
        self.refresh()

    def move_to(self, n: int) -> bool:
        """Put the cursor on the frame with number `n`; return whether it is shown."""
        for position, row in enumerate(self.rows):
            if row.n == n:
                self.is_following = False
                self.cursor = position
                self._reveal()
                return True
        return False

    def watch_cursor(self) -> None:
        """Tell where the cursor stands."""
        self.refresh()
        row = self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None
        self.post_message(self.Moved(self, row))

    def action_move(self, step: int) -> None:
        """Move the cursor by rows."""
        self._go(self.cursor + step)

    def action_page(self, step: int) -> None:
        """Move the cursor by pages."""
        self._go(self.cursor + step * max(self.size.height - 1, 1))

    def action_edge(self, is_last: bool) -> None:
        """Move the cursor to the first or last row."""
        self._go(len(self.rows) - 1 if is_last else 0)

    def on_click(self, event: Click) -> None:
        """Put the cursor where the mouse is."""
        self._go(event.y + self.scroll_offset.y)

    def on_resize(self, event: Resize) -> None:
        """Draw for the new width."""
        del event
        self._cache.clear()
        self._resize()
        self._reveal()

    def render_line(self, y: int) -> Strip:
        """Draw one line of the window."""
        position = y + self.scroll_offset.y
        if position >= len(self.rows):
            return Strip.blank(self.scrollable_content_region.width, self.rich_style)
        is_chosen = position == self.cursor
        key = (self.rows[position].n, self.scrollable_content_region.width, is_chosen)
        strip = self._cache.get(key)
        if strip is None:
            strip = self._cache[key] = self._draw(self.rows[position], is_chosen)
        return strip

    def _draw(self, row: Row, is_chosen: bool) -> Strip:
        line = set_cell_size(
            row_text(row, self.scrollable_content_region.width),
            self.scrollable_content_region.width,
        )
        is_fault = row.kind in {"error", "malformed"}
        name = "fault" if is_fault else row.side
        style = self.get_component_rich_style(f"frame-table--{name}")
        if is_chosen:
            style += self.get_component_rich_style("frame-table--cursor")
        return Strip(
            [Segment(line, Style.combine([self.rich_style, style]))],
            self.scrollable_content_region.width,
        )

    def _go(self, position: int) -> None:
        if self.rows:
            self.cursor = max(0, min(position, len(self.rows) - 1))
            self.is_following = self.cursor == len(self.rows) - 1
            self._reveal()

    def _reveal(self) -> None:
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        if self.cursor < 0:
            return
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def _resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.rows))


def head_text(width: int) -> str:
    """Return the heading above the rows for a width."""
    if width < MIDDLE:
        return "    n    frame"
    if width < WIDE:
        return "    n     time    frame" + " " * (width - 40) + "latency    size"
    return _join(("n", "time", "from", "kind", "method", "id", "latency", "size", "summary"))


def row_text(row: Row, width: int) -> str:
    """Return one row as a line; narrow ones leave columns out."""
    latency = "" if row.latency is None else f"{row.latency * 1000:.0f} ms"
    if width < MIDDLE:
        return f"{row.n:>5} {_said(row)}"
    if width < WIDE:
        said = _fit(_said(row), width - 33, is_right=False)
        return f"{row.n:>5} {row.at:>8.3f} {said} {latency:>8} {_size(row.size):>7}"
    id_ = json.dumps(row.id, ensure_ascii=False) if row.has_id else ""
    arrow = "→ client" if row.side == "client" else "← agent"
    summary = row.summary
    cells = (
        str(row.n),
        f"{row.at:.3f}",
        arrow,
        row.kind,
        row.method,
        id_,
        latency,
        _size(row.size),
    )
    return _join((*cells, summary))


def _said(row: Row) -> str:
    """Return side and what was said in one; an update's name stands in its summary."""
    is_update = row.method == "session/update" and row.summary
    said = row.summary if is_update else f"{row.method} {row.summary}".strip()
    arrow = "→" if row.side == "client" else "←"
    sign = {"request": "?", "result": "=", "error": "!", "malformed": "!"}.get(row.kind, " ")
    return f"{arrow}{sign} {said}"


_WIDTHS: Final = (5, 8, 8, 12, 26, 6, 8, 7)
_RIGHT: Final = frozenset({0, 1, 6, 7})


def _join(cells: tuple[str, ...]) -> str:
    parts = [_fit(cells[at], columns, is_right=at in _RIGHT) for at, columns in enumerate(_WIDTHS)]
    return " ".join([*parts, cells[-1]])


def _fit(cell: str, width: int, *, is_right: bool) -> str:
    if cell_len(cell) > width:
        return set_cell_size(cell, width - 1) + "…"
    fill = " " * (width - cell_len(cell))
    return fill + cell if is_right else cell + fill


def _size(size: int) -> str:
    if size < 10_000:
        return f"{size} B"
    return f"{size / 1024:.0f} kB" if size < 10 * 2**20 else f"{size / 2**20:.0f} MB"
