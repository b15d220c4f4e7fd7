"""Compiles untrusted regular expressions so that matching them can be given a timeout.

A few characters are enough to keep `re` busy for ever, and it blocks the interpreter meanwhile. The
`regex` library releases it and accepts a timeout for each operation. Patterns that would need too
much memory are refused before compiling. The library is imported on first use.
"""

from __future__ import annotations

import re
import warnings
from typing import Any, AnyStr, Final

from acp_protocol.errors import AcpError

MAX_EXPANDED_SIZE: Final = 100_000
"""Parts of a pattern with its repetitions expanded, at most: `(ab){3}` has six."""
_PART: Final = re.compile(
    r"""\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]|\{(?P<least>\d*)(?P<more>,?)\d*\}|.""", re.DOTALL
)


class PatternError(AcpError):
    """The pattern is invalid or too large."""


def compile_pattern(pattern: AnyStr, *, ignore_case: bool = False) -> Any:
    """Return `pattern` compiled by `regex`; its methods take `timeout` and `concurrent`.

    Raises:
        PatternError: it is invalid or too large.
    """
    import regex

    library: Any = regex
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    if expanded_size(text) > MAX_EXPANDED_SIZE:
        raise PatternError("its repetitions make it too long")
    try:
        with warnings.catch_warnings():
            # Warnings about future changes of the syntax do not help the user.
            warnings.simplefilter("ignore")
            return library.compile(pattern, library.IGNORECASE if ignore_case else 0)
    except (library.error, ValueError, OverflowError, RecursionError) as error:
        raise PatternError(str(error)) from None


def expanded_size(pattern: str) -> int:
    """Return roughly how many parts a pattern has with its repetitions expanded.

    The library writes what repeats at least once twice: once, and once to repeat it.
    """
    groups: list[list[int]] = [[0, 0]]
    """For each open group: the parts before its last item, and the parts of the last item."""
    for part in _PART.finditer(pattern):
        group = groups[-1]
        if part[0] == "(":
            groups.append([0, 0])
        elif part[0] == ")" and len(groups) > 1:
            before = groups.pop()
            groups[-1] = [sum(groups[-1]), sum(before)]
        elif part[0] == "+":
            group[1] *= 2
        elif part["least"] is not None and (part["least"] or part["more"]):
            least = min(int(part["least"][:9] or 0), MAX_EXPANDED_SIZE + 1)
            group[1] *= max(least + bool(part["more"]), 1)
        else:
            group[:] = [sum(group), 1]
    return sum(map(sum, groups))
