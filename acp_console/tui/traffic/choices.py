"""A short list of choices at the bottom of the screen: by key, cursor or mouse."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from acp_console.tui.dialog import Overlay


class ChoiceScreen(Overlay[int | None]):
    """Asks for one of several things; the result is its place."""

    DEFAULT_CSS = """
    ChoiceScreen {
        align: center bottom;
        & > Vertical {
            padding: 0 1;
            max-height: 14;
        }
    }
    """

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
        with Vertical() as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "Esc closes"
            shown = OptionList(*options, markup=False)
            shown.highlighted = 0
            yield shown

    def on_key(self, event: Key) -> None:
        if event.character and event.character in self._keys:
            event.stop()
            event.prevent_default()
            self.dismiss(self._keys.index(event.character))

    @on(OptionList.OptionSelected)
    def choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)
