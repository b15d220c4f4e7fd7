"""Lines of code and of output in colours: those of their tokens, or those they bring themselves.

Colouring never changes a text: what a lexer or an escape sequence would hide is shown plain.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from rich.ansi import AnsiDecoder
from rich.color import Color as RichColor
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI
from textual.color import Color

from acp_console.tui.themes import READABLE_DISABLED, readable
from acp_console.tui.transcript.rows import Look, Row, Run, cells, chop
from acp_protocol.host.sanitize import escape_controls

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_LEXED_LINE: Final = 1_000
"""Characters of a line of code that has colours."""
MAX_LEXING_S: Final = 1.0
"""Seconds after which code stays without colours."""
DIM: Final = 0.6
"""The share of its colour that dim output keeps; the rest is background."""
TAB: Final = 8
"""Columns of a tab in the output of a program."""
_COLOR: Final = re.compile(r"(\x1b\[[0-9;:]{0,100}m)")
_VISIBLE: Final = Style(conceal=False)


def code_rows(
    source: str,
    language: str,
    width: int,
    look: Look,
    first: Sequence[Run] = (),
    rest: Sequence[Run] | None = None,
) -> list[Row]:
    """Return the rows of source code, with a bar at its left.

    `first` precedes the first row, `rest` the others.
    """
    return bar_rows(lexed_lines(source.expandtabs(4), language, look), width, look, first, rest)


def bar_rows(
    lines: Sequence[list[Run]],
    width: int,
    look: Look,
    first: Sequence[Run] = (),
    rest: Sequence[Run] | None = None,
) -> list[Row]:
    """Return the rows of lines that are broken where a row ends, with a bar at their left."""
    bar = [("▏ ", look.muted)]
    rest = first if rest is None else rest
    inner = width - cells(first) - 2
    rows: list[Row] = []
    for line in lines:
        joins = "\n"
        for row in _chopped(line, inner):
            rows.append(Row(row, [*(rest if rows else first), *bar], joins))
            joins = ""
    return rows or [Row([], [*first, *bar])]


def colored_runs(text: str, look: Look) -> list[Run]:
    """Return output in its own colours; all other escape sequences are made visible."""
    if "\x1b" not in text:
        return [(escape_controls(text), look.text)]
    decoder, runs = AnsiDecoder(), list[Run]()
    for number, piece in enumerate(_COLOR.split(text.replace("\r\n", "\n"))):
        if number % 2:
            decoder.decode_line(piece)
        elif piece:
            runs.append((escape_controls(piece), _readable(decoder.style, look) + _VISIBLE))
    return runs


@lru_cache(maxsize=1024)
def _readable(style: Style, look: Look) -> Style:
    """Return the style of output in colours that can be read in a theme."""
    base = look.text
    if not look.backs:
        return base + style
    fore, back = style.color, style.bgcolor
    shown = base + style.without_color
    backs = look.backs
    if back is not None and not back.is_default:
        backs = (_true(back),)
        shown += Style.from_color(None, backs[0].rich_color)
    elif (fore is None or fore.is_default) and not style.dim:
        return shown + Style(color=base.color)
    text = base.color if fore is None or fore.is_default else fore
    if text is None:
        return shown
    color = readable(_true(text), backs)
    if style.dim and not style.reverse:
        color = readable(backs[0].blend(color, DIM), backs, READABLE_DISABLED)
    # Dimmed once more, it could not be read.
    return shown + Style(color=color.rich_color, dim=False)


def _true(color: RichColor) -> Color:
    """Return a colour as it is in every terminal."""
    return Color(*color.get_truecolor(DIMMED_MONOKAI))


def colored_lines(text: str, look: Look) -> list[list[Run]]:
    """Return the lines of output in its own colours."""
    lines: list[list[Run]] = [[]]
    column = 0
    for each, style in colored_runs(text, look):
        for number, piece in enumerate(each.split("\n")):
            if number:
                lines.append([])
                column = 0
            begin = " " * (column % TAB)
            if expanded := (begin + piece).expandtabs(TAB)[len(begin) :]:
                lines[-1].append((expanded, style))
                column += cells([(expanded, style)])
    return lines


def without_colors(text: str) -> str:
    """Return output without the escape sequences that are colours."""
    return _COLOR.sub("", text)


def is_language(name: str) -> bool:
    """Return whether code in a language has colours."""
    return _lexer(name) is not None


def _chopped(line: list[Run], width: int) -> list[list[Run]]:
    """Break a line of code where the row ends."""
    if cells(line) <= width:
        return [line]
    rows: list[list[Run]] = [[]]
    used = 0
    for text, style in line:
        for number, piece in enumerate(chop(text, max(width, 1), max(width - used, 0))):
            if number or used >= width:
                rows.append([])
                used = 0
            rows[-1].append((piece, style))
            used += cells([(piece, style)])
    return rows


def lexed_lines(
    source: str, language: str, look: Look, limit: float = MAX_LEXING_S
) -> list[list[Run]]:
    """Return lines of code in the colours of their tokens.

    They are plain if their tokens are another text, or take longer than `limit` seconds: some
    lexers need minutes for a text that is made for that.
    """
    source = source.removesuffix("\n")
    texts = source.split("\n")
    plain = [[(line, look.text)] if line else [] for line in texts]
    lexer = _lexer(language)
    if lexer is None or not look.tokens or max(map(len, texts)) > MAX_LEXED_LINE:
        return plain
    lines: list[list[Run]] = [[]]
    until = time.monotonic() + limit
    # Lexers that read line by line drop a line without an end.
    for token, text in lexer.get_tokens(f"{source}\n"):
        if time.monotonic() >= until:
            return plain
        style = _token_style(token, look)
        for number, piece in enumerate(text.split("\n")):
            if number:
                lines.append([])
            if piece:
                lines[-1].append((piece, style))
    lexed = "\n".join("".join(text for text, _ in line) for line in lines)
    return lines[:-1] if lexed == f"{source}\n" else plain


@lru_cache(64)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None


@lru_cache(256)
def language_of(path: str) -> str:
    """Return the language of a file by its name; empty if that says nothing."""
    name = path.replace("\\", "/").rpartition("/")[2]
    languages, ending = _languages(), name.rpartition(".")[2]
    known = languages.get(name) or languages.get(f"*.{ending}") or ()
    if len(known) < 2 or ending in known:
        return ending if ending in known else "".join(known)
    lexers = [(each, _lexer(each)) for each in known]
    return max(lexers, key=lambda each: each[1].priority if each[1] is not None else -1.0)[0]


@cache
def _languages() -> dict[str, list[str]]:
    """Return the languages of files by their name, or by an ending with a star before it."""
    from pygments.lexers import get_all_lexers

    found: dict[str, list[str]] = {}
    for _, aliases, patterns, _ in get_all_lexers(plugins=False):
        for pattern in patterns if aliases else ():
            found.setdefault(pattern, []).append(aliases[0])
    return found


@lru_cache(8)
def _changed_look(look: Look) -> Look:
    return replace(look, text=Style(), tokens=look.changed_tokens)


def changed_lines(texts: Sequence[str], language: str, look: Look) -> list[list[Run]]:
    """Return lines that a change adds or removes in the colours of their tokens alone."""
    return lexed_lines("\n".join(texts) + "\n", language, _changed_look(look))


def overlaid(base: Sequence[Run], colors: Sequence[Run]) -> list[Run]:
    """Return the runs of a line with the colours of other runs of the same text on top."""
    runs: list[Run] = []
    at = 0
    ends = [0, *accumulate(len(text) for text, _ in colors)]
    for text, style in base:
        begin, end = at, at + len(text)
        for (_, color), first, last in zip(colors, ends, ends[1:], strict=False):
            if first < end and last > begin:
                cut = text[max(first - begin, 0) : last - begin]
                runs.append((cut, style + color))
        at = end
    return runs


@cache
def _token_style(token: object, look: Look) -> Style:
    name = str(token)
    for begin, style in look.tokens:
        if name.startswith(begin):
            return style
    return look.text
