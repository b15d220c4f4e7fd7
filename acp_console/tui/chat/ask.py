"""What asks the user, between transcript and editor; it never takes the focus from typing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from textual.containers import Vertical
from textual.events import DescendantFocus


@dataclass(frozen=True, slots=True)
class PermissionTiming:
    """When keys and clicks count, so that the user allows nothing by accident."""

    typing_pause_s: float = 1.0
    """Seconds without a key after which a prompt may take the focus from an empty editor."""
    settle_s: float = 0.5
    """Seconds for which a prompt that has just come under the keys or the mouse accepts nothing."""
    burst_s: float = 0.05
    """Seconds in which a second key makes a choice the beginning of a text."""
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
