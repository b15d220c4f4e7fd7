"""The JSON-RPC envelope: fields, ids, and the pairing of requests and responses.

Source: JSON-RPC 2.0; ACP, "Overview".
"""

from __future__ import annotations

import math
from typing import Final, cast

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, EndContext, Problem, quoted
from acp_inspector.lint.json_lines import LineState
from acp_inspector.lint.registry import check, check_at_end, track
from acp_inspector.lint.state import IdKey, opposite
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    ENVELOPE,
    Json,
    RequestId,
    is_request_id,
)
from acp_protocol.schema.vocabulary import UNREADABLE

ERROR: Final = frozenset({"code", "message", "data"})
INTEGERS: Final = range(-(2**63), 2**63)
"""Integers that every reader represents exactly."""
"""Codes for an unreadable request, whose id is therefore unknown."""
IDS: Final = 100_000
"""Ids of each side that are remembered."""


class _Ids(set[IdKey]):
    """Ids that each side has used."""


class _WrongIds(set[tuple[Side, str | float]]):
    """Invalid ids that each side has sent in requests."""


class LastNotifications(dict[Side, Context]):
    """The last frame of each side, if it was a notification."""


@check("ACP-L016", on.EVERY_MESSAGE)
def jsonrpc_is_named(context: Context) -> CheckResult:
    declared: Json = context.value.get("jsonrpc")
    if declared == "2.0":
        return OK
    if _is_log(context.value):
        text = 'the object has neither "jsonrpc" nor method, result or error: it is not a message'
        return context.problem(text, path="jsonrpc")
    if "jsonrpc" not in context.value:
        return context.problem('"jsonrpc" is missing', path="jsonrpc")
    return context.problem(f'"jsonrpc" is {quoted(declared)} instead of "2.0"', path="jsonrpc")


def _is_log(value: dict[str, Json]) -> bool:
    """Return whether an object has nothing of a message, as a line of a log in JSON."""
    return not value.keys() & {"jsonrpc", "method", "result", "error"}


@check("ACP-L017", on.EVERY_MESSAGE)
def it_is_one_kind_of_message(context: Context) -> CheckResult:
    value = context.value
    if "method" in value:
        if "result" in value or "error" in value:
            both = "result" if "result" in value else "error"
            return context.problem(f'the message has "method" and "{both}"')
    elif "result" not in value and "error" not in value and not _is_log(value):
        return context.problem("the object has neither method, result nor error")
    return OK


@check("ACP-L018", on.response())
def answers_are_one_thing(context: Context) -> CheckResult:
    if "result" not in context.value or "error" not in context.value:
        return OK
    if context.value["error"] is None:
        return context.problem('the response has "error": null beside its result', path="error")
    if context.value["result"] is None:
        return context.problem('the response has "result": null beside its error', path="result")
    return context.problem("the response has both a result and an error")


@check("ACP-L019", on.EVERY_MESSAGE)
def methods_are_named_by_strings(context: Context) -> CheckResult:
    if "method" not in context.value:
        return None
    method: Json = context.value["method"]
    if not isinstance(method, str) or not method:
        return context.problem(f"the method is {quoted(method)}", path="method")
    return OK


@check("ACP-L020", on.EVERY_MESSAGE)
def ids_are_strings_or_integers(context: Context) -> CheckResult:
    if "id" not in context.value:
        return None
    id_: Json = context.id
    if not _is_wrong(id_) or _repeats_wrong_id(context):
        return OK
    return context.problem(f"the id is {quoted(id_)}", path="id")


@track(on.EVERY_MESSAGE)
def _keep_wrong_id(context: Context) -> None:
    wrong = context.state.of(_WrongIds)
    if context.kind not in {"result", "failure"} and _is_wrong(context.id) and len(wrong) < IDS:
        wrong.add((context.side, _as_read(context.id)))


def _is_wrong(id_: Json) -> bool:
    return not is_request_id(id_) or (isinstance(id_, int) and id_ not in INTEGERS)


def _repeats_wrong_id(context: Context) -> bool:
    """Return whether a response has the invalid id of a request, as its reader may know it."""
    if context.kind not in {"result", "failure"}:
        return False
    sender = opposite(context.side)
    return (sender, _as_read(context.id)) in context.state.of(_WrongIds)


def _as_read(id_: Json) -> str | float:
    """Return an id so that numbers are equal that many readers cannot tell apart."""
    if isinstance(id_, int | float) and not isinstance(id_, bool):
        try:
            return float(id_)
        except OverflowError:
            return math.inf
    return quoted(id_)


@check("ACP-L021", on.request())
def requests_have_an_id(context: Context) -> CheckResult:
    if context.id is None:
        return context.problem("the request has the id null", path="id")
    return OK


@check("ACP-L022", on.call())
def params_are_an_object(context: Context) -> CheckResult:
    params: Json = context.value.get("params")
    if params is None or isinstance(params, dict):
        return OK
    return context.problem(f"params are not an object: {quoted(params)}", path="params")


@check("ACP-L023", on.request())
def ids_are_not_reused_while_pending(context: Context) -> CheckResult:
    if context.key is None or context.id is None:
        return None
    earlier = context.state.requests.get(context.key)
    if earlier is not None:
        return context.problem(
            f"the id {quoted(context.id)} is that of a request that still has no response yet",
            earlier,
        )
    return OK


@check("ACP-L024", on.request())
def ids_are_not_reused_later(context: Context) -> CheckResult:
    if context.key is None or context.id is None:
        return None
    if context.key in context.state.of(_Ids) and context.key not in context.state.requests:
        return context.problem(
            f"the id {quoted(context.id)} was used before", context.state.responded.get(context.key)
        )
    return OK


@track(on.request())
def _keep_id(context: Context) -> None:
    used = context.state.of(_Ids)
    if context.key is not None and len(used) < IDS:
        used.add(context.key)


@check("ACP-L025", on.response())
def responses_match_a_request(context: Context) -> CheckResult:
    if "id" not in context.value:
        return context.problem("the response has no id", path="id")
    if context.id is None or not is_request_id(context.id):
        return None
    if context.request is not None or context.key in context.state.responded:
        return OK
    if _repeats_wrong_id(context):
        # Another rule reports the id of the request.
        return OK
    lines = context.state.of(LineState)
    if context.key in lines.ids or opposite(context.side) in lines.deep:
        # The request may be in an invalid frame, or in one that only this reader cannot parse.
        return OK
    alike = context.state.request_with_other_id_type(
        opposite(context.side), cast("RequestId", context.id)
    )
    if alike is not None:
        return context.problem(
            f"the id {quoted(context.id)} is that of request {quoted(alike.id)} in another type",
            alike,
        )
    return context.problem(f"no request waits for a response with the id {quoted(context.id)}")


@check("ACP-L026", on.response())
def requests_are_answered_once(context: Context) -> CheckResult:
    if context.key is None or context.id is None:
        return None
    earlier = context.state.responded.get(context.key)
    if context.request is None and earlier is not None:
        return context.problem(f"{earlier.method} was answered before", earlier, earlier.responded)
    return OK


@check_at_end("ACP-L027")
def requests_are_answered(ending: EndContext) -> CheckResult:
    if not ending.is_over or not (ending.state.requests or ending.state.responded):
        return None
    severity = "error" if ending.blames_responder else "warning"
    what = (
        "had no response when the client left" if ending.has_client_left else "was never answered"
    )
    return tuple(
        Problem(f"{ask.method} with the id {quoted(ask.id)} {what}", (ask.seq,), severity)
        for ask in ending.state.open()
        if not ask.method.startswith("_")
        and opposite(ask.side) not in ending.state.of(LineState).deep
    )


@check("ACP-L028", on.response(), exercised_by=on.notification())
def notifications_are_not_answered(context: Context) -> CheckResult:
    notification = context.state.of(LastNotifications).get(opposite(context.side))
    if context.id is not None or context.request is not None or notification is None:
        return OK
    if context.kind == "failure" and context.code in UNREADABLE and has_other_cause(notification):
        return OK
    return context.problem(
        f"the notification {notification.method} was answered", notification.point
    )


def has_other_cause(notification: Context) -> bool:
    """Return whether an error without an id may have another cause than a notification.

    The response to an array or a broken line near it also has no id.
    """
    last = notification.state.last.get(notification.side)
    is_followed = last is not None and last is not notification.frame
    return is_followed or notification.state.of(LineState).unreadable[notification.side] > 0


@track(on.call())
def _keep_notification(context: Context) -> None:
    last = context.state.of(LastNotifications)
    if context.kind == "notification":
        last[context.side] = context
    else:
        last.pop(context.side, None)


@check("ACP-L045", on.EVERY_MESSAGE)
def no_unknown_members_of_the_envelope(context: Context) -> CheckResult:
    if _is_log(context.value):
        return OK
    unknown = sorted(context.value.keys() - ENVELOPE)
    if context.kind == "failure":
        unknown += [f"error.{name}" for name in sorted(context.error.keys() - ERROR)]
    if unknown:
        return context.problem(
            f"the envelope has {quoted(unknown[0])}",
            path=unknown[0],
            topic=f"{context.side} {unknown[0]}",
        )
    return OK
