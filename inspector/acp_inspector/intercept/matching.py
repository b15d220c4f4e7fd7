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
    from acp_inspector.filter.language import Filter
    from acp_inspector.intercept.questions import Questions

Matcher: TypeAlias = Callable[[Frame], bool]
"""Tells whether a frame is meant; called from the writers of both directions."""


def under_way(expression: str) -> Filter:
    """Return the filter that `expression` describes, for frames that have not arrived.

    Raises:
        FilterError: it cannot be understood, or asks for what is only known later or elsewhere,
            and could never be met.

    Source: docs/intercept.md, "Nothing is held for ever".
    """
    from acp_inspector.filter.errors import FilterError
    from acp_inspector.filter.fields import FIELDS
    from acp_inspector.filter.language import compile_filter

    wanted = compile_filter(expression)
    asked = sorted(wanted.needs - {"$"}, key=expression.find)
    for name in asked:
        if name == "pending" or FIELDS[name].cost == "notes":
            sentence = f"`{name}` is not known while a frame is still under way"
            at = max(expression.find(name), 0)
            raise FilterError(expression, at, sentence, length=len(name))
    if asked and wanted.needs <= {"stderr", "event"}:
        sentence = f"only frames pass here, hence never what `{asked[0]}` asks for"
        raise FilterError(expression, 0, sentence, length=len(expression))
    return wanted


class Matching:
    """Compiles expressions for the frames of one connection, and knows what was asked in it."""

    def __init__(self) -> None:
        self._questions: Questions | None = None
        self._lock = threading.Lock()
        self._facts: dict[Side, tuple[Frame, FrameFacts]] = {}

    def matcher(self, expression: str) -> Matcher:
        """Return what tells whether `expression` means a frame.

        Raises:
            FilterError: it cannot be understood, or asks for what nobody knows yet.

        Source: docs/filters.md.
        """
        compiled = under_way(expression)
        if compiled.needs_exchanges and self._questions is None:
            from acp_inspector.intercept.questions import Questions

            self._questions = Questions()
        return lambda frame: compiled.decide(self._about(frame))

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
