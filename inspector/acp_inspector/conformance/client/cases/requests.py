"""Requests and notifications of the agent: ids, cancellation, extensions."""

from __future__ import annotations

from functools import partial

from acp_inspector.conformance.client.checks import ALLOW, NO_PERMISSIONS, WELL, expect_no_reply
from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import CLIENT
from acp_inspector.conformance.wire import error_of
from acp_protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Json

case = partial(CLIENT.case, persona=WELL)


@case("requests.unknown-method", rules=("unknown-method-not-refused",))
async def unknown_method(stage: Stage) -> None:
    error_of(await stage.request("session/levitate", {}), "session/levitate", METHOD_NOT_FOUND)


@case("requests.unknown-extension", rules=("custom-request-unanswered",))
async def unknown_extension(stage: Stage) -> None:
    reply = await stage.request("_example.org/levitate", {"height": 3})
    error_of(reply, "_example.org/levitate", METHOD_NOT_FOUND)


@case("requests.text-id", "Schema, RequestId")
async def text_id(stage: Stage) -> None:
    """A response repeats an id that is a string."""
    await stage.request("_conform/echo", {}, "00000000-0000-4000-8000-00000000c0de")


@case("requests.digits-id", "Schema, RequestId")
async def digits_id(stage: Stage) -> None:
    """A response repeats a string of digits as a string, not as a number."""
    await stage.request("_conform/echo", {}, "4711")


@case("requests.large-id", "Schema, RequestId")
async def large_id(stage: Stage) -> None:
    """A response repeats an integer of 53 bits exactly."""
    await stage.request("_conform/echo", {}, 9007199254740991)


@case("requests.many", "Overview, JSON-RPC (JSON-RPC 2.0, section 5)")
async def many(stage: Stage) -> None:
    """Requests that are sent at once each get the response with their id."""
    at = len(stage.messages)
    ids = [await stage.start("_conform/many", {"number": each}) for each in range(20)]
    for id_ in ids:
        await stage.response(id_, at, "a response to each of 20 requests")


@case("requests.params-missing", "Schema, RequestPermissionRequest", unlike=NO_PERMISSIONS)
async def params_missing(stage: Stage) -> None:
    """A request without its required params is refused with -32602."""
    reply = await stage.request("session/request_permission", {"sessionId": stage.session})
    error_of(reply, "session/request_permission", INVALID_PARAMS)


@case(
    "requests.unknown-notification",
    "Extensibility, Custom notifications",
    rules=("answered-notification",),
)
async def unknown_notification(stage: Stage) -> None:
    """An unknown notification is ignored."""
    at = len(stage.messages)
    await stage.notify("session/applause", {"loud": True})
    await stage.notify("_example.org/applause", {"loud": True})
    await stage.settle()
    expect_no_reply(stage, at, "the notification")


@case("requests.meta", "Extensibility, The _meta field")
async def meta(stage: Stage) -> None:
    """Unknown entries of _meta in an update are no error."""
    at = len(stage.messages)
    content: Json = {"type": "text", "text": "…", "_meta": {"example.org/tone": "calm"}}
    await stage.chunk("agent_message_chunk", content, _meta={"example.org/n": 1})
    await stage.settle()
    expect_no_reply(stage, at, "the update")


@case("cancel-request.unknown", "Cancellation", rules=("cancel-answered",))
async def cancel_unknown(stage: Stage) -> None:
    """A $/cancel_request for an unknown request is ignored."""
    at = len(stage.messages)
    await stage.notify("$/cancel_request", {"requestId": "never-sent"})
    await stage.settle()
    expect_no_reply(stage, at, "$/cancel_request")


@case("cancel-request.permission", rules=("cancelled-request-unanswered",))
async def cancel_permission(stage: Stage) -> None:
    at = len(stage.messages)
    id_ = await stage.start("session/request_permission", stage.permission(ALLOW))
    await stage.notify("$/cancel_request", {"requestId": id_})
    await stage.response(id_, at, "a response to the cancelled request")
