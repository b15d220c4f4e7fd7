"""Arrays of messages, in the dialect that has them."""

from __future__ import annotations

from acp_inspector.conformance.batches import SECTION, add_batch_cases
from acp_inspector.conformance.client.checks import (
    ALLOW,
    REJECT,
    WELL,
    check_outcome,
    check_survival,
)
from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import CLIENT, V2, CaseFailedError
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.jsonrpc import Batch, Json, SuccessResponse, encode

add_batch_cases(CLIENT, persona="hostile")


def _update(stage: Stage, text: str) -> Json:
    content: Json = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "messageId": "batch", "content": content}
    params: Json = {"sessionId": stage.session, "update": update}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


@CLIENT.case("batch.updates", SECTION, persona=WELL, profiles=V2, only=BATCHES)
async def updates(stage: Stage) -> None:
    """Updates in an array are taken like any others."""
    at = len(stage.messages)
    await stage.send(encode([_update(stage, "Two in "), _update(stage, "one array.")]))
    await check_survival(stage)
    if any(isinstance(each, Batch) for each in stage.messages[at:]):
        raise CaseFailedError("an array of updates got a response")


@CLIENT.case("batch.permission", SECTION, persona=WELL, profiles=V2, only=BATCHES)
async def permission(stage: Stage) -> None:
    """A permission request in an array is decided, and its response comes in an array."""
    at, id_ = len(stage.messages), "batch-permission"
    request: Json = {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "session/request_permission",
        "params": stage.permission(ALLOW, REJECT, call="batch"),
    }
    await stage.send(encode([_update(stage, "May I?"), request]))
    reply = await stage.response(id_, at, "a response to the permission request of an array")
    check_outcome(reply, "allow", "reject")
    arrays = [each for each in stage.messages[at:] if isinstance(each, Batch)]
    if not any(
        isinstance(entry, SuccessResponse) and entry.id == id_
        for each in arrays
        for entry in each.entries
    ):
        raise CaseFailedError("the response to the request of an array comes in no array")
