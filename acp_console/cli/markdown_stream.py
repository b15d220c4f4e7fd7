"""Markdown that arrives in pieces, drawn on a terminal one block after the other.

Nothing is hidden: what would be drawn as something else than its own text (HTML, addresses, images,
definitions, characters by their number) stands as it was sent, and so does a block of which a
letter or digit would be missing, such as a table with a cell too many.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_WIDTH: Final = 100
"""Columns that prose is wrapped to, at most."""
MAX_WAITING: Final = 1 << 16
"""Characters of a block that has no end, after which it is drawn as it is."""
CODE_THEME: Final = "ansi_dark"
"""Colours of the terminal itself, so that they can be read on any ground."""
STYLES: Final = {"markdown.code": "cyan", "markdown.h1": "bold", "markdown.h2": "bold"}
"""Styles without a ground of their own."""
_SGR: Final = re.compile(r"\x1b\[[\d;]*m")
_HIDING: Final = ("reference", "html_block", "html_inline", "link", "image", "autolink", "entity")


class MarkdownStream:
    """Draws the blocks of a text as soon as each has its end."""

    def __init__(self, width: int) -> None:
        self._text = ""
        self._is_first = True
        self._width = min(width, MAX_WIDTH)
        self._parser: MarkdownIt | None = None

    def feed(self, text: str) -> str:
        """Return what can be drawn of the text so far; the last block waits for its end."""
        self._text += text
        if "\n" not in text:
            return ""
        lines = self._text.splitlines(keepends=True)
        begin = self._last_block(self._text)
        if not begin and len(self._text) > MAX_WAITING:
            return self.finish()
        drawn, self._text = "".join(lines[:begin]), "".join(lines[begin:])
        return self._drawn(drawn)

    def finish(self) -> str:
        """Return what is left, at the end of a message."""
        drawn, self._text = self._text, ""
        return self._drawn(drawn)

    def _last_block(self, text: str) -> int:
        """Return the line in which the last block begins, which may go on."""
        tokens = self._markdown.parse(text)
        begins = [each.map[0] for each in tokens if each.level == 0 and each.map]
        return begins[-1] if begins else 0

    @property
    def _markdown(self) -> MarkdownIt:
        if self._parser is None:
            # Only where a person reads.
            from markdown_it import MarkdownIt

            parser = MarkdownIt("commonmark", {"html": False})
            self._parser = parser.enable(["strikethrough", "table"]).disable(list(_HIDING))
        return self._parser

    def _drawn(self, text: str) -> str:
        if not text.strip():
            return ""
        from rich.console import Console
        from rich.markdown import Heading, Markdown
        from rich.theme import Theme

        class LeftHeading(Heading):
            LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")

        class LeftMarkdown(Markdown):
            elements: ClassVar = {**Markdown.elements, "heading_open": LeftHeading}

        drawn = LeftMarkdown("", code_theme=CODE_THEME, hyperlinks=False)
        drawn.parsed = self._markdown.parse(text)
        file = io.StringIO()
        console = Console(
            file=file,
            width=self._width,
            force_terminal=True,
            color_system="standard",
            theme=Theme(STYLES),
            highlight=False,
            emoji=False,
            markup=False,
        )
        console.print(drawn)
        shown = file.getvalue()
        if self._missing(text, shown):
            shown = text
        lines = [line.rstrip() for line in shown.splitlines()]
        gap = "" if self._is_first else "\n"
        self._is_first = False
        return gap + "\n".join(lines).strip("\n") + "\n"

    def _missing(self, text: str, drawn: str) -> bool:
        """Return whether letters or digits of a text are not drawn, but for languages of code."""
        languages = (each.info for each in self._markdown.parse(text) if each.info.isalnum())
        known = _letters(_SGR.sub("", drawn)) + _letters("".join(languages))
        return bool(_letters(text) - known)


def _letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))
