"""The filter bar: an expression, what may stand in it, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.cells import cell_len
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Blur
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from acp_console.tui.traffic.filter_history import FilterHistory
from acp_inspector.filter.compiler import Filter, compile_filter
from acp_inspector.filter.completion import Completion, completions
from acp_inspector.filter.errors import FilterError
from acp_protocol.host.sanitize import single_line

PLACEHOLDER: Final = "Filter: words, or such as  method ~ fs/ and latency > 1s"
TYPING_PAUSE_S: Final = 0.15
"""Seconds without a key after which what is typed counts."""
MAX_OFFERS: Final = 50
"""Suggestions that are offered at once."""
SENTENCE: Final = 70
"""Characters of what is wrong that are shown at least."""

Seen = Callable[[], Mapping[str, Sequence[str]]]


class FilterInput(Input):
    """A line in which an expression is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "accept", "Complete"),
        Binding("up", "step(-1)", "Older"),
        Binding("down", "step(1)", "Newer", show=False),
        Binding("escape", "clear", "Clear"),
    ]

    @dataclass
    class Pressed(Message):
        """A key that means something to the bar."""

        name: str

    def action_accept(self) -> None:
        """Take what is suggested."""
        self.post_message(self.Pressed("accept"))

    def action_step(self, step: int) -> None:
        """Go on in the suggestions or in the history."""
        self.post_message(self.Pressed("down" if step > 0 else "up"))

    def action_clear(self) -> None:
        """Clear the filter, or leave it."""
        self.post_message(self.Pressed("clear"))

    def on_blur(self, event: Blur) -> None:
        """Offer nothing to who is elsewhere."""
        del event
        self.post_message(self.Pressed("blur"))


class FilterBar(Vertical):
    """Tells of each expression that is understood; one that is not changes nothing."""

    DEFAULT_CSS = """
    FilterBar {
        height: auto;
        #filter-problem {
            height: auto;
            color: $text-error;
        }
        #filter-problem.-incomplete {
            color: $text-muted;
        }
        #filter-offers {
            overlay: screen;
            constrain: none inside;
            width: 64;
            max-width: 100%;
            height: auto;
            max-height: 9;
            background: $panel;
            border: none;
            padding: 0 1;
            scrollbar-size-vertical: 1;
        }
    }
    """

    input = getters.query_one("#frame-filter", FilterInput)
    offers = getters.query_one("#filter-offers", OptionList)
    problem = getters.query_one("#filter-problem", Static)

    @dataclass
    class Wanted(Message):
        """An expression that is understood stands in the bar."""

        filter: Filter

    @dataclass
    class Left(Message):
        """Whoever typed is done."""

    def __init__(self, seen: Seen, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._seen = seen
        self._history = FilterHistory()
        self._known: list[Completion] = []
        self._was_chosen = False
        self._is_quiet = False
        self._timer: Timer | None = None
        self._reported = ""

    def compose(self) -> ComposeResult:
        yield FilterInput(
            placeholder=PLACEHOLDER, id="frame-filter", compact=True, select_on_focus=False
        )
        yield Static(id="filter-problem", markup=False)
        yield OptionList(id="filter-offers", compact=True, markup=False)

    def on_mount(self) -> None:
        """Offer nothing yet."""
        self.offers.can_focus = False
        self.offers.display = False
        self.problem.display = False

    def set_filter(self, text: str) -> None:
        """Put an expression into the bar, as if it had been typed; it is kept in the history."""
        self._is_quiet = True
        self.input.value = text
        self.input.cursor_position = len(text)
        self._report()
        self._history.add(text)

    @on(Input.Changed, "#frame-filter")
    def change(self, event: Input.Changed) -> None:
        """Offer what may follow; what is typed counts after a moment."""
        event.stop()
        if not self._is_quiet:
            self._offer()
        self._is_quiet = False
        self._show_problem()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(TYPING_PAUSE_S, self._report)

    @on(Input.Submitted, "#frame-filter")
    def submit(self, event: Input.Submitted) -> None:
        """Take the suggestion that was gone to, or else leave for the rows."""
        event.stop()
        if self._was_chosen and self.offers.display:
            self._accept()
            return
        if self._understood() is None:
            self._hide_offers()
            self._show_problem()
            return
        self._hide_offers()
        self._report()
        self._history.add(self.input.value)
        self.post_message(self.Left())

    @on(FilterInput.Pressed)
    def do(self, event: FilterInput.Pressed) -> None:
        """Do what a key asks for."""
        event.stop()
        match event.name:
            case "accept" if self.offers.display:
                self._accept()
            case "accept":
                self.screen.focus_next()
            case "up" | "down":
                self._step(is_down=event.name == "down")
            case "clear":
                self._clear()
            case _:
                self._hide_offers()

    @on(OptionList.OptionSelected, "#filter-offers")
    def take_clicked(self, event: OptionList.OptionSelected) -> None:
        """Take the suggestion that was clicked."""
        event.stop()
        self._accept()
        self.input.focus()

    def _clear(self) -> None:
        if self.offers.display:
            self._hide_offers()
            self._show_problem()
        elif self.input.value:
            self.set_filter("")
        else:
            self.post_message(self.Left())

    def _step(self, *, is_down: bool) -> None:
        highlighted = self.offers.highlighted or 0
        if self.offers.display and (is_down or highlighted):
            last = self.offers.option_count - 1
            move = 0 if not self._was_chosen and is_down and last == 0 else (1 if is_down else -1)
            self.offers.highlighted = max(0, min(highlighted + move, last))
            self._was_chosen = True
        elif is_down and not self._history.is_browsed:
            self._offer(is_requested=True)
        else:
            text = self._history.newer() if is_down else self._history.older(self.input.value)
            self._hide_offers()
            self._is_quiet = text != self.input.value
            self.input.value = text
            self.input.cursor_position = len(text)

    def _accept(self) -> None:
        at = self.offers.highlighted
        if at is None or at >= len(self._known):
            return
        chosen, text = self._known[at], self.input.value
        behind = text[chosen.end :]
        space = "" if behind.startswith(" ") else " "
        self.input.value = text[: chosen.start] + chosen.text + space + behind
        self.input.cursor_position = chosen.start + len(chosen.text) + 1

    def _offer(self, *, is_requested: bool = False) -> None:
        """Show what may stand at the cursor."""
        text, at = self.input.value, self.input.cursor_position
        known = completions(text, at, seen=self._seen()) if text or is_requested else []
        typed = text[known[0].start : at] if known else ""
        is_done = len(known) == 1 and known[0].text == typed
        self._history.leave()
        if not known or is_done or not (typed or is_requested or text.endswith(" ")):
            self._hide_offers()
            return
        self._known = known[:MAX_OFFERS]
        self._was_chosen = False
        self.offers.clear_options()
        self.offers.add_options([Option(_offer_line(each)) for each in self._known])
        self.offers.display = True
        self.offers.highlighted = 0

    def _hide_offers(self) -> None:
        self.offers.display = False
        self._known = []

    def _understood(self) -> Filter | None:
        try:
            return compile_filter(self.input.value)
        except FilterError:
            return None

    def _report(self) -> None:
        """Say what is wanted, if that is understood and new."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        wanted = self._understood()
        if wanted is not None and wanted.source != self._reported:
            self._reported = wanted.source
            self.post_message(self.Wanted(wanted))

    def _show_problem(self) -> None:
        text = self.input.value
        self.problem.display = False
        try:
            compile_filter(text)
        except FilterError as problem:
            is_incomplete = problem.position >= len(text.rstrip())
            is_typed = problem.position + problem.length >= self.input.cursor_position
            if (is_incomplete or is_typed) and self.offers.display:
                return
            self.problem.set_class(is_incomplete, "-incomplete")
            self.problem.update(problem_lines(problem, self.input.size.width))
            self.problem.display = True


def problem_lines(problem: FilterError, width: int) -> str:
    """Return carets that stand below what is meant in the line above, and what is wrong."""
    sentence = single_line(problem.reason, max(width, SENTENCE))
    if problem.suggestion:
        sentence += f"; {problem.suggestion}"
    expression, carets = problem.pointer.split("\n")
    if cell_len(expression) >= width:
        # The line above has moved: the picture brings its own.
        return f"{problem.pointer}\n{sentence}"
    if len(carets) + 1 + cell_len(sentence) <= width:
        return f"{carets} {sentence}"
    return f"{carets}\n{sentence}"


def _offer_line(offer: Completion) -> Content:
    return Content.assemble(
        (f"{single_line(offer.text, 40):<24} ", "bold"),
        (single_line(offer.description, 60), "$text-muted"),
    )
