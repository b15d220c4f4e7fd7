"""What an agent has said in a turn, for telling whether its answer says it once more."""

from __future__ import annotations

from typing import Final

from acp_protocol.dialects.interpreter import keep

KEPT: Final = 100_000
"""Signs of a turn's text that are kept, from its end."""


class Streamed:
    """The text of the running turn of each session."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def begin(self, session: str | None) -> None:
        """Forget what was said in the turn before."""
        self._texts.pop(session or "", None)

    def add(self, session: str | None, text: str) -> None:
        """Note what is said."""
        keep(self._texts, session or "", (self._texts.get(session or "", "") + text)[-KEPT:])

    def ends_with(self, session: str | None, text: str) -> bool:
        """Tell whether `text` is what was said last, or all that was said."""
        return self._texts.get(session or "", "").rstrip().endswith(text.strip()[-KEPT:])
