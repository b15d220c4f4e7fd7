"""`acp-console show`: the frames of a recording, as a table, as JSON or as the exact bytes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from acp_console.cli import exits
from acp_console.cli.printer import ascii_json
from acp_console.cli.problems import say
from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.analysis.summary import Row, describe
from acp_inspector.filter.errors import FilterError
from acp_inspector.filter.frames import FrameFacts
from acp_inspector.filter.language import Filter, compile_filter
from acp_inspector.journal import Frame
from acp_inspector.recording.reader import LineFault, read_lines
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["table", "json", "raw"]

FIELDS: Final[dict[str, Callable[[Row], Json]]] = {
    "n": lambda row: row.n,
    "t": lambda row: round(row.at, 6),
    "from": lambda row: row.side,
    "kind": lambda row: row.kind,
    "method": lambda row: row.method,
    "id": lambda row: row.id,
    "session": lambda row: row.session,
    "latency": lambda row: None if row.latency is None else round(row.latency, 6),
    "size": lambda row: row.size,
    "summary": lambda row: row.summary,
}
"""What is known of each frame, in the order in which it is shown."""

TABLE_FIELDS: Final = ("n", "t", "from", "kind", "method", "id", "latency", "size", "summary")
ID_WIDTH: Final = 40
"""Characters of an id, at most."""
_NUMBERS: Final = frozenset({"n", "t", "latency", "size"})
_GAP: Final = "  "
_LEAST_SUMMARY: Final = 20


@click.command(name="show")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--filter",
    "text",
    default="",
    metavar="EXPR",
    help='Only frames that EXPR means: text, or such as "method ~ fs/ and latency > 1s".',
)
@click.option("--fields", default="", metavar="A,B", help=f"Which of: {', '.join(FIELDS)}.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    default="table",
    show_default=True,
    help="json: one object a line; raw: the exact bytes.",
)
@click.option("--count", is_flag=True, help="Print how many frames there are, and nothing else.")
def command(*, file: Path, text: str, fields: str, format_: Format, count: bool) -> int:
    """Print the frames of the recording FILE.

    \b
    acp-console show session.acp.ndjson
    acp-console show --filter request_permission --format json session.acp.ndjson
    acp-console show --filter 'from == agent and latency > 500ms' session.acp.ndjson
    acp-console show --format raw session.acp.ndjson >frames
    """  # noqa: D301 - the mark by which click keeps lines apart
    names = _field_names(fields)
    frames = _frames(file, _filter(text))
    if count:
        click.echo(sum(1 for _ in frames))
    elif format_ == "raw":
        if sys.stdout.isatty():
            raise click.UsageError("raw bytes do not belong on a terminal: redirect them")
        for frame, _ in frames:
            sys.stdout.buffer.write(frame.raw + frame.end)
        sys.stdout.buffer.flush()
    elif format_ == "json":
        for _, row in frames:
            shown = {name: FIELDS[name](row) for name in names or FIELDS}
            click.echo(ascii_json(shown))
    else:
        _print_table([row for _, row in frames], names or list(TABLE_FIELDS))
    return exits.DONE


def _field_names(fields: str) -> list[str]:
    names = [name.strip() for name in fields.split(",") if name.strip()]
    for name in names:
        if name not in FIELDS:
            raise click.UsageError(f"there is no field {name!r}; there are: {', '.join(FIELDS)}")
    return names


def _filter(text: str) -> Filter:
    try:
        return compile_filter(text)
    except FilterError as problem:
        picture = problem.picture.replace("\n", "\n  ")
        raise click.UsageError(f"--filter: {problem}\n\n  {picture}") from None


def _frames(file: Path, wanted: Filter) -> Iterator[tuple[Frame, Row]]:
    """Yield the frames that pass, with their rows; say on stderr what could not be read."""
    exchanges = Exchanges()
    rows = _rows(file, exchanges)
    if "pending" in wanted.needs:
        # Whether a question was answered is known at the end only.
        rows = iter(list(rows))
    for frame, row in rows:
        if wanted.matches(FrameFacts(frame, exchanges)):
            yield frame, row


def _rows(file: Path, exchanges: Exchanges) -> Iterator[tuple[Frame, Row]]:
    for line in read_lines(file):
        if isinstance(line, LineFault):
            say(f"{file}, line {line.line}: {line.reason}")
        elif isinstance(line, Frame):
            yield line, describe(line, exchanges)


def _print_table(rows: list[Row], names: list[str]) -> None:
    """Print aligned columns; on a terminal the summary is cut so that a frame keeps to its line."""
    console = Console(highlight=False)
    cells = [[_cell(name, row) for name in names] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(names, *cells, strict=True)]
    if console.is_terminal and names[-1] == "summary":
        others = sum(widths[:-1]) + len(_GAP) * len(widths[:-1])
        widths[-1] = max(console.width - others, _LEAST_SUMMARY)
    lines = [Text(_line(names, names, widths), style="bold")]
    lines += [
        Text(_line(row_cells, names, widths), style=_style(row))
        for row, row_cells in zip(rows, cells, strict=True)
    ]
    for line in lines:
        console.print(line, no_wrap=True, crop=False, overflow="ignore", soft_wrap=True)


def _line(cells: list[str], names: list[str], widths: list[int]) -> str:
    padded: list[str] = []
    for cell, name, width in zip(cells, names, widths, strict=True):
        fill = " " * (width - cell_len(cell))
        if cell_len(cell) > width:
            padded.append(set_cell_size(cell, width - 1) + "…")
        else:
            padded.append(fill + cell if name in _NUMBERS else cell + fill)
    return _GAP.join(padded).rstrip()


def _cell(name: str, row: Row) -> str:
    match name:
        case "t":
            return f"{row.at:.3f}"
        case "from":
            return f"{'→' if row.side == 'client' else '←'} {row.side}"
        case "latency":
            return "" if row.latency is None else f"{row.latency * 1000:.1f} ms"
        case "id":
            shown_id = json.dumps(row.id, ensure_ascii=False)
            return one_line(shown_id, ID_WIDTH) if row.has_id else ""
        case _:
            value = FIELDS[name](row)
            return "" if value is None else str(value)


def _style(row: Row) -> str:
    if row.kind in {"error", "malformed"}:
        return "red"
    return "cyan" if row.side == "client" else ""
