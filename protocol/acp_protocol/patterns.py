"""Regular expressions of others, compiled so that they can be tried for a bounded time.

Python's own keep the interpreter for as long as they take, which a few characters make for ever;
those of `regex` let others work, and take a limit of time with each deed. What would take the
memory away is not even compiled. The library is imported when a pattern is compiled, not before.
"""

from __future__ import annotations

import re
import warnings
from typing import Any, AnyStr, Final

from acp_protocol.errors import AcpError

LONGEST: Final = 100_000
"""Parts of a pattern, its counts written out: `(ab){3}` has six. More take the memory away."""
_PART: Final = re.compile(
    r"""\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]|\{(?P<least>\d*)(?P<more>,?)\d*\}|.""", re.DOTALL
)


class PatternError(AcpError):
    """This is no pattern, or one that is too large."""


def compiled(pattern: AnyStr, *, ignores_case: bool = False) -> Any:
    """Return `pattern` as `regex` has it, whose deeds take `timeout` and `concurrent`.

    Raises:
        PatternError: it is none, or too large.
    """
    import regex

    library: Any = regex
    spelled = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    if written_out(spelled) > LONGEST:
        raise PatternError("its counts, written out, make it too long")
    try:
        with warnings.catch_warnings():
            # What may be read otherwise one day is no business of who types a pattern.
            warnings.simplefilter("ignore")
            return library.compile(pattern, library.IGNORECASE if ignores_case else 0)
    except (library.error, ValueError, OverflowError, RecursionError) as problem:
        raise PatternError(str(problem)) from None


def written_out(pattern: str) -> int:
    """Return about how many parts a pattern has once its counts are written out.

    What repeats at least once is written twice by the library: once, and once to repeat.
    """
    groups: list[list[int]] = [[0, 0]]
    """For each group that is open, the parts in it before the last, and those of the last."""
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
            least = min(int(part["least"][:9] or 0), LONGEST + 1)
            group[1] *= max(least + bool(part["more"]), 1)
        else:
            group[:] = [sum(group), 1]
    return sum(map(sum, groups))
