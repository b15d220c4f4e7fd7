"""Prints results: in colour and fitted to a terminal, whole and plain to anything else.

rich decides whether there are colours, by the terminal and by NO_COLOR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import click
from rich.console import Console, RenderableType
from rich.text import Text

from acp_console.cli.errors import warn
from acp_console.wording.tables import GAP, MIN_FLEXIBLE_WIDTH, Layout, TableText
from acp_protocol.host.sanitize import escape_controls

_WIDE: Final = 10_000
"""Width without a terminal: enough for any table."""
WHOLE: Final = 2**31
"""Width of a text that is never cut."""
Styles: TypeAlias = Mapping[str, Callable[[str], str]]
"""For columns by name: the style of a cell by its text."""
GOOD: Final = "green"
BAD: Final = "red"
FAINT: Final = "dim"


def text_width(width: int) -> int:
    """Return how much of a text is printed: `width` characters on a terminal, elsewhere all."""
    return width if console().is_terminal else WHOLE


def print_line(line: str, style: str = "") -> None:
    """Print a line that is safe to show, with a style on a terminal."""
    print_parts((line, style))


def print_parts(*parts: str | tuple[str, str]) -> None:
    """Print a line of parts, each with a style on a terminal."""
    line, where = Text.assemble(*parts), console()
    if where.is_terminal:
        where.print(line, no_wrap=True, crop=False, overflow="ignore", soft_wrap=True)
    else:
        click.echo(line.plain)


def print_heading(file: Path, *, is_first: bool) -> None:
    """Print the name of one of several recordings above what is printed of it."""
    if not is_first:
        click.echo()
    print_line(f"==> {escape_controls(str(file))} <==", "bold")


def console() -> Console:
    found = Console(highlight=False, markup=False, emoji=False)
    return found if found.is_terminal else Console(file=found.file, width=_WIDE, highlight=False)


def print_table(
    layout: Layout,
    rows: Sequence[Sequence[str]],
    styles: Styles | None = None,
    *,
    min_flexible_width: int = MIN_FLEXIBLE_WIDTH,
    names_hidden: bool = True,
) -> None:
    """Print rows as a table with a heading.

    Empty columns are left out. On a terminal, columns that do not fit are left out too, and named
    on stderr, unless `names_hidden` is false.
    """
    table = TableText(layout, rows, min_flexible_width=min_flexible_width)
    where = console()
    width = where.width
    names = [layout.columns[place] for place in table.fit(width).shown]
    lines = [Text(table.heading(width), "bold")]
    for row in rows:
        cells = zip(names, table.fitted(row, width), strict=True)
        styled = (Text(cell, _style(styles, name, cell.strip())) for name, cell in cells)
        lines.append(Text(" " * GAP).join(styled))
    for line in lines:
        if where.is_terminal:
            where.print(line, no_wrap=True, crop=False, overflow="ignore", soft_wrap=True)
        else:
            click.echo(line.plain.rstrip())
    hidden = table.fit(width).hidden
    if hidden and names_hidden:
        warn(f"no room for: {', '.join(hidden)}; use a wider terminal or --format json")


def _style(styles: Styles | None, name: str, cell: str) -> str:
    find = None if styles is None else styles.get(name)
    return "" if find is None else find(cell)


def print_plainly(shown: RenderableType) -> None:
    """Print as is to a terminal, and without trailing spaces to anything else."""
    where = console()
    if where.is_terminal:
        where.print(shown)
        return
    with where.capture() as captured:
        where.print(shown)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())
