"""One line for a filter expression: completion, history, and errors with a caret."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.cells import cell_len, set_cell_size
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from acp_console.kept.filter_history import FilterHistory
from acp_console.tui.textual_fixes import set_timer
from acp_inspector.filter.compiler import Filter, compile_filter
from acp_inspector.filter.completion import Completion, completions
from acp_inspector.filter.errors import FilterError
from acp_protocol.host.sanitize import single_line

TYPING_PAUSE_S: Final = 0.15
"""Seconds without a key after which the filter applies."""
MAX_OFFERS: Final = 50
MIN_REASON_WIDTH: Final = 70
"""Characters of an error that are shown at least."""


class FilterInput(Vertical):
    """Reports expressions that compile; an invalid one is explained and changes nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "accept", "Complete"),
        Binding("up", "step(-1)", "Previous"),
        Binding("down", "step(1)", "Next", show=False),
        Binding("escape", "clear", "Back"),
    ]

    DEFAULT_CSS = """
    FilterInput {
        height: auto;
        .filter-error {
            height: auto;
            color: $text-error;
        }
        .filter-error.-incomplete {
            color: $text-muted;
        }
        OptionList.filter-offers {
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

    input = getters.query_one(Input)
    offers = getters.query_one(".filter-offers", OptionList)
    error = getters.query_one(".filter-error", Static)

    @dataclass
    class FilterChanged(Message):
        """The input holds another valid expression."""

        filter: Filter

    @dataclass
    class Confirmed(Message):
        """Enter was pressed on a valid expression."""

        filter: Filter

    @dataclass
    class EditEnded(Message):
        """The user is done with the input."""

    def __init__(
        self,
        placeholder: str,
        *,
        id: str,  # noqa: A002 - Textual's word
        compile: Callable[[str], Filter] = compile_filter,  # noqa: A002 - as in `re`
        seen: Callable[[], Mapping[str, Sequence[str]]] = dict[str, Sequence[str]],
        history: FilterHistory | None = None,
    ) -> None:
        """Take expressions that `compile` accepts.

        Args:
            placeholder: Shown in the empty input.
            id: The id of the input inside.
            compile: Compiles an expression or raises `FilterError`.
            seen: Returns values of fields that were seen, offered first.
            history: The filters that up and down go through; None: there is none.
        """
        super().__init__()
        self._placeholder = placeholder
        self._input_id = id
        self._compile = compile
        self._seen = seen
        self._history = history
        self._completions: list[Completion] = []
        self._has_stepped = False
        self._is_quiet = False
        self._timer: Timer | None = None
        self._reported = ""

    def compose(self) -> ComposeResult:
        yield Input(
            placeholder=self._placeholder, id=self._input_id, compact=True, select_on_focus=False
        )
        yield Static(classes="filter-error", markup=False)
        offers = OptionList(classes="filter-offers", compact=True, markup=False)
        offers.can_focus = False
        yield offers

    def on_mount(self) -> None:
        self.offers.display = self.error.display = False

    def set_filter(self, text: str) -> None:
        """Replace the expression, as if it had been typed; it is kept in the history."""
        self._replace(text)
        self._report()
        if self._history is not None:
            self._history.add(text)

    @on(Input.Changed)
    def complete_and_check(self, event: Input.Changed) -> None:
        """Offer completions now; report the expression after a pause in typing."""
        event.stop()
        if not self._is_quiet:
            self._offer()
        self._is_quiet = False
        self._show_error()
        if self._timer is not None:
            self._timer.stop()
        self._timer = set_timer(self, TYPING_PAUSE_S, self._report)

    @on(Input.Submitted)
    def submit(self, event: Input.Submitted) -> None:
        """Accept the completion that was stepped to, or else submit the expression."""
        event.stop()
        if self._has_stepped and self.offers.display:
            self._accept()
            return
        self._hide_offers()
        compiled = self._show_error()
        if compiled is not None:
            self._report()
            if self._history is not None:
                self._history.add(self.input.value)
            self.post_message(self.Confirmed(compiled))

    @on(Input.Blurred)
    def hide(self, event: Input.Blurred) -> None:
        event.stop()
        self._hide_offers()

    @on(OptionList.OptionSelected)
    def accept_clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._accept()
        self.input.focus()

    def action_accept(self) -> None:
        """Accept the highlighted completion; without one, leave for the next widget."""
        if self.offers.display:
            self._accept()
        elif self._history is None:
            self.post_message(self.EditEnded())
        else:
            self.screen.focus_next()

    def action_clear(self) -> None:
        """Hide the completions, else clear the expression, else leave."""
        if self.offers.display:
            self._hide_offers()
            self._show_error()
        elif self.input.value and self._history is not None:
            self.set_filter("")
        else:
            self.post_message(self.EditEnded())

    def action_step(self, step: int) -> None:
        """Go through the completions or through the history."""
        is_down, highlighted = step > 0, self.offers.highlighted or 0
        if self.offers.display and (is_down or highlighted):
            last = self.offers.option_count - 1
            self.offers.highlighted = max(0, min(highlighted + step, last))
            self._has_stepped = True
        elif self._history is None:
            if is_down:
                self.post_message(self.EditEnded())
        elif is_down and not self._history.is_browsed:
            self._offer(is_requested=True)
        else:
            text = self._history.newer() if is_down else self._history.older(self.input.value)
            self._hide_offers()
            self._replace(text)

    def _replace(self, text: str) -> None:
        self._is_quiet = text != self.input.value
        self.input.value = text
        self.input.cursor_position = len(text)

    def _accept(self) -> None:
        if self.offers.highlighted is None:
            return
        chosen, text = self._completions[self.offers.highlighted], self.input.value
        rest = text[chosen.end :]
        space = "" if rest.startswith(" ") else " "
        self.input.value = text[: chosen.start] + chosen.text + space + rest
        self.input.cursor_position = chosen.start + len(chosen.text) + 1

    def _offer(self, *, is_requested: bool = False) -> None:
        text, at = self.input.value, self.input.cursor_position
        found = completions(text, at, seen=self._seen()) if text or is_requested else []
        typed = text[found[0].start : at] if found else ""
        is_complete = len(found) == 1 and found[0].text == typed
        if self._history is not None:
            self._history.leave()
        if not found or is_complete or not (typed or is_requested or text.endswith(" ")):
            self._hide_offers()
            return
        self._completions = found[:MAX_OFFERS]
        self._has_stepped = False
        self.offers.clear_options()
        width = max(cell_len(single_line(each.text, 40)) for each in self._completions)
        self.offers.add_options(
            Option(
                Content.assemble(
                    (f"{set_cell_size(single_line(each.text, 40), width)}  ", "bold"),
                    (single_line(each.description, 60), "$text-muted"),
                )
            )
            for each in self._completions
        )
        self.offers.display = True
        self.offers.highlighted = 0

    def _hide_offers(self) -> None:
        self.offers.display = False
        self._completions = []

    def _report(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        try:
            compiled = self._compile(self.input.value)
        except FilterError:
            return
        if compiled.source != self._reported:
            self._reported = compiled.source
            self.post_message(self.FilterChanged(compiled))

    def _show_error(self) -> Filter | None:
        """Show what is wrong with the expression; return it compiled if nothing is."""
        text = self.input.value
        self.error.display = False
        try:
            return self._compile(text)
        except FilterError as error:
            is_incomplete = error.position >= len(text.rstrip())
            is_typed = error.position + error.length >= self.input.cursor_position
            if not ((is_incomplete or is_typed) and self.offers.display):
                self.error.set_class(is_incomplete, "-incomplete")
                self.error.update(error_lines(error, self.input.size.width))
                self.error.display = True
        return None


def error_lines(error: FilterError, width: int) -> str:
    """Return carets that point into the input above, and the reason."""
    reason = single_line(error.reason, max(width, MIN_REASON_WIDTH))
    if error.suggestion:
        reason += f"; {error.suggestion}"
    expression, carets = error.pointer.split("\n")
    if cell_len(expression) >= width:
        # The input has scrolled: the expression is repeated above the carets.
        return f"{error.pointer}\n{reason}"
    if len(carets) + 1 + cell_len(reason) <= width:
        return f"{carets} {reason}"
    return f"{carets}\n{reason}"
