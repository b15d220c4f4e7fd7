"""The analysis of a connection: findings, conversation, waterfall, statistics, waits, claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from rich.text import Text
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import var
from textual.timer import Timer
from textual.widgets import TabbedContent, TabPane

from acp_console.traffic.analysis import AnalysisFolds
from acp_console.tui.analysis.capabilities_tab import CapabilitiesTab
from acp_console.tui.analysis.findings_tab import FindingsTab
from acp_console.tui.analysis.state_tab import StateTab
from acp_console.tui.analysis.statistics_tab import StatisticsTab
from acp_console.tui.analysis.tab import AnalysisTab, TimePoint, progress_text
from acp_console.tui.analysis.waiting_tab import WaitingTab
from acp_console.tui.analysis.waterfall_tab import WaterfallTab
from acp_console.tui.commands import bindings
from acp_console.tui.news import News
from acp_console.tui.textual_fixes import set_timer

TITLES: Final = {
    "findings": "5 Findings",
    "here": "6 Here",
    "waterfall": "7 Waterfall",
    "statistics": "8 Statistics",
    "waiting": "9 Waiting",
    "capabilities": "0 Capabilities",
}
"""The title of each tab, after the key that opens it."""


class AnalysisPane(Vertical):
    """Shows the analysis of a connection; only the open tab is computed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("analysis")
    DEFAULT_CSS = """
    AnalysisPane {
        border: round $foreground 20%;
        border-title-color: $text-muted;
        border-subtitle-color: $text-muted;
        padding: 0 1;
        TabbedContent, ContentSwitcher, TabPane, AnalysisTab {
            height: 1fr;
        }
        TabPane {
            padding: 0;
        }
    }
    AnalysisPane:focus-within {
        border: round $primary;
        border-title-color: $text;
        border-subtitle-color: $text;
    }
    """

    chosen: var[int | None] = var(None, init=False)
    """The entry chosen in the traffic; None: the newest."""

    is_untouched = True
    """Whether the cursor of the traffic has always stood on its first entry."""

    tabs = getters.query_one("#analysis-tabs", TabbedContent)

    class Closed(Message):
        """The user wants to go back to the traffic."""

    @dataclass
    class Stepped(Message):
        """The user wants to move to another row of the traffic."""

        step: int
        """The number of rows to move."""

    def __init__(
        self,
        folds: AnalysisFolds,
        *,
        now: Callable[[], float | None] = lambda: None,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        """Analyse `folds`; `now` returns the seconds since the journal began, if it is live."""
        super().__init__(id=id)
        self._folds = folds
        self._now = now
        self.news = News(self, self.look)
        self._timer: Timer | None = None
        """While the open tab waits for its next look."""
        self._progress = ""
        self._tabs: dict[str, AnalysisTab[Any, Any]] = {}

    def compose(self) -> ComposeResult:
        model = self._folds.model
        self._tabs = {
            "findings": FindingsTab(self._folds.linter),
            "here": StateTab(model),
            "waterfall": WaterfallTab(model, self._folds.annotations.turn),
            "statistics": StatisticsTab(model),
            "waiting": WaitingTab(model),
            "capabilities": CapabilitiesTab(model),
        }
        with TabbedContent(id="analysis-tabs"):
            for name, tab in self._tabs.items():
                with TabPane(TITLES[name], id=f"analysis-{name}"):
                    yield tab

    def on_mount(self) -> None:
        self.border_title = "Analysis"
        self._folds.news.add(self.news)
        self.news()

    def watch_chosen(self) -> None:
        self.news()

    def open_tab(self, name: str, *, at: int | None = None) -> None:
        """Open the tab `name`, one of `TITLES`, and select the line about entry `at`."""
        self.tabs.active = f"analysis-{name}"
        self.open.select_entry(at)
        self.look()
        # It can take the focus only after it is shown.
        self.call_after_refresh(self.open.focus_content)

    @property
    def open(self) -> AnalysisTab[Any, Any]:
        """The tab that is open."""
        return self._tabs[self.open_name]

    @property
    def open_name(self) -> str:
        """The name of the open tab, one of `TITLES`."""
        return self.tabs.active.removeprefix("analysis-") or "findings"

    def look(self) -> None:
        if not self.display:
            return
        tab = self.open
        self._folds.share(tab.folding)
        self._look_in(tab.look(TimePoint(self.chosen, self._now(), self.is_untouched)))
        verb = "checked" if isinstance(tab, FindingsTab) else "analysed"
        progress = progress_text(tab.folding.progress, verb)
        if progress != self._progress:
            self._progress = progress
            # As plain text: it may hold a path, which is not markup.
            self.border_subtitle = Text(progress)
            self.refresh_bindings()

    def _look_in(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = None if seconds is None else set_timer(self, seconds, self.look)

    @on(TabbedContent.TabActivated)
    @on(AnalysisTab.ViewChanged)
    def show_opened(self, event: Message) -> None:
        event.stop()
        self.look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to pause or continue only while there is something to read."""
        del parameters
        return action != "portion" or (bool(self._tabs) and self.open.folding.progress.is_behind)

    def action_open(self) -> None:
        if not self.open.choose():
            self.notify("This line belongs to no frame", severity="warning")

    def action_leave(self) -> None:
        self.post_message(self.Closed())

    def action_step(self, step: int) -> None:
        self.post_message(self.Stepped(step))

    def action_portion(self) -> None:
        folding = self.open.folding
        if folding.progress.is_paused:
            folding.resume()
        elif folding.progress.is_behind:
            folding.pause()
        self.look()
