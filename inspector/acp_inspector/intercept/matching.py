"""Which frames are meant: the border to the filter language, for frames that are still under way.

The language is imported when there is an expression to compile: a proxy that only passes bytes
starts without it. What an expression asks of an answer stands in its question, so questions are
remembered, within bounds, as soon as an expression needs them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from acp_inspector.journal import Frame
from acp_protocol.framing import Side

if TYPE_CHECKING:
    from acp_inspector.filter.frames import FrameFacts
    from acp_inspector.intercept.questions import Questions

Matcher: TypeAlias = Callable[[Frame], bool]
"""Tells whether a frame is meant; called from the writers of both directions."""


class Matching:
    """Compiles expressions for the frames of one connection, and knows what was asked in it."""

    def __init__(self) -> None:
        self._questions: Questions | None = None
        self._lock = threading.Lock()
        self._facts: dict[Side, tuple[Frame, FrameFacts]] = {}

    def matcher(self, expression: str) -> Matcher:
        """Return what tells whether `expression` means a frame.

        Raises:
            FilterError: it cannot be understood; the error says where and why.

        Source: docs/filters.md.
        """
        from acp_inspector.filter.language import compile_filter

        compiled = compile_filter(expression)
        if compiled.needs_exchanges and self._questions is None:
            from acp_inspector.intercept.questions import Questions

            self._questions = Questions()
        return lambda frame: compiled.matches(self._about(frame))

    def see(self, frame: Frame) -> None:
        """Take note of a frame before anything is asked about it."""
        if self._questions is not None:
            with self._lock:
                self._questions.apply(frame)

    def _about(self, frame: Frame) -> FrameFacts:
        """Return the facts about a frame, which is read once for all who ask."""
        known = self._facts.get(frame.side)
        if known is None or known[0] is not frame:
            from acp_inspector.filter.frames import FrameFacts

            known = frame, FrameFacts(frame, self._questions)
            self._facts[frame.side] = known
        return known[1]
