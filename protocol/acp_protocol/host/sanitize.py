"""Untrusted text made safe to show.

Text from the wire passes through here before it reaches a terminal, a log or a title: control
characters, escape sequences, direction overrides and invisible characters become visible symbols.
No parser for escape sequences is needed: without ESC they are plain text.
"""

from __future__ import annotations

import re
from typing import Final

_HIDDEN_RANGES: Final = (
    (0x00, 0x08),
    (0x0B, 0x1F),  # controls but tab and newline
    (0x7F, 0x9F),  # delete; C1: CSI, OSC and DCS in one character
    (0xAD, 0xAD),  # soft hyphen
    (0x34F, 0x34F),  # grapheme joiner
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),  # zero width, left-to-right and right-to-left marks
    (0x2028, 0x202E),  # line and paragraph separators, embeddings, overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, isolates
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),  # lone surrogates, which no output could encode
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tags, and the variation selectors in which whole texts have been hidden
)
"""Code points that a terminal interprets or hides. Not U+FE0F, which emoji need."""


_HIDDEN: Final = re.compile(
    "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _HIDDEN_RANGES) + "]"
)


def _symbol(found: re.Match[str]) -> str:
    """Return the visible symbol for a character that must not reach a terminal."""
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"‹{code:x}›"


def escape_controls(text: str) -> str:
    r"""Return `text` with everything that a terminal would interpret or hide made visible.

    Tab and newline stay; `\r\n` counts as a newline.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _HIDDEN.sub(_symbol, text)


def single_line(text: str, width: int) -> str:
    """Return `text` made visible, on one line, cut to `width` characters with an ellipsis.

    Only the part of `text` that can be shown is examined.
    """
    is_cut = len(text) > width
    shown = escape_controls(text[: width + 1]).replace("\n", "⏎").replace("\t", " ")
    if not is_cut and len(shown) <= width:
        return shown
    return shown[: max(width - 1, 0)] + "…"


def labelled(label: str, text: str) -> str:
    """Return a message with a label, as in `error: no such file`, safe to show.

    Further lines are indented, so that untrusted text cannot imitate a line with a label.
    """
    first, *others = escape_controls(text).split("\n")
    indent = " " * len(f"{label}: ")
    return "".join(
        f"{each}\n"
        for each in [f"{label}: {first}", *((indent + each).rstrip() for each in others)]
    )


def error_text(text: str, hint: str = "") -> str:
    """Return an error as every command prints it: what failed and, on its own line, what helps."""
    return labelled("error", text) + (labelled("hint", hint) if hint else "")
