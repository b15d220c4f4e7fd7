"""Untrusted text made safe to show.

Whatever came over the wire goes through here before it reaches a terminal, a log or a title:
control characters, escape sequences, direction overrides and invisible characters become visible
symbols. What must never enter this room is a parser for escape sequences: without ESC they are
plain text.
"""

from __future__ import annotations

import re
from typing import Final

_ONE_CELL_CUT: Final = "…"
_NEWLINE: Final = "⏎"


def _symbols() -> dict[int, str]:
    """Map each character that must not reach a screen to what stands for it."""
    table = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}
    table[0x7F] = "␡"
    hidden = [
        *range(0x80, 0xA0),  # C1: CSI, OSC and DCS in one character
        0xAD,  # soft hyphen
        0x61C,
        0x115F,
        0x1160,
        0x180E,
        *range(0x200B, 0x2010),  # zero width, left-to-right and right-to-left marks
        *range(0x2028, 0x202F),  # line and paragraph separators, embeddings, overrides
        *range(0x2060, 0x2070),  # word joiner, invisible operators, isolates
        0x3164,
        0xFEFF,
        0xFFA0,
        *range(0xFFF9, 0xFFFC),
        *range(0xD800, 0xE000),  # lone surrogates, which no output could encode
        *range(0xE0000, 0xE0080),  # tags
    ]
    return table | {code: f"‹{code:x}›" for code in hidden}


_SYMBOLS: Final = _symbols()
_HIDDEN: Final = re.compile("[" + "".join(re.escape(chr(code)) for code in _SYMBOLS) + "]")


def visible(text: str) -> str:
    r"""Return `text` with everything that a screen would obey or hide made visible.

    Tab and newline stay; `\r\n` counts as a newline.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _HIDDEN.sub(lambda found: _SYMBOLS[ord(found[0])], text)


def one_line(text: str, width: int) -> str:
    """Return `text` made visible, on one line, cut to `width` characters with an ellipsis.

    Only as much of `text` is looked at as can be shown.
    """
    is_cut = len(text) > width
    shown = visible(text[: width + 1]).replace("\n", _NEWLINE).replace("\t", " ")
    if not is_cut and len(shown) <= width:
        return shown
    return shown[: max(width - 1, 0)] + _ONE_CELL_CUT
