r"""Cuts texts into lines: only `\n` ends one.

A `\r`, a form feed and the separators of Unicode are characters of a line like any other, as they
are for editors, compilers and `git`. Whatever counts lines for the other side has to agree on that.

Source: ACP, File System, "line" and "limit".
"""

from __future__ import annotations

import re

from acp_protocol.jsonrpc import Json

__all__ = ["lines_from", "split_lines"]


def split_lines(text: str) -> list[str]:
    """Return the lines with their ends."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def lines_from(text: str, line: Json = None, limit: Json = None) -> str:
    """Return what `fs/read_text_file` asks for: `limit` lines of `text` from the 1-based `line` on.

    None, and a value that is not a number, means all lines.
    """
    start = max(line - 1, 0) if isinstance(line, int) else 0
    lines = split_lines(text)[start:]
    return "".join(lines[: max(limit, 0)] if isinstance(limit, int) else lines)
