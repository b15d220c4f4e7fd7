"""Converts between unified diffs and the two texts of an official diff.

A unified diff has only the lines near the changes, so the texts made from it are excerpts, unless
this module wrote it: then it has the whole file.

Source: OpenOxide, "Core Types"; GNU diffutils, "Detailed Unified".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import PurePosixPath
from typing import Final

from acp_protocol.text_lines import split_lines

COMPARED: Final = 2000
"""Lines of both texts together up to which they are compared; longer ones are replaced whole."""

_HUNK: Final = re.compile(r"@@ -\d+(,\d+)? \+\d+(,\d+)? @@")
_NO_NEWLINE: Final = "\\ No newline at end of file"


def texts_from_diff(diff: str) -> tuple[str | None, str]:
    """Return the text before, None for a new file, and the text after."""
    before: list[str] = []
    after: list[str] = []
    touched: list[list[str]] = []
    is_new = is_in_hunk = False
    for line in diff.split("\n"):
        if _HUNK.match(line):
            is_in_hunk = True
        elif not is_in_hunk:
            is_new = is_new or line.startswith("--- /dev/null")
        elif line.startswith("\\"):
            for text in touched:
                text[-1] = text[-1].removesuffix("\n")
        else:
            sides = {"-": [before], "+": [after], " ": [before, after]}
            touched = sides.get(line[:1], [])
            for text in touched:
                text.append(f"{line[1:]}\n")
    return None if is_new else "".join(before), "".join(after)


def write_unified_diff(path: str, before: str | None, after: str) -> str:
    """Return the unified diff of a file that was `before`, None for a new one, and is `after`."""
    name = PurePosixPath(path).name or path
    old, new = split_lines(before or ""), split_lines(after)
    if len(old) + len(new) > COMPARED:
        hunk = f"@@ -{_span(old)} +{_span(new)} @@\n"
        body = _ended([hunk, *(f"-{line}" for line in old), *(f"+{line}" for line in new)])
    else:
        body = unified_hunks(old, new, context=COMPARED)
    return f"--- {'/dev/null' if before is None else name}\n+++ {name}\n{body}"


def unified_hunks(old: Sequence[str], new: Sequence[str], *, context: int = 3) -> str:
    """Return the hunks of a unified diff without its head; empty if there is no difference."""
    return _ended(list(unified_diff(old, new, n=context))[2:])


def _ended(lines: Sequence[str]) -> str:
    """Join lines of a diff; the last one of a text may have no end."""
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n" for line in lines)


def _span(lines: list[str]) -> str:
    return f"1,{len(lines)}" if lines else "0,0"
