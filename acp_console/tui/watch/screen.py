"""The watch screen: the live traffic of a running proxy, or a recording."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import ClassVar, Final, Literal, TypeAlias

from textual import getters
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Static

from acp_console.kept.preferences import PaneLayout
from acp_console.traffic.intercept import InterceptClient, OpenProxies
from acp_console.traffic.sources import (
    FileSource,
    ProxyReader,
    ProxySource,
    ProxyWatcher,
    TrafficSource,
)
from acp_console.tui.commands import bindings
from acp_console.tui.footer import KeyFooter
from acp_console.tui.inspector_pane import InspectorPane
from acp_console.tui.intercept.screens import BreakpointsScreen
from acp_console.tui.news import News
from acp_console.tui.talk_pane import TalkPane
from acp_console.wording.values import plural
from acp_inspector.control.client import RunningProxy
from acp_inspector.filter.entries import EntryList, RecordingEntries
from acp_inspector.journal import Entry, JournalEvent
from acp_inspector.recording.format import Header
from acp_inspector.recording.reader import Row
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import single_line

TAIL_ROWS: Final = 4
"""Rows at the end of a recording that are searched for the exit event."""
MAX_ENTRIES_PER_LOOK: Final = 2000
"""Entries that are taken in one look, so that keys stay responsive."""


BOTH: Final = 100
"""From this many columns on, talk and wire fit beside each other."""
WIDE: Final = 140
"""From this many columns on, both are shown unless the user hides one."""

View: TypeAlias = Literal["talk", "both", "wire"]

CHAT_ACTIONS: Final = frozenset({"leave_transcript", "search"})
"""What a transcript asks of a chat: here is no editor to go back to, and no field to search in."""


class WatchScreen(Screen[None]):
    """Shows the traffic of proxies and recordings."""

    CSS_PATH = "watch.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("watch")

    inspection = getters.query_one("#inspection", InspectorPane)

    def __init__(
        self,
        sources: Sequence[TrafficSource],
        proxies: OpenProxies,
        layout: PaneLayout | None = None,
    ) -> None:
        super().__init__()
        self._layout = layout or PaneLayout()
        self.news = News(self, self._take)
        self._proxies = proxies
        self.sources = tuple(sources)
        self._place = 0
        self._reading: ProxyReader | ProxyWatcher | None = None
        self._recording: RecordingEntries | None = None
        self._problem: AcpError | None = None
        self._ending = ""
        self._count = 0
        """Number of rows when the end was last searched."""
        self._client: InterceptClient | None = None
        self._view: View | None = None
        """What the user wants to see; None: what fits."""
        self._panes: tuple[TalkPane, InspectorPane] | None = None
        """Those of the source; None while they are being replaced by those of the next one."""

    def compose(self) -> ComposeResult:
        yield Static(id="status", classes="bar", markup=False)
        yield Horizontal(id="body")
        yield KeyFooter()

    async def on_mount(self) -> None:
        await self._begin()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the next source only if there are several, and intercept only for a proxy."""
        del parameters
        if action in CHAT_ACTIONS:
            return False
        if action == "back":
            # Below the first screen stands only Textual's own.
            return len(self.app.screen_stack) > 2
        if action == "intercept":
            return isinstance(self.source, ProxySource)
        return action != "next_source" or len(self.sources) > 1

    def on_unmount(self) -> None:
        self._leave()

    @property
    def source(self) -> TrafficSource:
        """The source that is shown."""
        return self.sources[self._place]

    @property
    def view(self) -> View:
        """What is shown: the conversation, the traffic, or both."""
        width = self.size.width
        is_analysed = self._panes is not None and self._panes[1].has_class("-analysed")
        wanted = self._view or ("both" if width >= WIDE and not is_analysed else "wire")
        return "wire" if wanted == "both" and width < BOTH else wanted

    def on_resize(self) -> None:
        self._show_view()

    def action_back(self) -> None:
        self.dismiss(None)

    def action_view(self) -> None:
        """Show the conversation, both, or the traffic, in turn."""
        views: list[View] = (
            ["talk", "both", "wire"] if self.size.width >= BOTH else ["talk", "wire"]
        )
        self._view = views[(views.index(self.view) + 1) % len(views)]
        self._show_view()
        if self.view == "talk":
            self.query_one(TalkPane).view.focus()
        else:
            self.inspection.focus_content()

    def _show_view(self) -> None:
        if self._panes is not None:
            talk, inspection = self._panes
            view = self.view
            talk.display, inspection.display = view != "wire", view != "talk"

    def action_save(self) -> None:
        self.inspection.traffic.action_save()

    def action_intercept(self) -> None:
        if self._client is not None:
            self.app.push_screen(BreakpointsScreen(self._client))

    async def show_paused(self, proxy: RunningProxy) -> bool:
        """Go to what a proxy has paused; return whether it is one of those shown."""
        places = [
            place
            for place, source in enumerate(self.sources)
            if isinstance(source, ProxySource) and source.proxy == proxy
        ]
        if not places:
            return False
        if self._place not in places:
            await self._show_source(places[0])
        if self.view == "talk":
            self._view = None
            self._show_view()
        self.inspection.traffic.go_to_paused()
        return True

    async def action_next_source(self) -> None:
        await self._show_source((self._place + 1) % len(self.sources))

    async def _show_source(self, place: int) -> None:
        self._panes = None
        # The widgets read from the source, so remove them before it is closed.
        await self.query("#body > *").remove()
        self._leave()
        self._place = place
        await self._begin()

    async def _begin(self) -> None:
        source = self.source
        self._reading, self._recording = None, None
        self._problem, self._ending, self._count = None, "", 0
        if isinstance(source, FileSource):
            try:
                self._recording = source.open()
            except AcpError as problem:
                self._problem = problem
        elif isinstance(source, ProxySource):
            self._recording = source.recording()
            self._reading = ProxyWatcher(source) if self._recording else ProxyReader(source)
            self._reading.news.add(self.news)
            self._reading.start()
        recording = self._recording
        entries = EntryList(dialect=source.dialect) if recording is None else recording
        reading = self._reading
        inspection = InspectorPane(
            entries,
            is_over=lambda: bool(reading and reading.is_over),
            now=self._now,
            began=self._began,
            notes=lambda: (source.notes,),
            layout=self._layout,
            beside=lambda: talk,
            id="inspection",
        )
        talk = TalkPane(inspection, id="talk")
        await self.query_one("#body").mount(talk, inspection)
        self._panes = talk, inspection
        inspection.looked.add(self.news)
        pane = inspection.traffic
        pane.begin(is_live=source.is_live)
        if isinstance(source, ProxySource):
            self._client = self._proxies.open(source.proxy)
            self._stop_listening = self._client.news.add(self.news)
            pane.intercept(self._client)
        self.refresh_bindings()
        if not source.is_live and pane.table.cursor > 0:
            # All rows may be indexed already, which moved the cursor to the end.
            pane.table.go_to(0)
        self._show_view()
        pane.table.focus()
        self._show_status()
        self.news()

    def _leave(self) -> None:
        if self._reading is not None:
            self._reading.close()
        if self._recording is not None:
            self._recording.close()
        source = self.source
        if self._client is not None and isinstance(source, ProxySource):
            self._client = None
            self._stop_listening()
            self._proxies.leave(source.proxy)

    def _take(self) -> bool:
        if self._panes is None:
            return False
        entries: Sequence[Entry] = ()
        if self._reading is not None:
            entries = self._reading.take(MAX_ENTRIES_PER_LOOK)
            self._panes[1].extend(entries)
            self._notice_end(entries)
            if self._reading.is_over:
                self._panes[1].news()
        recording = self._recording
        if recording is not None and recording.is_complete and len(recording) != self._count:
            self._count = len(recording)
            with suppress(AcpError):
                self._notice_end(recording[-TAIL_ROWS:])
        self._show_view()
        self._show_status()
        return len(entries) == MAX_ENTRIES_PER_LOOK

    def _notice_end(self, entries: Sequence[Row]) -> None:
        for entry in entries:
            if isinstance(entry, JournalEvent) and entry.name == "exit":
                how = [f"{name} {value}" for name, value in entry.data.items()]
                self._ending = f"the agent exited: {', '.join(how)}"

    def _dialect(self) -> str | None:
        """Return the dialect that the traffic is in, or that was chosen for it."""
        if self._panes is None:
            return None
        shown = self._panes[1].traffic.entries
        chosen = BATCHES if shown.named_dialect == BATCHES else None
        # Arrays need no translation, so nothing recognises them.
        return shown.dialect or chosen

    def _show_status(self) -> None:
        source = self.source
        problem = self._trouble()
        parts = [self._state(), single_line(source.title, 60)]
        parts += [f"dialect {name}"] if (name := self._dialect()) else []
        if self._client is not None and self._client.state.is_paused:
            parts.append("⏸ pausing every message")
        if self._client is not None and self._client.state.breakpoints:
            parts.append(plural(len(self._client.state.breakpoints), "breakpoint"))
        if len(self.sources) > 1:
            parts.append(f"{self._place + 1} of {len(self.sources)}")
        if self._reading is not None and self._reading.unreadable:
            parts.append(f"{self._reading.unreadable} unreadable lines")
        if problem is not None or self._ending:
            parts.append(single_line(str(problem or self._ending), 120))
        header = self._header()
        if header is not None and header.about:
            parts.append(single_line(header.about, 80))
        if header is not None and header.command:
            parts.append(single_line(" ".join(header.command), 80))
        text = "  ·  ".join(parts)
        status = self.query_one("#status", Static)
        # Below a translucent screen, each update repaints the whole screen.
        if status.content != text:
            status.update(text)

    def _trouble(self) -> AcpError | None:
        found = [self._problem, self._reading and self._reading.problem]
        found += [self._panes[1].problem] if self._panes is not None else []
        return next((problem for problem in found if problem is not None), None)

    def _header(self) -> Header | None:
        # A recording that no row was read of is empty, and false.
        shown = self._reading if self._recording is None else self._recording
        return None if shown is None else shown.header

    def _now(self) -> float | None:
        """Return the seconds since the journal began; None if it is not live."""
        began = self._began()
        if self._reading is None or self._reading.is_over or began is None:
            return None
        return (datetime.now(UTC) - began).total_seconds()

    def _began(self) -> datetime | None:
        """Return when the journal began; None if its header does not say."""
        header = self._header()
        try:
            began = datetime.fromisoformat(header.created) if header is not None else None
        except ValueError:
            return None
        return None if began is None or began.tzinfo is None else began

    def _state(self) -> str:
        if self._trouble() is not None:
            return "✗ cannot be read"
        if self._reading is not None:
            return "○ ended" if self._reading.is_over else "● live"
        if self._recording is None or not self._recording.is_complete:
            return "… reading"
        return "■ recording" if self._recording.footer is not None else "■ recording, not closed"
