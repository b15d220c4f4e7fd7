"""Rows of what a tool call shows: its changes, its output, and what goes with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from rich.style import Style

from acp_console.chat.line_diff import MAX_LINES, DiffLine
from acp_console.tui.transcript.call_content import TERMINAL_LANGUAGES, Piece, hunks
from acp_console.tui.transcript.code import bar_rows, code_rows, colored_lines
from acp_console.tui.transcript.rows import Look, Row, Run, cells, chop, wrap, wrapped
from acp_protocol.host.sanitize import escape_controls

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
        case "note" | "attachment":
            rows = wrapped([(escape_controls(piece.text), look.muted)], width, lead)
            for row in rows:
                row.opens = piece.kind == "attachment"
            return rows
        case "code":
            language = piece.kind.partition(" ")[2]
            if "\x1b" in piece.text and language in TERMINAL_LANGUAGES:
                return bar_rows(
                    colored_lines(piece.text.removesuffix("\n"), look), width, look, lead
                )
            return code_rows(escape_controls(piece.text), language, width, look, lead)
        case "diff" if look.is_split and width - cells(lead) >= SPLIT_WIDTH:
            return _split_rows(piece.hunk, width, look, lead)
        case "diff":
            return [row for line in piece.hunk for row in _diff_rows(line, width, look, lead)]
        case _:
            return _colored(piece.text, width, look, lead)


def _diff_rows(line: DiffLine, width: int, look: Look, lead: Sequence[Run]) -> list[Row]:
    sign, text, other = line
    text = escape_controls(text).expandtabs(4)
    if sign == "@":
        rows = chop(text, max(width - cells(lead), 1))
        return [Row([(row, look.muted)], lead, "" if at else "\n") for at, row in enumerate(rows)]
    if sign == " ":
        return wrapped([(f"  {text}", look.text)], width, lead)
    runs, style = changed_runs(sign, text, other, look)
    rows = wrapped(runs, width, lead)
    for row in rows:
        row.back = style
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


def _split_rows(hunk: Sequence[DiffLine], width: int, look: Look, lead: Sequence[Run]) -> list[Row]:
    """Return lines of a diff with the old text on the left and the new one on the right."""
    rows: list[Row] = []
    gone: list[DiffLine] = []
    come: list[DiffLine] = []
    side = (width - cells(lead) - 3) // 2

    def flush() -> None:
        for place in range(max(len(gone), len(come))):
            left = _side(gone[place] if place < len(gone) else None, side, look)
            right = _side(come[place] if place < len(come) else None, side, look)
            blank: list[Run] = [(" " * side, look.text)]
            for at in range(max(len(left), len(right))):
                one = left[at] if at < len(left) else blank
                other = right[at] if at < len(right) else blank
                rows.append(Row([*one, (" │ ", look.muted), *other], lead))
        gone.clear()
        come.clear()

    for line in hunk:
        sign, text, _ = line
        if sign == "-":
            if come:
                flush()
            gone.append(line)
        elif sign == "+":
            come.append(line)
        else:
            flush()
            if sign == "@":
                rows += _diff_rows(line, width, look, lead)
            else:
                gone.append(line)
                come.append((sign, text, ""))
                flush()
    flush()
    return rows


def _side(line: DiffLine | None, width: int, look: Look) -> list[list[Run]]:
    """Return a line of one side, wrapped and filled to its width."""
    if line is None:
        return []
    sign, text, other = line
    text = escape_controls(text).expandtabs(4)
    if sign == " ":
        runs: list[Run] = [(f"  {text}", look.text)]
        style = look.text
    else:
        runs, style = changed_runs(sign, text, other, look)
    return [[*row, (" " * max(width - cells(row), 0), style)] for row, _ in wrap(runs, width)]


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
