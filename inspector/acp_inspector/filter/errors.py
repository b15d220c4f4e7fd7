"""Errors in expressions, with their position."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from typing import Final

from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import single_line

MAX_REASON: Final = 400
"""Characters of a sentence, at most."""
MAX_POINTER: Final = 200
"""Characters of an expression that a picture shows, at most."""


class FilterError(AcpError):
    """An expression cannot be understood."""

    def __init__(
        self, text: str, position: int, sentence: str, suggestion: str = "", *, length: int = 1
    ) -> None:
        sentence, suggestion = (single_line(part, MAX_REASON) for part in (sentence, suggestion))
        super().__init__(f"{sentence}; {suggestion}" if suggestion else sentence)
        self.text = text
        """The whole expression."""
        self.position = position
        """Where in it, in characters from 0; its length when something is missing at the end."""
        self.length = max(length, 1)
        """Characters that are meant."""
        self.reason = sentence
        """What is wrong; like all here that is for people, safe to show."""
        self.suggestion = suggestion
        """What to write instead; empty when there is no guess."""

    @property
    def pointer(self) -> str:
        """The expression on one line, safe to show, and carets below what is meant."""
        begin = max(self.position - MAX_POINTER // 2, 0)
        # A character may stand for itself only: a tab or an escape would move the caret.
        shown = [single_line(sign, 9) for sign in self.text[begin : begin + MAX_POINTER]]
        at = self.position - begin
        before = _cells("".join(shown[:at]))
        meant = _cells("".join(shown[at : at + self.length]))
        return f"{''.join(shown)}\n{' ' * before}{'^' * max(meant, 1)}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a suggestion with the known word closest to `word`; empty if none is close."""
    found = difflib.get_close_matches(word.lower(), list(known), n=1)
    return f"did you mean `{found[0]}`?" if found else ""


def _cells(text: str) -> int:
    """Return how many columns of a terminal `text` takes."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )
