"""Whether a text is a regular expression as ECMAScript spells them.

Only what can make one unreadable is kept of it: what stands for a character becomes an “x”, what is
a group becomes a plain one. Spellings of other languages that a reader may bear are let pass.

Source: ECMA-262, "Patterns", Annex B included; JSON Schema, "pattern".
"""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 2000
"""Characters of a pattern that is looked at."""
DEEPEST: Final = 50
"""Groups within each other in a pattern that is looked at for more than its brackets."""

_CLASS: Final = re.compile(r"\[\^?((?:[^\\\]]|\\.)*)(\]|\Z)", re.DOTALL)
_RANGE: Final = re.compile(r"([A-Za-z0-9])-([A-Za-z0-9])")
_ESCAPE: Final = re.compile(
    r"\\(?:[pPk]\{[^}]*\}|k<[^>]*>|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|.)",
    re.DOTALL,
)
_GROUP: Final = re.compile(r"\((?:\?(?:<[=!]|P?<[^>=!][^>]*>|[:=!>]|[a-zA-Z-]+:?|#[^)]*))?")
_TIMES: Final = re.compile(r"\{(\d+)(,?)(\d*)\}")
_LITERAL: Final = re.compile(r"[^()|*+?\x00]")


def is_pattern(text: str) -> bool:
    """Tell whether a text is a regular expression; one that is too long or deep is taken for one.

    What makes it none is a class or a group that is not closed, or one that is closed but was not
    opened, a quantifier of nothing, or one that stands behind another.
    """
    if len(text) > LONGEST:
        return True
    bare = _CLASS.sub(_class, _ESCAPE.sub(_escape, text))
    if "\0" in bare or bare.endswith("\\"):
        return False
    bare = _TIMES.sub(_times, bare)
    bare = _GROUP.sub("(", bare)
    return "\0" not in bare and _compiles(bare)


def _escape(found: re.Match[str]) -> str:
    # Brackets that are escaped are no brackets; what is special stays so within a class, too.
    return "~" if found[0][1] not in "bB" else ""


def _class(found: re.Match[str]) -> str:
    is_upside_down = any(low > high for low, high in _RANGE.findall(found[1]))
    return "\0" if is_upside_down or not found[2] else "x"


def _times(found: re.Match[str]) -> str:
    is_upside_down = found[3] and int(found[3][:9]) < int(found[1][:9])
    return "\0" if is_upside_down else "*"


def _compiles(bare: str) -> bool:
    words = _LITERAL.sub("x", bare)
    depth = deepest = 0
    for sign in words:
        depth += (sign == "(") - (sign == ")")
        deepest = max(deepest, depth)
        if depth < 0:
            return False
    if deepest > DEEPEST:
        return depth == 0
    try:
        re.compile(words)
    except re.error:
        return False
    return True
