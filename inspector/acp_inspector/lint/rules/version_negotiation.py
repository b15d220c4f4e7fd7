"""Negotiation of version 2, and its error data.

Source: ACP version 2, schema, InitializeResponse, RequestId and ErrorData.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import (
    OK,
    CheckResult,
    Context,
    EndContext,
    Problem,
    quoted,
)
from acp_inspector.lint.registry import LintSubject, check, fix, track
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import RESOURCE_NOT_FOUND, UNSUPPORTED_VERSION, Json

rule = LintSubject("version-2", version=2)

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
"""Requests whose "not found" can only mean the session."""


@dataclass(slots=True)
class _Negotiation:
    supported: set[int] = field(default_factory=set[int])
    """Versions that the agent has shown to speak."""
    other: Point | None = None
    """The client's first request that was no `initialize`."""
    lower: list[int] = field(default_factory=list[int])
    """Frames that requested a version below the negotiated version 2."""


@rule.error(425, "schema", "sender", on.request())
@fix("Count ids up from 0, or use strings.")
def unusable_request_id(context: Context) -> CheckResult:
    """A request `id` is a string or integer, never null; an unusable id is answered -32600 with
    `id:null`.
    """
    if context.id is None:
        return context.problem("the request has the id null", path="id")
    return OK


@rule.error(426, "must", "agent", on.result("initialize"))
@fix("Respond with the highest version that is not above the requested one.")
def wrong_version_answered(context: Context) -> CheckResult:
    """The answered `protocolVersion` is the highest supported one at or below the requested
    version, never above it.

    The agent's versions are known only from this connection.
    """
    requested, answered = _requested_version(context), _version(context.result_object)
    if requested is None or answered is None:
        return None
    if answered > requested:
        return context.problem(
            f"the agent responded with version {answered}, but {requested} was requested",
            context.request,
            at="protocolVersion",
        )
    better = [
        each for each in context.state.of(_Negotiation).supported if answered < each <= requested
    ]
    if better:
        return context.problem(
            f"version {answered} is answered, though the agent has {max(better)}",
            context.request,
            at="protocolVersion",
        )
    return OK


@rule.error(427, "must", "agent", on.response("initialize"))
@fix("Reject unsupported versions with -32022.")
def unsupported_version_accepted(context: Context) -> CheckResult:
    """If no supported version is at or below the request, `initialize` fails with -32022 instead of
    succeeding with another number (v1-only agents exempt).

    The response implies that the agent has no lower version.
    """
    requested, answered = _requested_version(context), _version(context.result_object)
    if requested is None:
        return None
    if context.kind == "failure":
        return OK if context.code == UNSUPPORTED_VERSION else None
    if answered is None:
        return None
    if answered > requested and not any(
        each <= requested for each in context.state.of(_Negotiation).supported
    ):
        return context.problem(
            f"the agent cannot speak version {requested}, but does not refuse it with -32022",
            context.request,
            path="result.protocolVersion",
        )
    return OK


@rule.error(428, "schema", "agent", on.error("initialize"))
@fix("Put requested and supported into the error's data.")
def incomplete_version_error(context: Context) -> CheckResult:
    """-32022 carries `data.requested` (= the request) and `data.supported` (integers, none ≤
    requested).
    """
    requested = _requested_version(context)
    if context.code != UNSUPPORTED_VERSION or requested is None:
        return None
    data = as_object(context.error.get("data"))
    if data.get("requested") != requested:
        return context.problem(
            f"data.requested is {quoted(data.get('requested'))}, but {requested} was requested",
            context.request,
            path="error.data.requested",
        )
    supported = data.get("supported")
    numbers = [each for each in as_list(supported) if type(each) is int]
    if not isinstance(supported, list) or len(numbers) != len(as_list(supported)):
        return context.problem(
            f"supported is not a list of versions: {quoted(supported)}",
            context.request,
            path="error.data.supported",
        )
    if any(each <= requested for each in numbers):
        return context.problem(
            f"version {requested} is refused, though {quoted(supported)} are supported",
            context.request,
            path="error.data.supported",
        )
    return OK


@track(on.response("initialize"))
def _keep_versions(context: Context) -> None:
    supported = context.state.of(_Negotiation).supported
    answered = _version(context.result_object)
    if answered is not None and len(supported) < VERSIONS:
        supported.add(answered)


@track(on.request())
def _keep_requests(context: Context) -> None:
    own = context.state.of(_Negotiation)
    if context.side != "client":
        return
    if context.method != "initialize":
        own.other = own.other or context.point
    elif context.state.version == 2:
        requested = _version(context.params)
        if requested is not None and requested < 2 and len(own.lower) < VERSIONS:
            own.lower.append(context.seq)


@check(
    "late-initialize",
    on.request("initialize"),
    fix="Negotiate the version once, before anything else.",
)
def nothing_is_agreed_upon_again(context: Context) -> CheckResult:
    other = context.state.of(_Negotiation).other
    if context.state.version == 1:
        return None
    if other is not None and context.state.is_ready:
        return context.problem(
            "initialize is sent again after other requests", context.state.initialize, other
        )
    return OK


@rule.warning(429, "must", "client", on.END)
@fix("Open a new connection for version 1.")
def late_initialize(ending: EndContext) -> CheckResult:
    """`initialize` is not repeated after any other request was sent, nor with a version below 2."""
    lower = ending.state.of(_Negotiation).lower
    text = "initialize asks for less than version 2, which was agreed upon"
    return tuple(Problem(text, (n,)) for n in lower) or None


@rule.warning(430, "schema", "agent", on.error(*ABOUT_SESSIONS, "session/prompt"))
@fix("Put the sessionId into the error's data.")
def not_found_without_session(context: Context) -> CheckResult:
    """-32002 for a missing or inactive session carries `data.sessionId` equal to the
    requested one.
    """
    if (
        context.code != RESOURCE_NOT_FOUND
        or context.request is None
        or context.request.session is None
    ):
        return None
    if (
        context.method == "session/prompt"
        and context.session is not None
        and context.session.is_open
    ):
        # A file may be missing instead.
        return None
    named: Json = as_object(context.error.get("data")).get("sessionId")
    if named == context.request.session:
        return OK
    what = f"is {quoted(named)}" if named is not None else "is missing"
    return context.problem(
        f"data.sessionId {what} in the error about session {quoted(context.request.session)}",
        context.request,
        path="error.data.sessionId",
    )


def _requested_version(context: Context) -> int | None:
    return None if context.request is None else _version(context.request.params)


def _version(message: dict[str, Json]) -> int | None:
    version = message.get("protocolVersion")
    return version if type(version) is int else None
