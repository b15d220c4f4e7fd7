"""The editor for prompts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.events import Key
from textual.message import Message
from textual.widgets import TextArea

PLACEHOLDER: Final = "message · @ file · / command · ! shell · ^j new line"
NEWLINE_KEYS: Final = frozenset({"ctrl+j", "shift+enter"})


class PromptEditor(TextArea):
    """A text area that sends with Enter and remembers what was sent."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "screen.page(-1)", "Up", show=False),
        Binding("pagedown", "screen.page(1)", "Down", show=False),
        Binding("ctrl+home", "screen.transcript_top", "Top", show=False),
        Binding("ctrl+end", "screen.transcript_end", "End", show=False),
        Binding("ctrl+f", "screen.search", "Search", show=False),
        Binding("ctrl+c", "copy_or_stop", "Copy", show=False),
        Binding("tab", "screen.leave_editor", "Next part", show=False),
        Binding("shift+tab", "screen.mode_or_back", "Mode", show=False),
        Binding("ctrl+r", "screen.history", "History", show=False),
        Binding("ctrl+g", "screen.edit_outside", "Editor", show=False),
        Binding("ctrl+w", "delete_word_or_close", "Close", show=False),
        Binding("ctrl+b", "screen.sidebar", "Sidebar", show=False),
    ]

    @dataclass
    class Submitted(Message):
        """The user wants to send `text`."""

        editor: PromptEditor
        text: str

        @property
        def control(self) -> PromptEditor:
            return self.editor

    class QueueWanted(Message):
        """The user wants to change the newest prompt that waits."""

    @dataclass
    class MenuKey(Message):
        """The user moves in the menu (-1, 1), closes it (0), or takes its line (None)."""

        step: int | None

    class CompletionWanted(Message):
        """The user completes what the menu may have no lines for yet."""

    def __init__(
        self,
        *,
        history: Callable[[], Sequence[str]] = list,
        can_complete: Callable[[str], bool] = lambda before: False,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,  # noqa: A002 - Textual's word
    ) -> None:
        super().__init__(
            id=id,
            compact=True,
            highlight_cursor_line=False,
            placeholder=PLACEHOLDER,
        )
        self.last_key_at = -inf
        """When the last key was pressed, by `clock`."""
        self._clock = clock
        self._earlier = history
        self._can_complete = can_complete
        """Whether a menu belongs to the text before the cursor; it may come later."""
        self._history: list[str] = []
        """Earlier prompts, oldest first, from the first key that browses them on."""
        self._position = 0
        self.has_menu = False
        """Whether a menu is open that takes some keys."""
        self.has_queue = False
        """Whether prompts wait, of which up takes the newest back into an empty editor."""
        self.takes_enter = False
        """Whether Enter takes the line of the menu."""

    async def _on_key(self, event: Key) -> None:
        self.last_key_at = self._clock()
        menu_keys: dict[str, int | None] = {"up": -1, "down": 1, "escape": 0, "tab": None}
        if self.takes_enter:
            menu_keys["enter"] = None
        if self.has_menu and event.key in menu_keys:
            event.prevent_default()
            event.stop()
            self.post_message(self.MenuKey(menu_keys[event.key]))
        elif event.key == "tab" and self._can_complete(self.text_before_cursor):
            event.prevent_default()
            event.stop()
            self.post_message(self.CompletionWanted())
        elif event.key == "question_mark" and not self.text:
            event.prevent_default()
            event.stop()
            await self.run_action("app.help")
        elif event.key == "enter":
            event.prevent_default()
            event.stop()
            self.submit()
        elif event.key in NEWLINE_KEYS:
            # A binding would act after the keys that were pressed meanwhile.
            event.prevent_default()
            event.stop()
            self.insert("\n")
        elif event.key == "up" and self.has_queue and not self.text:
            event.prevent_default()
            event.stop()
            self.post_message(self.QueueWanted())
        elif event.key in {"up", "down"} and self._is_browsing():
            event.prevent_default()
            event.stop()
            self._browse(-1 if event.key == "up" else 1)
        else:
            await super()._on_key(event)

    async def action_copy_or_stop(self) -> None:
        """Copy what is selected here; otherwise the screen decides."""
        if self.selected_text:
            self.action_copy()
        else:
            await self.run_action("screen.copy")

    async def action_delete_word_or_close(self) -> None:
        """Delete the word before the cursor; in an empty editor, close the chat."""
        if self.text:
            self.action_delete_word_left()
        else:
            await self.run_action("screen.close")

    def submit(self) -> None:
        """Send the prompt, unless it is empty."""
        text = self.text.strip()
        if text:
            self._history = []
            self.clear()
            self.post_message(self.Submitted(self, text))

    def _is_browsing(self) -> bool:
        """Whether up and down browse earlier prompts: not after the user typed something."""
        is_kept = self._position < len(self._history) and self.text == self._history[self._position]
        return not self.text or is_kept

    def _browse(self, step: int) -> None:
        if not self._history:
            self._history = [*reversed(self._earlier())]
            self._position = len(self._history)
        position = max(0, min(self._position + step, len(self._history)))
        self._position = position
        self.put(self._history[position] if position < len(self._history) else "")

    def put(self, text: str) -> None:
        """Write a text in place of what is there."""
        self.text = text
        self.move_cursor(self.document.end)

    @property
    def text_before_cursor(self) -> str:
        return self.get_text_range((0, 0), self.cursor_location)

    def complete(self, size: int, text: str) -> None:
        """Replace the last `size` characters before the cursor."""
        row, column = self.cursor_location
        self.replace(text, (row, column - size), (row, column))
