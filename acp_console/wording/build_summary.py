"""A result as Markdown, for the page that a build server shows about a run.

Everything that a peer has sent is shown as it is: no links, no pictures, no HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from acp_console.wording.transcript_markdown import markdown_text
from acp_console.wording.values import plural

MAX_ROWS: Final = 200
"""Rows of a table: build servers refuse long pages."""
SIGNS: Final = {True: "✅", False: "❌"}


def build_summary(
    title: str,
    headline: str,
    *,
    is_passed: bool,
    columns: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return a heading, the counts, a table of what failed, and notes.

    Args:
        title: What has checked what.
        headline: The result in one line.
        is_passed: Whether the build goes on.
        columns: The heading of the table, which is left out if there are no rows.
        rows: The problems, the most severe first.
        notes: What else to know.
    """
    return "\n".join(_lines(title, headline, is_passed, columns, rows, notes)) + "\n"


def _lines(
    title: str,
    headline: str,
    is_passed: bool,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str],
) -> Iterator[str]:
    yield from (f"### {SIGNS[is_passed]} {markdown_text(title)}", "", markdown_text(headline))
    if rows:
        yield from ("", _row(columns), _row(["---"] * len(columns)))
        yield from (_row([markdown_text(cell) for cell in row]) for row in rows[:MAX_ROWS])
    if len(rows) > MAX_ROWS:
        yield from ("", f"… and {plural(len(rows) - MAX_ROWS, 'row')} more")
    for note in notes:
        yield from ("", markdown_text(note))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
