"""Patterns of file names, as shells and .gitignore files write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from acp_agent.tools.tool import ToolFailedError

LENGTH_LIMIT: Final = 200
"""Characters of one pattern."""
TIME_LIMIT: Final = 0.5
"""Seconds that one name is compared; a pattern of many stars could take for ever."""
_PLAIN: Final = {"?": "[^/]", "{": "(?:", "}": ")", ",": "|"}


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return who tells whether a path fits `pattern`.

    Without `/` the name alone has to fit, wherever it lies; with it the whole path, told from where
    one looks. `*` and `?` do not reach over a `/`, `**` does; `{a,b}` is either.

    Raises:
        ToolFailedError: the pattern is none, or takes too long.
    """
    # Imported where somebody looks for names: the agent starts without it.
    import regex

    if not pattern or len(pattern) > LENGTH_LIMIT or pattern.count("{") != pattern.count("}"):
        raise ToolFailedError(f"{pattern[:LENGTH_LIMIT]!r} is no pattern of names")
    is_name = "/" not in pattern
    try:
        compiled = regex.compile(_translated(pattern.removeprefix("./").removeprefix("/")))
    except regex.error:
        raise ToolFailedError(f"{pattern!r} is no pattern of names") from None

    def fits(path: str) -> bool:
        text = path.rpartition("/")[2] if is_name else path
        try:
            return compiled.fullmatch(text, timeout=TIME_LIMIT) is not None
        except TimeoutError:
            raise ToolFailedError(f"the pattern {pattern!r} takes too long") from None

    return fits


def _translated(pattern: str) -> str:
    """Return the regular expression that means the same."""
    import regex

    parts: list[str] = []
    at = depth = 0
    while at < len(pattern):
        letter = pattern[at]
        if pattern.startswith("**/", at):
            parts.append("(?:[^/]+/)*")
            at += 3
            continue
        if pattern.startswith("**", at):
            parts.append(".*")
            at += 2
            continue
        end = pattern.find("]", at + 2) if letter == "[" else -1
        if end > 0:
            parts.append(_class(pattern[at + 1 : end]))
            at = end + 1
            continue
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            raise ToolFailedError(f"{pattern!r} is no pattern of names")
        is_special = letter in _PLAIN and (letter != "," or depth > 0)
        plain = _PLAIN[letter] if is_special else regex.escape(letter)
        parts.append("[^/]*" if letter == "*" else plain)
        at += 1
    return f"(?s:{''.join(parts)})"


def _class(inside: str) -> str:
    is_negated = inside[0] in "!^"
    letters = inside[is_negated:].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
    # What a class may hold beside letters has a meaning of its own in regular expressions.
    for sign in ("&", "|", "~"):
        letters = letters.replace(sign, f"\\{sign}")
    return f"(?!/)[{'^' if is_negated else ''}{letters}]"
