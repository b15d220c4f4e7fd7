"""The cells of one row of the traffic table, and their layout for a width."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Literal, TypeAlias, assert_never

from rich.cells import cell_len

from acp_console.traffic.labels import Label, fit_words, label_of
from acp_console.traffic.runs import Run
from acp_console.wording.events import EDITED, event_text
from acp_console.wording.tables import fit_cell
from acp_console.wording.values import format_offset, format_seconds, format_size, plural
from acp_inspector.filter.entries import EntrySequence, RecordingEntries, decode_edited
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.messages import DecodedFrame
from acp_inspector.recording.format import Footer, Header
from acp_inspector.recording.index import LineKind
from acp_inspector.recording.reader import BadLine, Row
from acp_inspector.session.edits import FrameEdit
from acp_inspector.views.frame_row import FrameRow, decoded_row
from acp_inspector.views.subjects import NamedKind, NameOf, no_name
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get_string
from acp_protocol.schema.vocabulary import USER_METHODS

LARGE: Final = 8 << 20
"""Frames of at least this many bytes are read only on demand."""
MAX_SUMMARY: Final = 200
NARROW: Final = 48
"""Width from which on time and latency are shown."""
MIDDLE: Final = 70
"""Width from which on the size is shown too, and times are exact."""
WIDE: Final = 100
"""Width from which on the gap is shown too: the time since the previous frame."""
WIDER: Final = 130
"""Width from which on the time since the row above is shown too, which a filter changes."""
WIDEST: Final = 170
"""Width from which on id and session have a column too."""
OPEN: Final = "open"
"""Shown instead of the latency of a pending request."""
MARK: Final = "◆"
EDGE: Final = 3
"""Columns before the number: for the user's mark and the lint finding."""

MIN_PICTURE: Final = 24
"""Columns of the arrow with its text, at least."""
_ENDS: Final = 4
"""Columns of the two ends of an arrow, and of the spaces around its text."""
SHORT_NAMES: Final = 46
"""Columns of the picture below which methods and updates have their short names."""

_SIGNS: Final = {
    "request": "●",
    "result": "○",
    "error": "✗",
    "malformed": "✗",
    "unreadable": "✗",
    "stderr": "‖",
}


@dataclass(frozen=True, slots=True)
class TrafficRow:
    """What a table shows of a row; every text is safe to show."""

    seq: int
    """Number of the entry; 0 if the row is not an entry."""
    time: float
    """Seconds since the journal began."""
    side: str
    """Sender: `client`, `agent`, or empty."""
    kind: str
    summary: str
    method: str = ""
    """Its own, or that of the request it responds to."""
    id: str = ""
    session: str = ""
    latency: float | None = None
    """Seconds from the request to the response, for both of them."""
    is_open: bool = False
    """Whether it is a request without a response."""
    size: int = 0
    """Bytes."""
    edited_by: int = 0
    """The event that reports its last edit; 0: it was sent as it came."""
    parts: tuple[TrafficRow, ...] = ()
    """The first of its messages, if it holds several."""
    part_count: int = 0
    """How many messages it holds, if several."""
    label: Label | None = None
    """What a message says; None: the summary does."""

    @property
    def is_for_person(self) -> bool:
        """Whether it is a request that a person answers."""
        return self.kind == "request" and self.method in USER_METHODS

    @property
    def is_fault(self) -> bool:
        return self.kind in {"error", "malformed", "unreadable"}


MAX_PARTS: Final = 100
"""Messages of a frame that are shown below its row, at most."""


def time_of(entries: EntrySequence, row: int) -> float:
    """Return the seconds since the journal began, from the index if possible."""
    if isinstance(entries, RecordingEntries):
        return entries.row_info(row).time
    entry = entries[row]
    return entry.time if isinstance(entry, Frame | StderrChunk | JournalEvent) else 0.0


def gap_before(entries: EntrySequence, row: int) -> float | None:
    """Return the seconds from the previous frame to the frame in a row, as the field `gap`.

    None if the row is no frame, if no frame precedes it, or if many other rows are between.
    """
    if not _is_frame(entries, row):
        return None
    rows = range(row - 1, max(row - _MAX_BETWEEN, 0) - 1, -1)
    previous = next((each for each in rows if _is_frame(entries, each)), None)
    if previous is None:
        return None
    return max(time_of(entries, row) - time_of(entries, previous), 0.0)


_MAX_BETWEEN: Final = 1000
"""Rows between two frames, such as lines of stderr, that are passed over at most."""


def _is_frame(entries: EntrySequence, row: int) -> bool:
    if isinstance(entries, RecordingEntries):
        return entries.row_info(row).kind in {LineKind.CLIENT, LineKind.AGENT}
    return isinstance(entries[row], Frame)


def size_of(entries: EntrySequence, row: int) -> int:
    """Return the number of bytes of a row, if known without reading it."""
    if isinstance(entries, RecordingEntries):
        behind = entries.index.offset(row + 1) if row + 1 < len(entries) else 0
        return max(behind - entries.index.offset(row), 0)
    entry = entries[row]
    return len(entry.data) if isinstance(entry, Frame) else 0


Named: TypeAlias = Callable[[int, NamedKind, str], str]
"""Returns the name that a terminal or a tool call has in a row; or ""."""


def _unnamed(row: int, kind: NamedKind, id_: str) -> str:
    del row, kind, id_
    return ""


def read_row(
    entries: EntrySequence,
    row: int,
    *,
    max_size: int = LARGE,
    edit: FrameEdit | None = None,
    named: Named = _unnamed,
) -> TrafficRow:
    """Return the row; of an entry of more than `max_size` bytes only what the index knows.

    A frame with an `edit` is shown as it was sent; `named` returns the name behind an id.
    """
    if (size := size_of(entries, row)) > max_size:
        method = ""
        if isinstance(entries, RecordingEntries):
            method = single_line(entries.row_info(row).method or "", 60)
        summary = "too large to show here: press v"
        return TrafficRow(0, time_of(entries, row), "", "large", summary, method, size=size)
    entry: Row = entries[row]
    match entry:
        case Frame():
            name_of = partial(named, row)
            if edit is None:
                return _frame(entries, row, entries.decoded(row, entry), name_of)
            decoded = decode_edited(entries, row, edit.sent(entry))
            return replace(_frame(entries, row, decoded, name_of), edited_by=edit.seq)
        case StderrChunk(seq=n, time=at, data=text):
            shown = single_line(text.decode(errors="replace").rstrip("\n"), MAX_SUMMARY)
            return TrafficRow(n, at, "agent", "stderr", shown, size=len(text))
        case JournalEvent(seq=n, time=at):
            return TrafficRow(n, at, "", "event", event_text(entry))
        case BadLine(line=line, reason=reason):
            return TrafficRow(0, 0.0, "", "unreadable", single_line(f"line {line}: {reason}", 200))
        case Header(tool=tool):
            return TrafficRow(0, 0.0, "", "header", single_line(tool, MAX_SUMMARY))
        case Footer(counts=counts):
            words = ", ".join(f"{count} {name}" for name, count in counts.items())
            return TrafficRow(0, 0.0, "", "end", single_line(words, MAX_SUMMARY))
        case _:
            assert_never(entry)


def run_row(
    entries: EntrySequence,
    run: Run,
    edit_of: Callable[[int], FrameEdit | None] = lambda n: None,
    named: Named = _unnamed,
) -> TrafficRow:
    """Return one row for a run, with the first words of its text, as `edit_of` its frames."""
    first = read_row(entries, run.begin, named=named)
    words = ""
    for row in range(run.begin, min(run.end, run.begin + _CHUNKS_READ)):
        entry = entries[row]
        edit = edit_of(entry.seq) if isinstance(entry, Frame) else None
        words += _streamed(entries, row, entry, edit)
        if len(words) > MAX_SUMMARY:
            break
    shown = single_line(words, MAX_SUMMARY)
    about = "" if first.label is None or not first.label.about else f" {first.label.about}"
    name = _RUN_NAMES.get(run.name, run.name.removesuffix("_chunk").replace("_", " "))
    return replace(
        first,
        kind="run",
        label=None,
        summary=f"{name} ×{run.end - run.begin}" + (f' "{shown}"' if shown else about),
        latency=time_of(entries, run.last) - first.time,
        size=run.size,
    )


def _streamed(entries: EntrySequence, row: int, entry: Row, edit: FrameEdit | None) -> str:
    """Return the text of the updates in a row, as they were sent."""
    if not isinstance(entry, Frame):
        return ""
    if edit is None:
        decoded = entries.decoded(row, entry)
    else:
        decoded = decode_edited(entries, row, edit.sent(entry))
    contents = [part.update.get("content") for part in decoded.parts]
    return "".join(get_string(content, "text") for content in contents)


_CHUNKS_READ: Final = 32
"""Frames of a run whose text is shown, at most."""
_RUN_NAMES: Final = {
    "agent_message_chunk": "message",
    "agent_thought_chunk": "thought",
    "tool_call_update": "tool output",
}


def _frame(
    entries: EntrySequence, row: int, decoded: DecodedFrame, name_of: NameOf = no_name
) -> TrafficRow:
    for each in entries.counterparts(row):
        request = entries[each] if each < row and size_of(entries, each) <= LARGE else None
        if isinstance(request, Frame):
            decoded.respond_to(entries.decoded(each, request))
    summary = decoded_row(decoded)
    answer_row = entries.response_row(row)
    latency = summary.latency
    if answer_row is not None:
        latency = time_of(entries, answer_row) - decoded.frame.time
    count, text = len(summary.parts), summary.summary
    if count and summary.kind != "batch":
        # The summary of an array counts its messages itself.
        text = f"{plural(count, 'message')}: {text}"
    parts = zip(summary.parts[:MAX_PARTS], decoded.parts, strict=False)
    return replace(
        _message(summary, None if count else label_of(decoded, name_of)),
        seq=summary.n,
        time=summary.at,
        summary=text,
        latency=latency,
        is_open=summary.kind == "request" and answer_row is None,
        size=summary.size,
        parts=tuple(_message(part, label_of(each, name_of)) for part, each in parts),
        part_count=count,
    )


def _message(row: FrameRow, label: Label | None) -> TrafficRow:
    """Return the row of a message: without the number, time and size that only a frame has."""
    return TrafficRow(
        0,
        0.0,
        row.side,
        row.kind,
        row.summary,
        row.method,
        id=single_line(json.dumps(row.id, ensure_ascii=False), 40) if row.has_id else "",
        session=row.session,
        latency=row.latency,
        label=label,
    )


# Layout.


TimeFormat: TypeAlias = Literal["time", "clock", "Δ"]
"""Since the beginning, as the clock showed it, or since the row above."""


@dataclass(frozen=True, slots=True)
class Times:
    """How the times of rows are written."""

    format: TimeFormat = "time"
    began: datetime | None = None
    """When the journal began; None: unknown, so there is no clock time."""

    @property
    def formats(self) -> list[TimeFormat]:
        return ["time", "Δ"] if self.began is None else ["time", "clock", "Δ"]

    @property
    def next(self) -> Times:
        """The same with the next format."""
        formats = self.formats
        place = formats.index(self.format) if self.format in formats else -1
        return replace(self, format=formats[(place + 1) % len(formats)])

    def named(self, name: str) -> Times:
        """Return the same with a format, if there is one of this name."""
        return replace(self, format=next((each for each in self.formats if each == name), "time"))

    def text(self, seconds: float, delta: float, width: int) -> str:
        """Return the time of a row that is `delta` seconds later than the one above."""
        if self.format == "Δ":
            return format_seconds(delta)
        if self.format == "clock" and self.began is not None:
            when = (self.began + timedelta(seconds=seconds)).astimezone()
            return when.isoformat(timespec="milliseconds")[11:23][:width]
        return format_offset(seconds, width)


RELATIVE: Final = Times()


def head_text(width: int, digits: int, times: Times = RELATIVE) -> str:
    """Return the heading above the rows for a width; numbers take `digits` columns."""
    columns = _columns(width, digits, times.format)
    cells = {name: name for name in columns}
    cells["picture"] = f"client{'agent':>{columns['picture'] - len('client')}}"
    return " " * EDGE + _joined(cells, columns)


def row_text(
    row: TrafficRow,
    width: int,
    digits: int,
    *,
    gap: float | None = None,
    delta: float = 0.0,
    countdown: str = "",
    times: Times = RELATIVE,
) -> str:
    """Return one row as a line, without its signs; narrow lines omit columns.

    `gap`: seconds since the previous frame; `delta`: since the row above.
    A row that waits for its release has a countdown instead of latency and size.
    """
    columns = _columns(width, digits, times.format)
    if countdown:
        room = [columns.pop(name) + 1 for name in ("latency", "size") if name in columns]
        columns["countdown"] = cell_len(countdown)
        rest = sum(room) - columns["countdown"] - 1
        columns["picture"] = max(columns["picture"] + rest, MIN_PICTURE)
    has_time = bool(row.seq or row.time)
    cells = {
        "n": str(row.seq) if row.seq else "",
        "gap": "" if gap is None or countdown else format_seconds(gap),
        "Δ": format_seconds(delta) * (has_time and not countdown),
        "id": row.id,
        "session": row.session,
        "picture": picture(row, columns["picture"], names_person=not countdown),
        "latency": _latency(row),
        "size": format_size(row.size, digits=0) if row.size else "",
        "countdown": countdown,
    }
    if times.format != "Δ":
        cells[times.format] = times.text(row.time, delta, columns.get(times.format, 0)) * has_time
    return _joined(cells, columns)


_WIDTHS: Final = {"gap": 8, "Δ": 8, "id": 8, "session": 12, "latency": 8, "size": 7}
_TIME_WIDTHS: Final[dict[TimeFormat, tuple[int, int]]] = {
    "time": (7, 9),
    "clock": (8, 12),
    "Δ": (8, 8),
}
"""Columns of a time in a narrow table, and in others."""
_LEAST: Final = {"latency": NARROW, "gap": WIDE, "Δ": WIDER, "id": WIDEST, "session": WIDEST}
"""Width from which on a column is shown, if that is not `MIDDLE`."""
_LEFT: Final = frozenset({"picture", "id", "session"})


def _columns(width: int, digits: int, format_: TimeFormat) -> dict[str, int]:
    """Return the columns that fit into a width, with their own widths."""
    shown = {
        name: columns for name, columns in _WIDTHS.items() if width >= _LEAST.get(name, MIDDLE)
    }
    if width >= NARROW:
        shown[format_] = _TIME_WIDTHS[format_][width >= MIDDLE]
    room = width - EDGE - digits - 1 - sum(shown.values()) - len(shown)
    order = ("n", format_, "gap", "Δ", "id", "session", "picture", "latency", "size")
    every = {**shown, "n": digits, "picture": max(room, MIN_PICTURE)}
    return {name: every[name] for name in dict.fromkeys(order) if name in every}


def _joined(cells: dict[str, str], columns: dict[str, int]) -> str:
    return " ".join(
        fit_cell(cells[name], width, is_right=name not in _LEFT) for name, width in columns.items()
    )


def picture(row: TrafficRow, width: int, *, names_person: bool = True) -> str:
    """Return a message as an arrow between the lane of the client and that of the agent.

    `names_person`: whether it says that a person answers it.
    """
    sign = _SIGNS.get(row.kind, "")
    is_short = width < SHORT_NAMES
    if row.side not in {"client", "agent"} or row.kind in {"stderr", "large"}:
        return f"{sign or '·'} {_label(row, width - 2, is_short=is_short)}"
    line = "┄" if row.kind in {"notification", "run"} else "─"
    sign = sign or line
    lead, wait = (line, " ?") if is_short else (line * 2, f" ? you {line}")
    if not (row.is_for_person and names_person):
        wait = "" if is_short else line
    room = width - cell_len(lead) - cell_len(wait) - _ENDS
    label = _label(row, room, is_short=is_short)
    inner = f"{lead} {label} {line * (room - cell_len(label))}{wait}"
    return f"{sign}{inner}▶" if row.side == "client" else f"◀{inner}{sign}"


def _latency(row: TrafficRow) -> str:
    return OPEN if row.is_open else format_seconds(row.latency)


def _label(row: TrafficRow, width: int, *, is_short: bool) -> str:
    """Return what a row says, in at most `width` columns."""
    edited = f"{EDITED} " if row.edited_by else ""
    width -= cell_len(edited)
    if row.label is not None:
        return edited + row.label.text(width, is_short=is_short)
    return edited + fit_words(_summary(row), width)


def _summary(row: TrafficRow) -> str:
    match row.kind:
        case "result" | "error":
            return f"{row.method} {row.kind} {row.summary}".strip()
        case "end" | "header" | "unreadable" | "large" | "malformed" | "stderr":
            return f"{row.kind}: {row.summary}"
        case "event" | "run":
            return row.summary
        case _:
            is_update = row.method == "session/update" and row.summary
            return row.summary if is_update else f"{row.method} {row.summary}".strip()
