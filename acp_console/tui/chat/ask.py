"""What asks the user, between transcript and editor; it never takes the focus from typing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import DescendantFocus, Key, Paste
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from acp_console.tui.textual_fixes import set_timer

ENTER: Final = "\n"
"""The key Enter, as a text."""


@dataclass(frozen=True, slots=True)
class PermissionTiming:
    """When keys and clicks count, so that the user allows nothing by accident."""

    typing_pause_s: float = 1.0
    """Seconds without a key after which a prompt may take the focus from an empty editor."""
    settle_s: float = 0.5
    """Seconds for which a prompt that has just come under the keys or the mouse accepts nothing."""
    burst_s: float = 0.05
    """Seconds in which a second key makes a choice the beginning of a text."""
    flash_s: float = 1.5
    """Seconds for which the reason is marked why a key does nothing."""
    clock: Callable[[], float] = time.monotonic


class Ask(Vertical):
    """Something that asks the user; `subject` is what it is about."""

    def __init__(self, subject: object, timing: PermissionTiming) -> None:
        super().__init__(classes="ask")
        self.subject = subject
        self.timing = timing
        self.had_focus = False
        """Whether it had the focus before; then only the user can focus it again."""
        self.counts_from = timing.clock() + timing.settle_s

    @property
    def has_settled(self) -> bool:
        """Whether it was there long enough for a key or a click to mean it."""
        return self.timing.clock() >= self.counts_from

    def on_show(self) -> None:
        """Wait again: until now something may have covered it."""
        self.counts_from = self.timing.clock() + self.timing.settle_s

    def take_focus(self) -> None:
        """Take the focus automatically; keys that were meant for the editor do not count."""
        self.counts_from = self.timing.clock() + self.timing.settle_s
        self.focus()

    def on_focus(self) -> None:
        self.had_focus = True

    def on_descendant_focus(self, _event: DescendantFocus) -> None:
        self.had_focus = True


class KeyAsk(Ask, can_focus=True):
    """Something that single keys decide; all else that is typed goes to the editor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_part(-1)", "Up", show=False),
        Binding("down", "scroll_part(1)", "Down", show=False),
        Binding("pageup", "scroll_part(-1, True)", "Page up", show=False),
        Binding("pagedown", "scroll_part(1, True)", "Page down", show=False),
    ]

    @dataclass
    class TextTyped(Message):
        """The user typed what decides nothing, probably the start of a prompt."""

        text: str

    class Entered(Message):
        """The user ended what was typed with Enter, before the editor had the focus."""

    def __init__(self, subject: object, timing: PermissionTiming) -> None:
        super().__init__(subject, timing)
        self._is_typing = False
        """Whether a text is typed that goes to the editor."""
        self._key: str | None = None
        """A key that decides unless another one follows at once."""
        self._key_timer: Timer
        self._early: str | None = None
        """A key that decided too early, unless it begins a text."""
        self._early_timer: Timer

    def decides(self, key: str) -> bool:
        """Return whether a key decides something now."""
        raise NotImplementedError

    def decide(self, key: str) -> None:
        """Do what a key decides."""
        raise NotImplementedError

    def on_focus(self) -> None:
        self._is_typing = False

    def on_key(self, event: Key) -> None:
        key = ENTER if event.key == "enter" else event.character
        if not self.has_focus or key is None or not (event.is_printable or key == ENTER):
            return
        event.stop()
        if self._key is not None:
            # Two keys at once are the beginning of a text, as from a slow connection.
            self._key_timer.stop()
            key, self._key = self._key + key, None
        key = self._after_early(key)
        is_live = self.decides(key)
        is_early = not self.has_settled or key == self._early
        if is_live and is_early and not self._is_typing:
            self._note_early(key)
            return
        if key == ENTER and not self._is_typing and not (is_live and self.has_settled):
            # It is not text either.
            return
        if key == ENTER and self._is_typing:
            self.post_message(self.Entered())
        elif self._is_typing or not self.has_settled or not is_live:
            self.pass_on(key)
        elif self.timing.burst_s:
            self._key = key
            self._key_timer = set_timer(self, self.timing.burst_s, self._take_key)
        else:
            self.decide(key)

    @property
    def is_ready(self) -> bool:
        """Whether a key counts: none has just come too early."""
        return self.has_settled and self._early is None

    def _after_early(self, key: str) -> str:
        """Return a key, with the one that came too early just before it if they are a text."""
        early = self._early
        if early is None or key in {early, ENTER}:
            return key
        self._forget_early()
        return early + key

    def _note_early(self, key: str) -> None:
        """Keep a key that decides too early; alone it is neither a choice nor a text."""
        self.come_too_early(key)
        if key != ENTER:
            self._forget_early()
            self._early = key
            self._early_timer = set_timer(self, self.timing.settle_s, self._forget_early)

    def _forget_early(self) -> None:
        if self._early is not None:
            self._early_timer.stop()
            self._early = None

    def come_too_early(self, key: str) -> None:
        """Say why a key that decides does not count yet."""
        self.app.bell()

    def on_paste(self, event: Paste) -> None:
        if self.has_focus:
            event.stop()
            self.pass_on(event.text)

    def _take_key(self) -> None:
        key, self._key = self._key, None
        if key is not None:
            self.decide(key)

    def pass_on(self, text: str) -> None:
        """Pass on what was typed; all that follows goes there too, until the user comes back."""
        self._is_typing = True
        self.post_message(self.TextTyped(text))

    def action_scroll_part(self, by: int, pages: bool = False) -> None:
        """Scroll the part that does not fit, by rows or pages."""
        for part in self.query(".message, .choices, .whole"):
            rows = by * max(part.size.height - 1, 1) if pages else by
            part.scroll_relative(y=rows, animate=False)


class ReadText(Static):
    """A text to read before the user agrees; it counts once its end was on the screen."""

    class EndSeen(Message):
        """Its end was on the screen for the first time."""

    was_seen = False

    def render_lines(self, crop: Region) -> list[Strip]:
        """Note what stands on the screen: only that is rendered."""
        if not self.was_seen and shows_end(self, crop):
            self.was_seen = True
            self.post_message(self.EndSeen())
        return super().render_lines(crop)


def shows_end(widget: Widget, crop: Region) -> bool:
    """Return whether the end of a widget is visible when a region of it is rendered."""
    # What a dialog covers is rendered, too.
    return crop.bottom >= widget.outer_size.height and widget.app.screen in widget.ancestors
