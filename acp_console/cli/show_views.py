"""Prints the views of `acp-console show --view NAME`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import click

from acp_console.cli.errors import UsageError
from acp_console.cli.format_option import print_json
from acp_console.cli.printing import print_table
from acp_console.cli.reading import annotate, read_decoded, read_session_model, warn_about_filter
from acp_console.wording.capabilities import CAPABILITIES, capability_cells
from acp_console.wording.tables import Layout
from acp_console.wording.transcript import change_lines, transcript_lines
from acp_console.wording.values import OUTPUT_VERSION, cell_text, format_seconds, sender
from acp_console.wording.waiting import alarms, unanswered_sentence, wait_tree
from acp_inspector.filter.compiler import Filter
from acp_inspector.filter.frames import EntryFields
from acp_inspector.journal import Frame
from acp_inspector.session.exchanges import Exchange
from acp_inspector.views.capabilities import Capability
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.state_diff import change_to_json, state_changes
from acp_inspector.views.to_json import session_to_json
from acp_inspector.views.wait_graph import PendingWait, WaitGraph
from acp_protocol.jsonrpc import Json

View: TypeAlias = Literal["exchanges", "conversation", "waiting", "capabilities"]

EXCHANGES: Final = Layout(
    columns=("n", "from", "method", "id", "answer", "latency", "ending", "session"),
    words=("from", "method", "id", "ending", "session"),
    flexible="method",
    spare=("session", "from", "id"),
)


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """The view of a recording to print."""

    file: Path
    filter: Filter
    at: int | None
    """The number of the last entry to read; None: all."""
    since: int | None
    """If set, show only the changes after this entry."""
    is_json: bool
    dialect: str | None = None
    """The dialect of the recording; None: it is recognised."""
    label: str = ""
    """The name of the recording if it is one of several."""


def print_view(view: View, request: ViewRequest) -> None:
    """Print one view of a recording.

    Raises:
        UsageError: an option does not go with this view.
    """
    if request.since is not None and view != "conversation":
        raise UsageError("--since needs --view conversation")
    if not request.filter.is_empty and view != "exchanges":
        raise UsageError(f"--filter cannot be combined with --view {view}, which needs all frames")
    model = read_session_model(request.file, until=request.at, dialect=request.dialect)
    VIEWS[view](model, request)


def _print_json(view: View, request: ViewRequest, model: SessionModel, **members: Json) -> None:
    several = {"file": request.label} if request.label else {}
    print_json({**several, "acp_view": OUTPUT_VERSION, "view": view, "at": model.n, **members})


# Exchanges


def _exchanges(model: SessionModel, request: ViewRequest) -> None:
    wanted = _wanted_numbers(model, request)

    def is_wanted(*frames: Frame | None) -> bool:
        return any(
            frame is not None and (wanted is None or frame.seq in wanted) for frame in frames
        )

    shown = [
        each for each in model.exchanges.all if is_wanted(each.request_frame, each.response_frame)
    ]
    faults = [each for each in model.exchanges.faults if is_wanted(each.frame)]
    warn_about_filter(request.filter)
    if request.is_json:
        exchanges = [_exchange_json(each) for each in shown]
        fault_values = [
            {"kind": each.kind, "n": each.frame.seq, "id": each.id, "why": each.why}
            for each in faults
        ]
        _print_json("exchanges", request, model, exchanges=exchanges, faults=fault_values)
        return
    print_table(EXCHANGES, [_exchange_cells(each) for each in shown])
    for fault in faults:
        click.echo(f"frame {fault.frame.seq}: {fault.kind}: {cell_text(fault.why)}")


def _wanted_numbers(model: SessionModel, request: ViewRequest) -> set[int] | None:
    """Return the numbers of the frames that match the filter; None: all do."""
    if request.filter.is_empty:
        return None
    known = annotate(request.file, request.filter, dialect=request.dialect)
    found: set[int] = set()
    for frame in read_decoded(request.file, dialect=request.dialect):
        fields = EntryFields(
            frame.frame, model.exchanges, notes=known.notes(frame.frame), decoded=frame
        )
        if request.filter.matches(fields):
            found.add(frame.frame.seq)
    return found


def _exchange_cells(each: Exchange) -> list[str]:
    ending = each.ending if each.code is None else f"{each.ending} {each.code}"
    return [
        str(each.request_frame.seq),
        sender(each.requester),
        cell_text(each.request.method),
        cell_text(json.dumps(each.request.id, ensure_ascii=False)),
        "" if each.response_frame is None else str(each.response_frame.seq),
        format_seconds(each.latency),
        ending if each.cancel_frame is None else f"{ending}, withdrawn",
        cell_text(each.session or ""),
    ]


def _exchange_json(each: Exchange) -> dict[str, Json]:
    return {
        "request": each.request_frame.seq,
        "from": each.requester,
        "method": each.request.method,
        "id": each.request.id,
        "session": each.session,
        "response": None if each.response_frame is None else each.response_frame.seq,
        "latency": None if each.latency is None else round(each.latency, 6),
        "ending": each.ending,
        "code": each.code,
        "withdrawn": None if each.cancel_frame is None else each.cancel_frame.seq,
    }


# Conversation


def _conversation(model: SessionModel, request: ViewRequest) -> None:
    then = model.conversations.at(model.n)
    if request.since is not None:
        before = model.conversations.at(min(request.since, model.n))
        changes = state_changes(before, then)
        if request.is_json:
            change_values = [change_to_json(each) for each in changes]
            _print_json("conversation", request, model, since=request.since, changes=change_values)
        else:
            for each in changes:
                _print_lines(change_lines(each))
        return
    if request.is_json:
        sessions = [session_to_json(snapshot) for snapshot in then.values()]
        _print_json("conversation", request, model, dialect=model.dialect, sessions=sessions)
        return
    for place, snapshot in enumerate(then.values()):
        if place:
            click.echo()
        _print_lines(transcript_lines(snapshot))


def _print_lines(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(line)


# Waiting


def _waiting(model: SessionModel, request: ViewRequest) -> None:
    graph, unanswered = model.waiting(), model.exchanges.unanswered()
    cancelled = model.waiting_at_cancel()
    if request.is_json:
        waits = [_wait_json(wait, graph) for wait in graph.waits]
        cycles = [[wait.frame for wait in cycle] for cycle in graph.cycles]
        hung = [wait.frame for wait in graph.hung()]
        members: dict[str, Json] = {"waits": waits, "cycles": cycles, "hung": hung}
        members["unanswered"] = [_exchange_json(each) for each in unanswered]
        if cancelled is not None:
            before: Json = [_wait_json(wait, cancelled) for wait in cancelled.waits]
            members["at_cancel"] = {"frame": model.last_cancel, "waits": before}
        _print_json("waiting", request, model, t=round(graph.at, 6), **members)
        return
    if not graph.waits:
        click.echo(f"nothing waits after entry {model.n}")
        if cancelled is not None and cancelled.waits:
            click.echo(f"when frame {model.last_cancel} cancelled the turn:")
            for line in wait_tree(cancelled):
                click.echo(f"  {line.stem}{line.text}")
    for line in wait_tree(graph):
        click.echo(line.stem + line.text)
    for alarm, _ in alarms(graph):
        click.echo(alarm)
    waiting = {wait.frame for wait in graph.waits}
    for exchange in unanswered:
        # Of a side that has left, or of an earlier process.
        if exchange.request_frame.seq not in waiting:
            click.echo(unanswered_sentence(exchange, model))


def _wait_json(wait: PendingWait, graph: WaitGraph) -> dict[str, Json]:
    return {
        "frame": wait.frame,
        "from": wait.waiter,
        "for": wait.awaited,
        "method": wait.method,
        "id": wait.id,
        "session": wait.session,
        "about": wait.subject,
        "since": round(wait.since, 6),
        "waited": round(graph.at - wait.since, 6),
        "silence": round(wait.silence, 6),
        "on": [inner.frame for inner in wait.waits_for],
        "likely_on": [inner.frame for inner in wait.likely_waits_for],
    }


# Capabilities


def _capabilities(model: SessionModel, request: ViewRequest) -> None:
    rows = model.capabilities.rows()
    if request.is_json:
        values = [_capability_json(row) for row in rows]
        version = model.capabilities.version
        _print_json("capabilities", request, model, version=version, capabilities=values)
        return
    shown = [row for row in rows if row.claim is not None or row.used]
    print_table(CAPABILITIES, [capability_cells(row) for row in shown])
    left = len(rows) - len(shown)
    click.echo(f"{left} more of version {model.capabilities.version}: neither claimed nor used")


def _capability_json(row: Capability) -> dict[str, Json]:
    return {
        "side": row.side,
        "path": row.path,
        "known": row.is_known,
        "claim": row.claim,
        "claimed": row.is_claimed,
        "claimed_in": row.claimed_in,
        "used": row.used,
        "first_used": row.first_used,
        "worked": row.worked,
        "failed": row.failed,
        "refused": row.refused,
        "mark": row.mark or None,
    }


VIEWS: Final[dict[View, Callable[[SessionModel, ViewRequest], None]]] = {
    "exchanges": _exchanges,
    "conversation": _conversation,
    "waiting": _waiting,
    "capabilities": _capabilities,
}
"""The printer of each view."""
