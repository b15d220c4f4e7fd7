"""Interfering with a running proxy: breakpoints, what they hold, and how long it still waits."""

from __future__ import annotations

import json
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from acp_console.tui.commands import bindings
from acp_console.tui.desk import Desk, DeskState, HeldFrame
from acp_console.tui.screens.edit import EditScreen
from acp_protocol.host.text import one_line


class InterceptPane(Vertical):
    """Shows what a proxy holds, and lets a person decide."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("intercept")

    DEFAULT_CSS = """
    InterceptPane {
        height: auto;
        max-height: 14;
        border: round $border-blurred;
        padding: 0 1;
        #break-filter { margin-bottom: 0; }
        #breakpoints { height: auto; max-height: 3; color: $text-muted; }
        #holds { height: auto; max-height: 8; border: none; background: transparent; }
    }
    InterceptPane:focus-within { border: round $primary; }
    """

    holds = getters.query_one("#holds", OptionList)
    filter = getters.query_one("#break-filter", Input)

    def __init__(self, desk: Desk) -> None:
        super().__init__(id="intercept")
        self._desk = desk
        self._shown = DeskState()

    def compose(self) -> ComposeResult:
        yield Input(
            placeholder="Hold frames that match, such as: method == session/prompt",
            id="break-filter",
            compact=True,
        )
        yield Static(id="breakpoints", markup=False)
        yield OptionList(id="holds", compact=True, markup=False)

    def on_mount(self) -> None:
        """Say what this is."""
        self.border_title = "Intercept"
        self.sync()

    def sync(self) -> None:
        """Show the newest state, and tell what was refused; nothing before all parts are there."""
        if not self.query("#holds"):
            return
        state = self._desk.state
        while self._desk.refusals:
            self.notify(one_line(self._desk.refusals.popleft(), 200), severity="error")
        points = [f"{number}: {one_line(text, 80)}" for number, text in state.breakpoints]
        paused = ["everything is held"] if state.is_paused else []
        told = "  ·  ".join([*paused, *points]) or "nothing is held: no breakpoint is set"
        self.query_one("#breakpoints", Static).update(told)
        if [hold.id for hold in state.holds] != [hold.id for hold in self._shown.holds]:
            chosen = self.holds.highlighted or 0
            self.holds.clear_options()
            self.holds.add_options([Option(self._line(hold)) for hold in state.holds])
            if state.holds:
                self.holds.highlighted = min(chosen, len(state.holds) - 1)
        else:
            for place, hold in enumerate(state.holds):
                self.holds.replace_option_prompt_at_index(place, self._line(hold))
        self.border_subtitle = f"{len(state.holds)} held" if state.holds else ""
        self._shown = state

    @on(Input.Submitted, "#break-filter")
    def set_breakpoint(self, event: Input.Submitted) -> None:
        """Hold what the filter means from now on."""
        if event.value.strip():
            self._desk.do("break", filter=event.value)
            self.filter.value = ""

    def action_release(self) -> None:
        """Let the chosen frame go as it is."""
        if (hold := self._chosen()) is not None:
            self._desk.do("release", id=hold.id)

    def action_release_all(self) -> None:
        """Let everything go."""
        self._desk.do("release_all")

    def action_discard(self) -> None:
        """Let the chosen frame never leave."""
        if (hold := self._chosen()) is not None:
            self._desk.do("discard", id=hold.id)

    def action_duplicate(self) -> None:
        """Let the chosen frame leave twice."""
        if (hold := self._chosen()) is not None:
            self._desk.do("duplicate", id=hold.id, times=2)

    def action_pause(self) -> None:
        """Hold everything, or no longer."""
        self._desk.do("resume" if self._shown.is_paused else "pause")

    def action_clear(self) -> None:
        """Take the newest breakpoint away."""
        if self._shown.breakpoints:
            self._desk.do("clear", id=self._shown.breakpoints[-1][0])

    def action_edit(self) -> None:
        """Change the chosen frame, then let it go."""
        hold = self._chosen()
        if hold is None:
            return

        def edited(text: str | None) -> None:
            if text is not None:
                self._desk.do("edit", id=hold.id, text=text)

        self.app.push_screen(EditScreen(_spread(hold.text)), edited)

    def _line(self, hold: HeldFrame) -> str:
        arrow = "→" if hold.side == "client" else "←"
        behind = f"  +{hold.waiting} behind it" if hold.waiting else ""
        start = f"{hold.left:3.0f} s  {hold.n:>5} {arrow} "
        room = max(self.size.width - len(start) - len(behind) - 6, 10)
        return f"{start}{one_line(hold.text, room)}{behind}"

    def _chosen(self) -> HeldFrame | None:
        place = self.holds.highlighted
        if place is None or place >= len(self._shown.holds):
            self.notify("Nothing is held", severity="warning")
            return None
        return self._shown.holds[place]


def _spread(text: str) -> str:
    """Return JSON over several lines, for a person to change; anything else as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text
