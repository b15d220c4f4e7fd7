"""Updates and requests in an order that is not expected."""

from __future__ import annotations

from functools import partial

from acp_inspector.conformance.client.checks import (
    ALLOW,
    NO_PERMISSIONS,
    REJECT,
    TEXT_BLOCK,
    check_outcome,
    check_survival,
)
from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import CLIENT, V1, V2, CaseFailedError, NotReachedError
from acp_protocol.jsonrpc import Json

case = partial(CLIENT.case, persona="out-of-order")


@case("order.update-first", "Session setup", own=True)
async def update_first(stage: Stage) -> None:
    """An update may come before the response that names its session."""
    if not stage.sessions:
        raise NotReachedError("the client created no session")
    if stage.first_prompt is None:
        raise CaseFailedError("the client sent no prompt for the session")


@case("order.update-before-call", "Tool calls, Updating", profiles=V1)
async def update_before_call(stage: Stage) -> None:
    """An update of a tool call that was not announced does no harm."""
    await stage.update("tool_call_update", toolCallId="early", status="in_progress")
    await stage.update("tool_call", toolCallId="early", title="Late", status="in_progress")
    await stage.update("tool_call_update", toolCallId="early", status="completed")
    await check_survival(stage)


@case("order.permission-before-call", "Tool calls, Requesting permission", unlike=NO_PERMISSIONS)
async def permission_before_call(stage: Stage) -> None:
    """A permission may be requested for a tool call that was not announced."""
    reply = await stage.ask(ALLOW, REJECT, call="never-announced")
    check_outcome(reply, "allow", "reject")


@case("order.two-permissions", "Tool calls, Requesting permission", unlike=NO_PERMISSIONS)
async def two_permissions(stage: Stage) -> None:
    """Two permissions that are requested at the same time each get an outcome."""
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


@case("order.status-back", "Tool calls, Status")
async def status_back(stage: Stage) -> None:
    """A tool call whose status goes back does no harm."""
    kind = "tool_call" if stage.version == 1 else "tool_call_update"
    await stage.update(kind, toolCallId="back", title="Back", status="completed")
    await stage.update("tool_call_update", toolCallId="back", status="pending")
    await check_survival(stage)


@case("order.part-before-call", "Tool calls, Content chunks", profiles=V2)
async def part_before_call(stage: Stage) -> None:
    """A part of a tool call that was not announced does no harm, nor output of such a terminal."""
    part: Json = {"type": "content", "content": TEXT_BLOCK}
    await stage.update("tool_call_content_chunk", toolCallId="early", content=part)
    await stage.update("terminal_output_chunk", terminalId="early", data="b2sK")
    await stage.update("tool_call_update", toolCallId="early", title="Late", status="completed")
    await check_survival(stage)
