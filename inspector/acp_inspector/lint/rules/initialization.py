"""The start of a connection, and version negotiation.

Source: ACP, "Initialization" and "Migration" (version 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema, unique
from acp_inspector.lint.context import (
    INITIALIZE,
    OK,
    CheckResult,
    Context,
    is_version_1_in_disguise,
    quoted,
)
from acp_inspector.lint.registry import LintSubject, check, checked_by, details, fix, track
from acp_inspector.lint.state import Point, SentRequest
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json

rule = LintSubject("initialization", page="initialization.mdx")

SET_V1: Final = {
    "client": ("clientCapabilities", "clientInfo"),
    "agent": ("agentCapabilities", "agentInfo"),
}
SET_V2: Final = ("capabilities", "info")


@dataclass(slots=True)
class _Refusal:
    """A response with a version that the client did not request."""

    wanted: int = 0
    answered: int = 0
    ask: SentRequest | None = None
    point: Point | None = None


@rule.error(48, "must", "client", on.call())
@fix("Begin each connection with initialize.")
def initialize_not_first(context: Context) -> CheckResult:
    """The first request on a connection is `initialize`; no other method precedes it."""
    if context.side != "client" or context.state.calls["client"]:
        return None
    if context.method in INITIALIZE:
        return OK
    return context.problem(f"the first message is {quoted(context.method)}", path="method")


@rule.error(49, "must", "client", on.call(), source="session-setup.mdx")
@fix("Wait for the response to initialize.")
def request_before_initialized(context: Context) -> CheckResult:
    """Nothing that needs negotiation (sessions, auth, providers) is sent before the `initialize`
    response arrived (no pipelining).
    """
    state = context.state
    if context.side != "client" or state.initialize is None or state.initialize.responded:
        return None
    if context.method in {"initialize", "$/cancel_request"}:
        return OK
    return context.problem(
        f"{quoted(context.method)} is sent before initialize was answered",
        state.initialize,
        path="method",
    )


@check("request-before-initialized", on.result("initialize"))
def the_answer_came_first(context: Context) -> CheckResult:
    return OK if context.state.calls["client"] else None


@rule.warning(
    50, "implied", "client", on.request("initialize"), source="v2/migration.mdx", since="2026-11"
)
@fix("Initialize once, before everything else.")
def repeated_initialize(context: Context) -> CheckResult:
    """v1: `initialize` is sent once per connection. v2: it may be repeated before the first other
    request, again for version 2 or newer; the latest success counts (late-initialize).
    """
    earlier = context.state.initialize
    if earlier is None or context.state.version is None:
        return OK
    if context.state.version >= 2 and (context.version or 0) >= 2:
        return OK
    return context.problem("initialize is sent a second time", earlier, path="method")


@rule.error(
    51, "implied", "agent", on.request(), on.notification("session/update"), case="initialize.first"
)
@details(exercised_by=on.result("initialize"))
@fix("Send nothing before the response to initialize.")
def agent_speaks_first(context: Context) -> CheckResult:
    """The Agent sends no request or `session/update` before it answered `initialize`."""
    if context.side != "agent" or context.method == "proxy/successor":
        # A proxy has to send initialize to its successor before it can respond.
        return None
    if context.state.is_ready or context.state.version is not None:
        return OK
    return context.problem(
        f"{context.method} is sent before initialize was answered",
        context.state.initialize,
        path="method",
    )


@rule.error(52, "schema", "both", on.request("initialize"), on.result("initialize"))
@details(source="initialization.mdx", case={"client": "initialize.version"})
@fix("Send a whole number such as 1.")
@checked_by(schema, at="protocolVersion", kinds=("missing", "type", "null", "range"))
def invalid_protocol_version() -> None:
    """`protocolVersion` is an integer 0..65535 (not `"1.0.0"`, not a date)."""


@rule.warning(53, "schema", "both", on.request("initialize"), on.result("initialize"))
@fix("Request version 1 or newer.")
def prerelease_version(context: Context) -> CheckResult:
    """Version 0 (pre-release) is not negotiated."""
    place, version = _version(context)
    if type(version) is not int:
        return None
    if version:
        return OK
    return context.problem("protocolVersion is 0", path=f"{place}.protocolVersion")


def _version(context: Context) -> tuple[str, Json]:
    if context.kind == "request":
        return "params", context.params.get("protocolVersion")
    return "result", context.result_object.get("protocolVersion")


@rule.info(54, "must", "agent", on.result("initialize"), version=1)
@details(source="initialization.mdx", since="2026-11")
@fix("Respond with the requested version if you support it.")
def other_version_answered(context: Context) -> CheckResult:
    """Answered version differs from the requested one: verify the Agent truly lacks the requested
    version and that it is its newest (v2: wrong-version-answered).
    """
    wanted, answered = _wanted(context), context.result_object.get("protocolVersion")
    if wanted is None or type(answered) is not int:
        return None
    if answered == wanted or is_version_1_in_disguise(context.result_object):
        return OK
    return context.problem(
        f"version {wanted} was requested, but the agent responded with {answered}",
        context.request,
        at="protocolVersion",
    )


def _wanted(context: Context) -> int | None:
    wanted = context.request.params.get("protocolVersion") if context.request is not None else None
    return wanted if type(wanted) is int else None


@track(on.result("initialize"))
def _keep_refusal(context: Context) -> None:
    refusal = context.state.of(_Refusal)
    answered = context.result_object.get("protocolVersion")
    refusal.ask, refusal.point = context.request, context.point
    refusal.wanted = _wanted(context) or 0
    refusal.answered = answered if type(answered) is int else 0
    if is_version_1_in_disguise(context.result_object):
        refusal.answered = 1


@rule.error(55, "should", "client", on.call(), exercised_by=on.result("initialize"))
@fix("Close the connection if you do not support the version in the response.")
def version_mismatch_ignored(context: Context) -> CheckResult:
    """After an unacceptable version answer the Client closes instead of continuing with methods of
    another version.

    A client may support a lower version too; rules about methods and schemas report messages of
    another version.
    """
    refusal = context.state.of(_Refusal)
    if context.side != "client" or refusal.point is None or context.method == "initialize":
        return None
    if refusal.answered <= refusal.wanted:
        return OK
    if context.state.calls["client"] > 1:
        # Report it once: everything after it is the same mistake.
        return None
    return context.problem(
        f"the client goes on though the agent answered with version {refusal.answered}, "
        f"above {refusal.wanted}",
        refusal.ask,
        refusal.point,
    )


@rule.error(56, "must", "both", on.call(), on.result(), case={"agent": "initialize.members"})
@details(exercised_by=on.result("initialize"))
@fix("Use the names of the version that was agreed upon.")
def shape_of_other_version(context: Context) -> CheckResult:
    """All later traffic uses the shapes of the *answered* version (v1 field names on v2 and vice
    versa are errors).
    """
    if context.version is None or context.method is None:
        return None
    place = "params" if context.kind != "result" else "result"
    fields = context.params if context.kind != "result" else context.result_object
    names = _OTHERS.get((context.version, context.kind, context.method))
    if names is None:
        return None
    for name in names:
        if name in fields:
            return context.problem(
                f"{name} of {context.method} is the other version's; "
                f"the negotiated version is {context.version}",
                context.state.initialize,
                path=f"{place}.{name}",
            )
    return OK


_OTHERS: Final[dict[tuple[int, str, str], tuple[str, ...]]] = {
    (1, "request", "session/request_permission"): ("subject",),
    (2, "request", "session/request_permission"): ("toolCall",),
    (1, "request", "session/resume"): ("replayFrom",),
    (1, "result", "session/prompt"): ("messageId",),
    (2, "result", "session/prompt"): ("stopReason",),
    (2, "result", "session/new"): ("modes", "models"),
    (2, "result", "session/resume"): ("modes", "models"),
}
"""Members by which a message shows that it is of the other version."""


@rule.warning(57, "should", "both", on.request("initialize"), on.result("initialize"), version=1)
@details(unlike=("openoxide",))
@fix("Send your name and version.")
def missing_implementation_info(context: Context) -> CheckResult:
    """`clientInfo` / `agentInfo` are present with `name` and `version`."""
    name = "clientInfo" if context.kind == "request" else "agentInfo"
    place = "params" if context.kind == "request" else "result"
    fields = context.params if context.kind == "request" else context.result_object
    info = as_object(fields.get(name))
    if not info:
        return context.problem(f"{name} is missing", path=f"{place}.{name}")
    for part in ("name", "version"):
        if not isinstance(info.get(part), str):
            return context.problem(f"{name} has no {part}", path=f"{place}.{name}.{part}")
    return OK


@rule.error(58, "must", "both", on.request("initialize"), on.result("initialize"), version=2)
@details(case={"agent": "initialize.agent-info"})
@fix("Send your name and version.")
@checked_by(schema, at=("info", "info.name|version"))
def missing_info() -> None:
    """`info` with `name` and `version` is present in params and result."""


@rule.warning(59, "schema", "both", on.request("initialize"), on.result("initialize"))
@details(source="v2/migration.mdx")
@fix("Use the names of that version.")
def mixed_initialize_fields(context: Context) -> CheckResult:
    """Initialize fields match the version:
    `clientCapabilities`/`clientInfo`/`agentCapabilities`/`agentInfo` for v1, `capabilities`/`info`
    for v2. Exempt: a dual-version Client that sends both sets with `protocolVersion: 2`.
    """
    if context.version is None:
        return None
    place = "params" if context.kind == "request" else "result"
    fields = context.params if context.kind == "request" else context.result_object
    old, new = SET_V1[context.side], SET_V2
    wrong = new if context.version == 1 else old
    if context.version != 1 and context.kind == "request" and any(name in fields for name in new):
        return OK
    for name in wrong:
        if name in fields:
            return context.problem(
                f"{name} is not version {context.version}'s", path=f"{place}.{name}"
            )
    return OK


@rule.error(518, "schema", "agent", on.result("initialize"))
@fix("Respond with version 1, or with the capabilities and info of version 2.")
def version_in_disguise(context: Context) -> CheckResult:
    """The result of `initialize` has the form of its `protocolVersion`: version 2 has
    `capabilities` and `info`. One with `agentCapabilities` instead is read as version 1.
    """
    if not is_version_1_in_disguise(context.result_object):
        return OK
    version = context.result_object["protocolVersion"]
    return context.problem(
        f"the agent responds with version {version} in the form of version 1, as which it is read",
        context.request,
        at="protocolVersion",
    )


@rule.error(66, "schema", "agent", on.result("initialize"), case="initialize.auth-ids")
@fix("Give each method to log in an id of its own.")
@checked_by(unique, at=("authMethods.*.id", "authMethods.*.methodId"))
def duplicate_auth_method() -> None:
    """`authMethods` ids (`id` / `methodId`) are unique within the list."""
