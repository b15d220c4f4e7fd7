"""Regular expressions of a model, which cannot hold up anybody for long.

A few characters make some of them run for ever. So others work while one is tried, and each line
gets a bounded time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from acp_agent.tools.tool import ToolFailedError
from acp_protocol.patterns import PatternError, compiled

PATIENCE: Final = 1.0
"""Seconds that one line may take."""
LINE_LIMIT: Final = 2**20
"""Characters of a line that are looked at."""


def finder(pattern: str, *, is_regex: bool, is_exact: bool) -> Callable[[str, float], bool]:
    """Return who tells whether a line holds `pattern`, in at most so many seconds.

    Raises:
        ToolFailedError: the pattern is no regular expression, or one that is too large. Whoever is
            returned raises TimeoutError.
    """
    if not is_regex:
        # Imported where somebody searches: the agent starts without it.
        import regex

        pattern = regex.escape(pattern)
    try:
        found = compiled(pattern, ignores_case=not is_exact)
    except PatternError as problem:
        raise ToolFailedError(f"the pattern is no regular expression: {problem}") from None

    def holds(line: str, seconds: float) -> bool:
        # Concurrent: otherwise nobody else gets to work, and no cancellation gets through.
        patience = min(seconds, PATIENCE)
        return found.search(line[:LINE_LIMIT], timeout=patience, concurrent=True) is not None

    return holds
