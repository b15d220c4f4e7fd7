"""A short list of choices at the bottom of the screen: by key, cursor or mouse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option


class ChoiceScreen(ModalScreen[int | None]):
    """Asks for one of several things; the result is its place."""

    DEFAULT_CSS = """
    ChoiceScreen {
        align: center bottom;
        OptionList {
            width: 100%;
            height: auto;
            max-height: 12;
            border: round $primary;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close", show=False)]

    def __init__(self, title: str, texts: Sequence[str], *, keys: str = "") -> None:
        """Offer `texts`, each by the character of `keys` at its place, if there is one."""
        super().__init__()
        self._title = title
        self._texts = texts
        self._keys = keys

    def compose(self) -> ComposeResult:
        names = [f"{key}  " for key in self._keys] or [""] * len(self._texts)
        options = [
            Option(Content(f"{name}{text}")) for name, text in zip(names, self._texts, strict=True)
        ]
        options_shown = OptionList(*options, markup=False)
        options_shown.border_title = Content(self._title)
        options_shown.highlighted = 0
        yield options_shown

    def on_key(self, event: Key) -> None:
        if event.character and event.character in self._keys:
            event.stop()
            event.prevent_default()
            self.dismiss(self._keys.index(event.character))

    @on(OptionList.OptionSelected)
    def choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)

    def action_leave(self) -> None:
        self.dismiss(None)
