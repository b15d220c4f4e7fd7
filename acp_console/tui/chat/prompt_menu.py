"""The menu above the editor: commands of the agent after `/`, files after `@`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from acp_console.chat.completion import Suggestion
from acp_protocol.host.sanitize import single_line

ROWS: Final = 8
NAME: Final = 28


class PromptMenu(Static):
    """Lines to choose from; the editor keeps the focus and passes keys on."""

    @dataclass
    class Picked(Message):
        """The user clicked on a line."""

        choice: Suggestion

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id, markup=False)
        self.display = False
        self._choices: Sequence[Suggestion] = ()
        self._at = 0

    @property
    def current(self) -> Suggestion | None:
        """The line under the cursor; None while there is no menu."""
        return self._choices[self._at] if self.display and self._choices else None

    def offer(self, choices: Sequence[Suggestion]) -> None:
        """Show other lines; none hides it."""
        if choices != self._choices:
            self._choices, self._at = choices, 0
        self.display = bool(choices)
        self._draw()

    def move(self, by: int) -> None:
        self._at = (self._at + by) % len(self._choices)
        self._draw()

    def _draw(self) -> None:
        first = max(min(self._at - ROWS // 2, len(self._choices) - ROWS), 0)
        lines = [
            _line(choice, is_current=place == self._at)
            for place, choice in enumerate(self._choices[first : first + ROWS], first)
        ]
        left = len(self._choices) - first - ROWS
        if left > 0:
            lines.append(Content.styled(f"  … {left} more", "$text-muted"))
        self._first = first
        self.update(Content("\n").join(lines))

    def on_click(self, event: Click) -> None:
        place = self._first + event.get_content_offset_capture(self).y
        if 0 <= place < len(self._choices):
            self.post_message(self.Picked(self._choices[place]))


def _line(choice: Suggestion, *, is_current: bool) -> Content:
    name = single_line(choice.name, 100)
    gap = " " * max(NAME - len(name), 1)
    about = single_line(choice.about, 200)
    line = Content.assemble(
        ("› " if is_current else "  ", "$text-primary"), (name, "bold"), gap, (about, "$text-muted")
    )
    return line.stylize("reverse", 2, 2 + len(name)) if is_current else line
