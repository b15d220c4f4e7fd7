"""Two sources of traffic, compared: all steps, and the chosen one whole."""

from __future__ import annotations

from difflib import unified_diff
from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from acp_console.traffic.comparison import ComparisonRun, ComparisonSource
from acp_console.tui.commands import bindings
from acp_console.tui.compare.pairs import PairList
from acp_console.tui.footer import KeyFooter
from acp_console.tui.news import News
from acp_console.tui.outside import copy
from acp_console.tui.transcript.diff_view import RowView
from acp_console.wording.comparison import comparison_summary, difference_lines, step_json
from acp_inspector.compare.difference import StepPair, frame_numbers
from acp_inspector.compare.steps import JournalStep
from acp_inspector.compare.tolerances import tolerated_text
from acp_protocol.host.sanitize import single_line

MAX_CHARS: Final = 400_000
"""Characters of each message that are shown."""


class CompareScreen(Screen[None]):
    """Compares two sources in the background, and shows the result."""

    DEFAULT_CSS = """
    CompareScreen {
        PairList {
            height: 1fr;
            border: round $primary;
            border-title-color: $text;
            border-subtitle-color: $text;
        }
        #tolerated {
            height: auto;
            padding: 0 1;
            color: $text-muted;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("compare")

    pairs = getters.query_one(PairList)

    def __init__(self, left: ComparisonSource, right: ComparisonSource) -> None:
        super().__init__()
        self.run_ = ComparisonRun(left, right)
        self._is_over = False

    def compose(self) -> ComposeResult:
        yield PairList()
        tolerated = Static(id="tolerated", markup=False)
        tolerated.display = False
        yield tolerated
        yield KeyFooter()

    def on_mount(self) -> None:
        left, right = (single_line(each.title, 60) for each in (self.run_.left, self.run_.right))
        self.pairs.border_title = Content(f"{left}  ↔  {right}")
        self.run_.news.add(News(self, self._look))
        self.run_.start()

    def on_unmount(self) -> None:
        self.run_.cancel()

    def _look(self) -> None:
        run = self.run_
        if self._is_over:
            return
        self._is_over = run.found is not None or bool(run.problem)
        text = f"{single_line(run.status, 70)} · esc cancels"
        if run.problem:
            text = "This cannot be compared."
            self.notify(run.problem, severity="error", markup=False)
        if run.found is not None:
            text = "Nothing was said in either of them."
            self.pairs.show(run.found.pairs)
            parts = [comparison_summary(run.found), run.cut]
            self.pairs.border_subtitle = Content(single_line(" · ".join(filter(None, parts)), 200))
            tolerated = self.query_one("#tolerated", Static)
            tolerated.update(f"tolerated: {tolerated_text(run.found.tolerated)}")
            tolerated.display = bool(run.found.tolerated)
        self.pairs.instead = text
        self.pairs.refresh()

    def action_go_on(self, is_next: bool) -> None:
        if not self.pairs.go_to_difference(is_next=is_next):
            self.notify("No more differences in this direction", severity="warning")

    def action_whole(self) -> None:
        self.pairs.action_open()

    @on(PairList.PairOpened)
    def show_whole(self) -> None:
        pair = self.pairs.chosen
        if pair is not None:
            self.app.push_screen(StepScreen(pair))

    def action_fold(self) -> None:
        self.pairs.toggle()

    def action_split(self) -> None:
        self.pairs.toggle_split()

    def action_copy(self) -> None:
        pair = self.pairs.chosen
        if pair is None:
            self.notify("There is nothing to copy", severity="warning")
            return
        lines = [
            line for each in pair.differences for line in difference_lines(each, are_many=False)
        ]
        text = "\n".join(lines) or _json(pair.left)
        self.notify(f"Copied {copy(_encodable(text), self.app.copy_to_clipboard)}", markup=False)

    def action_back(self) -> None:
        self.dismiss(None)


class StepScreen(ModalScreen[None]):
    """Shows both messages of a pair whole."""

    DEFAULT_CSS = """
    StepScreen {
        RowView {
            height: 1fr;
            border: round $primary;
            padding: 0 1;
            background: $background;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "leave", "Close"),
        Binding("d", "split", "Side by side"),
        Binding("y", "copy", "Copy"),
    ]

    view = getters.query_one(RowView)

    def __init__(self, pair: StepPair) -> None:
        super().__init__()
        self._pair = pair
        self._old, self._new = _json(pair.left), _json(pair.right)

    def compose(self) -> ComposeResult:
        yield RowView(_cut(self._old), _cut(self._new))
        yield KeyFooter()

    def on_mount(self) -> None:
        step = self._pair.left or self._pair.right
        assert step is not None
        self.view.border_title = Content(f"{step.side}: {single_line(step.name, 60)}")
        frames = [_frames(self._pair.left, "left"), _frames(self._pair.right, "right")]
        about = " · ".join(filter(None, frames))
        self.view.border_subtitle = Content(f"{about} · ids and times may differ")
        self.view.focus()

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_split(self) -> None:
        self.view.wants_split = not self.view.is_split
        self.view.lay_out()

    def action_copy(self) -> None:
        lines = unified_diff(
            self._old.splitlines(), self._new.splitlines(), "left", "right", lineterm=""
        )
        text = "\n".join(lines) or self._old
        self.notify(f"Copied {copy(_encodable(text), self.app.copy_to_clipboard)}", markup=False)


def _json(step: JournalStep | None) -> str:
    return "" if step is None else step_json(step)


def _frames(step: JournalStep | None, side: str) -> str:
    return "" if step is None else f"{side}: {frame_numbers(step.frames)}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}\n… cut here"


def _encodable(text: str) -> str:
    # JSON can contain lone surrogates, which no clipboard accepts.
    return text.encode(errors="replace").decode()
