"""`acp-console show`: what a recording holds, as a table, as JSON or as the exact bytes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import click
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from acp_console.cli import exit_codes
from acp_console.cli.annotate import annotate
from acp_console.cli.errors import say
from acp_console.cli.exec_output import ascii_json
from acp_console.cli.reading import parse_filter, warn_about_filter
from acp_console.cli.show_views import ViewCommand
from acp_console.render.tables import GAP, join_cells
from acp_console.render.values import sender
from acp_inspector.analysis.annotations import Annotations
from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.analysis.frame_row import SUMMARY_WIDTH, FrameRow, frame_row
from acp_inspector.filter.compiler import Filter
from acp_inspector.filter.entries import StreamedFrames
from acp_inspector.filter.frames import EntryFields
from acp_inspector.filter.search import FilterSearch
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.indexed import IndexedRecording
from acp_inspector.recording.reader import BadLine, read_lines
from acp_inspector.recording.reader import Row as Line
from acp_inspector.recording.tail import RecordingTail
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["table", "json", "raw"]


@dataclass(frozen=True, slots=True)
class OtherRow:
    """The row of an entry that is not a frame: stderr or an event."""

    n: int
    at: float
    side: str | None
    kind: str
    size: int
    summary: str
    method: str = ""
    id: None = None
    has_id: bool = False
    session: str = ""
    latency: None = None


Shown: TypeAlias = FrameRow | OtherRow

FIELDS: Final[dict[str, Callable[[Shown], Json]]] = {
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
"""The fields of each frame, in display order."""

FINDINGS: Final = "findings"
"""The field that needs a lint of the whole recording; shown only if it is named."""
TABLE_FIELDS: Final = ("n", "t", "from", "kind", "method", "id", "latency", "size", "summary")
ID_WIDTH: Final = 40
"""Most characters shown of an id."""
WIDTHS: Final = {
    "n": 6,
    "t": 9,
    "from": 8,
    "kind": 12,
    "method": 26,
    "id": 6,
    "session": 12,
    "latency": 10,
    "size": 7,
    "summary": SUMMARY_WIDTH,
}
"""Width of each field while following, when later values are unknown."""
POLL_INTERVAL_S: Final = 0.1
"""Seconds between two reads while following."""
_NUMBERS: Final = frozenset({"n", "t", "latency", "size"})
_LEAST_SUMMARY: Final = 20


@click.command(name="show", cls=ViewCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--filter",
    "text",
    default="",
    metavar="EXPR",
    help='Only frames that match EXPR: text, or such as "method ~ fs/ and latency > 1s".',
)
@click.option(
    "--fields", default="", metavar="A,B", help=f"Fields to show: {', '.join(FIELDS)}, {FINDINGS}."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    default="table",
    show_default=True,
    help="json: one object a line; raw: the exact bytes.",
)
@click.option("--count", is_flag=True, help="Print only the number of frames.")
@click.option(
    "--follow", is_flag=True, help="Print new frames as they are written, until interrupted."
)
def command(
    *, file: Path, text: str, fields: str, format_: Format, count: bool, follow: bool
) -> int:
    """Print the frames of the recording FILE, and stderr and events if a filter names them.

    \b
    acp-console show session.acp.ndjson
    acp-console show --filter request_permission --format json session.acp.ndjson
    acp-console show --filter 'from == agent and latency > 500ms' session.acp.ndjson
    acp-console show --follow --filter 'error or stderr' session.acp.ndjson
    acp-console show --format raw session.acp.ndjson >frames
    """  # noqa: D301 - the mark by which click keeps lines apart
    names = _field_names(fields)
    wanted = parse_filter(text)
    has_findings = FINDINGS in names
    if count and follow:
        raise click.UsageError("what is followed has no count: it has no end")
    if follow and (has_findings or wanted.needs_notes):
        raise click.UsageError("turns and findings are known of whole recordings alone")
    known = annotate(file, wanted, has_findings=has_findings)
    if count:
        click.echo(_count(file, wanted, known))
        warn_about_filter(wanted)
        return exit_codes.DONE
    found = _followed(file, wanted) if follow else _found(file, wanted, known)
    if format_ == "raw":
        _write_bytes((entry for entry, _ in found), is_followed=follow)
    else:
        _print_rows((row for _, row in found), names, format_, known, is_followed=follow)
    warn_about_filter(wanted)
    return exit_codes.DONE


def _write_bytes(entries: Iterable[Entry], *, is_followed: bool) -> None:
    if sys.stdout.isatty():
        raise click.UsageError("raw bytes do not belong on a terminal: redirect them")
    for entry in entries:
        sys.stdout.buffer.write(_exact(entry))
        if is_followed:
            sys.stdout.buffer.flush()
    sys.stdout.buffer.flush()


def _print_rows(
    rows: Iterable[Shown],
    names: list[str],
    format_: Format,
    known: Annotations,
    *,
    is_followed: bool,
) -> None:
    if format_ == "json":
        for row in rows:
            click.echo(ascii_json({name: _value(name, row, known) for name in names or FIELDS}))
    elif is_followed:
        _print_lines(rows, names or list(TABLE_FIELDS))
    else:
        _print_table(list(rows), names or list(TABLE_FIELDS), known)


def _field_names(fields: str) -> list[str]:
    names = [name.strip() for name in fields.split(",") if name.strip()]
    for name in names:
        if name not in (*FIELDS, FINDINGS):
            there = ", ".join((*FIELDS, FINDINGS))
            raise click.UsageError(f"there is no field {name!r}; there are: {there}")
    return names


def _value(name: str, row: Shown, known: Annotations) -> Json:
    return list(known.rules(row.n)) if name == FINDINGS else FIELDS[name](row)


def _found(file: Path, wanted: Filter, known: Annotations) -> Iterator[tuple[Entry, Shown]]:
    """Yield the matching entries with their rows; report unreadable lines on stderr."""
    if wanted.is_empty or not file.is_file():
        yield from _passing(read_lines(file), file, wanted, known)
        return
    # The index holds many of the fields that filters use; these need no reading.
    with IndexedRecording(file).index_all() as recording:
        _report_bad_lines(recording, file)
        for row in FilterSearch(recording, wanted, known.notes).find_all():
            entry = recording[row]
            if isinstance(entry, Frame):
                exchanges = _exchanges_of_request(recording, recording.request_row(row))
                yield entry, frame_row(entry, exchanges)
            elif isinstance(entry, StderrChunk | JournalEvent) and _is_named(entry, wanted):
                yield entry, _beside(entry)


def _count(file: Path, wanted: Filter, known: Annotations) -> int:
    """Return how many entries match, without reading the content of their messages."""
    if wanted.is_empty or not file.is_file():
        return sum(1 for _ in _found(file, wanted, known))
    count = 0
    with IndexedRecording(file).index_all() as recording:
        _report_bad_lines(recording, file)
        for row in FilterSearch(recording, wanted, known.notes).find_all():
            entry = recording[row]
            if isinstance(entry, Frame):
                count += 1
            elif isinstance(entry, StderrChunk | JournalEvent):
                count += _is_named(entry, wanted)
    return count


def _report_bad_lines(recording: IndexedRecording, file: Path) -> None:
    for fault in recording.bad_lines():
        say(f"{file}, line {fault.line}: {fault.reason}")


def _exchanges_of_request(recording: IndexedRecording, request_row: int | None) -> Exchanges:
    exchanges = Exchanges()
    request = None if request_row is None else recording[request_row]
    if isinstance(request, Frame):
        exchanges.apply(request)
    return exchanges


def _followed(file: Path, wanted: Filter) -> Iterator[tuple[Entry, Shown]]:
    """Yield the matching entries, then new ones as they are written, without end."""
    with RecordingTail(file) as follower:
        yield from _passing(_coming(follower), file, wanted, Annotations())


def _coming(follower: RecordingTail) -> Iterator[Line]:
    while True:
        yield from follower.read()
        sys.stdout.flush()
        time.sleep(POLL_INTERVAL_S)


def _passing(
    lines: Iterable[Line], file: Path, wanted: Filter, known: Annotations
) -> Iterator[tuple[Entry, Shown]]:
    """Yield the matching entries of a stream of lines; a response knows its request."""
    passing = StreamedFrames()
    for line in lines:
        if isinstance(line, BadLine):
            say(f"{file}, line {line.line}: {line.reason}")
        elif isinstance(line, Frame):
            exchanges = passing.add_frame(line)
            row = frame_row(line, exchanges)
            if wanted.matches(EntryFields(line, exchanges, notes=known.notes(line))):
                yield line, row
        elif isinstance(line, StderrChunk | JournalEvent):
            if isinstance(line, JournalEvent):
                passing.add_event(line)
            if _is_named(line, wanted):
                yield line, _beside(line)


def _is_named(entry: StderrChunk | JournalEvent, wanted: Filter) -> bool:
    """Return whether a filter names stderr or events and matches the entry."""
    return bool({"stderr", "event"} & wanted.fields) and wanted.matches(EntryFields(entry))


def _beside(entry: StderrChunk | JournalEvent) -> OtherRow:
    if isinstance(entry, StderrChunk):
        text = single_line(entry.data.decode(errors="replace").rstrip("\n"), SUMMARY_WIDTH)
        return OtherRow(entry.seq, entry.time, "agent", "stderr", len(entry.data), text)
    words = [entry.name, *(f"{key} {value}" for key, value in entry.data.items())]
    return OtherRow(
        entry.seq, entry.time, None, "event", 0, single_line(" ".join(words), SUMMARY_WIDTH)
    )


def _exact(entry: Entry) -> bytes:
    match entry:
        case Frame(data=raw, line_ending=end):
            return raw + end
        case StderrChunk(data=text):
            return text
        case JournalEvent():
            return b""


def _print_table(rows: list[Shown], names: list[str], known: Annotations) -> None:
    """Print aligned columns; on a terminal the summary is cut so that a frame keeps to its line."""
    console = Console(highlight=False)
    cells = [
        [" ".join(known.rules(row.n)) if name == FINDINGS else _cell(name, row) for name in names]
        for row in rows
    ]
    widths = [max(map(cell_len, column)) for column in zip(names, *cells, strict=True)]
    if console.is_terminal and names[-1] == "summary":
        others = sum(widths[:-1]) + GAP * len(widths[:-1])
        widths[-1] = max(console.width - others, _LEAST_SUMMARY)
    lines = [Text(_line(names, names, widths), style="bold")]
    lines += [
        Text(_line(row_cells, names, widths), style=_style(row))
        for row, row_cells in zip(rows, cells, strict=True)
    ]
    for line in lines:
        console.print(line, no_wrap=True, crop=False, overflow="ignore", soft_wrap=True)


def _print_lines(rows: Iterable[Shown], names: list[str]) -> None:
    """Print columns of fixed widths, each line as it comes."""
    console = Console(highlight=False)
    widths = [WIDTHS.get(name, len(name)) for name in names]
    if console.is_terminal and names[-1] == "summary":
        others = sum(widths[:-1]) + GAP * len(widths[:-1])
        widths[-1] = max(console.width - others, _LEAST_SUMMARY)
    click.echo(_line(names, names, widths))
    for row in rows:
        line = Text(_line([_cell(name, row) for name in names], names, widths), style=_style(row))
        console.print(line, no_wrap=True, crop=False, overflow="ignore", soft_wrap=True)


def _line(cells: list[str], names: list[str], widths: list[int]) -> str:
    right = {place for place, name in enumerate(names) if name in _NUMBERS}
    return join_cells(cells, widths, right).rstrip()


def _cell(name: str, row: Shown) -> str:
    match name:
        case "t":
            return f"{row.at:.3f}"
        case "from":
            return sender(row.side)
        case "latency":
            return "" if row.latency is None else f"{row.latency * 1000:.1f} ms"
        case "id":
            shown_id = json.dumps(row.id, ensure_ascii=False)
            return single_line(shown_id, ID_WIDTH) if row.has_id else ""
        case _:
            value = FIELDS[name](row)
            return "" if value is None else str(value)


def _style(row: Shown) -> str:
    if row.kind in {"error", "malformed"}:
        return "red"
    return "cyan" if row.side == "client" else ""
