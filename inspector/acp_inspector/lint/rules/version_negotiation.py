"""How version 2 is agreed upon, and what its errors carry.

Source: ACP version 2, schema, InitializeResponse, RequestId and ErrorData.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import (
    FINE,
    UNSUPPORTED_VERSION,
    Ending,
    Found,
    Moment,
    Problem,
    entries,
    members,
    quoted,
)
from acp_inspector.lint.registry import (
    answers,
    asks,
    check,
    check_at_end,
    failures,
    learns,
    results,
)
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

NOT_FOUND: Final = -32002
VERSIONS: Final = 100
"""Versions that are remembered of an agent."""
ABOUT_SESSIONS: Final = (
    "session/resume",
    "session/close",
    "session/delete",
    "session/fork",
    "session/set_config_option",
    "session/archive",
    "session/unarchive",
    "session/status",
    "session/set_title",
    "tool_call/cancel",
    "terminal/cancel",
)
"""Requests that find nothing else missing than their session."""


@dataclass(slots=True)
class _Negotiation:
    supported: set[int] = field(default_factory=set[int])
    """Versions that the agent has shown to speak."""
    other: Point | None = None
    """The client's first request that was no `initialize`."""
    lower: list[int] = field(default_factory=list[int])
    """Frames that asked for less than the version 2 that was agreed upon."""


@check("ACP-L425", asks(), fix="Count ids up from 0, or use strings.")
def ids_are_not_null(moment: Moment) -> Found:
    """Tell of requests with the id null, which version 2 does not have."""
    if moment.id is None:
        return moment.problem("the request has the id null", path="id")
    return FINE


@check("ACP-L426", results("initialize"), fix="Answer the highest version up to the one asked for.")
def versions_are_rounded_down(moment: Moment) -> Found:
    """Tell of versions above the one asked for, and below another that would have done.

    Which versions an agent has is known from what it said on this connection only.
    """
    asked, answered = _asked(moment), _version(moment.result_object)
    if asked is None or answered is None:
        return None
    if answered > asked:
        return moment.problem(
            f"version {answered} is answered, though {asked} was asked for",
            moment.ask,
            path="result.protocolVersion",
        )
    better = [each for each in moment.state.of(_Negotiation).supported if answered < each <= asked]
    if better:
        return moment.problem(
            f"version {answered} is answered, though the agent has {max(better)}",
            moment.ask,
            path="result.protocolVersion",
        )
    return FINE


@check("ACP-L427", answers("initialize"), fix="Refuse with -32022 what you cannot speak.")
def unsupported_versions_are_refused(moment: Moment) -> Found:
    """Tell of agents that go on with a version above the one asked for, instead of refusing.

    That the agent has none below is taken from its answer.
    """
    asked, answered = _asked(moment), _version(moment.result_object)
    if asked is None:
        return None
    if moment.kind == "failure":
        return FINE if moment.code == UNSUPPORTED_VERSION else None
    if answered is None:
        return None
    if answered > asked and not any(
        each <= asked for each in moment.state.of(_Negotiation).supported
    ):
        return moment.problem(
            f"the agent cannot speak version {asked}, but does not refuse it with -32022",
            moment.ask,
            path="result.protocolVersion",
        )
    return FINE


@check("ACP-L428", failures("initialize"), fix="Put requested and supported into the error's data.")
def refusals_name_versions(moment: Moment) -> Found:
    """Tell of refusals that do not say which versions there are."""
    asked = _asked(moment)
    if moment.code != UNSUPPORTED_VERSION or asked is None:
        return None
    data = members(moment.error.get("data"))
    if data.get("requested") != asked:
        return moment.problem(
            f"requested is {quoted(data.get('requested'))}, but {asked} was asked for",
            moment.ask,
            path="error.data.requested",
        )
    supported = data.get("supported")
    numbers = [each for each in entries(supported) if type(each) is int]
    if not isinstance(supported, list) or len(numbers) != len(entries(supported)):
        return moment.problem(
            f"supported is no list of versions: {quoted(supported)}",
            moment.ask,
            path="error.data.supported",
        )
    if any(each <= asked for each in numbers):
        return moment.problem(
            f"version {asked} is refused, though {quoted(supported)} are supported",
            moment.ask,
            path="error.data.supported",
        )
    return FINE


@learns(answers("initialize"))
def _keep_versions(moment: Moment) -> None:
    supported = moment.state.of(_Negotiation).supported
    answered = _version(moment.result_object)
    if answered is not None and len(supported) < VERSIONS:
        supported.add(answered)


@learns(asks())
def _keep_requests(moment: Moment) -> None:
    own = moment.state.of(_Negotiation)
    if moment.side != "client":
        return
    if moment.method != "initialize":
        own.other = own.other or moment.point
    elif moment.state.version == 2:
        asked = _version(moment.params)
        if asked is not None and asked < 2 and len(own.lower) < VERSIONS:
            own.lower.append(moment.n)


@check("ACP-L429", asks("initialize"), fix="Agree upon the version once, before all else.")
def nothing_is_agreed_upon_again(moment: Moment) -> Found:
    """Tell of an `initialize` that comes again after other requests."""
    other = moment.state.of(_Negotiation).other
    if moment.state.version == 1:
        return None
    if other is not None and moment.state.is_ready:
        return moment.problem(
            "initialize comes again after other requests", moment.state.initialize, other
        )
    return FINE


@check_at_end("ACP-L429", fix="Begin a connection of its own for version 1.")
def nothing_less_was_asked_for_again(ending: Ending) -> Found:
    """Tell of an `initialize` for version 1 after version 2 was agreed upon."""
    lower = ending.state.of(_Negotiation).lower
    text = "initialize asks for less than version 2, which was agreed upon"
    return tuple(Problem(text, (n,)) for n in lower) or None


@check(
    "ACP-L430",
    failures(*ABOUT_SESSIONS, "session/prompt"),
    fix="Put the sessionId into the error's data.",
)
def missing_sessions_are_named(moment: Moment) -> Found:
    """Tell of errors about a session that do not say which."""
    if moment.code != NOT_FOUND or moment.ask is None or moment.ask.session is None:
        return None
    if moment.method == "session/prompt" and moment.session is not None and moment.session.is_open:
        # It may be a file that is missing.
        return None
    named: Json = members(moment.error.get("data")).get("sessionId")
    if named == moment.ask.session:
        return FINE
    what = f"is {quoted(named)}" if named is not None else "is missing"
    return moment.problem(
        f"data.sessionId {what} in the error about session {quoted(moment.ask.session)}",
        moment.ask,
        path="error.data.sessionId",
    )


def _asked(moment: Moment) -> int | None:
    return None if moment.ask is None else _version(moment.ask.params)


def _version(message: dict[str, Json]) -> int | None:
    version = message.get("protocolVersion")
    return version if type(version) is int else None
