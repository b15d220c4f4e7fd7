"""Forms and pages that ask the user."""

from __future__ import annotations

from functools import partial

from acp_inspector.conformance.client.checks import WELL, expect_no_reply
from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import (
    CLIENT,
    PROFILES,
    CaseFailedError,
    NotOfferedError,
    NotReachedError,
)
from acp_inspector.conformance.wire import error_of, result_of
from acp_protocol.json_values import get
from acp_protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Json, Request

case = partial(CLIENT.case, persona=WELL)


@case(
    "elicitation.form",
    "Elicitation, Form mode",
    rules=("unknown-elicitation-action", "nested-form-value"),
)
async def form(stage: Stage) -> None:
    """A form gets one of the actions accept, decline and cancel."""
    stage.require("elicitation.form")
    schema: Json = {
        "type": "object",
        "properties": {"size": {"type": "string", "enum": ["small", "large"]}},
    }
    params: Json = {
        "sessionId": stage.session,
        "mode": "form",
        "message": "Which size?",
        "requestedSchema": schema,
    }
    result = result_of(await stage.request("elicitation/create", params), "elicitation/create")
    if result.get("action") not in {"accept", "decline", "cancel"}:
        raise CaseFailedError(f"the action is {result.get('action')!r}")


@case("elicitation.unknown-mode", rules=("undeclared-elicitation-not-refused",))
async def unknown_mode(stage: Stage) -> None:
    if stage.offers("elicitation.url"):
        raise NotReachedError("the client offers every mode")
    params: Json = {
        "sessionId": stage.session,
        "mode": "url",
        "message": "Open it",
        "elicitationId": "page-1",
        "url": "https://example.org/",
    }
    reply = await stage.request("elicitation/create", params)
    error_of(reply, "elicitation/create", INVALID_PARAMS, METHOD_NOT_FOUND)


@case("elicitation.unknown-complete", "Elicitation, URL mode")
async def unknown_complete(stage: Stage) -> None:
    """An elicitation/complete for an id that is unknown or finished is ignored."""
    if not (stage.offers("elicitation.form") or stage.offers("elicitation.url")):
        raise NotOfferedError("elicitation is not offered")
    at = len(stage.messages)
    finished = "page-2"
    if stage.offers("elicitation.url"):
        params: Json = {
            "sessionId": stage.session,
            "mode": "url",
            "message": "Open it",
            "elicitationId": finished,
            "url": "https://example.org/",
        }
        await stage.request("elicitation/create", params)
    for id_ in (finished, finished, "no-such-page"):
        await stage.notify("elicitation/complete", {"elicitationId": id_})
    await stage.settle()
    expect_no_reply(stage, at, "elicitation/complete")


@case("initialize.capabilities", "Initialization, Client capabilities", advice=PROFILES, own=True)
async def capabilities(stage: Stage) -> None:
    """The client states its capabilities."""
    name = "clientCapabilities" if stage.version == 1 else "capabilities"
    for each in stage.messages:
        if isinstance(each, Request) and each.method == "initialize":
            if get(each.params, name) is None:
                raise CaseFailedError(f"initialize came without {name}")
            return
    raise NotReachedError("the client sent no initialize")
