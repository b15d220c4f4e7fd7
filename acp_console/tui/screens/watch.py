"""The traffic of others: of a running proxy as it happens, or of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual import getters
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.widgets import Footer, Static

from acp_console.tui.commands import bindings
from acp_console.tui.desk import Desk
from acp_console.tui.sources import ProxySource, Reading, Source
from acp_console.tui.widgets.intercept import InterceptPane
from acp_console.tui.widgets.traffic import TrafficPane
from acp_inspector.journal import JournalEvent
from acp_protocol.host.text import one_line

TICK: Final = 0.05
"""Seconds between two looks at what has come."""
MOST: Final = 2000
"""Entries that are taken in one look, so that keys are heard in between."""


class WatchScreen(Screen[None]):
    """Shows what goes, or went, over somebody else's wire."""

    CSS_PATH = "watch.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("watch")

    traffic = getters.query_one("#traffic", TrafficPane)

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__()
        self._sources = tuple(sources)
        self._place = 0
        self._reading = Reading(self._sources[0])
        self._count = 0
        self._ending = ""
        self._desk: Desk | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="status", classes="bar")
        yield TrafficPane(id="traffic")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to read."""
        self._begin()
        self.set_interval(TICK, self._take)
        self._tell_status()

    def on_unmount(self) -> None:
        """Leave the source as it is."""
        self._reading.close()
        self._leave_desk()

    async def action_intercept(self) -> None:
        """Show what the proxy holds, or leave that to itself again."""
        source = self._sources[self._place]
        if self._desk is not None:
            self._leave_desk()
            await self.query(InterceptPane).remove()
            self.traffic.table.focus()
        elif isinstance(source, ProxySource):
            self._desk = Desk(source.proxy.path)
            self._desk.start()
            pane = InterceptPane(self._desk)
            await self.mount(pane, after="#traffic")
            pane.filter.focus()
        else:
            self.notify("What is recorded cannot be changed any more", severity="warning")

    def _leave_desk(self) -> None:
        if self._desk is not None:
            self._desk.close()
            self._desk = None

    async def action_next_source(self) -> None:
        """Go on to the next proxy or recording, if there are several."""
        if len(self._sources) < 2:
            self.notify("There is only this one")
            return
        self._reading.close()
        self._leave_desk()
        await self.query(InterceptPane).remove()
        self._place = (self._place + 1) % len(self._sources)
        self._reading = Reading(self._sources[self._place])
        self._count, self._ending = 0, ""
        await self.traffic.remove()
        await self.mount(TrafficPane(id="traffic"), after="#status")
        self._begin()

    def _begin(self) -> None:
        # What is over is read from its beginning, what goes on from its newest frame.
        self.traffic.table.is_following = self._sources[self._place].is_live
        self.traffic.table.focus()
        self._reading.start()

    def _take(self) -> None:
        entries = self._reading.take(MOST)
        if entries:
            self.traffic.extend(entries)
            self._count += len(entries)
        for entry in entries:
            if isinstance(entry, JournalEvent) and entry.name == "exit":
                how = [f"{name} {value}" for name, value in entry.data.items()]
                self._ending = f"the agent ended: {', '.join(how)}"
        for pane in self.query(InterceptPane):
            pane.sync()
        self._tell_status()

    def _tell_status(self) -> None:
        source = self._sources[self._place]
        reading = self._reading
        parts = [self._state(source), one_line(source.title, 60), f"{self._count:,} entries"]
        if reading.unreadable:
            parts.append(f"{reading.unreadable} unreadable lines")
        if len(self._sources) > 1:
            parts.append(f"{self._place + 1} of {len(self._sources)}")
        if reading.problem is not None or self._ending:
            parts.append(one_line(str(reading.problem or self._ending), 120))
        if reading.header is not None and reading.header.command:
            parts.append(one_line(" ".join(reading.header.command), 80))
        self.query_one("#status", Static).update(
            " " + "  ·  ".join(part.replace("[", r"\[") for part in parts)
        )

    def _state(self, source: Source) -> str:
        if self._reading.problem is not None:
            return "✗ cannot be read"
        if not source.is_live:
            return "■ recording" if self._reading.is_over else "… reading"
        return "○ ended" if self._reading.is_over else "● live"
