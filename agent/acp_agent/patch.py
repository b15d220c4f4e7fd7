"""The change of one file as a patch in git's format, which version 2 of the protocol shows.

Source: ACP version 2, Tool Calls, "Diffs"; git-diff, "Generating patch text with -p".
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

_NO_NEWLINE: Final = "\\ No newline at end of file\n"
_MODE: Final = "100644"
_QUOTED: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
}


def git_patch(path: str, old: str | None, new: str) -> str:
    """Return the patch; `old` None stands for a new file.

    Paths are absolute, as the protocol wants them, without the prefixes that git puts before them.
    """
    name = _quoted(path)
    lines = [f"diff --git {name} {name}\n"]
    if old is None:
        lines.append(f"new file mode {_MODE}\n")
    hunks = list(_hunks(_lines(old or ""), _lines(new)))
    if hunks:
        lines += [f"--- {name if old is not None else '/dev/null'}\n", f"+++ {name}\n", *hunks]
    return "".join(lines)


def git_move(old: str, new: str) -> str:
    """Return the patch that gives a file another absolute path and leaves what it holds."""
    one, other = _quoted(old), _quoted(new)
    lines = ["similarity index 100%", f"rename from {one}", f"rename to {other}"]
    return "\n".join([f"diff --git {one} {other}", *lines, ""])


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    # The two lines with names are ours: only git's quoting knows how to spell them.
    for number, line in enumerate(difflib.unified_diff(old, new)):
        if number < 2:
            continue
        yield line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}"


def _lines(text: str) -> list[str]:
    r"""Return the lines with their ends; only `\n` ends one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _quoted(path: str) -> str:
    """Return `path` as git writes it: in quotes where it holds what would confuse a reader."""
    if not any(letter in _QUOTED or not letter.isprintable() for letter in path):
        return path
    return '"' + "".join(map(_spelled, path)) + '"'


def _spelled(letter: str) -> str:
    if letter in _QUOTED or letter.isprintable():
        return _QUOTED.get(letter, letter)
    return "".join(f"\\{byte:03o}" for byte in letter.encode(errors="surrogateescape"))
