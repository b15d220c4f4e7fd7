"""The start of a connection, and version negotiation.

Source: ACP, "Initialization" and "Migration" (version 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import (
    INITIALIZE,
    OK,
    CheckResult,
    Context,
    is_version_1_in_disguise,
    quoted,
)
from acp_inspector.lint.registry import check, track
from acp_inspector.lint.state import Point, SentRequest
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json

VERSIONS: Final = range(2**16)
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


@check("ACP-L048", on.call())
def initialize_comes_first(context: Context) -> CheckResult:
    if context.side != "client" or context.state.calls["client"]:
        return None
    if context.method in INITIALIZE:
        return OK
    return context.problem(f"the first message is {quoted(context.method)}", path="method")


@check("ACP-L049", on.call())
def nothing_overtakes_the_answer(context: Context) -> CheckResult:
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


@check("ACP-L049", on.result("initialize"))
def the_answer_came_first(context: Context) -> CheckResult:
    return OK if context.state.calls["client"] else None


@check("ACP-L050", on.request("initialize"))
def initialize_is_sent_once(context: Context) -> CheckResult:
    earlier = context.state.initialize
    if earlier is None or context.state.version is None:
        return OK
    if context.state.version >= 2 and (context.version or 0) >= 2:
        return OK
    return context.problem("initialize is sent a second time", earlier, path="method")


@check(
    "ACP-L051",
    on.request(),
    on.notification("session/update"),
    exercised_by=on.result("initialize"),
)
def an_agent_waits_for_its_own_answer(context: Context) -> CheckResult:
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


@check("ACP-L052", on.request("initialize"), on.result("initialize"))
def versions_are_numbers(context: Context) -> CheckResult:
    place, version = _version(context)
    if type(version) is int and version in VERSIONS:
        return OK
    fields = "is missing" if version is None else f"is {quoted(version)}"
    return context.problem(f"protocolVersion {fields}", path=f"{place}.protocolVersion")


@check("ACP-L053", on.request("initialize"), on.result("initialize"))
def version_0_is_over(context: Context) -> CheckResult:
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


@check("ACP-L054", on.result("initialize"))
def another_version_is_worth_a_look(context: Context) -> CheckResult:
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


@check("ACP-L055", on.call(), exercised_by=on.result("initialize"))
def a_client_goes_on_in_the_answered_version(context: Context) -> CheckResult:
    """Flag a client that continues after a response above the requested version.

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


@check("ACP-L056", on.call(), on.result(), exercised_by=on.result("initialize"))
def names_are_of_the_answered_version(context: Context) -> CheckResult:
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


@check("ACP-L057", on.request("initialize"), on.result("initialize"))
def both_sides_say_who_they_are(context: Context) -> CheckResult:
    name = "clientInfo" if context.kind == "request" else "agentInfo"
    return _introduced(context, name)


@check("ACP-L058", on.request("initialize"), on.result("initialize"), name="info")
def _introduced(context: Context, name: str) -> CheckResult:
    place = "params" if context.kind == "request" else "result"
    fields = context.params if context.kind == "request" else context.result_object
    info = as_object(fields.get(name))
    if not info:
        return context.problem(f"{name} is missing", path=f"{place}.{name}")
    for part in ("name", "version"):
        if not isinstance(info.get(part), str):
            return context.problem(f"{name} has no {part}", path=f"{place}.{name}.{part}")
    return OK


@check("ACP-L059", on.request("initialize"), on.result("initialize"))
def introductions_fit_their_version(context: Context) -> CheckResult:
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


@check("ACP-L518", on.result("initialize"))
def answers_have_the_form_of_their_version(context: Context) -> CheckResult:
    if not is_version_1_in_disguise(context.result_object):
        return OK
    version = context.result_object["protocolVersion"]
    return context.problem(
        f"the agent responds with version {version} in the form of version 1, as which it is read",
        context.request,
        at="protocolVersion",
    )
