"""The change of a file, line by line, told by sign and colour."""

from __future__ import annotations

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
    for line in lines[:LINES]:
        text.append(f"\n{line}", _STYLES.get(line[:1], ""))
    if len(lines) > LINES:
        text.append(f"\n… {len(lines) - LINES} more lines", "dim")
    if not lines:
        text.append("\nnothing changes", "dim")
    return text
