"""What the tabs that tell of a fold have in common: they ask, and show what they are answered."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from acp_console.render.values import format_number
from acp_console.tui.studies import Asked, Folding, Progress
from acp_console.tui.widgets.analysis_lines import Line, LineList, WrappedLines

T = TypeVar("T")
A = TypeVar("A")

PATIENCE: Final = 0.2
"""Seconds between two questions about what goes on."""
SHARE: Final = 5
"""A question that is costly waits so many times what the last one took."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What a tab is about."""

    n: int | None = None
    """The entry after which; None: the newest."""
    now: float | None = None
    """Seconds since the journal began, where time goes on; None: nothing more comes."""


class AnalysisTab(Vertical, Generic[T, A]):
    """Lines about a fold, asked for again whenever it or the chosen entry has changed."""

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

    @dataclass
    class Chosen(Message):
        """Somebody wants to see in the traffic what a line is about."""

        target: int | str
        """The number of an entry, or a filter."""

    def __init__(self, folding: Folding[T]) -> None:
        super().__init__()
        self.folding = folding
        self.moment = Moment()
        self._asked: Asked[T, A] | None = None
        self._wish: object = self
        self._seen: object = None
        self._not_before = 0.0
        self.answer: A | None = None
        """What was answered last."""

    def compose(self) -> ComposeResult:
        yield Static(classes="tab-head", markup=False)
        yield LineList()

    def on_mount(self) -> None:
        """Say that nothing is known yet."""
        self.show_note("One moment …")

    def on_unmount(self) -> None:
        """Wait for nothing any more."""
        if self._asked is not None:
            self.folding.drop(self._asked)

    # What each tab says for itself.

    @abstractmethod
    def question(self) -> Callable[[T], A]:
        """Return what to ask the fold."""

    @abstractmethod
    def show(self, answer: A) -> None:
        """Show what was answered."""

    def wish(self) -> object:
        """Return what the question depends on beside the fold."""
        return None

    def is_settled(self) -> bool:
        """Tell whether nothing that is still read can change the answer."""
        return False

    def aim(self, n: int | None) -> None:
        """Put the cursor on what is about entry `n`, if there is something like that."""
        del n

    # Asking.

    def look(self, moment: Moment) -> None:
        """See whether something is to be asked or was answered; to be called again and again."""
        self.moment = moment
        self.folding.start()
        asked, now = self._asked, time.monotonic()
        if asked is not None and asked.is_answered:
            self._asked = None
            self._not_before = now + max(PATIENCE, asked.cost * SHARE)
            self._take(asked)
        if self.answer is None and self.folding.progress.problem:
            self.show_note(f"This could not be reckoned: {self.folding.progress.problem}")
        if not self.folding.progress.read and self.folding.progress.is_busy:
            # What is known of nothing is not worth a word.
            return
        wish, state = self.wish(), self._state()
        is_wanted = wish != self._wish or (state != self._seen and now >= self._not_before)
        if self._asked is None and is_wanted:
            self._wish, self._seen = wish, state
            self._asked = self.folding.ask(self.question())

    def again(self) -> None:
        """Show what was answered last in another way."""
        if self.answer is not None and not self.folding.progress.read:
            self.tell("")
            self.show_note("Nothing has been said yet.")
        elif self.answer is not None:
            self.show(self.answer)

    def tell(self, head: str) -> None:
        """Say in a line what the lines below are."""
        self.query_one(".tab-head", Static).update(head)

    def show_wrapped(self, lines: Sequence[Line], *, has_cursor: bool = True) -> None:
        """Show lines that go on where the width ends."""
        self.lines.show(WrappedLines(lines, self.lines.width), has_cursor=has_cursor)

    def on_resize(self) -> None:
        """Show everything for the new width."""
        self.call_after_refresh(self.again)

    def show_note(self, note: str) -> None:
        """Show a sentence in place of lines."""
        self.show_wrapped([Line((("muted", note),))], has_cursor=False)

    def _state(self) -> object:
        progress = self.folding.progress
        if self.is_settled():
            return progress.renewals
        return progress.read, progress.renewals, progress.is_finished

    def _take(self, asked: Asked[T, A]) -> None:
        if asked.problem:
            self.show_note(f"This could not be reckoned: {asked.problem}")
        elif asked.answer is not None:
            self.answer = asked.answer
            self.again()

    # Choosing.

    def focus_content(self) -> None:
        """Go to the lines."""
        self.lines.focus()

    def choose(self) -> bool:
        """Show in the traffic what the line is about; return whether it is about something."""
        line = self.lines.chosen
        if line is None or line.target is None:
            return False
        self.post_message(self.Chosen(line.target))
        return True

    @on(LineList.Opened)
    def choose_clicked(self, event: LineList.Opened) -> None:
        """Do what Enter does."""
        event.stop()
        self.choose()


def progress_text(progress: Progress, verb: str) -> str:
    """Return how far a fold has come, in words; empty if it is where the traffic is."""
    if progress.problem:
        return f"stopped at {format_number(progress.read)}: {progress.problem}"
    if not progress.is_behind:
        return ""
    known = format_number(progress.known) + ("" if progress.is_whole else "+")
    told = f"{verb} {format_number(progress.read)} of {known} frames"
    return f"{told}, p goes on" if progress.is_resting else f"{told}, p stops"
