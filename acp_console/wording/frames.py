"""The frames of a recording as rows of text, as JSON and as a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from rich.cells import cell_len

from acp_console.wording.events import EDITED, event_text
from acp_console.wording.tables import join_cells
from acp_console.wording.values import format_seconds, sender
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.messages import DecodedFrame, Decoder
from acp_inspector.session.edits import FrameEdit
from acp_inspector.views.frame_row import SUMMARY_WIDTH, FrameRow, decoded_row
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json


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
    parts: tuple[()] = ()


ShownRow: TypeAlias = FrameRow | OtherRow

FIELDS: Final[dict[str, Callable[[ShownRow], Json]]] = {
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

MESSAGE: Final = "message"
"""What a frame is, in one column: its method, the name of an update, the kind of a response."""
WHAT: Final = "what"
"""Its summary, without what `MESSAGE` says."""
TABLE_FIELDS: Final = ("n", "t", "from", MESSAGE, "id", "latency", "size", WHAT)
HEADS: Final = {WHAT: "summary"}
"""Heads of columns that have another name."""
UPDATE: Final = "session/update"
ID_WIDTH: Final = 40
"""Most characters shown of an id."""
PART_FIELDS: Final = ("kind", "method", "id", "session", "latency", "summary")
"""The fields of one message of a frame that holds several."""
NUMBERS: Final = frozenset({"n", "t", "latency", "size"})


def other_row(entry: StderrChunk | JournalEvent, width: int = SUMMARY_WIDTH) -> OtherRow:
    if isinstance(entry, StderrChunk):
        text = single_line(entry.data.decode(errors="replace").rstrip("\n"), width)
        return OtherRow(entry.seq, entry.time, "agent", "stderr", len(entry.data), text)
    return OtherRow(entry.seq, entry.time, None, "event", 0, event_text(entry, width))


def edited_row(
    row: ShownRow, edit: FrameEdit, dialect: str | None, width: int = SUMMARY_WIDTH
) -> ShownRow:
    """Return the row of an edited frame, as it was sent in a dialect; None: in none."""
    if not isinstance(row, FrameRow):
        return row
    frame = Frame(row.n, row.at, row.side, edit.now)
    decoded = DecodedFrame(frame) if dialect is None else Decoder(dialect).decode(frame)
    sent = decoded_row(decoded, width)
    summary = single_line(f"{EDITED} {sent.summary}", width)
    return replace(row, kind=sent.kind, size=sent.size, summary=summary, parts=sent.parts)


def split_summary(row: ShownRow) -> tuple[str, str]:
    """Return what a frame is, such as `update/tool_call`, and what its summary says beside that."""
    if row.kind == "notification" and row.method == UPDATE:
        mark = f"{EDITED} " if row.summary.startswith(f"{EDITED} ") else ""
        name, _, rest = row.summary.removeprefix(mark).partition(" ")
        return f"update/{name}", f"{mark}{rest}"
    is_called = row.kind in {"request", "notification"}
    return row.method if is_called else f"{row.kind} {row.method}".rstrip(), row.summary


def frame_cell(name: str, row: ShownRow) -> str:
    match name:
        case "message":
            return split_summary(row)[0]
        case "what":
            return split_summary(row)[1]
        case "t":
            return f"{row.at:.3f}"
        case "from":
            return sender(row.side)
        case "latency":
            return format_seconds(row.latency)
        case "id":
            shown_id = json.dumps(row.id, ensure_ascii=False)
            return single_line(shown_id, ID_WIDTH) if row.has_id else ""
        case _:
            value = FIELDS[name](row)
            return "" if value is None else str(value)


def part_cell(name: str, part: FrameRow) -> str:
    """Return a cell of a message below the row of its frame."""
    return frame_cell(name, part) if name in {*PART_FIELDS, MESSAGE, WHAT} else ""


def frame_json(row: ShownRow) -> dict[str, Json]:
    return {name: value(row) for name, value in FIELDS.items()} | meaning_json(row)


def meaning_json(row: ShownRow) -> dict[str, Json]:
    """Return the members for a frame in a dialect, and for one with several messages."""
    if not isinstance(row, FrameRow):
        return {}
    parts = [{name: FIELDS[name](part) for name in PART_FIELDS} for part in row.parts]
    dialect: dict[str, Json] = {"dialect": row.dialect} if row.dialect else {}
    return dialect | ({"messages": parts} if parts else {})


def table_lines(rows: Iterable[ShownRow]) -> Iterator[str]:
    """Yield a heading and the rows, in columns as wide as their longest cell."""
    cells: list[list[str]] = [[HEADS.get(name, name) for name in TABLE_FIELDS]]
    for row in rows:
        cells.append([frame_cell(name, row) for name in TABLE_FIELDS])
        cells += ([part_cell(name, part) for name in TABLE_FIELDS] for part in row.parts)
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    right = {place for place, name in enumerate(TABLE_FIELDS) if name in NUMBERS}
    for line in cells:
        yield join_cells(line, widths, right).rstrip()
