"""How long a frame is still held while somebody writes what shall become of it."""

from __future__ import annotations

from typing import Final

from acp_console.tui.desk import Desk

LOOK: Final = 0.25
"""Seconds between two looks."""
KEPT_ABOVE: Final = 0.5
"""Share of the limit: who types while less is left gets all of it again."""


class Countdown:
    """Looks at one hold, and asks for more time as long as somebody is at work."""

    def __init__(self, desk: Desk, number: int, text: str) -> None:
        self._desk = desk
        self._number = number
        self._text = text
        self.has_left = False
        """Whether there is nothing left to decide."""

    def look(self, text: str) -> str:
        """Return how long there is; `text` is what has been written by now."""
        state = self._desk.state
        hold = state.hold(self._number)
        self.has_left = hold is None
        if hold is None:
            gone = "the proxy is gone" if state.presence == "gone" else "it has left as it was"
            return f"{gone}; Esc goes back"
        if text != self._text and hold.left < state.limit * KEPT_ABOVE:
            # Somebody is at work: the frame must not leave under their hands.
            self._desk.do("keep")
        self._text = text
        return f"leaves as it was in {hold.left:.0f} s; typing gives more time"
