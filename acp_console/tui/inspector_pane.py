"""The traffic of a connection and its analysis, side by side or one at a time.

The chat and the watch screen both use it. Filter, cursor and marks of the rows stay while the
analysis is open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import MouseDown, MouseMove, MouseUp, Resize
from textual.widget import Widget

from acp_console.kept.preferences import PaneLayout
from acp_console.listeners import Listeners
from acp_console.traffic.analysis import AnalysisFolds, BackgroundFold
from acp_console.traffic.marks import NotesFile
from acp_console.tui.analysis.pane import AnalysisPane
from acp_console.tui.analysis.tab import AnalysisTab
from acp_console.tui.commands import bindings
from acp_console.tui.news import News
from acp_console.tui.split import SplitBorder
from acp_console.tui.traffic.pane import TrafficPane
from acp_console.wording.values import format_number, plural
from acp_inspector.filter.entries import EntryList, RecordingEntries
from acp_inspector.journal import Entry
from acp_inspector.views.annotations import MODEL_FIELDS
from acp_protocol.errors import AcpError

WIDE: Final = 140
"""From this many columns on, the analysis is shown next to the traffic, not instead of it."""


class InspectorPane(Horizontal):
    """Joins rows and analysis; the owner passes entries, or a recording."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("inspection")
    DEFAULT_CSS = """
    InspectorPane {
        #traffic, #analysis {
            width: 1fr;
            height: 1fr;
        }
        #analysis {
            display: none;
        }
        &.-analysed #analysis {
            display: block;
        }
        &.-analysed.-narrow #traffic {
            display: none;
        }
    }
    """

    traffic = getters.query_one("#traffic", TrafficPane)
    analysis = getters.query_one("#analysis", AnalysisPane)

    def __init__(
        self,
        entries: RecordingEntries | EntryList | None = None,
        *,
        is_over: Callable[[], bool] = lambda: False,
        now: Callable[[], float | None] = lambda: None,
        began: Callable[[], datetime | None] = lambda: None,
        notes: Callable[[], Sequence[NotesFile]] = tuple,
        layout: PaneLayout | None = None,
        beside: Callable[[], Widget] | None = None,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        """Show entries.

        Args:
            entries: A recording, or a list that grows; None: the entries passed to `extend`.
            is_over: Whether a source that is not a file has ended.
            now: Returns the seconds since the journal began, if it is live.
            began: Returns when the journal began, if that is known.
            notes: Returns where marks are kept.
            layout: How its parts share the room, and how times are written.
            beside: Returns the conversation on its left.
            id: The widget's id.
        """
        super().__init__(id=id)
        self.needs_model = False
        """Whether the conversations are shown beside it."""
        self.news = News(self, self._look)
        self.looked = Listeners()
        """Called when rows, cursor or analysis have changed."""
        self._entries = EntryList() if entries is None else entries
        self._is_over = is_over
        self._source_state: object = None
        """How many entries there were at the last look, and whether more may come."""
        self._now = now
        self._notes = notes
        self._began = began
        self._layout = layout or PaneLayout()
        self._border = None
        if beside is not None:
            self._border = SplitBorder(self._layout, "talk", "width", lambda: (beside(), self))
        shown = self._entries
        if isinstance(shown, RecordingEntries):
            # Other threads read it, and each needs its own object.
            self.folds = AnalysisFolds(
                lambda: RecordingEntries(shown.path),
                dialect=shown.chosen_dialect,
                header=shown.header,
            )
        else:
            self.folds = AnalysisFolds(lambda: shown, is_over=is_over, dialect=shown.chosen_dialect)

    def compose(self) -> ComposeResult:
        yield TrafficPane(
            self._entries,
            self.folds.annotations,
            notes=self._notes,
            began=self._began,
            layout=self._layout,
            id="traffic",
        )
        yield AnalysisPane(self.folds, now=self._now, id="analysis")

    def on_mount(self) -> None:
        self.folds.news.add(self.news)
        self.traffic.changed.add(self.news)
        self.news()

    def on_show(self) -> None:
        if self._border is not None:
            self._border.apply()
        self.news()

    # The border between the conversation and the traffic

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        return action != "split" or self._border is not None

    def action_split(self, by: int) -> None:
        if self._border is not None:
            self._border.move(by)

    def on_mouse_down(self, event: MouseDown) -> None:
        if self._border is not None:
            self._border.press(event, self)

    def on_mouse_move(self, event: MouseMove) -> None:
        if self._border is not None:
            self._border.drag(event)

    def on_mouse_up(self, event: MouseUp) -> None:
        if self._border is not None:
            self._border.release(event)

    def on_unmount(self) -> None:
        self.folds.close()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.width >= WIDE, "-wide")
        self.set_class(event.size.width < WIDE, "-narrow")

    def extend(self, entries: Sequence[Entry]) -> None:
        self.traffic.extend(entries)

    @property
    def count(self) -> int:
        """Number of entries so far."""
        return len(self._entries)

    @property
    def problem(self) -> AcpError | None:
        return self.traffic.problem

    @property
    def content(self) -> Widget:
        """The part that the keys are for: the analysis or the rows."""
        is_analysed = self.has_class("-analysed")
        return self.analysis.open.lines if is_analysed else self.traffic.table

    def focus_content(self) -> None:
        self.content.focus()

    # Rows and analysis together.

    def action_analyse(self, name: str) -> None:
        self.add_class("-analysed")
        self.looked()
        self.analysis.open_tab(name, at=self.traffic.table.under_cursor)

    @on(AnalysisPane.Closed)
    def leave_analysis(self, event: AnalysisPane.Closed) -> None:
        event.stop()
        self.remove_class("-analysed")
        self.looked()
        self.traffic.table.focus()

    @on(AnalysisPane.Stepped)
    def step_in_traffic(self, event: AnalysisPane.Stepped) -> None:
        event.stop()
        self.traffic.table.action_move(event.step)

    @on(AnalysisTab.TargetChosen)
    def show_in_traffic(self, event: AnalysisTab.TargetChosen) -> None:
        event.stop()
        if self.has_class("-narrow"):
            self.remove_class("-analysed")
            self.looked()
            self.traffic.table.focus()
        if isinstance(event.target, int):
            self.traffic.go_to_entry(event.target)
        else:
            self.traffic.bar.set_filter(event.target)

    def _look(self) -> None:
        if not self.is_on_screen and not self.folds.linter.is_started:
            # It was never shown.
            return
        state = len(self._entries), self._is_over()
        if state != self._source_state:
            self._source_state = state
            self.folds.wake()
        table = self.traffic.table
        if table.cursor > 0 or table.is_following:
            self.analysis.is_untouched = False
        self.analysis.chosen = table.chosen
        self.folds.background = self._background()
        if self.analysis.display:
            self.analysis.news()
        else:
            self.folds.share(None)
        self.traffic.news()
        self.traffic.show_status(self._status_parts())
        self.looked()

    def _background(self) -> tuple[BackgroundFold[Any], ...]:
        """Return the folds that rows and filter need; none before the rows are read."""
        shown = self._entries
        if isinstance(shown, RecordingEntries) and not shown.is_complete:
            return ()
        if self.needs_model or MODEL_FIELDS & self.traffic.needs:
            return self.folds.model, self.folds.linter
        return (self.folds.linter,)

    def _status_parts(self) -> list[str]:
        """Return the annotations' progress as text."""
        parts: list[str] = []
        model, linter = self.folds.model.progress, self.folds.linter.progress
        if MODEL_FIELDS & self.traffic.needs and model.is_behind:
            parts.append(f"turns analysed up to {format_number(model.read)}")
        found = self.folds.annotations.finding_count
        if found or (linter.read and not linter.is_behind):
            parts.append(plural(found, "finding"))
        if linter.read and linter.is_behind:
            parts.append(f"{format_number(linter.read)} checked")
        return parts


class ChatInspection(InspectorPane):
    """The traffic of a chat; the key that opened it also closes it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("traffic of a chat")
