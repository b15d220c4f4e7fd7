"""What a page says, without how it looks: HTML made into text.

Pages come from anywhere, so each character is looked at a bounded number of times, whatever is left
open; what is broken is read as far as it goes.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final

_UNSEEN: Final = ("script", "style", "noscript", "template", "svg", "head", "iframe", "title")
"""Elements of which nothing is shown where they stand; the title stands first."""
_BLOCKS: Final = frozenset(
    {"address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "figcaption"}
    | {"figure", "footer", "form", "header", "hr", "html", "main", "nav", "ol", "p", "pre"}
    | {"section", "table", "ul"}
)
_LINES: Final = frozenset({"br", "option", "/tr"})
"""Tags behind which a line ends."""
_HEADS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_NAME: Final = re.compile(r"/?([A-Za-z][A-Za-z0-9]*)")
_TITLE: Final = re.compile(r"<title[^>]{0,200}>([^<]{0,500})", re.IGNORECASE)
_SPACES: Final = re.compile(r"[ \t\r\f\v\u00a0]+")
_GAPS: Final = re.compile(r"\n{3,}")


def text_of(html: str) -> str:
    """Return the text of a page, its title first."""
    title = _TITLE.search(html)
    reader = _Reader(html)
    body = _GAPS.sub("\n\n", "\n".join(map(_tidied, reader.text().split("\n")))).strip()
    head = _SPACES.sub(" ", unescape(title[1])).strip() if title else ""
    return f"{head}\n\n{body}".strip() if head else body


def _tidied(line: str) -> str:
    """Return a line without the one space that may be left before it; more are meant."""
    return (line[1:] if line[:1] == " " and line[1:2] != " " else line).rstrip()


class _Reader:
    """Goes through the tags of a page."""

    def __init__(self, html: str) -> None:
        self._html = html
        self._small = html.lower()
        if len(self._small) != len(html):
            # A few letters get longer; then tags are found only in small letters.
            self._small = html
        self._parts: list[str] = []
        self._is_pre = False

    def text(self) -> str:
        at = 0
        while (tag := self._html.find("<", at)) >= 0:
            self._append(self._html[at:tag])
            at = self._behind(tag)
        self._append(self._html[at:])
        return "".join(self._parts)

    def _behind(self, at: int) -> int:
        """Return where it goes on behind the tag that begins at `at`."""
        html = self._html
        if html.startswith("<!--", at):
            return _after(html, "-->", at + 4)
        found = _NAME.match(html, at + 1)
        if found is None:
            if html.startswith(("<!", "<?"), at):
                return _after(html, ">", at)
            self._append("<")
            return at + 1
        name, is_end = found[1].lower(), html[at + 1] == "/"
        behind = _after(html, ">", at)
        if name in _UNSEEN and not is_end and not html.endswith("/>", at, behind):
            end = self._small.find(f"</{name}", behind)
            return len(html) if end < 0 else _after(html, ">", end)
        self._mark(name, is_end=is_end)
        return behind

    def _mark(self, name: str, *, is_end: bool) -> None:
        """Write what a tag looks like in text."""
        if name == "pre":
            self._is_pre = not is_end
        if name in _HEADS:
            self._parts.append("\n\n" if is_end else f"\n\n{_HEADS[name]} ")
        elif name in _BLOCKS:
            self._parts.append("\n\n" if name in {"p", "pre", "table"} else "\n")
        elif name == "li" and not is_end:
            self._parts.append("\n- ")
        elif name in {"td", "th"} and is_end:
            self._parts.append(" | ")
        elif (f"/{name}" if is_end else name) in _LINES:
            self._parts.append("\n")

    def _append(self, text: str) -> None:
        if text:
            unescaped = unescape(text)
            self._parts.append(
                unescaped if self._is_pre else _SPACES.sub(" ", unescaped.replace("\n", " "))
            )


def _after(text: str, sign: str, at: int) -> int:
    """Return where `text` goes on behind the next `sign`; its end if there is none."""
    found = text.find(sign, at)
    return len(text) if found < 0 else found + len(sign)
