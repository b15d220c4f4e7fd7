"""Untrusted text made safe to show.

Text from the wire passes through here before it reaches a terminal, a log or a title: control
characters, escape sequences, direction overrides and invisible characters become visible symbols.
No parser for escape sequences is needed: without ESC they are plain text.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category, combining, east_asian_width

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
    (0xFE00, 0xFE0D),  # variation selectors but the two that emoji need
    (0xD800, 0xDFFF),  # lone surrogates, which no output could encode
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tags, and the variation selectors in which whole texts have been hidden
    (0x10EEEE, 0x10EEEE),  # kitty draws a part of an image in its place
)
"""Code points that a terminal interprets or hides."""


_HIDDEN: Final = re.compile(
    "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in _HIDDEN_RANGES) + "]"
    # Emoji need these two, but letters do not, and in a row they are a hidden text.
    r"|(?<=[\x00-\x22\x24-\x29\x2b-\x2f\x3a-\x7f\ufe0e\ufe0f])[\ufe0e\ufe0f]"
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


_JOINERS: Final = re.compile("[\u200c\u200d]")
_VIRAMA: Final = 9
"""The combining class of the signs that mute the vowel of a letter."""
_JOINED_CHARS: Final = 8
"""Characters before a joiner that may belong to what it joins: marks, and signs of an emoji."""
_EMOJI_PARTS: Final = re.compile("[\ufe0f\U0001f3fb-\U0001f3ff]")
_TAGS: Final = range(0xE0020, 0xE0080)
_REGIONS: Final = ("gbeng", "gbsct", "gbwls")
_FLAGS: Final = re.compile(
    "|".join(
        "\U0001f3f4" + "".join(chr(0xE0000 + ord(each)) for each in region) + "\U000e007f"
        for region in _REGIONS
    )
)
"""The flags of England, Scotland and Wales: a black flag, and a region in characters for tags."""


_PART: Final = re.compile("(?:[\u200c\u200d\r]|\U0001f3f4[\U000e0020-\U000e007f]{0,5})\\Z")
"""The end of a piece that is only understood with what follows."""


def prose_text(text: str, before: str = "") -> str:
    """Return prose made visible as `escape_controls` does, except for joiners that belong to it.

    The joiners U+200C and U+200D stay between letters of scripts that are written with them and
    behind a virama (source: RFC 5892, appendix A), and U+200D stays in an emoji; so do the tags of
    a flag. Use this for what a person reads, never for a command or a path.

    Args:
        text: the prose.
        before: what precedes it, which is not returned.
    """
    if text.isascii():
        return escape_controls(text)
    text = text.replace("\r\n", "\n")
    whole = before[-_JOINED_CHARS:] + text
    begin, shown = len(whole) - len(text), list[str]()
    # Whether a character is hidden may depend on the one before it.
    for found in _HIDDEN.finditer(whole, begin):
        belongs = _belongs(whole, found.start())
        shown += (whole[begin : found.start()], found[0] if belongs else _symbol(found))
        begin = found.end()
    return "".join([*shown, whole[begin:]])


def _belongs(text: str, place: int) -> bool:
    """Return whether a character that is hidden alone belongs to those around it."""
    if ord(text[place]) in _TAGS:
        flag = _FLAGS.match(text, max(text.rfind("\U0001f3f4", max(place - 8, 0), place), 0))
        return flag is not None and place < flag.end()
    return _JOINERS.match(text[place]) is not None and _joins(text, place)


def _joins(text: str, place: int) -> bool:
    last, following = text[place - 1 : place], text[place + 1 : place + 2]
    if last and combining(last) == _VIRAMA:
        return not _JOINERS.match(following)
    if not last or not following:
        return False
    ends = (last, following)
    if all(category(each) in {"Lo", "Lm", "Mn", "Mc"} for each in ends):
        return not any(east_asian_width(each) in "WF" or _EMOJI_PARTS.match(each) for each in ends)
    if text[place] == "\u200c":
        return False
    base = _EMOJI_PARTS.sub("", text[max(place - _JOINED_CHARS, 0) : place])[-1:]
    return bool(base) and category(base) == "So" and category(following) in {"So", "Sm"}


class ProseStream:
    """Makes prose visible that comes in pieces, which may part a joiner from what it joins.

    They may also part the two characters of a line ending.
    """

    def __init__(self) -> None:
        self._before = self._held = ""

    def feed(self, text: str) -> str:
        """Return what can be shown of the text so far."""
        text = self._held + text
        part = _PART.search(text)
        self._held = part[0] if part else ""
        text = text.removesuffix(self._held)
        shown = prose_text(text, self._before)
        self._before = (self._before + text)[-_JOINED_CHARS:]
        return shown

    def finish(self) -> str:
        """Return what was held back, at the end of the text."""
        shown = prose_text(self._held, self._before)
        self._before = self._held = ""
        return shown


def single_line(text: str, width: int, *, is_prose: bool = False) -> str:
    """Return `text` made visible, on one line, cut to `width` characters with an ellipsis.

    Only the part of `text` that can be shown is examined. In prose the joiners stay that belong to
    letters and emoji, see `prose_text`.
    """
    is_cut = len(text) > width
    visible = prose_text if is_prose else escape_controls
    shown = visible(text[: width + 1]).replace("\n", "⏎").replace("\t", " ")
    if not is_cut and len(shown) <= width:
        return shown
    # A joiner joins nothing to the ellipsis.
    return shown[: max(width - 1, 0)].rstrip("\u200c\u200d") + "…"


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
