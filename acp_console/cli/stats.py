"""`acp-console stats`: counts, bytes, times and tokens of recordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

import click

from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.printing import BAD, FAINT, Styles, print_heading, print_table
from acp_console.cli.progress import current_progress
from acp_console.cli.reading import (
    UNKNOWN_FIELDS,
    dialect_option,
    filter_option,
    parse_filter,
    read_session_model,
)
from acp_console.cli.recording_files import recordings_argument
from acp_console.wording.statistics import (
    TABLES,
    By,
    counted_methods,
    counted_turns,
    headline,
    method_cells,
    session_cells,
    session_turns,
    step_name,
    turn_cells,
)
from acp_console.wording.values import OUTPUT_VERSION
from acp_inspector.recording.finding import find_recordings
from acp_inspector.session.turn import SessionTurn
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.statistics import Counts, Histogram, MethodStatistics
from acp_inspector.views.turn_times import TimeSplit
from acp_protocol.json_values import get as member
from acp_protocol.jsonrpc import Json

Format: TypeAlias = Literal["table", "json"]
STYLES: Final[Styles] = {
    "from": lambda side: "cyan" if side.startswith("client") else "",
    "errors": lambda count: BAD if count not in {"", "0"} else FAINT,
    "open": lambda count: "yellow" if count not in {"", "0"} else FAINT,
    "failed": lambda count: BAD if count not in {"", "0"} else FAINT,
}
"""As in the tables of `show`: the client's side, and what went wrong."""


@click.command(name="stats", cls=CliCommand, topic="reading", shows_progress=True)
@recordings_argument
@click.option(
    "--by",
    type=click.Choice(get_args(By)),
    default="method",
    show_default=True,
    help="What each row counts.",
)
@filter_option('Count only frames that match EXPR, such as "session == s1 and t < 60s".')
@dialect_option
@format_option(get_args(Format), "json: one object per recording, times in seconds.")
def command(
    *, files: tuple[Path, ...], by: By, text: str, dialect: str | None, format_: Format
) -> int:
    """Print counts and times of recordings.

    FILE may be a folder or a pattern; each recording in it is counted for itself.

    \b
    acp-console stats session.acp.ndjson
    acp-console stats --by turn session.acp.ndjson
    acp-console stats --by session --filter 'from == agent' session.acp.ndjson
    """  # noqa: D301 - the mark by which click keeps lines apart
    wanted = parse_filter(text, unknown_fields=UNKNOWN_FIELDS)
    found = find_recordings(files)
    for file in current_progress().over(found, "recordings"):
        model = read_session_model(file, wanted, dialect=dialect)
        if format_ == "json":
            several = {"file": str(file)} if len(found) > 1 else {}
            print_json({**several, **statistics_json(model, by), "dialect": model.dialect})
            continue
        if len(found) > 1:
            print_heading(file, is_first=file == found[0])
        click.echo(headline(model))
        click.echo()
        print_statistics(model, by)
    return exit_codes.DONE


def print_statistics(model: SessionModel, by: By) -> None:
    match by:
        case "method":
            rows = [method_cells(tally) for tally in counted_methods(model)]
        case "session":
            items = model.statistics.sessions.items()
            rows = [session_cells(model, key, tally) for key, tally in items]
        case "turn":
            rows = [turn_cells(model, turn, tally) for turn, tally in counted_turns(model)]
    print_table(TABLES[by], [[cell.text for cell in row] for row in rows], STYLES)


def statistics_json(model: SessionModel, by: By) -> dict[str, Json]:
    """Return one table as JSON; times in seconds, sizes in bytes."""
    statistics = model.statistics
    rows: list[Json]
    if by == "method":
        rows = [_method_json(tally) for tally in statistics.methods.values()]
    elif by == "session":
        rows = [
            {
                "session": key,
                "turns": len(turns := session_turns(model, key)),
                "time": _split_json(model, turns),
                **_tally_json(tally),
            }
            for key, tally in statistics.sessions.items()
        ]
    else:
        rows = [_turn_json(model, turn, tally) for turn, tally in counted_turns(model)]
    total = _tally_json(statistics.total)
    return {"acp_stats": OUTPUT_VERSION, "by": by, "total": total, "rows": rows}


# JSON


def _method_json(tally: MethodStatistics) -> dict[str, Json]:
    return {
        "from": tally.side,
        "method": tally.method,
        "update": tally.update or None,
        "count": tally.count,
        "bytes": tally.bytes,
        "endings": dict(tally.endings),
        "latency": _durations_json(tally.latencies),
    }


def _tally_json(tally: Counts) -> dict[str, Json]:
    usage: Json = None
    if tally.usage is not None:
        usage = {name: member(tally.usage, name) for name in ("used", "size", "cost")}
    return {
        "frames": tally.frames,
        "bytes": dict(tally.bytes),
        "malformed": tally.malformed,
        "errors": tally.errors,
        "chunks": tally.chunks,
        "chunks_per_second": _rounded(tally.chunk_rate),
        "tool_calls": dict(Counter(tally.tool_calls.values())),
        "approval": _durations_json(tally.approvals),
        "usage": usage,
        "cost": _rounded(tally.cost),
    }


def _turn_json(model: SessionModel, turn: SessionTurn, tally: Counts) -> dict[str, Json]:
    return {
        "turn": turn.number,
        "session": turn.session_id,
        "began": turn.began,
        "ended": turn.ended,
        "prompted": turn.is_prompted,
        "stop_reason": turn.stop_reason,
        "error": turn.error,
        "duration": _rounded(turn.duration),
        "time": _split_json(model, [turn]),
        "first_update": _rounded(turn.first_update),
        "first_output": _rounded(turn.first_output),
        "tokens": turn.usage,
        **_tally_json(tally),
    }


def _split_json(model: SessionModel, turns: Iterable[SessionTurn]) -> dict[str, Json]:
    split = sum((model.turn_times.of(turn, model.at) for turn in turns), TimeSplit())
    longest: dict[str, Json] | None = None
    if (step := split.longest) is not None:
        name = step_name(model, step)
        longest = {"frame": step.n, "name": name, "seconds": _rounded(step.seconds)}
    times = {key: _rounded(getattr(split, key)) for key in ("person", "tools", "agent")}
    return {**times, "longest": longest}


def _durations_json(durations: Histogram) -> dict[str, Json]:
    bars = [{"up_to": bound, "count": count} for bound, count in durations.histogram()]
    summary = durations.summary()
    return {
        "count": summary.count,
        "total": _rounded(summary.total),
        "least": _rounded(summary.minimum),
        "mean": _rounded(summary.mean),
        "p50": _rounded(summary.p50),
        "p90": _rounded(summary.p90),
        "p99": _rounded(summary.p99),
        "most": _rounded(summary.maximum),
        "histogram": bars,
    }


def _rounded(seconds: float | None) -> float | None:
    """Return a time rounded to microseconds, the resolution of recordings."""
    return None if seconds is None else round(seconds, 6)
