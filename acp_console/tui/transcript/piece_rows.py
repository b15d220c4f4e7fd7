"""Rows of what a tool call shows: its changes, its output, and what goes with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from rich.style import Style

from acp_console.chat.line_diff import MAX_LINES
from acp_console.tui.images.drawing import ImageRow
from acp_console.tui.transcript.call_content import TERMINAL_LANGUAGES, Piece, hunks
from acp_console.tui.transcript.code import (
    bar_rows,
    changed_lines,
    code_rows,
    colored_lines,
    language_of,
    lexed_lines,
    overlaid,
)
from acp_console.tui.transcript.rows import Look, Row, Run, cells, chop, wrap, wrapped
from acp_protocol.host.sanitize import escape_controls
from acp_protocol.jsonrpc import Json

SPLIT_WIDTH: Final = 60
"""Columns from which on both sides of a diff fit beside each other."""


def diff_rows(old: str, new: str, width: int, look: Look) -> list[Row]:
    """Return all lines of two texts, with the differences marked."""
    if old == new:
        return wrapped([(escape_controls(old), look.text)], width)
    rows = [
        row
        for piece in hunks(old, new, context=MAX_LINES)
        for row in piece_rows(piece, width, look, ())
    ]
    # The number of the first line, which is 1.
    return rows[1:]


def piece_rows(piece: Piece, width: int, look: Look, lead: Sequence[Run]) -> list[Row]:
    match piece.kind.partition(" ")[0]:
        case "path" | "title":
            return wrapped([(escape_controls(piece.text), look.strong)], width, lead)
        case "command":
            return wrapped([("$ ", look.muted), (escape_controls(piece.text), look.strong)],
                           width, lead)  # fmt: skip
        case "input":
            name, _, text = escape_controls(piece.text).partition(": ")
            runs = [(f"{name}: ", look.muted), (text, look.text)]
            return wrapped(runs, width, lead)
        case "note":
            return wrapped([(escape_controls(piece.text), look.muted)], width, lead)
        case "attachment":
            text = escape_controls(piece.text)
            return attachment_rows(text, piece.block, width, look, lead)
        case "code":
            return _code_rows(piece, width, look, lead)
        case "diff" if look.is_split and width - cells(lead) >= SPLIT_WIDTH:
            return _split_rows(_painted(piece, look), width, look, lead)
        case "diff":
            lines = _painted(piece, look)
            return [row for line in lines for row in _diff_rows(line, width, look, lead)]
        case _:
            rows = _colored(piece.text, width - _gutter(piece), look, lead)
            return _numbered(rows, piece, look)


def _code_rows(piece: Piece, width: int, look: Look, lead: Sequence[Run]) -> list[Row]:
    language = piece.kind.partition(" ")[2]
    if "\x1b" in piece.text and language in TERMINAL_LANGUAGES:
        return bar_rows(colored_lines(piece.text.removesuffix("\n"), look), width, look, lead)
    rows = code_rows(escape_controls(piece.text), language, width - _gutter(piece), look, lead)
    return _numbered(rows, piece, look)


def attachment_rows(
    caption: str, block: Json, width: int, look: Look, lead: Sequence[Run] = ()
) -> list[Row]:
    """Return the rows of content that is not text: its caption, below the image that it is.

    A caption stands in brackets; nothing is copied of the image.
    """
    image, about = _image_rows(block, width, look, lead)
    text = f"{caption[:-1]} · {about}]" if about else caption
    rows = wrapped([(text, look.muted)], width, lead)
    for row in rows:
        row.opens = True
    if image:
        rows[0].joins = ""
    return [*image, *rows]


def _image_rows(block: Json, width: int, look: Look, lead: Sequence[Run]) -> tuple[list[Row], str]:
    """Return the rows of an image that the terminal shows, and what its caption says of it."""
    found = None if look.images is None else look.images.find(block, width - cells(lead))
    if found is None:
        return [], ""
    if isinstance(found, str):
        return [], f"not drawn: {found}"
    rows = [
        Row([], lead, "" if number else "\n", image=ImageRow(found, number))
        for number in range(found.rows)
    ]
    return rows, found.about


@dataclass(frozen=True, slots=True)
class _PaintedLine:
    """A line of a diff as it is drawn."""

    sign: str
    runs: Sequence[Run]
    """What stands in it; the sign of a changed line is a part."""
    style: Style
    old: str = ""
    """The number in the old text, as wide as all others of the diff; empty: there is none."""
    new: str = ""


def _painted(piece: Piece, look: Look) -> list[_PaintedLine]:
    """Return the lines of a diff in the colours of their language, with their numbers."""
    language = language_of(piece.path)
    texts = [escape_controls(text).expandtabs(4) for _, text, _ in piece.hunk]
    signs = [sign for sign, _, _ in piece.hunk]
    colors: dict[int, list[Run]] = {}
    for wanted, paint in (("-", changed_lines), ("+", changed_lines), (" ", _unchanged_lines)):
        # A line of one side is understood with the lines around it on that side.
        side = {wanted, " "} if wanted != " " else {"+", " "}
        places = [at for at, sign in enumerate(signs) if sign in side]
        if not language or wanted not in signs:
            continue
        lines = paint([texts[at] for at in places], language, look)
        colors |= {at: line for at, line in zip(places, lines, strict=True) if signs[at] == wanted}
    size = max((len(str(number)) for each in piece.numbers for number in each), default=0)
    numbers = piece.numbers or [(0, 0)] * len(texts)
    found: list[_PaintedLine] = []
    for at, (sign, _, other) in enumerate(piece.hunk):
        runs, style = _line_runs(sign, texts[at], other, look)
        if at in colors:
            runs = [runs[0], *overlaid(runs[1:], colors[at])]
        old, new = (f"{number or '':>{size}} " if size else "" for number in numbers[at])
        found.append(_PaintedLine(sign, runs, style, old, new))
    return found


def _unchanged_lines(texts: Sequence[str], language: str, look: Look) -> list[list[Run]]:
    return lexed_lines("\n".join(texts) + "\n", language, look)


def _line_runs(sign: str, text: str, other: str, look: Look) -> tuple[list[Run], Style]:
    if sign == "@":
        return [(text, look.muted)], look.muted
    if sign == " ":
        return [("  ", look.text), (text, look.text)], look.text
    return changed_runs(sign, text, other, look)


def _diff_rows(line: _PaintedLine, width: int, look: Look, lead: Sequence[Run]) -> list[Row]:
    if line.sign == "@":
        rows = chop(line.runs[0][0], max(width - cells(lead), 1))
        return [Row([(row, look.muted)], lead, "" if at else "\n") for at, row in enumerate(rows)]
    number = line.old if line.sign == "-" else line.new
    first = [*lead, (number, look.muted)] if number else lead
    rest = [*lead, (" " * len(number), look.muted)] if number else lead
    rows = wrapped(line.runs, width, first, rest)
    for row in rows:
        row.back = None if line.sign == " " else line.style
    return rows


def _gutter(piece: Piece) -> int:
    """Return how many cells the numbers of the lines of what was read take."""
    last = 0 if piece.begin is None else piece.begin + piece.text.count("\n")
    return len(str(last)) + 1 if last else 0


def _numbered(rows: list[Row], piece: Piece, look: Look) -> list[Row]:
    """Put its number before each line of what was read, where that is known."""
    if piece.begin is None:
        return rows
    size = _gutter(piece) - 1
    number = piece.begin - 1
    for row in rows:
        is_first = row.joins == "\n"
        number += is_first
        shown = f"{number if is_first else '':>{size}} "
        row.lead = [*row.lead, (shown, look.muted)]
    return rows


def changed_runs(sign: str, text: str, other: str, look: Look) -> tuple[list[Run], Style]:
    """Return a line of a diff with its sign, and the style of the whole line."""
    style, word = (
        (look.added, look.added_word) if sign == "+" else (look.removed, look.removed_word)
    )
    runs: list[Run] = [(f"{sign} ", style)]
    other = escape_controls(other).expandtabs(4)
    if other and len(text) + len(other) < 400:
        runs += _emphasized(text, other, style, word)
    else:
        runs.append((text, style))
    return runs, style


def _split_rows(
    hunk: Sequence[_PaintedLine], width: int, look: Look, lead: Sequence[Run]
) -> list[Row]:
    """Return lines of a diff with the old text on the left and the new one on the right."""
    rows: list[Row] = []
    gone: list[_PaintedLine] = []
    come: list[_PaintedLine] = []
    side = (width - cells(lead) - 3) // 2

    def flush() -> None:
        for place in range(max(len(gone), len(come))):
            left = _side(gone[place], gone[place].old, side, look) if place < len(gone) else []
            right = _side(come[place], come[place].new, side, look) if place < len(come) else []
            blank: list[Run] = [(" " * side, look.text)]
            for at in range(max(len(left), len(right))):
                one = left[at] if at < len(left) else blank
                other = right[at] if at < len(right) else blank
                rows.append(Row([*one, (" │ ", look.muted), *other], lead))
        gone.clear()
        come.clear()

    for line in hunk:
        if line.sign == "-":
            if come:
                flush()
            gone.append(line)
        elif line.sign == "+":
            come.append(line)
        else:
            flush()
            if line.sign == "@":
                rows += _diff_rows(line, width, look, lead)
            else:
                gone.append(line)
                come.append(line)
                flush()
    flush()
    return rows


def _side(line: _PaintedLine, number: str, width: int, look: Look) -> list[list[Run]]:
    """Return a line of one side, with its number, wrapped and filled to its width."""
    found: list[list[Run]] = []
    inner = width - len(number)
    for at, (row, _) in enumerate(wrap(line.runs, inner)):
        shown = number if at == 0 else " " * len(number)
        fill = (" " * max(inner - cells(row), 0), line.style)
        found.append([*([(shown, look.muted)] if shown else []), *row, fill])
    return found


def _emphasized(text: str, other: str, style: Style, word: Style) -> list[Run]:
    """Mark the words that differ from the other line."""
    mine, theirs = (re.findall(r"\w+|\s+|[^\w\s]", each) for each in (text, other))
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    if matcher.ratio() < 0.4:
        return [(text, style)]
    runs: list[Run] = []
    for tag, begin, end, _, _ in matcher.get_opcodes():
        if end > begin:
            runs.append(("".join(mine[begin:end]), style if tag == "equal" else word))
    return runs


def _colored(text: str, width: int, look: Look, lead: Sequence[Run]) -> list[Row]:
    """Return output in its own colours; all other escape sequences are made visible."""
    lines = colored_lines(text.removesuffix("\n"), look)
    runs = [run for line in lines for run in (("\n", look.text), *line)]
    return wrapped(runs[1:], width, lead)
