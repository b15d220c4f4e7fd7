"""The tables of statistics: by method, by session, by turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from acp_console.wording.methods import request_name
from acp_console.wording.tables import Layout
from acp_console.wording.values import cell_text, format_seconds, format_size, plural, sender
from acp_inspector.session.turn import SessionTurn
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.statistics import Counts, Histogram, MethodStatistics
from acp_inspector.views.turn_times import Step, TimeSplit
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get as member
from acp_protocol.jsonrpc import Json

By: TypeAlias = Literal["method", "session", "turn"]
"""What a row is about."""
ID_WIDTH: Final = 12
"""Characters of a session's id in a row about something else."""
ENDING_WIDTH: Final = 20
"""Characters of the reason why a turn ended."""
STEP_WIDTH: Final = 40
"""Characters of the name of a step."""

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
        *("session", "turns", "person", "tools", "agent", "frames", "size", "calls", "failed"),
        *("asked", "approval p50", "first p50", "chunks", "chunks/s", "errors", "tokens", "cost"),
    ),
    words=("session",),
    flexible="session",
    spare=(
        *("chunks", "size", "frames", "failed", "errors", "asked", "tokens", "chunks/s", "cost"),
        *("approval p50", "first p50"),
    ),
)
TURNS: Final = Layout(
    columns=(
        *(
            "turn",
            "session",
            "ended",
            "took",
            "person",
            "tools",
            "agent",
            "longest",
            "first update",
        ),
        *("first output", "frames", "size", "calls", "failed", "asked", "chunks", "chunks/s"),
        *("errors", "tokens", "cost"),
    ),
    words=("turn", "session", "ended", "longest"),
    flexible="longest",
    spare=(
        *("session", "chunks", "size", "frames", "failed", "first update", "errors", "asked"),
        *("chunks/s", "calls", "tokens", "first output", "cost", "ended"),
    ),
)
TABLES: Final[dict[By, Layout]] = {"method": METHODS, "session": SESSIONS, "turn": TURNS}


@dataclass(frozen=True, slots=True)
class Cell:
    """What a table shows, and the value by which its rows are sorted."""

    text: str
    """Safe to show."""
    value: float | str | None = None
    """None: it comes after all others, in either order."""


def sort_cells(rows: Sequence[Sequence[Cell]], column: int, *, is_descending: bool) -> list[int]:
    """Return the positions of the rows, sorted by a column; equal rows keep their order."""
    values = [row[column].value for row in rows]
    words = [place for place, value in enumerate(values) if isinstance(value, str)]
    numbers = [place for place, value in enumerate(values) if isinstance(value, int | float)]
    nothing = [place for place, value in enumerate(values) if value is None]
    words.sort(key=lambda place: str(values[place]).casefold(), reverse=is_descending)
    numbers.sort(key=lambda place: float(values[place] or 0), reverse=is_descending)
    return [*numbers, *words, *nothing]


def _word(text: str) -> Cell:
    return Cell(text, text or None)


def _count(count: int) -> Cell:
    return Cell(str(count), count)


def _size(count: int) -> Cell:
    return Cell(format_size(count), count)


def _time(seconds: float | None) -> Cell:
    return Cell(format_seconds(seconds), seconds)


def _spent(seconds: float) -> Cell:
    return Cell(format_seconds(seconds) if seconds else "", seconds)


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


def method_cells(tally: MethodStatistics) -> list[Cell]:
    endings, summary = tally.endings, tally.latencies.summary()
    has_endings = bool(endings)
    times = (summary.minimum, summary.p50, summary.p90, summary.p99, summary.maximum)
    return [
        _word(sender(tally.side)),
        _word(cell_text(tally.update or tally.method)),
        _count(tally.count),
        _count(endings.get("error", 0)) if has_endings else Cell(""),
        _count(endings.get("open", 0)) if has_endings else Cell(""),
        _size(tally.bytes),
        *map(_time, times),
    ]


def session_cells(model: SessionModel, key: str, tally: Counts) -> list[Cell]:
    turns = session_turns(model, key)
    first_updates = Histogram()
    for turn in turns:
        if turn.first_update is not None:
            first_updates.add(turn.first_update)
    split = sum((model.turn_times.of(turn, model.at) for turn in turns), TimeSplit())
    return [
        _word(cell_text(key)),
        _count(len(turns)),
        *map(_spent, (split.person, split.tools, split.agent)),
        _count(tally.frames),
        _size(sum(tally.bytes.values())),
        _count(len(tally.tool_calls)),
        _count(tally.failed_calls),
        _count(len(tally.approvals)),
        _time(tally.approvals.summary().p50),
        _time(first_updates.summary().p50),
        _count(tally.chunks),
        _rate(tally),
        _count(tally.errors),
        _tokens(tally.usage),
        _cost(tally),
    ]


def turn_cells(model: SessionModel, turn: SessionTurn, tally: Counts) -> list[Cell]:
    total = member(turn.usage, "totalTokens")
    split = model.turn_times.of(turn, model.at)
    ending = turn.stop_reason or turn.error or ("" if turn.ended else "open")
    return [
        _count(turn.number),
        _word(single_line(turn.session_id, ID_WIDTH)),
        _word(single_line(ending, ENDING_WIDTH)),
        _time(turn.duration),
        *map(_spent, (split.person, split.tools, split.agent)),
        _step(model, split.longest),
        _time(turn.first_update),
        _time(turn.first_output),
        _count(tally.frames),
        _size(sum(tally.bytes.values())),
        _count(len(tally.tool_calls)),
        _count(tally.failed_calls),
        _count(len(tally.approvals)),
        _count(tally.chunks),
        _rate(tally),
        _count(tally.errors),
        Cell(cell_text(str(total)), total) if isinstance(total, int) else Cell(""),
        _cost(tally),
    ]


def step_name(model: SessionModel, step: Step) -> str:
    """Return the name of a step, safe to show: `Run tests`, `wait_for_exit pytest -q`."""
    name = step.title or "a tool call"
    if step.exchange is not None:
        name = request_name(step.exchange.request.method, model.subject(step.exchange))
    return single_line(name, STEP_WIDTH)


def _step(model: SessionModel, step: Step | None) -> Cell:
    if step is None:
        return Cell("")
    return Cell(f"{format_seconds(step.seconds)} {step_name(model, step)}", step.seconds)


def _rate(tally: Counts) -> Cell:
    return Cell("" if tally.chunk_rate is None else f"{tally.chunk_rate:.0f}", tally.chunk_rate)


def _tokens(usage: Json) -> Cell:
    used, room = member(usage, "used"), member(usage, "size")
    if not isinstance(used, int) or not isinstance(room, int):
        return Cell("")
    return Cell(cell_text(f"{used}/{room}"), used)


def _cost(tally: Counts) -> Cell:
    if tally.cost is None:
        return Cell("")
    currency = member(member(tally.usage, "cost"), "currency") or ""
    return Cell(cell_text(f"{tally.cost:.4g} {currency}").strip(), tally.cost)


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
