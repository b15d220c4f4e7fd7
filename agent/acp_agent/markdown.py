"""Text that stays what it is in Markdown."""

from __future__ import annotations

import re
from typing import Final

from acp_protocol.host.sanitize import single_line

MAX_CODE_WIDTH: Final = 200
_MARKUP: Final = re.compile(r"([\\`*_\[\]<>!|#])")


def fence(text: str) -> str:
    """Return `text` in a code block that it cannot close."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}\n{text.rstrip()}\n{ticks}"


def code(text: str) -> str:
    """Return `text` as code within a line, whatever backticks are in it."""
    shown = single_line(text, MAX_CODE_WIDTH)
    ticks = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    gap = " " if "`" in (shown[:1], shown[-1:]) else ""
    return f"{ticks}{gap}{shown}{gap}{ticks}"


def escape(text: str) -> str:
    """Return `text` with all markup escaped."""
    return _MARKUP.sub(r"\\\1", text)
