"""What commands that read a whole recording share: the reading, the filter, the tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final, TypeVar

import click
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from acp_console.cli.problems import say
from acp_inspector.analysis.study import Study
from acp_inspector.filter.errors import FilterError
from acp_inspector.filter.frames import FrameFacts
from acp_inspector.filter.language import Filter, compile_filter
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.recording.reader import LineFault, read_lines
from acp_protocol.host.text import one_line

Command = TypeVar("Command", bound=Callable[..., object])

CELL_WIDTH: Final = 60
"""Characters of what comes from the wire, at most, in a table."""
LEAST: Final = 24
"""Columns that the flexible one of a table keeps before others are left out."""
FATES: Final = ("finding", "rule", "held", "edited")
"""Fields that a study does not know: lint and the proxy do."""
_GAP: Final = 2
"""Columns between two of a table."""
_WIDE: Final = 10_000
"""Columns where no terminal is: a table takes what it needs."""


def filter_option(about: str) -> Callable[[Command], Command]:
    """Let a command take `--filter EXPR`; it comes as the parameter `text`."""
    return click.option("--filter", "text", default="", metavar="EXPR", help=about)


def filter_of(text: str, *, option: str = "--filter", lacks: Collection[str] = ()) -> Filter:
    """Return the filter that was typed.

    Args:
        text: What was typed.
        option: Where.
        lacks: Fields that nobody knows here; to ask for them would silently mean nothing.

    Raises:
        click.UsageError: it cannot be understood, and the error shows where; or asks for what is
            not known.
    """
    try:
        wanted = compile_filter(text)
    except FilterError as problem:
        picture = problem.picture.replace("\n", "\n  ")
        raise click.UsageError(f"{option}: {problem}\n\n  {picture}") from None
    if unknown := sorted(wanted.needs.intersection(lacks)):
        names = ", ".join(f"`{name}`" for name in unknown)
        raise click.UsageError(f"{option}: nobody knows {names} here; show and lint do")
    return wanted


def tell_complaint(wanted: Filter, *, option: str = "--filter") -> None:
    """Say on stderr if nobody knows of some frames whether the filter means them."""
    if wanted.complaint:
        say(f"{option} {wanted.source}: {wanted.complaint}")


def entries_of(file: Path) -> Iterator[Entry]:
    """Yield the entries of a recording; say on stderr what could not be read."""
    for line in read_lines(file):
        if isinstance(line, LineFault):
            say(f"{file}, line {line.line}: {line.reason}")
        elif isinstance(line, Frame | StderrText | JournalEvent):
            yield line


def study_of(file: Path, wanted: Filter | None = None, *, until: int | None = None) -> Study:
    """Return what is known of a recording.

    Args:
        file: The recording.
        wanted: Statistics count the frames that it means; None: all.
        until: The last entry that is read; None: all are.
    """
    study = Study()
    entries = entries_of(file)
    if until is not None:
        entries = takewhile(lambda entry: entry.n <= until, entries)
    if wanted is None or wanted.is_empty:
        study.read(entries)
        return study
    exchanges = study.exchanges
    if "pending" in wanted.needs:
        # Whether a question was answered is known at the end only.
        exchanges = study_of(file, until=until).exchanges

    def counts(frame: Frame) -> bool:
        return wanted.matches(FrameFacts(frame, exchanges, notes=study.notes()))

    for entry in entries:
        study.apply(entry, counts=counts)
    tell_complaint(wanted)
    return study


def console() -> Console:
    """Return what tables are printed on."""
    found = Console(highlight=False, markup=False, emoji=False)
    return found if found.is_terminal else Console(file=found.file, width=_WIDE, highlight=False)


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is laid out, and what becomes of it where there is little room."""

    columns: tuple[str, ...]
    words: tuple[str, ...]
    """The columns that keep to the left; numbers keep to the right."""
    flexible: str
    """The column that is made narrower first."""
    spare: tuple[str, ...]
    """The columns that are left out next, in that order."""


def print_table(layout: Layout, rows: Sequence[Sequence[str]]) -> None:
    """Print rows below the names of their columns.

    A column in which no row has anything is left out. On a terminal so are those that do not fit;
    which ones is said on stderr.
    """
    names = layout.columns
    shown = [name for place, name in enumerate(names) if not rows or any(r[place] for r in rows)]
    widths = {
        name: max(map(cell_len, (name, *(row[place] for row in rows))))
        for place, name in enumerate(names)
    }
    room = console().width
    hidden: list[str] = []
    for name in layout.spare:
        if _left(widths, shown, layout.flexible, room) >= 0:
            break
        if name in shown:
            shown.remove(name)
            hidden.append(name)
    spare = _left(widths, shown, layout.flexible, room)
    least = min(widths[layout.flexible], LEAST)
    widths[layout.flexible] = min(widths[layout.flexible], least + max(spare, 0))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in shown:
        justify = "left" if name in layout.words else "right"
        table.add_column(
            name, justify=justify, no_wrap=True, overflow="ellipsis", width=widths[name]
        )
    for row in rows:
        table.add_row(*(Text(row[names.index(name)]) for name in shown))
    print_plainly(table)
    if hidden:
        say(f"no room for: {', '.join(hidden)}; a wider terminal has it, and --format json")


def _left(widths: Mapping[str, int], shown: Sequence[str], flexible: str, room: int) -> int:
    """Return the room that is left, the flexible column being as narrow as it may be."""
    fixed = sum(widths[name] for name in shown if name != flexible)
    return room - fixed - min(widths[flexible], LEAST) - _GAP * (len(shown) - 1)


def print_plainly(shown: RenderableType) -> None:
    """Print on a terminal as it is there, and anywhere else without what fills lines up."""
    where = console()
    if where.is_terminal:
        where.print(shown)
        return
    with where.capture() as captured:
        where.print(shown)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def safe(text: str) -> str:
    """Return what comes from the wire as it may stand in a table."""
    return one_line(text, CELL_WIDTH)


def seconds(value: float | None) -> str:
    """Return a duration as a person reads it; empty for none."""
    if value is None:
        return ""
    if value >= 120:
        return f"{value / 60:.1f} min"
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.1f} ms"


def size(count: int) -> str:
    """Return bytes as a person reads them."""
    if count < 10_000:
        return f"{count} B"
    return f"{count / 1024:.1f} kB" if count < 10 * 1024**2 else f"{count / 1024**2:.1f} MB"
