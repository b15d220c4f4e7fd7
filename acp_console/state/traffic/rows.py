"""The cells of one row of the traffic table, and their layout for a width."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, assert_never

from acp_console.render.tables import fit_cell
from acp_console.render.values import arrow, sender
from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.analysis.frame_row import frame_row
from acp_inspector.filter.entries import EntrySequence
from acp_inspector.journal import Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Footer, Header
from acp_inspector.recording.indexed import IndexedRecording
from acp_inspector.recording.reader import BadLine, Row
from acp_protocol.host.sanitize import single_line

LARGE: Final = 8 << 20
"""Frames of at least this many bytes are read only on demand."""
MAX_SUMMARY: Final = 200
MIDDLE: Final = 70
"""Width from which on time, latency and size are shown too."""
WIDE: Final = 130
"""Width from which on everything except id and session has its own column."""
WIDEST: Final = 170
"""Width from which on id and session have a column too."""
OPEN: Final = "open"
"""Shown instead of the latency of a pending request."""
MARK: Final = "◆"
EDGE: Final = 3
"""Columns before the number: for the user's mark and the lint finding."""

_SIGNS: Final = {
    "request": "?",
    "result": "=",
    "error": "!",
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
    """Seconds since the request, for a response."""
    is_open: bool = False
    """Whether it is a request without a response."""
    size: int = 0
    """Bytes."""

    @property
    def is_fault(self) -> bool:
        return self.kind in {"error", "malformed", "unreadable"}


def time_of(entries: EntrySequence, row: int) -> float:
    """Return the seconds since the journal began, from the index if possible."""
    if isinstance(entries, IndexedRecording):
        return entries.row_info(row).time
    entry = entries[row]
    return entry.time if isinstance(entry, Frame | StderrChunk | JournalEvent) else 0.0


def size_of(entries: EntrySequence, row: int) -> int:
    """Return the number of bytes of a row, if known without reading it."""
    if isinstance(entries, IndexedRecording):
        behind = entries.index.offset(row + 1) if row + 1 < len(entries) else 0
        return max(behind - entries.index.offset(row), 0)
    entry = entries[row]
    return len(entry.data) if isinstance(entry, Frame) else 0


def read_row(entries: EntrySequence, row: int, *, max_size: int = LARGE) -> TrafficRow:
    """Return the row; of an entry of more than `max_size` bytes only what the index knows."""
    if (size := size_of(entries, row)) > max_size:
        method = ""
        if isinstance(entries, IndexedRecording):
            method = single_line(entries.row_info(row).method or "", 60)
        summary = "too large to show here: press v"
        return TrafficRow(0, time_of(entries, row), "", "large", summary, method, size=size)
    entry: Row = entries[row]
    match entry:
        case Frame():
            return _frame(entries, row, entry)
        case StderrChunk(seq=n, time=at, data=text):
            shown = single_line(text.decode(errors="replace").rstrip("\n"), MAX_SUMMARY)
            return TrafficRow(n, at, "agent", "stderr", shown, size=len(text))
        case JournalEvent(seq=n, time=at, name=name, data=data):
            words = (
                value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                for value in data.values()
            )
            named = (f"{key} {word}" for key, word in zip(data, words, strict=True))
            text = single_line(" ".join([name, *named]), MAX_SUMMARY)
            return TrafficRow(n, at, "", "event", text)
        case BadLine(line=line, reason=reason):
            return TrafficRow(0, 0.0, "", "unreadable", single_line(f"line {line}: {reason}", 200))
        case Header(tool=tool):
            return TrafficRow(0, 0.0, "", "header", single_line(tool, MAX_SUMMARY))
        case Footer(counts=counts):
            words = ", ".join(f"{count} {name}" for name, count in counts.items())
            return TrafficRow(0, 0.0, "", "end", single_line(words, MAX_SUMMARY))
        case _:
            assert_never(entry)


def _frame(entries: EntrySequence, row: int, frame: Frame) -> TrafficRow:
    exchanges = Exchanges()
    request_row = entries.request_row(row)
    if request_row is not None and size_of(entries, request_row) <= LARGE:
        request = entries[request_row]
        if isinstance(request, Frame):
            exchanges.apply(request)
    summary = frame_row(frame, exchanges)
    return TrafficRow(
        seq=summary.n,
        time=summary.at,
        side=summary.side,
        kind=summary.kind,
        summary=summary.summary,
        method=summary.method,
        id=single_line(json.dumps(summary.id, ensure_ascii=False), 40) if summary.has_id else "",
        session=summary.session,
        latency=summary.latency,
        is_open=summary.kind == "request" and entries.response_row(row) is None,
        size=summary.size,
    )


# Layout.


def head_text(width: int, digits: int) -> str:
    """Return the heading above the rows for a width; numbers take `digits` columns."""
    if width < MIDDLE:
        return f"{'':{EDGE}}{'n':>{digits}}    frame"
    if width < WIDE:
        title = fit_cell("   frame", width - digits - EDGE - 29)
        return f"{'':{EDGE}}{'n':>{digits}} {'time':>9} {title} {'latency':>8} {'size':>7}"
    names = ("n", "time", "delta", "from", "kind", "method", "id", "session", "latency", "size")
    return " " * EDGE + _join((*names, "summary"), width, digits)


def row_text(row: TrafficRow, width: int, digits: int, *, delta: float) -> str:
    """Return one row as a line, without its signs; narrow lines omit columns."""
    latency = OPEN if row.is_open else "" if row.latency is None else _delta(row.latency)
    number = str(row.seq) if row.seq else ""
    if width < MIDDLE:
        return f"{number:>{digits}} {_summary(row)}"
    at = ""
    if row.seq or row.time:
        at = f"{row.time:.3f}" if row.time < 100_000 else f"{row.time:.0f}"
    if width < WIDE:
        summary = fit_cell(_summary(row), width - digits - EDGE - 29)
        return f"{number:>{digits}} {at:>9} {summary} {latency:>8} {_size(row.size):>7}"
    sent_by = sender(row.side)
    after = _delta(delta) if at else ""
    cells = (number, at, after, sent_by, row.kind, row.method, row.id, row.session, latency)
    return _join((*cells, _size(row.size), row.summary), width, digits)


def _summary(row: TrafficRow) -> str:
    """Return side and summary in one cell; an update's name is in its summary."""
    is_update = row.method == "session/update" and row.summary
    summary = row.summary if is_update else f"{row.method} {row.summary}".strip()
    if row.kind in {"event", "end", "header", "unreadable", "large"}:
        summary = f"{row.kind}: {summary}" if row.kind != "event" else summary
    return f"{arrow(row.side)}{_SIGNS.get(row.kind, ' ')} {summary}"


_WIDTHS: Final = {1: 9, 2: 9, 3: 8, 4: 12, 5: 26, 6: 8, 7: 12, 8: 8, 9: 7}
"""Columns of each cell but the first and the last."""
_RIGHT: Final = frozenset({0, 1, 2, 8, 9})
_ONLY_WIDEST: Final = frozenset({6, 7})


def _join(cells: tuple[str, ...], width: int, digits: int) -> str:
    parts: list[str] = []
    for place, cell in enumerate(cells[:-1]):
        if place in _ONLY_WIDEST and width < WIDEST:
            continue
        columns = _WIDTHS.get(place, digits)
        parts.append(fit_cell(cell, columns, is_right=place in _RIGHT))
    return " ".join([*parts, cells[-1]])


def _delta(seconds: float) -> str:
    if abs(seconds) < 0.0995:
        return f"{seconds * 1000:.1f} ms" if abs(seconds) < 0.00995 else f"{seconds * 1000:.0f} ms"
    return f"{seconds * 1000:.0f} ms" if abs(seconds) < 10 else f"{seconds:.1f} s"


def _size(size: int) -> str:
    if not size:
        return ""
    if size < 10_000:
        return f"{size} B"
    return f"{size / 1024:.0f} kB" if size < 10 * 2**20 else f"{size / 2**20:.0f} MB"
