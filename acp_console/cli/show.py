"""`acp-console show`: print recordings as a table, as JSON or as their exact bytes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import click
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.errors import UsageError
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.printing import print_heading, text_width
from acp_console.cli.progress import current_progress
from acp_console.cli.reading import (
    annotate,
    dialect_option,
    parse_filter,
    read_entries,
    warn_about_filter,
    warn_about_line,
)
from acp_console.cli.recording_files import recordings_argument
from acp_console.cli.show_views import View, ViewRequest, print_view
from acp_console.wording.frames import (
    FIELDS,
    HEADS,
    MESSAGE,
    NUMBERS,
    TABLE_FIELDS,
    WHAT,
    ShownRow,
    edited_row,
    frame_cell,
    meaning_json,
    other_row,
    part_cell,
)
from acp_console.wording.tables import GAP, join_cells
from acp_console.wording.values import format_seconds
from acp_inspector.filter.compiler import Filter
from acp_inspector.filter.entries import RecordingEntries, decoded_at
from acp_inspector.filter.frames import EntryFields
from acp_inspector.filter.scan import scan, scan_prefilter
from acp_inspector.filter.search import FilterSearch
from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.messages import DecodedFrame, Decoder
from acp_inspector.recording.finding import find_recordings
from acp_inspector.recording.format import Header
from acp_inspector.recording.index import MAX_WAITING
from acp_inspector.recording.reader import BadLine, read_lines
from acp_inspector.recording.reader import Row as Line
from acp_inspector.recording.scan import RecordingScan
from acp_inspector.recording.tail import RecordingTail
from acp_inspector.session.edits import FrameEdit
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.recorded_edits import read_edits
from acp_inspector.views.annotations import Annotations
from acp_inspector.views.frame_row import SUMMARY_WIDTH, decoded_row
from acp_protocol.host.did_you_mean import did_you_mean
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["table", "json", "raw"]


RowOf: TypeAlias = Callable[[int], ShownRow]
"""Makes the row of an entry, with a summary that is cut to a width."""
Found: TypeAlias = tuple[Entry, RowOf]

FINDINGS: Final = "findings"
"""The field that needs a lint of the whole recording; shown only if it is named."""
GAP_FIELD: Final = "gap"
"""The time since the previous frame, shown or not; shown only if it is named."""
EVERY_FIELD: Final = (*FIELDS, GAP_FIELD, FINDINGS)
WIDTHS: Final = {
    "n": 6,
    "t": 9,
    "from": 8,
    "kind": 12,
    "method": 26,
    MESSAGE: 34,
    "id": 6,
    "session": 12,
    "latency": 10,
    "size": 7,
    "summary": SUMMARY_WIDTH,
    WHAT: SUMMARY_WIDTH,
}
"""Width of each field while following, when later values are unknown."""
POLL_INTERVAL_S: Final = 0.1
"""Seconds between two reads while following."""
_MIN_SUMMARY: Final = 20
_GOOD_SUMMARY: Final = 30
"""Columns that the summary gets before others are left out."""
_SPARE: Final = ("size", "id", MESSAGE, "latency")
"""The columns that are left out where there is no room, in that order; the message is cut."""
_MIN_MESSAGE: Final = 24


@click.command(
    name="show",
    cls=CliCommand,
    topic="reading",
    sections={
        "Frames": ("text", "fields", "count", "follow"),
        "Views": ("view", "at", "since"),
        "Output": ("format_", "as_json"),
    },
    shows_progress=True,
)
@recordings_argument
@click.option(
    "--filter",
    "text",
    default="",
    metavar="EXPR",
    help='Only frames that match EXPR: a text, or an expression such as "method ~ fs/".',
)
@click.option(
    "--fields", default="", metavar="A,B", help=f"Fields to show: {', '.join(EVERY_FIELD)}."
)
@format_option(get_args(Format), "json: one object per line; raw: the exact bytes.")
@click.option("--count", is_flag=True, help="Print only the number of frames.")
@click.option(
    "--follow", is_flag=True, help="Print new frames as they are written, until interrupted."
)
@dialect_option
@click.option(
    "--view",
    type=click.Choice(get_args(View)),
    help="Show a view of the recording instead of its frames.",
)
@click.option(
    "--at",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --view: the state after frame N.  [default: at the end]",
)
@click.option(
    "--since",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --view conversation: only changes since frame N.",
)
def command(
    *,
    files: tuple[Path, ...],
    text: str,
    fields: str,
    format_: Format,
    count: bool,
    follow: bool,
    dialect: str | None,
    view: View | None,
    at: int | None,
    since: int | None,
) -> int:
    """Print the frames of recordings, and stderr and events if a filter names them.

    FILE may be a folder or a pattern.

    \b
    acp-console show session.acp.ndjson
    acp-console show --filter request_permission --json session.acp.ndjson
    acp-console show --filter 'from == agent and latency > 1s' x.acp.ndjson
    acp-console show --follow --filter 'error or stderr' session.acp.ndjson
    acp-console show --format raw session.acp.ndjson >frames
    """  # noqa: D301 - the mark by which click keeps lines apart
    wanted = parse_filter(text)
    if view is not None:
        for option, is_given in (("fields", fields), ("count", count), ("follow", follow)):
            if is_given:
                raise UsageError(f"--{option} cannot be combined with --view")
        if format_ == "raw":
            raise UsageError("--view cannot be printed as raw", "use --format table or json")
    elif at is not None or since is not None:
        raise UsageError("--at and --since need --view")
    found = find_recordings(files)
    if follow and len(found) > 1:
        raise UsageError("--follow prints one recording", f"{len(found)} were found: name one")
    for file in current_progress().over(found, "recordings"):
        label = str(file) if len(found) > 1 else ""
        if label and format_ == "table" and not count:
            print_heading(file, is_first=file == found[0])
        if view is not None:
            request = ViewRequest(file, wanted, at, since, format_ == "json", dialect, label)
            print_view(view, request)
        else:
            chosen = _Chosen(wanted, fields, format_, dialect, count=count, follow=follow)
            _print_frames(file, chosen, label)
    return exit_codes.DONE


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Which frames are printed, and how."""

    wanted: Filter
    fields: str
    format: Format
    dialect: str | None
    count: bool
    follow: bool


def _print_frames(file: Path, chosen: _Chosen, label: str) -> None:
    """Print the frames of a recording; `label` is its name, if it is one of several."""
    wanted, dialect, follow, format_ = chosen.wanted, chosen.dialect, chosen.follow, chosen.format
    names = [name.strip() for name in chosen.fields.split(",") if name.strip()]
    for name in names:
        if name not in EVERY_FIELD:
            hint = did_you_mean(name, EVERY_FIELD, f"fields: {', '.join(EVERY_FIELD)}")
            raise UsageError(f"unknown field {name!r}", hint)
    has_findings = FINDINGS in names
    if chosen.count and follow:
        raise UsageError("--count cannot be combined with --follow")
    has_gaps = GAP_FIELD in names
    if follow and (has_findings or has_gaps or wanted.needs_notes):
        raise UsageError(
            "--follow cannot show or filter by turns, gaps and findings: they need the whole "
            "recording"
        )
    known = annotate(file, wanted, has_findings=has_findings, has_gaps=has_gaps, dialect=dialect)
    found = _follow(file, wanted, dialect) if follow else _find(file, wanted, known, dialect)
    if chosen.count:
        click.echo(f"{f'{label}: ' if label else ''}{_count(file, wanted, found)}")
    elif format_ == "raw":
        entries = (entry for entry, _ in found)
        if wanted.is_empty and not follow:
            entries = (entry for entry in read_entries(file) if isinstance(entry, Frame))
        _write_bytes(entries, is_followed=follow)
    elif format_ == "json":
        for _, row_of in found if follow else _sent(file, found, dialect):
            row = row_of(SUMMARY_WIDTH)
            whole = {} if names else meaning_json(row)
            values = {name: _value(name, row, known) for name in names or FIELDS}
            print_json(({"file": label} if label else {}) | values | whole)
    else:
        width = text_width(SUMMARY_WIDTH)
        rows = (row_of(width) for _, row_of in (found if follow else _sent(file, found, dialect)))
        _print_table(rows, names or list(TABLE_FIELDS), known, is_followed=follow)
    warn_about_filter(wanted)


def _count(file: Path, wanted: Filter, found: Iterable[Found]) -> int:
    if not wanted.is_empty or not file.is_file():
        return sum(1 for _ in found)
    with RecordingScan(file, partial(warn_about_line, file)) as recording:
        return recording.count_frames()


def _value(name: str, row: ShownRow, known: Annotations) -> Json:
    if name == GAP_FIELD:
        gap = known.gap(row.n)
        return None if gap is None else round(gap, 6)
    return list(known.rules(row.n)) if name == FINDINGS else FIELDS[name](row)


def _cell(name: str, row: ShownRow, known: Annotations) -> str:
    if name == FINDINGS:
        return " ".join(known.rules(row.n))
    return format_seconds(known.gap(row.n)) if name == GAP_FIELD else frame_cell(name, row)


# Entries


def _find(file: Path, wanted: Filter, known: Annotations, dialect: str | None) -> Iterator[Found]:
    """Yield the matching entries; report unreadable lines on stderr."""
    if wanted.is_empty or not file.is_file():
        yield from _match(read_lines(file), file, wanted, known, dialect)
        return
    if passes := scan_prefilter(wanted):
        with RecordingScan(file, partial(warn_about_line, file)) as recording:
            for found in scan(recording, wanted, passes, known.notes, dialect=dialect):
                if isinstance(found, DecodedFrame):
                    yield found.frame, partial(decoded_row, found)
                elif _is_named(found, wanted):
                    yield found, partial(other_row, found)
        return
    # The index holds many of the fields that filters use; these need no reading.
    with RecordingEntries(file, dialect).index_all() as recording:
        for bad_line in recording.bad_lines():
            warn_about_line(file, bad_line)
        for row in FilterSearch(recording, wanted, known.notes).find_all():
            entry = recording[row]
            if isinstance(entry, Frame):
                yield entry, partial(decoded_row, decoded_at(recording, row, entry))
            elif isinstance(entry, StderrChunk | JournalEvent) and _is_named(entry, wanted):
                yield entry, partial(other_row, entry)


def _sent(file: Path, found: Iterable[Found], dialect: str | None) -> Iterator[Found]:
    """Yield entries with the rows of what was sent: of an edited frame that is another text."""
    # The event comes after the frame.
    edits = read_edits(file)
    if edits:
        with RecordingEntries(file, dialect).index_all() as recording:
            recording.translated(0, len(recording))
            dialect = recording.dialect
    for entry, row_of in found:
        edit = edits.of(entry.seq) if isinstance(entry, Frame) else None
        yield entry, row_of if edit is None else partial(_edited_row, row_of, edit, dialect)


def _edited_row(row_of: RowOf, edit: FrameEdit, dialect: str | None, width: int) -> ShownRow:
    return edited_row(row_of(width), edit, dialect, width)


def _follow(file: Path, wanted: Filter, dialect: str | None) -> Iterator[Found]:
    """Yield the matching entries, then new ones as they are written, without end."""

    def lines() -> Iterator[Line]:
        while True:
            yield from tail.read()
            sys.stdout.flush()
            time.sleep(POLL_INTERVAL_S)

    current_progress().hide()
    with RecordingTail(file) as tail:
        yield from _match(lines(), file, wanted, Annotations(), dialect)


def _match(
    lines: Iterable[Line], file: Path, wanted: Filter, known: Annotations, dialect: str | None
) -> Iterator[Found]:
    """Yield the matching entries of a stream of lines; a response knows its request."""
    decoder, exchanges = Decoder(dialect), Exchanges(is_lean=True, max_open=MAX_WAITING)
    for line in lines:
        if isinstance(line, BadLine):
            warn_about_line(file, line)
        elif isinstance(line, Header):
            decoder.begin_recording(line.dialect, line.cwd)
        elif isinstance(line, Frame):
            decoded = decoder.decode(line)
            exchanges.pair(decoded)
            notes = known.notes(line)
            if wanted.matches(EntryFields(line, exchanges, notes=notes, decoded=decoded)):
                yield line, partial(decoded_row, decoded)
        elif isinstance(line, StderrChunk | JournalEvent):
            if isinstance(line, JournalEvent):
                decoder.note(line)
                if line.begins_connection:
                    exchanges.restart(line.seq)
            if _is_named(line, wanted):
                yield line, partial(other_row, line)


def _is_named(entry: StderrChunk | JournalEvent, wanted: Filter) -> bool:
    """Return whether a filter names stderr or events and matches the entry."""
    return bool({"stderr", "event"} & wanted.fields) and wanted.matches(EntryFields(entry))


# Output


def _write_bytes(entries: Iterable[Entry], *, is_followed: bool) -> None:
    if sys.stdout.isatty():
        raise UsageError("--format raw does not print to a terminal", "redirect stdout")
    for entry in entries:
        match entry:
            case Frame():
                sys.stdout.buffer.write(entry.wire)
            case StderrChunk(data=raw):
                sys.stdout.buffer.write(raw)
            case JournalEvent():
                pass
        if is_followed:
            sys.stdout.buffer.flush()
    sys.stdout.buffer.flush()


def _lines_of(
    row: ShownRow, names: list[str], known: Annotations
) -> Iterator[tuple[str, list[str]]]:
    """Yield style and cells of a row, and of each of the messages in it."""
    style = "cyan" if row.side == "client" else ""
    if row.kind in {"error", "malformed"}:
        style = "red"
    yield style, [_cell(name, row, known) for name in names]
    for part in row.parts:
        yield style, [part_cell(name, part) for name in names]


def _print_table(
    rows: Iterable[ShownRow], names: list[str], known: Annotations, *, is_followed: bool
) -> None:
    """Print aligned columns; on a terminal the summary is cut so that a frame fits on one line.

    While following, when later values are unknown, the columns have fixed widths. Elsewhere than on
    a terminal nothing is cut.
    """
    console = Console(highlight=False)

    found = (line for row in rows for line in _lines_of(row, names, known))
    heads = [HEADS.get(name, name) for name in names]
    if is_followed:
        widths = [WIDTHS.get(name, len(name)) for name in names]
    else:
        # One text without line breaks a row: there may be a million rows.
        widths = list(map(cell_len, heads))
        kept: list[tuple[str, str]] = []
        for style, cells in found:
            widths = list(map(max, widths, map(cell_len, cells)))
            kept.append((style, "\n".join(cells)))
        found = ((style, cells.split("\n")) for style, cells in kept)
    is_terminal = console.is_terminal
    is_summary_last = names[-1] in {"summary", WHAT}
    shown = list(range(len(names)))
    if is_terminal and is_summary_last:
        shown = _fit(names, widths, console.width)
    elif is_summary_last:
        widths[-1] = 0
    widths = [widths[place] for place in shown]
    right = {at for at, place in enumerate(shown) if names[place] in NUMBERS}

    def print_line(cells: list[str], style: str) -> None:
        cells = [cells[place] for place in shown]
        fitting = widths if is_terminal else list(map(max, widths, map(cell_len, cells)))
        line = join_cells(cells, fitting, right).rstrip()
        if is_terminal:
            text = Text(line, style)
            console.print(text, no_wrap=True, crop=False, overflow="ignore", soft_wrap=True)
        else:
            console.file.write(line + "\n")

    print_line(heads, "bold")
    for style, cells in found:
        print_line(cells, style)


def _fit(names: Sequence[str], widths: list[int], width: int) -> list[int]:
    """Give the summary, which is last, what the other columns leave; return what is shown.

    Unless the user has chosen the columns, others make room for it.
    """
    shown = list(range(len(names)))

    def room() -> int:
        return width - sum(widths[place] + GAP for place in shown[:-1])

    for name in _SPARE if names[-1] == WHAT else ():
        if room() >= _GOOD_SUMMARY:
            break
        place = names.index(name)
        if name == MESSAGE:
            widths[place] = min(widths[place], _MIN_MESSAGE)
        elif name != "latency" or room() < _MIN_SUMMARY:
            shown.remove(place)
    widths[-1] = max(room(), _MIN_SUMMARY)
    return shown
