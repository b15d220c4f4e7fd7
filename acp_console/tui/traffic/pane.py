"""The traffic of a connection: rows, a filter, and the details of the chosen row."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Final

from textual import getters, on, work
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import MouseDown, MouseMove, MouseUp
from textual.message import Message

from acp_console.kept.filter_history import FilterHistory
from acp_console.kept.preferences import PaneLayout
from acp_console.listeners import Listeners
from acp_console.traffic.filters import filter_for, permission_filter, same_filter
from acp_console.traffic.intercept import HeldFrame, InterceptClient
from acp_console.traffic.marks import NotesFile
from acp_console.traffic.model import TrafficModel
from acp_console.traffic.rows import (
    LARGE,
    MARK,
    Times,
    TrafficRow,
    read_row,
    size_of,
)
from acp_console.traffic.scanner import NO_MATCH, FilterStaleness, TrafficScanner, growth_of
from acp_console.tui.commands import bindings
from acp_console.tui.filter_input import FilterInput
from acp_console.tui.intercept.held import HeldPane
from acp_console.tui.intercept.screens import BreakpointsScreen, ComposeScreen
from acp_console.tui.news import SLICE_INTERVAL_S, News
from acp_console.tui.outside import copy
from acp_console.tui.split import SplitBorder
from acp_console.tui.traffic.choices import ChoiceScreen
from acp_console.tui.traffic.detail import FrameDetail, exact_text, subject_of
from acp_console.tui.traffic.marks_screen import CommentScreen, MarksScreen
from acp_console.tui.traffic.minimap import Minimap
from acp_console.tui.traffic.save_screen import SaveRequest, SaveScreen, save_as_wanted
from acp_console.tui.traffic.table import FrameHeading, FrameTable
from acp_console.tui.traffic.text_view import ValueScreen
from acp_inspector.filter.compiler import compile_filter
from acp_inspector.filter.entries import EntryList, EntrySequence, RecordingEntries
from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import Entry, Frame
from acp_inspector.views.annotations import Annotations
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.errors import AcpError, describe_os_error
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

JUMPS: Final = {"e": "error", "f": "finding", "m": "mark", "t": "turn", "p": "permission"}
"""What can be jumped to, by its key behind `]` and `[`."""
JUMP_FILTERS: Final = {
    "error": "error or malformed",
    "turn": "method == session/prompt and kind == request",
    "permission": "method == session/request_permission and kind == request",
}
"""The filters that find them."""
COPIES: Final = {
    "r": "bytes",
    "j": "JSON",
    "c": "command",
    "p": "path",
    "f": "filter",
    "s": "save to a file",
}
"""What can be copied of a row, by its key behind `y`."""
SLICE_S: Final = 0.010
"""Seconds of background work between two checks for keys."""
SLICES_SKIPPED_AFTER_KEY: Final = 2
"""Slices to skip after a key: another key usually follows soon."""
SLICES_PER_SYNC: Final = 4
"""Slices after which their results are shown."""
RENEWAL_INTERVAL_S: Final = 0.5
"""Seconds between two runs of a filter that depends on later entries."""


class TrafficPane(Vertical):
    """Shows the entries of a journal or a recording; the owner passes them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("traffic")

    DEFAULT_CSS = """
    TrafficPane {
        #frame-list {
            height: 3fr;
            border: round $foreground 20%;
            border-title-color: $text-muted;
            border-subtitle-color: $text-muted;
            padding: 0 1;
        }
        #frame-list:focus-within {
            border: round $primary;
            border-title-color: $text;
            border-subtitle-color: $text;
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
        &.-held #frame-detail, &.-held #frame-map {
            display: none;
        }
    }
    """

    @dataclass
    class EntryChosen(Message):
        """The cursor stands on another entry; None: it follows the end."""

        n: int | None

    @dataclass
    class CompareWanted(Message):
        """All of the traffic is to be compared with another source."""

        entries: EntrySequence

    table = getters.query_one("#frames", FrameTable)
    bar = getters.query_one(FilterInput)
    map = getters.query_one(Minimap)
    detail = getters.query_one("#frame-detail", FrameDetail)

    def __init__(
        self,
        entries: EntrySequence | None = None,
        annotations: Annotations | None = None,
        *,
        notes: Callable[[], Sequence[NotesFile]] = tuple,
        began: Callable[[], datetime | None] = lambda: None,
        layout: PaneLayout | None = None,
        id: str | None = None,  # noqa: A002 - Textual's word
        slice_s: float = SLICE_S,
    ) -> None:
        """Show `entries` with their `annotations`; None: the entries passed to `extend`.

        `notes` returns where marks are kept, `began` when the journal began, if that is known.
        `layout` has the room of rows and details, and how times are written.
        `slice_s`: seconds of background work between two checks for keys.
        """
        super().__init__(id=id)
        self._slice_s = slice_s
        self._began = began
        self._layout = layout or PaneLayout()
        self._border = SplitBorder(
            self._layout,
            "rows",
            "height",
            lambda: (self.query_one("#frame-list"), self.detail),
        )
        self._entries = EntryList() if entries is None else entries
        self._view = TrafficModel(self._entries, annotations, notes)
        self._row: int | None = None
        """The row that is shown in the details."""
        self._anchor: int | None = None
        """The last chosen row, to return to."""
        self._sought: int | None = None
        """The row to go to once the filter has checked it."""
        self._sort = "mark"
        """What was jumped to last."""
        self._was_open = False
        self._edited_by = 0
        self._staleness = FilterStaleness(self._view)
        self._beside: Sequence[str] = ()
        self.goes_on = True
        """Whether more entries may come."""
        self._client: InterceptClient | None = None
        """Pauses and sends frames, if it is the traffic of a running proxy."""
        self._work = TrafficScanner(self._view)
        self._slices = self._rests = 0
        self.changed = Listeners()
        """Called when there are other rows, another cursor or another status."""
        self._reported: object = None
        self._growth = growth_of(entries) if isinstance(entries, RecordingEntries) else None
        self.news = News(self, self._look)
        self._beginning = News(self, self._work_on, interval=SLICE_INTERVAL_S)
        """Goes on with the background work."""
        self._renewing = News(
            self,
            self._renew_stale,
            interval=RENEWAL_INTERVAL_S,
            slice_interval=RENEWAL_INTERVAL_S,
        )

    def compose(self) -> ComposeResult:
        with Vertical(id="frame-list"):
            yield FilterInput(
                "Filter: text, or e.g.  method ~ fs/ and latency > 1s",
                id="frame-filter",
                seen=self._view.known,
                history=FilterHistory(),
            )
            table = FrameTable(self._view, id="frames")
            yield FrameHeading(table, id="frame-head")
            yield table
            yield Minimap(self._work.overview, id="frame-map")
        yield FrameDetail(id="frame-detail")

    def on_mount(self) -> None:
        # The caller may first move the cursor.
        self.call_after_refresh(self._beginning)
        if self._growth is not None:
            self._growth.changed.add(self.news)
            self._growth.start()
        self._border.apply()
        self._show_times(self._layout.times)
        self._show_row(None)
        with self._reporting():
            self._view.marks.load()
        self._sync()

    def on_unmount(self) -> None:
        if self._growth is not None:
            self._growth.close()

    def extend(self, entries: Sequence[Entry]) -> None:
        """Take the next entries of the journal."""
        if isinstance(self._entries, EntryList) and entries:
            self._entries.extend(entries)
            self._see_growth()
            self._sync()

    def read_ahead(self) -> None:
        """Read what there is as far as a slice goes, so that the first picture has rows."""
        self._work.run(self._slice_s)
        self._sync()

    def intercept(self, client: InterceptClient) -> None:
        """Show what a proxy has paused below the rows, and offer to pause and to send frames."""
        self._client = client
        held = HeldPane(client, self._row_of_held, self._is_official)
        self.query_one("#frame-list").mount(held, after="#frames")
        client.news.add(self.news)
        # Once it is there.
        held.call_later(self.news)
        self.refresh_bindings()

    def _is_official(self) -> bool:
        """Whether the traffic follows the published schema."""
        return self._entries.dialect in {None, BATCHES}

    def _row_of_held(self, hold: HeldFrame) -> TrafficRow:
        """Return the row of a paused frame as it is now; it may not be read yet, or be cut."""
        row = self._view.row_of(hold.seq)
        known = None if row is None else self._view.row(row)
        if known is not None and row is not None:
            entry = self._entries[row]
            is_as_read = isinstance(entry, Frame) and entry.data == hold.raw
            if is_as_read or not hold.is_whole:
                return known
        at = 0.0 if known is None else known.time
        frame = Frame(hold.seq, at, hold.side, hold.raw)
        found = read_row(EntryList([frame], dialect=self._entries.dialect), 0)
        return replace(found, method=found.method or ("" if known is None else known.method))

    @property
    def problem(self) -> AcpError | None:
        return self._work.problem

    @property
    def entries(self) -> EntrySequence:
        return self._entries

    @property
    def chosen_session(self) -> str | None:
        """The session of the row under the cursor; None if it names none."""
        facts = self._facts()
        return None if facts is None else facts.session

    @property
    def needs(self) -> frozenset[str]:
        """The fields that the filter asks for."""
        return self._view.wanted.fields

    def show_status(self, parts: Sequence[str]) -> None:
        """Show the status of background work below the rows."""
        if parts != self._beside:
            self._beside = parts
            self._report_count()

    # Work in the background.

    def _work_on(self) -> bool:
        if self._rests:
            self._rests -= 1
            return True
        is_busy = self._work.run(self._slice_s)
        self._begin_anew()
        found = self._work.take_found()
        if found is not None:
            self._arrive(found)
        self._slices += 1
        if not is_busy or self._slices % SLICES_PER_SYNC == 0:
            self._sync()
        return is_busy

    def _begin_anew(self) -> None:
        """Start over if the recording was replaced."""
        if self._work.take_replaced():
            self._row = self._anchor = self._sought = None
            self.table.show(0)

    def _look(self) -> None:
        for held in self.query(HeldPane):
            held.sync(self.table.digits, self.table.times)
        self._staleness.see_findings()
        self.table.sync_findings()
        if self._row is not None and self._edited_by != self._view.row(self._row).edited_by:
            self._show_row(self._row)
        has_grown = self._work.poll()
        self._begin_anew()
        if has_grown:
            self._see_growth()
        if self._staleness.is_stale:
            self._renewing()

    def _see_growth(self) -> None:
        self._staleness.see_growth()
        if self._staleness.is_stale:
            self._renewing()
        self._beginning()

    def _renew_stale(self) -> bool:
        """Run a filter again that depends on later entries, once it has checked all rows."""
        if self._view.is_behind:
            return True
        self._staleness.is_stale = False
        self._renew()
        return False

    def _sync(self) -> None:
        digits = self.table.digits
        self.table.sync()
        if self._view.marks.find_entries():
            self._show_marks()
        if self.table.digits != digits:
            self.news()
        self._settle()
        if self._was_open and self._row is not None and not self._view.row(self._row).is_open:
            self._show_row(self._row)
        self._report_count()

    def _settle(self) -> None:
        """Return to the row that was chosen before the filter changed, once it is filtered."""
        if self._sought is None or self.table.is_following:
            return
        position = self._view.position_of(self._sought)
        if position is None and self._view.looked_at <= self._sought:
            return
        if position is None:
            position = self._view.position_near(self._sought)
        self._sought = None
        self.table.show(position)

    # Filter and rows.

    @on(FilterInput.FilterChanged)
    def filter_rows(self, event: FilterInput.FilterChanged) -> None:
        event.stop()
        self._sought = self._anchor
        self._view.filter(event.filter)
        self._work.restart()
        self.table.show(0)
        self._beginning()
        self._sync()

    @on(FilterInput.Confirmed)
    @on(FilterInput.EditEnded)
    def leave_filter(self, event: Message) -> None:
        event.stop()
        self.table.focus()

    @on(FrameTable.PositionChanged, "#frames")
    def show_chosen(self, event: FrameTable.PositionChanged) -> None:
        event.stop()
        if self.table.has_moved:
            self._sought = None
            self._rests = SLICES_SKIPPED_AFTER_KEY
        self.table.has_moved = False
        self._chosen()
        self._report_count()
        self.post_message(self.EntryChosen(self.table.chosen))

    @on(FrameTable.PastEnd)
    def go_to_paused(self) -> None:
        """Move the focus to the first paused message, if there is one."""
        for held in self.query(HeldPane):
            if held.display:
                held.rows.cursor = 0
                held.rows.focus()

    @on(HeldPane.FocusReturned)
    def leave_paused(self, event: HeldPane.FocusReturned) -> None:
        event.stop()
        self.table.focus()

    def on_descendant_focus(self) -> None:
        """Give the place of the details to the editor of paused messages while it is used."""
        self.set_class(any(held.has_focus_within for held in self.query(HeldPane)), "-held")

    @on(Minimap.PlaceChosen)
    def go_to_place(self, event: Minimap.PlaceChosen) -> None:
        event.stop()
        self.table.go_to(self._view.position_near(event.row))
        self.table.focus()

    # Commands.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to follow only a source that may grow, and to intercept only a proxy."""
        del parameters
        if action in {"break", "resend", "inject", "pause", "release_all"}:
            return self._client is not None
        if action == "jump":
            # At a paused message its key means to answer that.
            return not any(held.has_focus_within for held in self.query(HeldPane))
        return action != "follow" or self.goes_on

    def action_follow(self) -> None:
        self.table.is_following = not self.table.is_following
        if self.table.is_following:
            self.table.action_edge(is_last=True)
        self._report_count()

    def action_filter(self) -> None:
        self.bar.input.focus()

    def action_unfilter(self) -> None:
        """Go back to the rows, stop the search, or clear the filter.

        Raises:
            SkipAction: none of these applies, so the key may have another meaning.
        """
        if self.detail.has_focus_within:
            self.table.focus()
        elif self._work.is_searching:
            self._work.stop_search()
            self.notify("The search was stopped")
        elif not self._view.wanted.is_empty or self.bar.input.value:
            self.bar.set_filter("")
        else:
            raise SkipAction

    def action_time(self) -> None:
        """Write the times of the rows in the next format."""
        times = replace(self.table.times, began=self._began()).next
        self._layout.choose_times(times.format)
        self._show_times(times.format)

    def _show_times(self, name: str) -> None:
        self.table.times = Times(began=self._began()).named(name)
        self.news()

    # The border between rows and details

    def action_share(self, by: int) -> None:
        self._border.move(by)

    def on_mouse_down(self, event: MouseDown) -> None:
        self._border.press(event, self)

    def on_mouse_move(self, event: MouseMove) -> None:
        self._border.drag(event)

    def on_mouse_up(self, event: MouseUp) -> None:
        self._border.release(event)

    def action_detail(self) -> None:
        """Unfold a run or the messages of a frame, otherwise go to the details."""
        if len(self._view) and self._view.can_unfold(self.table.cursor):
            self.table.toggle()
            return
        self._chosen()
        self.detail.focus_content()

    def action_fold(self) -> None:
        if self.table.toggle() is None:
            self.notify("Neither a run of updates nor several messages here", severity="warning")

    def action_tab(self, name: str) -> None:
        if not self.detail.open_tab(name):
            self.notify("This row was sent as it came", severity="warning")

    def action_jump(self) -> None:
        row = self._chosen()
        other = None if row is None else self._view.other_of(row)
        if other is None:
            self.notify("No matching request or response is shown", severity="warning")
        else:
            self._arrive(other)

    def action_permission(self) -> None:
        facts = self._facts()
        wanted = "" if facts is None else permission_filter(facts)
        if not wanted:
            self.notify("This row belongs to no tool call", severity="warning")
            return
        # It usually follows the call.
        is_forward = "update ==" not in wanted
        self._seek(wanted, is_forward=is_forward, turns=True)

    def action_go_on(self, is_next: bool) -> None:
        """Go on to the next, or the previous, of what was jumped to last."""
        self._jump(self._sort, is_next=is_next)

    def action_choose_jump(self, is_next: bool) -> None:
        self._ask(
            "Next" if is_next else "Previous",
            JUMPS,
            lambda sort: self._jump(sort, is_next=is_next),
        )

    def action_trouble(self, is_next: bool) -> None:
        self._jump("error", is_next=is_next)

    def action_go_to_finding(self, is_next: bool) -> None:
        self._jump("finding", is_next=is_next)

    def _jump(self, sort: str, *, is_next: bool) -> None:
        self._sort = sort
        match sort:
            case "finding":
                row = self._chosen()
                found = None if row is None else self._view.found_beside(row, is_next=is_next)
                self._arrive(NO_MATCH if found is None else found)
            case "mark":
                self._go_to_mark(is_next=is_next)
            case _:
                self._seek(JUMP_FILTERS[sort], is_forward=is_next)

    def _ask(self, title: str, choices: dict[str, str], go_on: Callable[[str], None]) -> None:
        """Ask for one of the choices, by the key of each."""
        names = list(choices.values())

        def chosen(place: int | None) -> None:
            if place is not None:
                go_on(names[place])

        self.app.push_screen(ChoiceScreen(title, names, keys="".join(choices)), chosen)

    def action_list_marks(self) -> None:
        marks = self._view.marks
        if not marks.rows and not marks.stale:
            self.notify("No row is marked: press m to mark one", severity="warning")
            return
        revision = marks.revision

        def closed(row: int | None) -> None:
            if marks.revision != revision:
                self._show_marks()
            if row is not None:
                self._arrive(row)

        self.app.push_screen(MarksScreen(self._view), closed)

    def action_mark(self) -> None:
        row, marks = self._chosen(), self._view.marks
        if row is None or not marks.can_mark(row):
            self.notify("There is nothing to mark", severity="warning")
            return
        with self._reporting():
            if row in marks:
                marks.remove(row)
            else:
                marks.set(row)
        self._show_marks()

    @work(group="comment", exclusive=True)
    async def action_comment(self) -> None:
        row, marks = self._chosen(), self._view.marks
        if row is None or not marks.can_mark(row):
            self.notify("There is nothing to comment on", severity="warning")
            return
        screen = CommentScreen(self._view.row(row).seq, marks.comment(row))
        comment = await self.app.push_screen_wait(screen)
        if comment is not None:
            with self._reporting():
                marks.set(row, comment)
            self._show_marks()

    def _show_marks(self) -> None:
        if "marked" in self.needs:
            self._renew()
        self.table.redraw()
        self._report_count()

    @contextmanager
    def _reporting(self) -> Generator[None]:
        """Report a problem with the file of the marks; they stay on the screen."""
        try:
            yield
        except AcpError as problem:
            self.notify(str(problem), severity="error", markup=False)

    def _go_to_mark(self, *, is_next: bool) -> None:
        row = self._chosen()
        at = -1 if row is None else row
        marks = self._view.marks.rows
        others = [row for row in marks if (row > at if is_next else row < at)] or marks
        if not others:
            self.notify("No row is marked: press m to mark one", severity="warning")
        else:
            self._arrive(others[0 if is_next else -1])

    def action_same(self, what: str) -> None:
        facts = self._facts()
        name = "session" if what == "session" else "tool"
        text = "" if facts is None else same_filter(facts, name)
        if text:
            self.bar.set_filter(text)
        else:
            reason = f"This row belongs to no {what.replace('_', ' ')}"
            self.notify(reason, severity="warning", markup=False)

    def action_choose_copy(self) -> None:
        self._ask("Copy", COPIES, self.action_copy)

    def action_copy(self, what: str = "bytes") -> None:
        row, facts = self._chosen(), self._facts()
        if row is None or facts is None:
            self.notify("There is nothing to copy", severity="warning")
            return
        match what:
            case "bytes":
                text = exact_text(self._view, row)
            case "JSON":
                text = self.detail.pretty()
            case "path":
                text = self.detail.json_path or "$"
            case "command":
                if not isinstance(self._entries, RecordingEntries):
                    self.notify("Only a frame of a recording has a command", severity="warning")
                    return
                path = shlex.quote(str(self._entries.path))
                text = f"acp-console show {path} --filter 'n == {facts.seq}'"
            case "save to a file":
                self._save(facts.seq, exact_text(self._view, row))
                return
            case _:
                text = filter_for(facts, self.detail.json_path, self.detail.json_value)
        # JSON can contain lone surrogates, which no clipboard accepts.
        text = text.encode(errors="replace").decode()
        way = copy(text, self.app.copy_to_clipboard)
        description = what if what in {"bytes", "JSON"} else text
        self.notify(f"Entry {facts.seq}: {description} copied {way}", markup=False)

    def _save(self, n: int, text: str) -> None:
        path = Path(f"frame-{n}.json").absolute()
        try:
            path.touch(mode=0o600, exist_ok=False)
            path.write_text(f"{text}\n", "utf-8", errors="replace")
        except OSError as problem:
            reason = f"{path} was not written: {describe_os_error(problem)}"
            self.notify(reason, severity="error", markup=False)
            return
        self.notify(f"Entry {n} was saved to {path}", markup=False)

    def action_compare(self) -> None:
        self.post_message(self.CompareWanted(self._entries))

    def action_save(self) -> None:
        def save(wanted: SaveRequest | None) -> None:
            if wanted is not None:
                self._save_rows(wanted)

        if not len(self._entries):
            self.notify("There is nothing to save", severity="warning")
            return
        row, view = self._chosen(), self._view
        is_filtered = not view.wanted.is_empty
        shown = [view.row_at(position) for position in range(len(view))] if is_filtered else []
        selections: dict[str, Sequence[int]] = {
            "all rows": range(len(self._entries)),
            "filtered rows": shown,
            "marked rows": view.marks.rows,
            "the chosen row": [] if row is None else [row],
        }
        chosen = "filtered rows" if shown else "all rows"
        self.app.push_screen(SaveScreen(self._entries, selections, chosen), save)

    @work(group="save")
    async def _save_rows(self, wanted: SaveRequest) -> None:
        edits = self._view.edit_rows(wanted.rows)
        await save_as_wanted(self, self._entries, wanted, edits)

    def action_break(self) -> None:
        """Offer a breakpoint for frames like this one."""
        held = self._held()
        row = self._chosen() if held is None else self._view.row_of(held.seq)
        facts = None if row is None else self._view.facts(row)
        if facts is None or facts.kind in {"event", "stderr"}:
            self.notify("Only frames can be paused", severity="warning")
        elif self._client is not None:
            text = filter_for(facts, "", None)
            self.app.push_screen(BreakpointsScreen(self._client, text))

    def action_resend(self) -> None:
        """Edit a copy of the frame."""
        held = self._held()
        row = self._chosen() if held is None else self._view.row_of(held.seq)
        entry = None if row is None else subject_of(self._view, row).entry
        if isinstance(entry, Frame) and self._client is not None:
            begin_with = (entry.side, entry.data)
            self.app.push_screen(
                ComposeScreen(self._client, begin_with=begin_with, is_official=self._is_official())
            )
        else:
            self.notify("Only frames can be sent again", severity="warning")

    def action_inject(self) -> None:
        if self._client is not None:
            known: dict[str, Json] = {}
            if self.chosen_session:
                known["sessionId"] = self.chosen_session
            self.app.push_screen(
                ComposeScreen(self._client, known, is_official=self._is_official())
            )

    def action_pause(self) -> None:
        if self._client is not None:
            self._client.send_command("resume" if self._client.state.is_paused else "pause")

    def action_release_all(self) -> None:
        if self._client is not None:
            self._client.send_command("release_all")

    def _held(self) -> HeldFrame | None:
        """Return the paused frame under the cursor, if the cursor is on one."""
        panes = [held for held in self.query(HeldPane) if held.rows.has_focus]
        return panes[0].rows.chosen if panes else None

    def action_whole(self) -> None:
        row = self._chosen()
        if row is None:
            return
        text, is_json = self.detail.whole()
        if size_of(self._entries, row) > LARGE:
            text, is_json = exact_text(self._view, row), False
        self.app.push_screen(ValueScreen(text, is_json=is_json))

    def go_to_entry(self, n: int) -> None:
        """Put the cursor on entry `n`, if there is a row for it."""
        row = self._view.row_of(n)
        self._arrive(NO_MATCH if row is None else row)

    # Inside.

    def _chosen(self) -> int | None:
        """Return the row under the cursor, and show it: keys may arrive before cursor messages."""
        position = self.table.cursor
        row = self._view.row_at(position) if 0 <= position < len(self._view) else None
        if row != self._row:
            self._show_row(row)
        return row

    def _facts(self) -> EntryFields | None:
        row = self._chosen()
        return None if row is None else self._view.facts(row)

    def _seek(self, text: str, *, is_forward: bool, turns: bool = False) -> None:
        row = self._chosen()
        if row is not None:
            wanted = compile_filter(text)
            self._work.search(wanted, row, is_forward=is_forward, turns=turns)
            self._beginning()

    def _arrive(self, row: int) -> None:
        position = None if row == NO_MATCH else self._view.position_of(row)
        if row == NO_MATCH:
            self.notify("No more in this direction", severity="warning")
        elif position is None:
            self.notify("The filter hides this row: press Esc to clear it", severity="warning")
        else:
            self._sought = None
            self.table.go_to(position)

    def _renew(self) -> None:
        self._view.renew()
        self._work.restart()
        self._beginning()

    def _show_row(self, row: int | None) -> None:
        self._row = row
        self._anchor = self._anchor if row is None else row
        shown = None if row is None else self._view.row(row)
        self._was_open, self._edited_by = (
            (False, 0) if shown is None else (shown.is_open, shown.edited_by)
        )
        self.detail.show(subject_of(self._view, row))

    def begin(self, *, is_live: bool) -> None:
        """Follow a source that is live; one that has ended is shown from its beginning."""
        self.goes_on = self.table.is_following = is_live
        self._report_count()

    def _report_count(self) -> None:
        position = self.table.cursor
        self.map.sync(self._view.row_at(position) if 0 <= position < len(self._view) else None)
        parts = [*self._work.status(), *self._beside]
        if self._row is not None and (comment := self._view.marks.comment(self._row)):
            parts.insert(0, f"{MARK} {single_line(comment, 60)}")
        if self.table.is_following and self.goes_on:
            parts.append("following")
        box = self.query_one("#frame-list")
        box.border_title = "Traffic"
        box.border_subtitle = Content(" · ".join(parts))
        if not len(self._entries):
            self.table.instead = "No traffic yet." if self.goes_on else "No traffic."
        elif self._view.is_behind:
            self.table.instead = "Searching …"
        else:
            self.table.instead = "No row matches. Esc clears the filter."
        # Listeners may add to the status.
        reported = parts, position, self._view.wanted, self.table.is_following
        if reported != self._reported:
            self._reported = reported
            self.changed()
