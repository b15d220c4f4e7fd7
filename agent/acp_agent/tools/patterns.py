"""Regular expressions of a model, which cannot hold up anybody for long.

A few characters make some of them run for ever. So others work while one is tried, each line gets
a bounded time, and what would take the memory away is not even read in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from acp_agent.tools.tool import ToolFailedError

PATIENCE: Final = 1.0
"""Seconds that one line may take."""
LINE_LIMIT: Final = 2**20
"""Characters of a line that are looked at."""
LONGEST: Final = 100_000
"""Parts of a pattern, its counts written out: `(ab){3}` has six."""
_PART: Final = re.compile(
    r"""\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]|\{(?P<least>\d*)(?P<more>,?)\d*\}|.""", re.DOTALL
)


def finder(pattern: str, *, is_regex: bool, is_exact: bool) -> Callable[[str, float], bool]:
    """Return who tells whether a line holds `pattern`, in at most so many seconds.

    Raises:
        ToolFailedError: the pattern is no regular expression, or one that is too large. Whoever is
            returned raises SlowPatternError.
    """
    # Imported where somebody searches: the agent starts without it.
    import regex

    library: Any = regex
    spelled = pattern if is_regex else library.escape(pattern)
    if is_regex and _size(spelled) > LONGEST:
        raise ToolFailedError("the pattern repeats too much: its counts, written out, are too long")
    try:
        found = library.compile(spelled, 0 if is_exact else library.IGNORECASE)
    except (library.error, ValueError, OverflowError, RecursionError) as problem:
        raise ToolFailedError(f"the pattern is no regular expression: {problem}") from None

    def holds(line: str, seconds: float) -> bool:
        # Concurrent: otherwise nobody else gets to work, and no cancellation gets through.
        patience = min(seconds, PATIENCE)
        return found.search(line[:LINE_LIMIT], timeout=patience, concurrent=True) is not None

    return holds


def _size(pattern: str) -> int:
    """Return about how many parts `pattern` has once its counts are written out.

    What repeats at least once is written twice by the library: once, and once to repeat.
    """
    groups: list[list[int]] = [[0, 0]]
    """For each group that is open, the parts in it before the last, and those of the last."""
    for part in _PART.finditer(pattern):
        group = groups[-1]
        if part[0] == "(":
            groups.append([0, 0])
        elif part[0] == ")" and len(groups) > 1:
            inside = sum(groups.pop())
            groups[-1] = [sum(groups[-1]), inside]
        elif part[0] == "+":
            group[1] *= 2
        elif part["least"] is not None and (part["least"] or part["more"]):
            least = min(int(part["least"][:9] or 0), LONGEST + 1)
            group[1] *= max(least + bool(part["more"]), 1)
        else:
            group[:] = [sum(group), 1]
    return sum(map(sum, groups))
