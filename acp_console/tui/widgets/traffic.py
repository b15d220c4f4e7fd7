"""The traffic of a connection: rows, a filter, and the exact JSON of the chosen frame."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar, Final

from rich.text import Text
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.highlight import highlight
from textual.widgets import Input, Static, TabbedContent, TabPane

from acp_console.tui.clipboard import copy
from acp_console.tui.commands import bindings
from acp_console.tui.widgets.frames import FrameTable, head_text
from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.analysis.search import TextFilter
from acp_inspector.analysis.summary import Row, describe
from acp_inspector.journal import Entry, Frame
from acp_protocol.host.text import visible
from acp_protocol.jsonrpc import Json, parse

SHOWN_CHARACTERS: Final = 100_000
"""Characters of one frame that are drawn; copying takes all of it."""


class TrafficPane(Vertical):
    """Shows the frames of a journal; whoever owns it hands over the entries."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("traffic")

    DEFAULT_CSS = """
    TrafficPane {
        #frame-list {
            height: 3fr;
            border: round $border-blurred;
            padding: 0 1;
        }
        #frame-list:focus-within {
            border: round $primary;
        }
        #frame-filter {
            margin-bottom: 0;
        }
        #frame-head {
            height: 1;
            color: $text-muted;
            text-style: bold;
        }
        #frames {
            height: 1fr;
        }
        #frame-detail {
            height: 2fr;
            padding: 0 1;
        }
        #frame-detail Static {
            width: 1fr;
            height: auto;
        }
        TabPane {
            padding: 0 1;
        }
    }
    """

    table = getters.query_one("#frames", FrameTable)
    filter = getters.query_one("#frame-filter", Input)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._frames: dict[int, Frame] = {}
        self._rows: list[Row] = []
        self._exchanges = Exchanges()
        self._wanted = TextFilter("")
        self._chosen: Frame | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="frame-list"):
            yield Input(placeholder="Filter by text", id="frame-filter", compact=True)
            yield Static(id="frame-head", markup=False)
            yield FrameTable(id="frames")
        with TabbedContent(id="frame-detail"):
            with TabPane("Pretty", id="pretty"), VerticalScroll(can_focus=False):
                yield Static(id="pretty-text")
            with TabPane("Raw", id="raw"), VerticalScroll(can_focus=False):
                yield Static(id="raw-text")

    def on_mount(self) -> None:
        """Say that nothing is there yet."""
        self._tell_count()
        self._show_frame(None)

    def on_resize(self) -> None:
        """Fit the heading to the width."""
        width = self.query_one("#frame-head").size.width
        self.query_one("#frame-head", Static).update(head_text(width)[: max(width, 0)])

    def extend(self, entries: Sequence[Entry]) -> None:
        """Take the next entries of the journal."""
        fresh: list[Row] = []
        for entry in entries:
            if isinstance(entry, Frame):
                row = describe(entry, self._exchanges)
                self._frames[entry.n] = entry
                self._rows.append(row)
                if self._wanted.matches(entry, row):
                    fresh.append(row)
        self.table.extend(fresh)
        self._tell_count()

    @on(Input.Changed, "#frame-filter")
    def filter_rows(self, event: Input.Changed) -> None:
        """Show the frames that hold what was typed."""
        self._wanted = TextFilter(event.value)
        self.table.show(
            [row for row in self._rows if self._wanted.matches(self._frames[row.n], row)]
        )
        self._tell_count()

    @on(Input.Submitted, "#frame-filter")
    def leave_filter(self) -> None:
        """Go on to the rows."""
        self.table.focus()

    @on(FrameTable.Moved, "#frames")
    def show_chosen(self, event: FrameTable.Moved) -> None:
        """Show the frame under the cursor."""
        self._show_frame(None if event.row is None else self._frames[event.row.n])
        self._tell_count()

    def action_copy(self) -> None:
        """Copy the frame's exact line."""
        if self._chosen is None:
            self.notify("There is no frame to copy", severity="warning")
            return
        way = copy(self._chosen.raw.decode(errors="replace"), self.app.copy_to_clipboard)
        self.notify(f"Frame {self._chosen.n} copied {way}")

    def action_follow(self) -> None:
        """Keep the newest frame in sight, or no longer."""
        self.table.is_following = not self.table.is_following
        if self.table.is_following:
            self.table.action_edge(is_last=True)
        self._tell_count()

    def action_filter(self) -> None:
        """Go to the filter."""
        self.filter.focus()

    def action_jump(self) -> None:
        """Go to the other half of the exchange."""
        exchange = self._exchanges.of(self._chosen) if self._chosen else None
        if exchange is None or exchange.answer is None:
            self.notify("This frame has no answer or question here", severity="warning")
            return
        is_question = self._chosen is exchange.question
        other = exchange.answer if is_question else exchange.question
        if not self.table.move_to(other.n):
            self.notify("The filter hides it", severity="warning")

    def _show_frame(self, frame: Frame | None) -> None:
        self._chosen = frame
        pretty, raw = self.query_one("#pretty-text", Static), self.query_one("#raw-text", Static)
        if frame is None:
            pretty.update(Text("Choose a frame to see its JSON.", "dim"))
            raw.update("")
            return
        exact = frame.raw.decode(errors="backslashreplace")
        raw.update(Text(visible(exact[:SHOWN_CHARACTERS])))
        try:
            value: Json = parse(frame.raw)
            text = json.dumps(value, ensure_ascii=False, indent=2)
        except (ValueError, RecursionError) as problem:
            pretty.update(Text(f"{visible(str(problem))}; the bytes stand under Raw", "dim"))
            return
        pretty.update(highlight(visible(text[:SHOWN_CHARACTERS]), language="json"))

    def _tell_count(self) -> None:
        shown, every = len(self.table.rows), len(self._rows)
        count = f"{shown:,} of {every:,}".replace(",", " ") if shown != every else f"{every:,}"
        follow = " · following" if self.table.is_following else ""
        box = self.query_one("#frame-list")
        box.border_title = "Traffic"
        box.border_subtitle = f"{count} frames{follow}"
