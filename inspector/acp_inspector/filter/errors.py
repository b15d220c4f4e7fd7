"""Errors in filter expressions, with their position."""

from __future__ import annotations

import unicodedata
from typing import Final

from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import single_line

MAX_REASON: Final = 400
"""Longest error message, in characters."""
MAX_POINTER: Final = 200
"""Most characters of an expression that `pointer` shows."""


class FilterError(AcpError):
    """An expression is invalid."""

    def __init__(
        self, text: str, position: int, sentence: str, suggestion: str = "", *, length: int = 1
    ) -> None:
        sentence, suggestion = (single_line(part, MAX_REASON) for part in (sentence, suggestion))
        super().__init__(sentence, hint=suggestion)
        self.text = text
        """The expression."""
        self.position = position
        """Character offset of the error; the length if something is missing at the end."""
        self.length = max(length, 1)
        """Number of characters that are wrong."""
        self.reason = sentence
        """What is wrong, safe to print on a terminal."""
        self.suggestion = suggestion
        """What to write instead; may be empty."""

    @property
    def pointer(self) -> str:
        """The expression on one line, safe to print, with carets below the error."""
        begin = max(self.position - MAX_POINTER // 2, 0)
        # A tab or an escape sequence would move the caret.
        shown = [single_line(char, 9) for char in self.text[begin : begin + MAX_POINTER]]
        at = self.position - begin
        before = _cells("".join(shown[:at]))
        wrong = _cells("".join(shown[at : at + self.length]))
        return f"{''.join(shown)}\n{' ' * before}{'^' * max(wrong, 1)}"


def _cells(text: str) -> int:
    """Return the number of terminal columns of `text`."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
