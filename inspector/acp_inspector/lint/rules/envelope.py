"""The JSON-RPC envelope: fields, ids, and the pairing of requests and responses.

Source: JSON-RPC 2.0; ACP, "Overview".
"""

from __future__ import annotations

import math
from typing import Final, cast

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, EndContext, Problem, quoted
from acp_inspector.lint.json_lines import LineState
from acp_inspector.lint.registry import LintSubject, fix, track
from acp_inspector.lint.state import IdKey, opposite
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import (
    ENVELOPE,
    Json,
    RequestId,
    is_request_id,
)
from acp_protocol.schema.vocabulary import UNREADABLE

rule = LintSubject("envelope", page="overview.mdx")

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


@rule.error(16, "json-rpc", "sender", on.EVERY_MESSAGE, case="envelope.jsonrpc")
@fix('Write "jsonrpc": "2.0" into every message.')
def wrong_jsonrpc_version(context: Context) -> CheckResult:
    """`jsonrpc` is present and exactly the string `"2.0"`."""
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


@rule.error(17, "json-rpc", "sender", on.EVERY_MESSAGE, case="envelope.one-kind")
@fix("Send a request, a notification, a result or an error, and each whole.")
def ambiguous_message(context: Context) -> CheckResult:
    """The object is exactly one of request, notification, success response, error response (no
    `method` together with `result`/`error`; not none of them).
    """
    value = context.value
    if "method" in value:
        if "result" in value or "error" in value:
            both = "result" if "result" in value else "error"
            return context.problem(f'the message has "method" and "{both}"')
    elif "result" not in value and "error" not in value and not _is_log(value):
        return context.problem("the object has neither method, result nor error")
    return OK


@rule.error(18, "json-rpc", "sender", on.response(), case="envelope.one-kind")
@fix("Answer with either a result or an error; leave the other key out, even if null.")
def result_and_error(context: Context) -> CheckResult:
    """A response has exactly one of `result` and `error`; the `result` key exists even when
    empty.
    """
    if "result" not in context.value or "error" not in context.value:
        return OK
    if context.value["error"] is None:
        return context.problem('the response has "error": null beside its result', path="error")
    if context.value["result"] is None:
        return context.problem('the response has "result": null beside its error', path="result")
    return context.problem("the response has both a result and an error")


@rule.error(19, "schema", "sender", on.EVERY_MESSAGE, case={"agent": "envelope.method"})
@fix("Name the method by a string.")
def invalid_method(context: Context) -> CheckResult:
    """`method` is a non-empty string."""
    if "method" not in context.value:
        return None
    method: Json = context.value["method"]
    if not isinstance(method, str) or not method:
        return context.problem(f"the method is {quoted(method)}", path="method")
    return OK


@rule.error(20, "schema", "sender", on.EVERY_MESSAGE, case="envelope.id")
@fix("Use a string or a whole number of 64 bits as id.")
def invalid_id(context: Context) -> CheckResult:
    """`id` is a string, a 64-bit integer or null; booleans, objects, arrays, fractions are
    rejected.
    """
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


@rule.warning(21, "json-rpc", "sender", on.request(), version=1, source="schema", since="2026-11")
@fix("Give each request an id of its own.")
def null_request_id(context: Context) -> CheckResult:
    """A request does not use `id: null` (v2: see unusable-request-id)."""
    if context.id is None:
        return context.problem("the request has the id null", path="id")
    return OK


@rule.error(22, "schema", "sender", on.call(), case="envelope.params")
@fix("Pass params by name, in an object.")
def positional_params(context: Context) -> CheckResult:
    """`params`, when present and non-null, is an object; positional arrays are not used by ACP."""
    params: Json = context.value.get("params")
    if params is None or isinstance(params, dict):
        return OK
    return context.problem(f"params are not an object: {quoted(params)}", path="params")


@rule.error(23, "json-rpc", "sender", on.request(), case="envelope.id-unique")
@fix("Count ids up; use none again before its response came.")
def reused_pending_id(context: Context) -> CheckResult:
    """A sender does not reuse an `id` while its earlier request with that id is still pending (per
    direction).
    """
    if context.key is None or context.id is None:
        return None
    earlier = context.state.requests.get(context.key)
    if earlier is not None and not earlier.is_refused:
        return context.problem(
            f"the id {quoted(context.id)} is that of a request that still has no response yet",
            earlier,
        )
    return OK


@rule.info(24, "heuristic", "sender", on.request(), source="cancellation.mdx")
@fix("Count ids up for the whole life of a connection.")
def reused_id(context: Context) -> CheckResult:
    """Ids are not reused later on the same connection either (hurts traces and
    `$/cancel_request`).
    """
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


@rule.error(25, "json-rpc", "responder", on.response(), case="envelope.response-id")
@fix("Give back the id of the request as it came, type and all.")
def unknown_response_id(context: Context) -> CheckResult:
    """A response `id` matches a pending request of the peer, same JSON type and value (`1` ≠
    `"1"`).
    """
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


@rule.error(26, "json-rpc", "responder", on.response(), case="envelope.one-response")
@fix("Answer each request once.")
def duplicate_response(context: Context) -> CheckResult:
    """A request is answered at most once."""
    if context.key is None or context.id is None:
        return None
    earlier = context.state.responded.get(context.key)
    if context.request is None and earlier is not None:
        return context.problem(f"{earlier.method} was answered before", earlier, earlier.responded)
    return OK


@rule.error(27, "json-rpc", "responder", on.END)
@fix("Send a response to every request, if necessary an error.")
def unanswered_request(ending: EndContext) -> CheckResult:
    """Every request is eventually answered; unanswered when the agent ends in order = error, at
    abrupt EOF or when the client left first = warning.
    """
    if not ending.is_over or not (ending.state.requests or ending.state.responded):
        return None
    severity = "error" if ending.blames_responder else "warning"
    what = (
        "had no response when the client left" if ending.has_client_left else "was never answered"
    )
    return tuple(
        Problem(f"{ask.method} with the id {quoted(ask.id)} {what}", (ask.seq,), severity)
        for ask in ending.state.open()
        if not (ask.method.startswith("_") or ask.is_refused)
        and opposite(ask.side) not in ending.state.of(LineState).deep
    )


@rule.error(28, "must", "responder", on.response(), exercised_by=on.notification())
@fix("Do not answer notifications, not even with an error.")
def answered_notification(context: Context) -> CheckResult:
    """A notification is never answered, neither with a result nor with an error (also inside
    batches).
    """
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


@rule.warning(45, "must", "sender", on.EVERY_MESSAGE, source="extensibility.mdx")
@fix("Put custom data into _meta.")
def unknown_envelope_member(context: Context) -> CheckResult:
    """No unknown members at envelope level (`session`, `type`, `meta` …)."""
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
