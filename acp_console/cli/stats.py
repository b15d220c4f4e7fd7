"""`acp-console stats`: counts, bytes, times and tokens of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import click

from acp_console.cli import exits
from acp_console.cli.printer import ascii_json
from acp_console.cli.studies import (
    FATES,
    Layout,
    filter_of,
    filter_option,
    print_table,
    safe,
    seconds,
    size,
    study_of,
)
from acp_inspector.analysis.conversation import Turn
from acp_inspector.analysis.statistics import Durations, MethodTally, Tally
from acp_inspector.analysis.study import Study
from acp_inspector.messages import member
from acp_protocol.host.text import one_line
from acp_protocol.jsonrpc import Json

By: TypeAlias = Literal["method", "session", "turn"]
Format: TypeAlias = Literal["table", "json"]

ID_WIDTH: Final = 12
"""Characters of the id of a session, where it is not what a line stands for."""
VERSION: Final = 1
"""Of the JSON that is printed."""


@click.command(name="stats")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--by",
    type=click.Choice(get_args(By)),
    default="method",
    show_default=True,
    help="What a line stands for.",
)
@filter_option('Count only frames that EXPR means, such as "session == s1 and t < 60s".')
@click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(Format)),
    default="table",
    show_default=True,
    help="json: one object, times in seconds.",
)
def command(*, file: Path, by: By, text: str, format_: Format) -> int:
    """Count what happened in the recording FILE, and how long it took.

    \b
    acp-console stats session.acp.ndjson
    acp-console stats --by turn session.acp.ndjson
    acp-console stats --by session --filter 'from == agent' --format json session.acp.ndjson
    """  # noqa: D301 - the mark by which click keeps lines apart
    study = study_of(file, filter_of(text, lacks=FATES))
    if format_ == "json":
        click.echo(ascii_json(statistics_json(study, by)))
    else:
        click.echo(headline(study))
        click.echo()
        print_statistics(study, by)
    return exits.DONE


def print_statistics(study: Study, by: By) -> None:
    """Print one table."""
    if by == "method":
        tallies = sorted(study.statistics.methods.values(), key=lambda tally: -tally.count)
        rows = [[arrow(tally), *method_cells(tally)] for tally in tallies]
        print_table(METHODS, rows)
    elif by == "session":
        items = study.statistics.sessions.items()
        sessions = [[safe(key), *session_cells(study, key, tally)] for key, tally in items]
        print_table(SESSIONS, sessions)
    else:
        turns = [turn_cells(turn, tally) for turn, tally in counted_turns(study)]
        print_table(TURNS, turns)


def statistics_json(study: Study, by: By) -> dict[str, Json]:
    """Return one table as JSON; times in seconds, sizes in bytes."""
    statistics = study.statistics
    rows: list[Json]
    if by == "method":
        rows = [_method_json(tally) for tally in statistics.methods.values()]
    elif by == "session":
        rows = [
            {"session": key, "turns": len(_session_turns(study, key)), **_tally_json(tally)}
            for key, tally in statistics.sessions.items()
        ]
    else:
        rows = [_turn_json(turn, tally) for turn, tally in counted_turns(study)]
    total = _tally_json(statistics.total)
    return {"acp_stats": VERSION, "by": by, "total": total, "rows": rows}


# Tables

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


def headline(study: Study) -> str:
    """Return all of a connection in one line."""
    total = study.statistics.total
    took = (total.last or 0.0) - (total.began or 0.0)
    parts = [
        f"{_many(total.frames, 'frame')} in {seconds(took)}",
        f"→ {size(total.bytes['client'])}",
        f"← {size(total.bytes['agent'])}",
        _many(len(study.statistics.sessions), "session"),
        _many(len(study.statistics.turns), "turn"),
        _many(total.errors, "error"),
    ]
    if total.malformed:
        parts.append(f"{total.malformed} malformed")
    if study.dialect:
        parts.append(f"dialect {study.dialect}")
    return ", ".join(parts)


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def arrow(tally: MethodTally) -> str:
    """Return who calls a method."""
    return f"{'→' if tally.side == 'client' else '←'} {tally.side}"


def method_cells(tally: MethodTally) -> list[str]:
    """Return what stands in the table of the methods behind who calls it."""
    endings, summary = tally.endings, tally.latencies.summary()
    is_asked = bool(endings)
    times = (summary.least, summary.p50, summary.p90, summary.p99, summary.most)
    return [
        safe(f"{tally.method} {tally.update}".strip()),
        str(tally.count),
        str(endings.get("error", 0)) if is_asked else "",
        str(endings.get("open", 0)) if is_asked else "",
        size(tally.bytes),
        *map(seconds, times),
    ]


def session_cells(study: Study, key: str, tally: Tally) -> list[str]:
    """Return what stands in the table of the sessions behind the name."""
    turns = _session_turns(study, key)
    return [
        str(len(turns)),
        str(tally.frames),
        size(sum(tally.bytes.values())),
        str(len(tally.tool_calls)),
        str(tally.failed_calls),
        str(len(tally.approvals)),
        seconds(tally.approvals.summary().p50),
        seconds(_first(turns).summary().p50),
        str(tally.chunks),
        _rate(tally),
        str(tally.errors),
        _tokens(tally.usage),
        _cost(tally),
    ]


def turn_cells(turn: Turn, tally: Tally) -> list[str]:
    """Return what stands in the table of the turns."""
    return [
        str(turn.number),
        one_line(turn.session_id, ID_WIDTH),
        safe(turn.stop_reason or turn.error or ("" if turn.ended else "open")),
        seconds(turn.duration),
        seconds(turn.first_update),
        seconds(turn.first_output),
        str(tally.frames),
        size(sum(tally.bytes.values())),
        str(len(tally.tool_calls)),
        str(tally.failed_calls),
        str(len(tally.approvals)),
        seconds(tally.approvals.summary().total) if len(tally.approvals) else "",
        str(tally.chunks),
        _rate(tally),
        str(tally.errors),
        _turn_tokens(turn),
        _cost(tally),
    ]


def _rate(tally: Tally) -> str:
    return "" if tally.chunk_rate is None else f"{tally.chunk_rate:.0f}"


def _tokens(usage: Json) -> str:
    used, room = member(usage, "used"), member(usage, "size")
    return safe(f"{used}/{room}") if isinstance(used, int) and isinstance(room, int) else ""


def _turn_tokens(turn: Turn) -> str:
    total = member(turn.usage, "totalTokens")
    return safe(str(total)) if isinstance(total, int) else ""


def _cost(tally: Tally) -> str:
    if tally.cost is None:
        return ""
    return safe(f"{tally.cost:.4g} {member(member(tally.usage, 'cost'), 'currency') or ''}").strip()


# Machines


def _method_json(tally: MethodTally) -> dict[str, Json]:
    return {
        "from": tally.side,
        "method": tally.method,
        "update": tally.update or None,
        "count": tally.count,
        "bytes": tally.bytes,
        "endings": dict(tally.endings),
        "latency": _durations_json(tally.latencies),
    }


def _tally_json(tally: Tally) -> dict[str, Json]:
    return {
        "frames": tally.frames,
        "bytes": dict(tally.bytes),
        "malformed": tally.malformed,
        "errors": tally.errors,
        "chunks": tally.chunks,
        "chunks_per_second": _rounded(tally.chunk_rate),
        "tool_calls": _counts(tally.tool_calls),
        "approval": _durations_json(tally.approvals),
        "usage": _usage_json(tally.usage),
        "cost": _rounded(tally.cost),
    }


def _usage_json(usage: Json) -> Json:
    if usage is None:
        return None
    return {name: member(usage, name) for name in ("used", "size", "cost")}


def _turn_json(turn: Turn, tally: Tally) -> dict[str, Json]:
    return {
        "turn": turn.number,
        "session": turn.session_id,
        "began": turn.began,
        "ended": turn.ended,
        "prompted": turn.is_prompted,
        "stop_reason": turn.stop_reason,
        "error": turn.error,
        "duration": _rounded(turn.duration),
        "first_update": _rounded(turn.first_update),
        "first_output": _rounded(turn.first_output),
        "tokens": turn.usage,
        **_tally_json(tally),
    }


def _durations_json(durations: Durations) -> dict[str, Json]:
    bars = [{"up_to": bound, "count": count} for bound, count in durations.histogram()]
    numbers = {name: _rounded(value) for name, value in asdict(durations.summary()).items()}
    return {**numbers, "histogram": bars}


def _rounded(seconds: float | None) -> float | None:
    """Return a time to the microsecond: recordings are no finer."""
    return None if seconds is None else round(seconds, 6)


def _counts(statuses: Mapping[str, str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for status in statuses.values():
        counts[status] = counts.get(status, 0) + 1
    return counts


# Turns


def counted_turns(study: Study) -> list[tuple[Turn, Tally]]:
    """Return the turns of which something was counted, by their number."""
    talks = study.conversations.sessions.values()
    turns = sorted((turn for talk in talks for turn in talk.turns), key=lambda turn: turn.number)
    tallies = study.statistics.turns
    return [(turn, tallies[turn.number]) for turn in turns if turn.number in tallies]


def _session_turns(study: Study, session_id: str) -> list[Turn]:
    talk = study.conversations.sessions.get(session_id)
    return [] if talk is None else talk.turns


def _first(turns: list[Turn]) -> Durations:
    durations = Durations()
    for turn in turns:
        if turn.first_update is not None:
            durations.add(turn.first_update)
    return durations
