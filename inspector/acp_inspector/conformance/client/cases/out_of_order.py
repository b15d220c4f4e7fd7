"""Updates and requests in an order that is not expected."""

from __future__ import annotations

from acp_inspector.conformance.client.checks import (
    ALLOW,
    REJECT,
    TEXT_BLOCK,
    check_outcome,
    check_survival,
)
from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import CLIENT, V1, V2, CaseFailedError, NotReachedError
from acp_protocol.jsonrpc import Json

case = CLIENT.case


@case(
    "order.update-first",
    "Session setup",
    "An update may come before the response that names its session.",
    persona="out-of-order",
    own=True,
)
async def update_first(stage: Stage) -> None:
    if not stage.sessions:
        raise NotReachedError("the client created no session")
    if stage.first_prompt is None:
        raise CaseFailedError("the client sent no prompt for the session")


@case(
    "order.update-before-call",
    "Tool calls, Updating",
    "An update of a tool call that was not announced does no harm.",
    profiles=V1,
    persona="out-of-order",
)
async def update_before_call(stage: Stage) -> None:
    await stage.update("tool_call_update", toolCallId="early", status="in_progress")
    await stage.update("tool_call", toolCallId="early", title="Late", status="in_progress")
    await stage.update("tool_call_update", toolCallId="early", status="completed")
    await check_survival(stage)


@case(
    "order.permission-before-call",
    "Tool calls, Requesting permission",
    "A permission may be requested for a tool call that was not announced.",
    persona="out-of-order",
)
async def permission_before_call(stage: Stage) -> None:
    reply = await stage.ask(ALLOW, REJECT, call="never-announced")
    check_outcome(reply, "allow", "reject")


@case(
    "order.two-permissions",
    "Tool calls, Requesting permission",
    "Two permissions that are requested at the same time each get an outcome.",
    persona="out-of-order",
)
async def two_permissions(stage: Stage) -> None:
    at = len(stage.messages)
    ids = [
        await stage.start(
            "session/request_permission",
            stage.permission((f"yes-{call}", "allow_once"), call=call),
        )
        for call in ("one", "two")
    ]
    for id_, call in zip(ids, ("one", "two"), strict=True):
        reply = await stage.response(id_, at, "a response to each permission request")
        check_outcome(reply, f"yes-{call}")


@case(
    "order.status-back",
    "Tool calls, Status",
    "A tool call whose status goes back does no harm.",
    persona="out-of-order",
)
async def status_back(stage: Stage) -> None:
    kind = "tool_call" if stage.version == 1 else "tool_call_update"
    await stage.update(kind, toolCallId="back", title="Back", status="completed")
    await stage.update("tool_call_update", toolCallId="back", status="pending")
    await check_survival(stage)


@case(
    "order.part-before-call",
    "Tool calls, Content chunks",
    "A part of a tool call that was not announced does no harm, nor output of such a terminal.",
    profiles=V2,
    persona="out-of-order",
)
async def part_before_call(stage: Stage) -> None:
    part: Json = {"type": "content", "content": TEXT_BLOCK}
    await stage.update("tool_call_content_chunk", toolCallId="early", content=part)
    await stage.update("terminal_output_chunk", terminalId="early", data="b2sK")
    await stage.update("tool_call_update", toolCallId="early", title="Late", status="completed")
    await check_survival(stage)
