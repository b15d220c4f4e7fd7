"""Batches (arrays of messages), which no version of ACP has any more.

Source: ACP version 1, "Transports"; the published schemas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, EndContext, Problem, quoted
from acp_inspector.lint.json_lines import LineState, is_piece
from acp_inspector.lint.registry import LintSubject, check, details, fix, track
from acp_inspector.lint.state import Point, opposite
from acp_protocol.framing import Side
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import INVALID_REQUEST, Json, RequestId, id_key, is_request_id

rule = LintSubject("batches", page="schema; sdk 2.4.0")

GRACE_S: Final = 5.0
"""Seconds in which an array should be refused."""
ARRAYS: Final = 100
"""Arrays of each side that are remembered."""
IDS: Final = 1000
"""Ids of one array that are remembered."""


@dataclass(slots=True)
class _Batch:
    point: Point
    ids: set[tuple[str, RequestId]]
    """The ids of the requests in it."""
    refused: Point | None = None


class _Batches(dict[Side, list[_Batch]]):
    """Arrays of each side, the newest at the end."""


@rule.error(357, "must", "sender", on.BATCHES, case="frames.objects")
@details(since="2026-11", exercised_by=on.EVERY_FRAME)
@fix("Send each message by itself.")
def batch_sent(context: Context) -> CheckResult:
    """No JSON array is sent, neither calls nor responses."""
    if is_piece(context):
        return OK
    count = len(_held(context))
    what = "an empty array is sent" if not count else f"an array of {count} messages is sent"
    return context.problem(what)


@rule.error(360, "must", "receiver", on.BATCHES)
@details(source="v2/transports.mdx", since="2026-11", exercised_by=on.EVERY_FRAME)
@fix("Answer each request by itself.")
def batch_response(context: Context) -> CheckResult:
    """A response array is never sent."""
    for each in map(as_object, _held(context)):
        if "method" not in each and ("result" in each or "error" in each):
            return context.problem("responses are sent as an array")
    return OK


@check("batch-not-refused", on.response(), fix="Answer an array with -32600 and the id null, once.")
def arrays_are_refused(context: Context) -> CheckResult:
    sent = context.state.of(_Batches).get(opposite(context.side))
    if not sent or context.request is not None or "id" not in context.value:
        return None
    if context.id is not None and is_request_id(context.id):
        entry = id_key(context.id)
        for batch in sent:
            if entry in batch.ids and context.key not in context.state.responded:
                return context.problem(
                    f"the request {quoted(context.id)} of an array is answered", batch.point
                )
        return None
    batch, last = sent[-1], context.state.last.get(opposite(context.side))
    if last is None or last.seq != batch.point.seq:
        return None
    if batch.refused is not None and all(each.refused is not None for each in sent):
        return context.problem("the array got two error responses", batch.point, batch.refused)
    if context.code == INVALID_REQUEST or _is_about_another_line(context, sent):
        return OK
    what = "a result" if context.kind == "result" else f"the error {context.code}"
    return context.problem(f"the array is answered with {what}", batch.point)


@rule.error(359, "must", "receiver", on.END, source="sdk 2.4.0", since="2026-11")
@fix("Respond to an array with -32600 and the id null.")
def batch_not_refused(ending: EndContext) -> CheckResult:
    """A received array is answered by exactly one -32600 error object with `id:null`; none of its
    entries has an effect.
    """
    found: list[Problem] = []
    for sender, sent in ending.state.of(_Batches).items():
        seen = ending.state.seen[opposite(sender)]
        for batch in sent:
            had_time = ending.point.time - batch.point.time > GRACE_S
            is_due = had_time or seen > batch.point.seq
            if batch.refused is None and (is_due or ending.is_over):
                # A receiver that was not given the time for it is not to blame.
                severity = None if is_due or ending.blames_responder else "warning"
                found += ending.problem("an array got no response", batch.point, severity=severity)
    return tuple(found) or None


@track(on.BATCHES)
def _keep_batch(context: Context) -> None:
    if is_piece(context):
        return
    ids = {
        id_key(id_)
        for each in map(as_object, _held(context)[:IDS])
        if "method" in each and is_request_id(id_ := each.get("id"))
    }
    sent = context.state.of(_Batches).setdefault(context.side, [])
    if len(sent) < ARRAYS:
        sent.append(_Batch(context.point, ids))


@track(on.response())
def _keep_refusal(context: Context) -> None:
    if context.id is not None or "id" not in context.value or context.request is not None:
        return
    sender = opposite(context.side)
    last = context.state.last.get(sender)
    sent = context.state.of(_Batches).get(sender, [])
    is_other = _is_about_another_line(context, sent)
    for batch in sent:
        # Other errors, and later ones, are about something else that could not be read.
        is_next = not is_other and last is not None and batch.point.seq == last.seq
        is_about_it = context.code == INVALID_REQUEST or is_next
        if is_about_it and batch.refused is None and context.time - batch.point.time <= GRACE_S:
            batch.refused = context.point
            return


def _is_about_another_line(context: Context, sent: list[_Batch]) -> bool:
    """Return whether a response may be about a broken line rather than about an array."""
    unreadable = context.state.of(LineState).unreadable[opposite(context.side)]
    return unreadable > sum(each.refused is None for each in sent)


def _held(context: Context) -> list[Json]:
    return as_list(context.decoded.value)
