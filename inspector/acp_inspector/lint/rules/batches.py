"""Arrays of messages, which no version has any more.

Source: ACP version 1, "Transports"; the published schemas.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.lines import is_piece
from acp_inspector.lint.moment import (
    FINE,
    Ending,
    Found,
    Moment,
    Problem,
    entries,
    members,
    quoted,
)
from acp_inspector.lint.registry import BATCHES, EVERY_FRAME, answers, check, check_at_end, learns
from acp_inspector.lint.state import Point, other
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json, RequestId, id_key, is_request_id, parse

INVALID_REQUEST: Final = -32600
GRACE: Final = 5.0
"""Seconds in which an array should be refused."""
ARRAYS: Final = 100
"""Arrays of each side that are remembered."""
IDS: Final = 1000
"""Ids of one array that are remembered."""


@dataclass(slots=True)
class _Batch:
    point: Point
    ids: set[tuple[str, RequestId]]
    """Those of the requests in it."""
    refused: Point | None = None


@dataclass(slots=True)
class _Batches:
    """Arrays of each side, the newest at the end."""

    sent: dict[Side, list[_Batch]] = field(default_factory=dict[Side, "list[_Batch]"])


@check("ACP-L357", BATCHES, exercised_by=EVERY_FRAME, fix="Send each message by itself.")
def messages_go_alone(moment: Moment) -> Found:
    """Tell of arrays."""
    if is_piece(moment):
        return FINE
    count = len(_held(moment))
    what = "an empty array is sent" if not count else f"an array of {count} messages is sent"
    return moment.problem(what)


@check("ACP-L360", BATCHES, exercised_by=EVERY_FRAME, fix="Answer each request by itself.")
def answers_go_alone(moment: Moment) -> Found:
    """Tell of arrays of answers."""
    for each in map(members, _held(moment)):
        if "method" not in each and ("result" in each or "error" in each):
            return moment.problem("answers are sent as an array")
    return FINE


@check("ACP-L359", answers(), fix="Answer an array with -32600 and the id null, once.")
def arrays_are_refused(moment: Moment) -> Found:
    """Tell of arrays of which an entry is answered, and of other errors for them."""
    sent = moment.state.of(_Batches).sent.get(other(moment.side))
    if not sent or moment.ask is not None or "id" not in moment.value:
        return None
    if moment.id is not None and is_request_id(moment.id):
        entry = id_key(moment.id)
        for batch in sent:
            if entry in batch.ids and moment.key not in moment.state.answered:
                return moment.problem(
                    f"the request {quoted(moment.id)} of an array is answered", batch.point
                )
        return None
    batch, last = sent[-1], moment.state.last.get(other(moment.side))
    if last is None or last.n != batch.point.n:
        return None
    if batch.refused is not None and all(each.refused is not None for each in sent):
        return moment.problem("the array is refused twice", batch.point, batch.refused)
    if moment.code == INVALID_REQUEST:
        return FINE
    what = "a result" if moment.kind == "result" else f"the error {moment.code}"
    return moment.problem(f"the array is answered with {what}", batch.point)


@check_at_end("ACP-L359", fix="Answer an array with -32600 and the id null.")
def arrays_were_refused(ending: Ending) -> Found:
    """Tell of arrays that got no answer."""
    found = [
        Problem("an array was never refused", (batch.point.n,))
        for sent in ending.state.of(_Batches).sent.values()
        for batch in sent
        if batch.refused is None and ending.point.at - batch.point.at > GRACE
    ]
    return tuple(found) or None


@learns(BATCHES)
def _keep_batch(moment: Moment) -> None:
    if is_piece(moment):
        return
    ids = {
        id_key(id_)
        for each in map(members, _held(moment)[:IDS])
        if "method" in each and is_request_id(id_ := each.get("id"))
    }
    sent = moment.state.of(_Batches).sent.setdefault(moment.side, [])
    if len(sent) < ARRAYS:
        sent.append(_Batch(moment.point, ids))


@learns(answers())
def _keep_refusal(moment: Moment) -> None:
    if moment.id is not None:
        return
    for batch in moment.state.of(_Batches).sent.get(other(moment.side), ()):
        # Later ones are about something else that could not be read.
        if batch.refused is None and moment.at - batch.point.at <= GRACE:
            batch.refused = moment.point
            return


def _held(moment: Moment) -> list[Json]:
    return entries(parse(moment.frame.raw))
