"""How a message is made up: JSON-RPC's members, ids, questions and answers.

Source: JSON-RPC 2.0; ACP, "Overview".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, cast

from acp_inspector.lint.checks import (
    EVERY_MESSAGE,
    answers,
    asks,
    calls,
    check,
    check_at_end,
    learns,
    tells,
)
from acp_inspector.lint.lines import Lines
from acp_inspector.lint.moment import FINE, Ending, Found, Moment, Problem, quoted
from acp_inspector.lint.state import IdKey, other
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json, RequestId, is_request_id

ENVELOPE: Final = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
ERROR: Final = frozenset({"code", "message", "data"})
INTEGERS: Final = range(-(2**63), 2**63)
"""Ids that every reader holds exactly."""
UNREADABLE: Final = frozenset({-32700, -32600})
"""Codes that say the question could not be read, and hence not whose answer this is."""
IDS: Final = 100_000
"""Ids of each side that are remembered."""


@dataclass(slots=True)
class _Ids:
    """Ids that each side has used."""

    used: set[IdKey] = field(default_factory=set[IdKey])


@dataclass(slots=True)
class Told:
    """The last frame of each side that was a notification, if nothing of it came since."""

    last: dict[Side, Moment] = field(default_factory=dict[Side, Moment])


PLAIN: Final = {
    frozenset({"jsonrpc", "method", "params"}): frozenset({"ACP-L019"}),
    frozenset({"jsonrpc", "id", "method", "params"}): frozenset({"ACP-L019", "ACP-L020"}),
    frozenset({"jsonrpc", "id", "result"}): frozenset({"ACP-L020"}),
}
"""Envelopes with which there is nothing wrong, and the rules about what they have."""
_ALWAYS: Final = frozenset({"ACP-L016", "ACP-L017", "ACP-L045"})


def plain_envelope(moment: Moment) -> frozenset[str] | None:
    """Pass over messages that have what every message of their kind has, and nothing else."""
    value = moment.value
    kept = _PLAIN.get(frozenset(value))
    if kept is None or value["jsonrpc"] != "2.0":
        return None
    id_, method = value.get("id", ""), value.get("method", "_")
    is_plain = (type(id_) is int and id_ in INTEGERS) or type(id_) is str
    return kept if is_plain and type(method) is str and method else None


_PLAIN: Final = {names: kept | _ALWAYS for names, kept in PLAIN.items()}


@check(
    "ACP-L016",
    EVERY_MESSAGE,
    glance=plain_envelope,
    fix='Write "jsonrpc": "2.0" into every message.',
)
def jsonrpc_is_named(moment: Moment) -> Found:
    """Tell of messages that do not say which JSON-RPC they are in."""
    said: Json = moment.value.get("jsonrpc")
    if said == "2.0":
        return FINE
    if "jsonrpc" not in moment.value:
        return moment.problem('"jsonrpc" is missing', path="jsonrpc")
    return moment.problem(f'"jsonrpc" is {quoted(said)} instead of "2.0"', path="jsonrpc")


@check(
    "ACP-L017",
    EVERY_MESSAGE,
    glance=plain_envelope,
    fix="Send a request, a notification, a result or an error, and each whole.",
)
def it_is_one_kind_of_message(moment: Moment) -> Found:
    """Tell of objects that are no message, or two at once."""
    value = moment.value
    if "method" in value:
        if "result" in value or "error" in value:
            both = "result" if "result" in value else "error"
            return moment.problem(f'the message has "method" and "{both}"')
    elif "result" not in value and "error" not in value:
        return moment.problem("the object has neither method, result nor error")
    return FINE


@check(
    "ACP-L018",
    answers(),
    fix="Answer with either a result or an error; leave the other key out, even if null.",
)
def answers_are_one_thing(moment: Moment) -> Found:
    """Flag responses that have both a result and an error, be one of them null."""
    if "result" not in moment.value or "error" not in moment.value:
        return FINE
    if moment.value["error"] is None:
        return moment.problem('the response has "error": null beside its result', path="error")
    if moment.value["result"] is None:
        return moment.problem('the response has "result": null beside its error', path="result")
    return moment.problem("the response has both a result and an error")


@check("ACP-L019", EVERY_MESSAGE, glance=plain_envelope, fix="Name the method by a string.")
def methods_are_named_by_strings(moment: Moment) -> Found:
    """Tell of methods that are no name."""
    if "method" not in moment.value:
        return None
    method: Json = moment.value["method"]
    if not isinstance(method, str) or not method:
        return moment.problem(f"the method is {quoted(method)}", path="method")
    return FINE


@check(
    "ACP-L020",
    EVERY_MESSAGE,
    glance=plain_envelope,
    fix="Use a string or a whole number of 64 bits as id.",
)
def ids_are_strings_or_integers(moment: Moment) -> Found:
    """Tell of ids that not everyone can give back as they are."""
    if "id" not in moment.value:
        return None
    id_: Json = moment.id
    if not is_request_id(id_) or (isinstance(id_, int) and id_ not in INTEGERS):
        return moment.problem(f"the id is {quoted(id_)}", path="id")
    return FINE


@check("ACP-L021", asks(), fix="Give each request an id of its own.")
def requests_have_an_id(moment: Moment) -> Found:
    """Tell of requests whose answer nobody could tell from others."""
    if moment.id is None:
        return moment.problem("the request has the id null", path="id")
    return FINE


@check("ACP-L022", calls(), fix="Pass params by name, in an object.")
def params_are_an_object(moment: Moment) -> Found:
    """Tell of params by position, and of scalars."""
    params: Json = moment.value.get("params")
    if params is None or isinstance(params, dict):
        return FINE
    return moment.problem(f"params are no object: {quoted(params)}", path="params")


@check("ACP-L023", asks(), fix="Count ids up; use none again before its answer came.")
def ids_are_not_reused_while_pending(moment: Moment) -> Found:
    """Tell of two open questions that cannot be told apart."""
    if moment.key is None or moment.id is None:
        return None
    earlier = moment.state.asks.get(moment.key)
    if earlier is not None:
        return moment.problem(
            f"the id {quoted(moment.id)} is that of a request that still waits for its answer",
            earlier,
        )
    return FINE


@check("ACP-L024", asks(), fix="Count ids up for the whole life of a connection.")
def ids_are_not_reused_later(moment: Moment) -> Found:
    """Tell of ids that stand for two questions of one connection."""
    if moment.key is None or moment.id is None:
        return None
    if moment.key in moment.state.of(_Ids).used and moment.key not in moment.state.asks:
        return moment.problem(
            f"the id {quoted(moment.id)} was used before", moment.state.answered.get(moment.key)
        )
    return FINE


@learns(asks())
def _keep_id(moment: Moment) -> None:
    used = moment.state.of(_Ids).used
    if moment.key is not None and len(used) < IDS:
        used.add(moment.key)


@check("ACP-L025", answers(), fix="Give back the id of the request as it came, type and all.")
def answers_match_a_question(moment: Moment) -> Found:
    """Tell of answers to what nobody asked."""
    if moment.id is None or not is_request_id(moment.id):
        return None
    if moment.ask is not None or moment.key in moment.state.answered:
        return FINE
    lines = moment.state.of(Lines)
    if moment.key in lines.ids or other(moment.side) in lines.deep:
        # It may have asked in what is no message, or in one that only this reader cannot read.
        return FINE
    alike = moment.state.twin(other(moment.side), cast("RequestId", moment.id))
    if alike is not None:
        return moment.problem(
            f"the id {quoted(moment.id)} is that of the request {quoted(alike.id)} in another type",
            alike,
        )
    return moment.problem(f"no request waits for an answer with the id {quoted(moment.id)}")


@check("ACP-L026", answers(), fix="Answer each request once.")
def requests_are_answered_once(moment: Moment) -> Found:
    """Tell of second answers."""
    if moment.key is None or moment.id is None:
        return None
    earlier = moment.state.answered.get(moment.key)
    if moment.ask is None and earlier is not None:
        return moment.problem(f"{earlier.method} was answered before", earlier, earlier.answered)
    return FINE


@check_at_end("ACP-L027", fix="Answer every request, with an error if need be.")
def requests_are_answered(ending: Ending) -> Found:
    """Tell of requests that nobody answered by the end of the connection."""
    if not ending.is_over or not (ending.state.asks or ending.state.answered):
        return None
    severity = "error" if ending.is_orderly else "warning"
    return tuple(
        Problem(f"{ask.method} with the id {quoted(ask.id)} was never answered", (ask.n,), severity)
        for ask in ending.state.open()
        if not ask.method.startswith("_") and other(ask.side) not in ending.state.of(Lines).deep
    )


@check(
    "ACP-L028", answers(), by=tells(), fix="Do not answer notifications, not even with an error."
)
def notifications_are_not_answered(moment: Moment) -> Found:
    """Tell of answers without an id right after a notification."""
    told = moment.state.of(Told).last.get(other(moment.side))
    if moment.id is not None or moment.ask is not None or told is None:
        return FINE
    if moment.kind == "failure" and moment.code in UNREADABLE and has_other_cause(told):
        return FINE
    return moment.problem(f"the notification {told.method} was answered", told.point)


def has_other_cause(told: Moment) -> bool:
    """Tell whether an error without an id may be about something else than a notification.

    An array or a broken line, before or after it, is answered without an id too.
    """
    last = told.state.last.get(told.side)
    is_followed = last is not None and last is not told.frame
    return is_followed or told.state.of(Lines).unreadable[told.side] > 0


@learns(calls())
def _keep_notification(moment: Moment) -> None:
    last = moment.state.of(Told).last
    if moment.kind == "notification":
        last[moment.side] = moment
    else:
        last.pop(moment.side, None)


@check("ACP-L045", EVERY_MESSAGE, glance=plain_envelope, fix="Put what is your own into _meta.")
def no_unknown_members_of_the_envelope(moment: Moment) -> Found:
    """Tell of members beside those of JSON-RPC."""
    strangers = sorted(moment.value.keys() - ENVELOPE)
    if moment.kind == "failure":
        strangers += [f"error.{name}" for name in sorted(moment.error.keys() - ERROR)]
    if strangers:
        return moment.problem(f"the envelope has {quoted(strangers[0])}", path=strangers[0])
    return FINE
