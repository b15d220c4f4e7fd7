"""The change of a file, line by line, told by sign and colour."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff
from typing import Final

from rich.text import Text

from acp_protocol.host.text import one_line, visible
from acp_protocol.jsonrpc import Json

LINES: Final = 40
"""Lines of a diff that are shown."""
_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


def diff_text(path: str, old: Json, new: str) -> Text:
    """Return the unified diff of a file; `old` that is no string stands for a new file."""
    before = visible(old).splitlines() if isinstance(old, str) else []
    lines = list(unified_diff(before, visible(new).splitlines(), n=2, lineterm=""))[2:]
    what = "" if isinstance(old, str) else "  new file"
    text = Text.assemble((one_line(path, 160), "bold"), (what, "dim"))
    _append(text, lines)
    if not lines:
        text.append("\nnothing changes", "dim")
    return text


def patch_text(patch: str) -> Text:
    """Return a patch in git's format, each file under its name."""
    text = Text()
    hunk: list[str] = []
    for line in visible(patch).splitlines():
        if line.startswith("diff --git "):
            _append(text, hunk)
            hunk = []
            text.append("\n" * bool(text) + one_line(_name(line), 160), "bold")
        elif line.startswith("new file mode "):
            text.append("  new file", "dim")
        elif line.startswith("deleted file mode "):
            text.append("  removed", "dim")
        elif hunk or line.startswith("@@"):
            hunk.append(line)
    _append(text, hunk)
    return text or Text(one_line(patch, 160))


def changes_text(changes: Sequence[Json]) -> Text:
    """Return which files change, where nothing more is told."""
    lines: list[str] = []
    for change in changes:
        match change:
            case {"operation": str(operation), "path": str(path)}:
                lines.append(one_line(f"{operation} {path}", 160))
            case _:
                lines.append("a change that cannot be read")
    return Text("\n".join(lines[:LINES]), "bold")


def _name(line: str) -> str:
    """Return the file that the first line of its patch names, which it does twice."""
    names = line.removeprefix("diff --git ")
    half = names[: len(names) // 2]
    return half if names == f"{half} {half}" else names


def _append(text: Text, lines: Sequence[str]) -> None:
    for line in lines[:LINES]:
        text.append(f"\n{line}", _STYLES.get(line[:1], ""))
    if len(lines) > LINES:
        text.append(f"\n… {len(lines) - LINES} more lines", "dim")
