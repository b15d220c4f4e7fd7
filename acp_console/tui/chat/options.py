"""Modes, models and options of a session, to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from acp_console.agents.session_options import SessionOption
from acp_console.chat.alarms import UNASKED
from acp_console.tui.dialog import FilteredList
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

NOTHING: Final = "This agent has nothing to choose from."


class OptionsScreen(FilteredList[tuple[SessionOption, Json] | None]):
    """Lists the values of each option; Enter chooses one, typing filters."""

    DEFAULT_CSS = "OptionsScreen > Vertical { width: 72; }"

    values = getters.query_one(OptionList)

    def __init__(self, options: Sequence[SessionOption]) -> None:
        super().__init__()
        self._options = options
        self._rows: list[tuple[SessionOption, Json] | None] = []
        """What each row sets; None for a heading."""

    def compose(self) -> ComposeResult:
        with Vertical():
            if not self._options:
                yield Static(NOTHING, markup=False)
            yield Input(placeholder="Type to filter", compact=True)
            yield OptionList(markup=False)

    def on_mount(self) -> None:
        self.query_one(Vertical).border_title = "Options"
        self._show("")

    @on(Input.Changed)
    def filter_values(self, event: Input.Changed) -> None:
        self._show(event.value)

    @on(Input.Submitted)
    def choose(self) -> None:
        if self.values.highlighted is not None:
            self.dismiss(self._rows[self.values.highlighted])

    @on(OptionList.OptionSelected)
    def choose_by_mouse(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._rows[event.option_index])

    def _show(self, text: str) -> None:
        wanted = text.casefold().split()
        shown: list[Option] = []
        self._rows = []
        chosen: int | None = None
        for option in self._options:
            values: Sequence[tuple[Json, str]] = option.values
            if option.is_boolean:
                values = ((True, "on"), (False, "off"))
            title = single_line(option.title, 40)
            found = [
                (value, single_line(name, 60))
                for value, name in values
                if all(word in f"{title} {name}".casefold() for word in wanted)
            ]
            if not found:
                continue
            self._rows.append(None)
            heading = f"\n{title}" if shown else title
            shown.append(Option(Content.styled(heading, "bold $text-muted"), disabled=True))
            for value, name in found:
                is_current = value == option.current
                if chosen is None and (wanted or is_current):
                    chosen = len(self._rows)
                self._rows.append((option, value))
                sign = ("● " if is_current else "  ", "$text-success")
                shown.append(Option(Content.assemble(sign, name, _warning(option, value))))
        self.values.set_options(shown)
        self.values.highlighted = chosen if chosen is not None else (1 if shown else None)


def _warning(option: SessionOption, value: Json) -> tuple[str, str]:
    """Return what the agent does without asking with a value, in words and a style."""
    unasked = option.unasked(value)
    if unasked is None:
        return "", ""
    words = UNASKED[unasked]
    return (
        (f"  ⚠ {words}", "$text-warning")
        if unasked == "anything"
        else (f"  {words}", "$text-muted")
    )
