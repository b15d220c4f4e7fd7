"""The tables of statistics: by method, by session, by turn."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from acp_console.wording.tables import Layout
from acp_console.wording.values import cell_text, format_seconds, format_size, plural, sender
from acp_inspector.session.turn import SessionTurn
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.statistics import Counts, Histogram, MethodStatistics
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get as member
from acp_protocol.jsonrpc import Json

By: TypeAlias = Literal["method", "session", "turn"]
"""What a row is about."""
ID_WIDTH: Final = 12
"""Characters of a session's id in a row about something else."""

METHODS: Final = Layout(
    columns=(
        *("from", "method", "count", "errors", "open", "size"),
        *("min", "p50", "p90", "p99", "max"),
    ),
    words=("from", "method"),
    flexible="method",
    spare=("p99", "min", "size", "max", "open", "from", "p90"),
)
SESSIONS: Final = Layout(
    columns=(
        *("session", "turns", "frames", "size", "tools", "failed", "asked", "approval p50"),
        *("first p50", "chunks", "chunks/s", "errors", "tokens", "cost"),
    ),
    words=("session",),
    flexible="session",
    spare=("chunks", "size", "frames", "failed", "errors", "asked", "tokens", "chunks/s", "cost"),
)
TURNS: Final = Layout(
    columns=(
        *("turn", "session", "ended", "took", "first update", "first output", "frames", "size"),
        *("tools", "failed", "asked", "approval", "chunks", "chunks/s", "errors", "tokens"),
        "cost",
    ),
    words=("turn", "session", "ended"),
    flexible="ended",
    spare=(
        *("session", "chunks", "size", "frames", "failed", "first update", "errors", "asked"),
        *("tokens", "chunks/s", "tools", "cost"),
    ),
)
TABLES: Final[dict[By, Layout]] = {"method": METHODS, "session": SESSIONS, "turn": TURNS}


def headline(model: SessionModel) -> str:
    total = model.statistics.total
    took = (total.last or 0.0) - (total.began or 0.0)
    parts = [
        f"{plural(total.frames, 'frame')} in {format_seconds(took)}",
        f"→ {format_size(total.bytes['client'])}",
        f"← {format_size(total.bytes['agent'])}",
        plural(len(model.statistics.sessions), "session"),
        plural(len(model.statistics.turns), "turn"),
        plural(total.errors, "error"),
    ]
    if total.malformed:
        parts.append(f"{total.malformed} malformed")
    if model.dialect:
        parts.append(f"dialect {model.dialect}")
    return ", ".join(parts)


def method_cells(tally: MethodStatistics) -> list[str]:
    endings, summary = tally.endings, tally.latencies.summary()
    has_endings = bool(endings)
    times = (summary.minimum, summary.p50, summary.p90, summary.p99, summary.maximum)
    return [
        sender(tally.side),
        cell_text(tally.update or tally.method),
        str(tally.count),
        str(endings.get("error", 0)) if has_endings else "",
        str(endings.get("open", 0)) if has_endings else "",
        format_size(tally.bytes),
        *map(format_seconds, times),
    ]


def session_cells(model: SessionModel, key: str, tally: Counts) -> list[str]:
    turns = session_turns(model, key)
    first_updates = Histogram()
    for turn in turns:
        if turn.first_update is not None:
            first_updates.add(turn.first_update)
    return [
        cell_text(key),
        str(len(turns)),
        str(tally.frames),
        format_size(sum(tally.bytes.values())),
        str(len(tally.tool_calls)),
        str(tally.failed_calls),
        str(len(tally.approvals)),
        format_seconds(tally.approvals.summary().p50),
        format_seconds(first_updates.summary().p50),
        str(tally.chunks),
        _rate(tally),
        str(tally.errors),
        _tokens(tally.usage),
        _cost(tally),
    ]


def turn_cells(turn: SessionTurn, tally: Counts) -> list[str]:
    total = member(turn.usage, "totalTokens")
    return [
        str(turn.number),
        single_line(turn.session_id, ID_WIDTH),
        cell_text(turn.stop_reason or turn.error or ("" if turn.ended else "open")),
        format_seconds(turn.duration),
        format_seconds(turn.first_update),
        format_seconds(turn.first_output),
        str(tally.frames),
        format_size(sum(tally.bytes.values())),
        str(len(tally.tool_calls)),
        str(tally.failed_calls),
        str(len(tally.approvals)),
        format_seconds(tally.approvals.summary().total) if len(tally.approvals) else "",
        str(tally.chunks),
        _rate(tally),
        str(tally.errors),
        cell_text(str(total)) if isinstance(total, int) else "",
        _cost(tally),
    ]


def _rate(tally: Counts) -> str:
    return "" if tally.chunk_rate is None else f"{tally.chunk_rate:.0f}"


def _tokens(usage: Json) -> str:
    used, room = member(usage, "used"), member(usage, "size")
    return cell_text(f"{used}/{room}") if isinstance(used, int) and isinstance(room, int) else ""


def _cost(tally: Counts) -> str:
    if tally.cost is None:
        return ""
    return cell_text(
        f"{tally.cost:.4g} {member(member(tally.usage, 'cost'), 'currency') or ''}"
    ).strip()


def counted_methods(model: SessionModel) -> list[MethodStatistics]:
    """Return the methods, the most frequent first."""
    return sorted(model.statistics.methods.values(), key=lambda tally: -tally.count)


def counted_turns(model: SessionModel) -> list[tuple[SessionTurn, Counts]]:
    """Return the turns of which something was counted, by their number."""
    talks = model.conversations.sessions.values()
    turns = sorted((turn for talk in talks for turn in talk.turns), key=lambda turn: turn.number)
    tallies = model.statistics.turns
    return [(turn, tallies[turn.number]) for turn in turns if turn.number in tallies]


def session_turns(model: SessionModel, session_id: str) -> list[SessionTurn]:
    talk = model.conversations.sessions.get(session_id)
    return [] if talk is None else talk.turns
