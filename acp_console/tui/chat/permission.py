"""A permission prompt: the options that the agent offers, by key and by mouse."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from textual.app import ComposeResult
from textual.containers import ItemGrid, Vertical
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.widgets import Button, Static

from acp_inspector.analysis.items import PermissionRequest, string
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

NAME: Final = 160
"""Characters of an option's name that are shown: what it covers must not be cut off."""
NARROWEST: Final = 24
"""Minimum width of the options, in cells; all are as wide as the longest one."""
MARGIN: Final = 4
"""Cells around a label."""
KINDS: Final = {
    "allow_once": ("allow", "once"),
    "allow_always": ("allow", "always"),
    "reject_once": ("reject", "once"),
    "reject_always": ("reject", "always"),
}


SETTLING: Final = "Allow this?"
FOCUSED: Final = "Allow this? Press a number or click."
UNFOCUSED: Final = "Allow this? Click, or press Shift+Tab and a number."


@dataclass(frozen=True, slots=True)
class PermissionTiming:
    """When keys and clicks count, so that the user allows nothing by accident."""

    typing_pause_s: float = 1.0
    """Seconds without a key after which a prompt may take the focus from an empty editor."""
    settle_s: float = 0.5
    """Seconds for which a prompt that has just come under the keys or the mouse accepts nothing."""
    clock: Callable[[], float] = time.monotonic


class PermissionView(Vertical, can_focus=True):
    """Offers the options; the choice goes up as a message."""

    @dataclass
    class Chosen(Message):
        """The user chose an option."""

        prompt: PermissionView
        permission: PermissionRequest
        option_id: str

        @property
        def control(self) -> PermissionView:
            return self.prompt

    @dataclass
    class Typed(Message):
        """The user typed a key that is no option, probably the start of a prompt."""

        character: str

    def __init__(self, permission: PermissionRequest, timing: PermissionTiming) -> None:
        super().__init__(classes="permission")
        self.permission = permission
        self.had_focus = False
        """Whether it had the focus before; then only the user can focus it again."""
        self._ids = [string(option, "optionId") for option in permission.options]
        self._timing = timing
        self._settled_at = self._keys_from = timing.clock() + timing.settle_s

    def compose(self) -> ComposeResult:
        yield Static(SETTLING, classes="question", markup=False)
        buttons = [_button(*each) for each in enumerate(self.permission.options)]
        widest = max((Content.from_text(each.label).cell_length for each in buttons), default=0)
        with ItemGrid(min_column_width=max(NARROWEST, widest + MARGIN), classes="choices"):
            yield from buttons

    def take_focus(self) -> None:
        """Take the focus automatically; for a moment, keys meant for the editor decide nothing."""
        self._keys_from = self._timing.clock() + self._timing.settle_s
        self.focus()

    def on_mount(self) -> None:
        self._show_question()

    def on_show(self) -> None:
        """Wait again: until now the traffic may have covered it."""
        self._settled_at = self._keys_from = self._timing.clock() + self._timing.settle_s
        self._show_question()

    def on_focus(self) -> None:
        self.had_focus = True
        self._show_question()

    def on_blur(self) -> None:
        self._show_question()

    def _show_question(self) -> None:
        """Show how to choose as soon as a choice counts."""
        counts_from = max(self._settled_at, self._keys_from if self.has_focus else 0)
        wait = counts_from - self._timing.clock()
        text = SETTLING if wait > 0 else FOCUSED if self.has_focus else UNFOCUSED
        self.query_one(".question", Static).update(text)
        if wait > 0:
            self.set_timer(wait, self._show_question)

    def on_key(self, event: Key) -> None:
        """Choose by number; other keys go to the editor."""
        character = event.character
        if character is None or not event.is_printable:
            return
        event.stop()
        is_choice = character in "123456789" and self._timing.clock() >= self._keys_from
        if not (is_choice and self._choose(int(character) - 1)):
            self.post_message(self.Typed(character))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self._choose(int(event.button.name or "0"))

    def _choose(self, position: int) -> bool:
        if position >= len(self._ids) or self._timing.clock() < self._settled_at:
            return False
        self.post_message(self.Chosen(self, self.permission, self._ids[position]))
        return True


def _button(position: int, option: Json) -> Button:
    kind = string(option, "kind")
    look, word = KINDS.get(kind, ("other", single_line(kind, 16)))
    label = Content(f"{position + 1}  {single_line(string(option, 'name'), NAME)}")
    if word not in string(option, "name").lower():
        label = Content.assemble(label, f" ({word})")
    button = Button(label, name=str(position), compact=True)
    button.can_focus = False
    button.add_class(look)
    return button
