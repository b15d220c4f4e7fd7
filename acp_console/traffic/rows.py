"""The cells of one row of the traffic table, and their layout for a width."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, assert_never

from rich.cells import cell_len, set_cell_size

from acp_console.traffic.runs import Run
from acp_console.wording.events import EDITED, event_text
from acp_console.wording.tables import fit_cell
from acp_console.wording.values import format_latency, format_size, plural
from acp_inspector.filter.entries import EntrySequence, RecordingEntries, decode_edited
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.messages import DecodedFrame
from acp_inspector.recording.format import Footer, Header
from acp_inspector.recording.index import LineKind
from acp_inspector.recording.reader import BadLine, Row
from acp_inspector.session.edits import Edit
from acp_inspector.views.frame_row import FrameRow, decoded_row
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get_string

LARGE: Final = 8 << 20
"""Frames of at least this many bytes are read only on demand."""
MAX_SUMMARY: Final = 200
MIDDLE: Final = 70
"""Width from which on time, latency and size are shown too."""
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
_PICTURE_EDGES: Final = 7
"""Columns of an arrow without its text."""
MAX_BEGUN_WORD: Final = 7
"""Characters of a word that are left out where it would be cut; more of it say something."""
ASKS_PERSON: Final = frozenset({"session/request_permission", "elicitation/create"})
"""Requests that a person answers."""

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

    @property
    def is_for_person(self) -> bool:
        """Whether it is a request that a person answers."""
        return self.kind == "request" and self.method in ASKS_PERSON

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


def read_row(
    entries: EntrySequence, row: int, *, max_size: int = LARGE, edit: Edit | None = None
) -> TrafficRow:
    """Return the row; of an entry of more than `max_size` bytes only what the index knows.

    A frame with an `edit` is shown as it was sent.
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
            if edit is None:
                return _frame(entries, row, entries.decoded(row, entry))
            decoded = decode_edited(entries, row, edit.sent(entry))
            return replace(_frame(entries, row, decoded), edited_by=edit.seq)
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
    entries: EntrySequence, run: Run, edit_of: Callable[[int], Edit | None] = lambda n: None
) -> TrafficRow:
    """Return one row for a run, with the first words of its text, as `edit_of` its frames."""
    first = read_row(entries, run.begin)
    words = ""
    for row in range(run.begin, min(run.end, run.begin + _CHUNKS_READ)):
        entry = entries[row]
        edit = edit_of(entry.seq) if isinstance(entry, Frame) else None
        words += _streamed(entries, row, entry, edit)
        if len(words) > MAX_SUMMARY:
            break
    shown = single_line(words, MAX_SUMMARY)
    name = _RUN_NAMES.get(run.name, run.name.removesuffix("_chunk").replace("_", " "))
    return replace(
        first,
        kind="run",
        summary=f"{name} ×{run.end - run.begin}" + (f' "{shown}"' if shown else ""),
        latency=time_of(entries, run.last) - first.time,
        size=run.size,
    )


def _streamed(entries: EntrySequence, row: int, entry: Row, edit: Edit | None) -> str:
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


def _frame(entries: EntrySequence, row: int, decoded: DecodedFrame) -> TrafficRow:
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
    return replace(
        _message(summary),
        seq=summary.n,
        time=summary.at,
        summary=text,
        latency=latency,
        is_open=summary.kind == "request" and answer_row is None,
        size=summary.size,
        parts=tuple(map(_message, summary.parts[:MAX_PARTS])),
        part_count=count,
    )


def _message(row: FrameRow) -> TrafficRow:
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
    )


# Layout.


def head_text(width: int, digits: int) -> str:
    """Return the heading above the rows for a width; numbers take `digits` columns."""
    columns = _columns(width, digits)
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
) -> str:
    """Return one row as a line, without its signs; narrow lines omit columns.

    `gap`: seconds since the previous frame; `delta`: since the row above.
    A row that waits for its release has a countdown instead of latency and size.
    """
    columns = _columns(width, digits)
    if countdown:
        room = [columns.pop(name) + 1 for name in ("latency", "size") if name in columns]
        columns["countdown"] = cell_len(countdown)
        rest = sum(room) - columns["countdown"] - 1
        columns["picture"] = max(columns["picture"] + rest, MIN_PICTURE)
    has_time = bool(row.seq or row.time)
    cells = {
        "n": str(row.seq) if row.seq else "",
        "time": (f"{row.time:.3f}" if row.time < 100_000 else f"{row.time:.0f}") * has_time,
        "gap": "" if gap is None or countdown else format_latency(gap),
        "Δ": format_latency(delta) * (has_time and not countdown),
        "id": row.id,
        "session": row.session,
        "picture": picture(row, columns["picture"], names_person=not countdown),
        "latency": _latency(row),
        "size": format_size(row.size, digits=0) if row.size else "",
        "countdown": countdown,
    }
    return _joined(cells, columns)


_WIDTHS: Final = {"time": 9, "gap": 8, "Δ": 8, "id": 8, "session": 12, "latency": 8, "size": 7}
_LEAST: Final = {"gap": WIDE, "Δ": WIDER, "id": WIDEST, "session": WIDEST}
"""Width from which on a column is shown, if that is not `MIDDLE`."""
_LEFT: Final = frozenset({"picture", "id", "session"})


def _columns(width: int, digits: int) -> dict[str, int]:
    """Return the columns that fit into a width, with their own widths."""
    shown = {
        name: columns for name, columns in _WIDTHS.items() if width >= _LEAST.get(name, MIDDLE)
    }
    room = width - EDGE - digits - 1 - sum(shown.values()) - len(shown)
    order = ("n", "time", "gap", "Δ", "id", "session", "picture", "latency", "size")
    every = {**shown, "n": digits, "picture": max(room, MIN_PICTURE)}
    return {name: every[name] for name in order if name in every}


def _joined(cells: dict[str, str], columns: dict[str, int]) -> str:
    return " ".join(
        fit_cell(cells[name], width, is_right=name not in _LEFT) for name, width in columns.items()
    )


def picture(row: TrafficRow, width: int, *, names_person: bool = True) -> str:
    """Return a message as an arrow between the lane of the client and that of the agent.

    `names_person`: whether it says how long a person has taken to answer.
    """
    sign = _SIGNS.get(row.kind, "")
    label = f"{EDITED} {_label(row)}" if row.edited_by else _label(row)
    if row.side not in {"client", "agent"} or row.kind in {"stderr", "large"}:
        return f"{sign or '·'} {_fit_words(label, width - 2)}"
    line = "┄" if row.kind in {"notification", "run"} else "─"
    sign = sign or line
    wait = ""
    if row.is_for_person and names_person:
        spent = "" if row.latency is None else f" {format_latency(row.latency)}"
        wait = f" ? you{spent} "
    label = f" {_fit_words(label, width - cell_len(wait) - _PICTURE_EDGES)} "
    fill = line * (width - 4 - cell_len(label) - cell_len(wait) - (len(line) if wait else 0))
    inner = f"{line}{label}{fill}{wait}{line if wait else ''}"
    return f"{sign}{line}{inner}▶" if row.side == "client" else f"◀{line}{inner}{sign}"


def _latency(row: TrafficRow) -> str:
    if row.is_open:
        return OPEN
    return "" if row.latency is None else format_latency(row.latency)


def _fit_words(text: str, width: int) -> str:
    """Return a text that takes at most `width` columns, cut before a short word if possible."""
    if cell_len(text) <= width:
        return text
    cut = set_cell_size(text, max(width - 1, 0))
    words, _, begun = cut.rpartition(" ")
    is_whole = text[len(cut) : len(cut) + 1] == " "
    return (cut if is_whole or not words or len(begun) > MAX_BEGUN_WORD else words).rstrip() + "…"


def _label(row: TrafficRow) -> str:
    """Return method and summary; an update's name is in its summary."""
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
