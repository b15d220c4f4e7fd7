"""Where breakpoints are written: an expression, what may stand at the cursor, and what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from acp_inspector.filter.completion import Completion, completions
from acp_inspector.filter.errors import FilterError
from acp_inspector.intercept.live_filter import compile_live
from acp_protocol.host.sanitize import single_line

OFFERS: Final = 40
"""Completions that are looked at."""


class ExpressionInput(Input):
    """An input whose Tab completes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "Complete", show=True),
        Binding("down", "choose(1)", "Other words", show=False),
        Binding("up", "choose(-1)", "Other words", show=False),
        Binding("escape", "leave", "Back", show=True),
    ]

    @dataclass
    class Pressed(Message):
        """A key that the expression's box has to answer."""

        name: str
        step: int = 0

    def action_complete(self) -> None:
        """Take the word that is offered."""
        self.post_message(self.Pressed("complete"))

    def action_choose(self, step: int) -> None:
        """Choose another word."""
        self.post_message(self.Pressed("choose", step))

    def action_leave(self) -> None:
        """Go on to what is held."""
        self.post_message(self.Pressed("leave"))


class BreakpointInput(Vertical):
    """Takes expressions; only one that can be understood goes up as a message."""

    DEFAULT_CSS = """
    BreakpointInput {
        height: auto;
        #break-filter { margin-bottom: 0; }
        #break-help { height: auto; max-height: 4; color: $text-muted; }
        #break-help.-wrong { color: $text-error; }
    }
    """

    input = getters.query_one("#break-filter", ExpressionInput)

    @dataclass
    class Set(Message):
        """Hold what `expression` means."""

        expression: str

    @dataclass
    class Left(Message):
        """Somebody is done with writing."""

    def __init__(self) -> None:
        super().__init__()
        self._offers: Sequence[Completion] = ()
        self._chosen = 0

    def compose(self) -> ComposeResult:
        yield ExpressionInput(
            placeholder="Break on frames such as: method == session/prompt",
            id="break-filter",
            compact=True,
        )
        yield Static(id="break-help", markup=False)

    def on_mount(self) -> None:
        """Offer nothing yet."""
        self._say(Content(""))

    @on(Input.Changed, "#break-filter")
    @on(Input.Blurred, "#break-filter")
    def offer(self) -> None:
        """Offer what may stand at the cursor."""
        expression = self.input
        self._offers, self._chosen = (), 0
        if expression.value and expression.has_focus:
            self._offers = completions(expression.value, expression.cursor_position)[:OFFERS]
        self._show_offers()

    @on(Input.Submitted, "#break-filter")
    def take(self, event: Input.Submitted) -> None:
        """Hand on the expression, or say what is wrong with it, and leave it there."""
        event.stop()
        if not event.value.strip():
            return
        try:
            compile_live(event.value)
        except FilterError as problem:
            self._offers = ()
            self._say(Content(f"{problem.pointer}\n{problem}"), is_wrong=True)
            self.input.cursor_position = min(problem.position, len(event.value))
            return
        self.input.value = ""
        self.post_message(self.Set(event.value.strip()))

    @on(ExpressionInput.Pressed)
    def answer_key(self, event: ExpressionInput.Pressed) -> None:
        """Complete, choose another word, or leave."""
        event.stop()
        if event.name == "leave" or (event.name == "complete" and not self._offers):
            self.post_message(self.Left())
        elif event.name == "complete":
            self._complete(self._offers[self._chosen])
        elif self._offers:
            self._chosen = (self._chosen + event.step) % len(self._offers)
            self._show_offers()
        elif event.step > 0:
            self.post_message(self.Left())

    def _complete(self, offer: Completion) -> None:
        value = self.input.value
        rest = value[offer.end :]
        gap = "" if rest.startswith(" ") else " "
        self.input.value = f"{value[: offer.start]}{offer.text}{gap}{rest}"
        self.input.cursor_position = offer.start + len(offer.text) + 1

    def _show_offers(self) -> None:
        if not self._offers:
            self._say(Content(""))
            return
        chosen = self._offers[self._chosen]
        about = f"  {single_line(chosen.description, 60)}" if chosen.description else ""
        room = max(self.size.width - len(about) - 6, 20)
        words = self._window(room)
        parts = [
            (f" {single_line(offer.text, 40)} ", "$text-accent reverse" if offer is chosen else "")
            for offer in words
        ]
        self._say(Content.assemble(("Tab ", "bold"), *parts, (about, "italic")))

    def _window(self, room: int) -> list[Completion]:
        """Return the offers around the chosen one that fit."""
        first = self._chosen
        shown = [self._offers[first]]
        width = len(shown[0].text) + 2
        for offer in self._offers[first + 1 :]:
            width += len(offer.text) + 2
            if width > room:
                break
            shown.append(offer)
        return shown

    def _say(self, content: Content, *, is_wrong: bool = False) -> None:
        help_ = self.query_one("#break-help", Static)
        help_.update(content)
        help_.set_class(is_wrong, "-wrong")
        help_.display = bool(content.plain)
