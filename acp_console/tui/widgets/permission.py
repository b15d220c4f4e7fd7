"""A question for consent: the options that the agent offers, by key and by mouse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from textual.app import ComposeResult
from textual.containers import ItemGrid, Vertical
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.widgets import Button, Static

from acp_inspector.analysis.items import Permission
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Json, RequestId

NAME: Final = 160
"""Characters of an option's name that are shown: what it covers must not be cut off."""
NARROWEST: Final = 24
"""Cells of a column of options, at least; all are as wide as the longest one."""
MARGIN: Final = 4
"""Cells around a label."""
KINDS: Final = {
    "allow_once": ("allow", "once"),
    "allow_always": ("allow", "always"),
    "reject_once": ("reject", "once"),
    "reject_always": ("reject", "always"),
}


class PermissionPrompt(Vertical, can_focus=True):
    """Offers the options; the choice goes up as a message."""

    @dataclass
    class Chosen(Message):
        """The user chose an option."""

        prompt: PermissionPrompt
        request_id: RequestId
        option_id: str

        @property
        def control(self) -> PermissionPrompt:
            """The prompt that was answered."""
            return self.prompt

    def __init__(self, permission: Permission) -> None:
        super().__init__(classes="permission")
        self.permission = permission
        self._ids = [_string(option, "optionId") for option in permission.options]

    def compose(self) -> ComposeResult:
        yield Static("May the agent do this? Answer by number or mouse.", classes="question")
        buttons = [_button(*each) for each in enumerate(self.permission.options)]
        widest = max((Content.from_text(each.label).cell_length for each in buttons), default=0)
        with ItemGrid(min_column_width=max(NARROWEST, widest + MARGIN), classes="choices"):
            yield from buttons

    def on_key(self, event: Key) -> None:
        """Choose by number."""
        if event.character and event.character in "123456789":
            self._choose(int(event.character) - 1)
            event.stop()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Choose by mouse."""
        event.stop()
        self._choose(int(event.button.name or "0"))

    def _choose(self, position: int) -> None:
        if position < len(self._ids):
            self.post_message(self.Chosen(self, self.permission.request_id, self._ids[position]))


def _button(position: int, option: Json) -> Button:
    kind = _string(option, "kind")
    look, word = KINDS.get(kind, ("other", one_line(kind, 16)))
    label = Content(f"{position + 1}  {one_line(_string(option, 'name'), NAME)}")
    if word not in _string(option, "name").lower():
        label = Content.assemble(label, (f" ({word})", "dim"))
    button = Button(label, name=str(position), compact=True)
    button.can_focus = False
    button.add_class(look)
    return button


def _string(value: Json, name: str) -> str:
    found = cast("dict[str, Json]", value).get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
