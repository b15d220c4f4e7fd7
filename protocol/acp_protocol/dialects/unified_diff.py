"""Converts between unified diffs and the two texts of an official diff.

A unified diff has only the lines near the changes, so the texts made from it are excerpts, unless
this module wrote it: then it has the whole file.

Source: OpenOxide, "Core Types"; GNU diffutils, "Detailed Unified".
"""

from __future__ import annotations

import re
from difflib import unified_diff
from pathlib import PurePosixPath
from typing import Final

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
    old, new = _lines(before or ""), _lines(after)
    if len(old) + len(new) > COMPARED:
        hunk = f"@@ -{_span(old)} +{_span(new)} @@\n"
        body = [hunk, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    else:
        body = list(unified_diff(old, new, n=COMPARED))[2:]
    start = f"--- {'/dev/null' if before is None else name}\n+++ {name}\n"
    return start + "".join(
        line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n" for line in body
    )


def _lines(text: str) -> list[str]:
    """Split at newlines only; other line ends belong to the text."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _span(lines: list[str]) -> str:
    return f"1,{len(lines)}" if lines else "0,0"
