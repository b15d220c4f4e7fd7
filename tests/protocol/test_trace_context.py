"""The trace context of a request, handed on to what is said meanwhile."""

from __future__ import annotations

import contextvars
from typing import Any

import pytest

from acp_protocol.connection import Connection
from acp_protocol.jsonrpc import Json, Request
from acp_protocol.trace_context import add_trace, set_trace
from tests.protocol.connected_peers import Script, talk

PARENT = f"00-{'1' * 32}-{'2' * 16}-01"


def said(params: Any, of_request: Any) -> Any:
    def inside() -> Any:
        set_trace(of_request)
        return add_trace(params)

    return contextvars.copy_context().run(inside)


@pytest.mark.parametrize("carried", [None, [], {}, {"_meta": None}, {"_meta": []}, {"_meta": {}}])
def test_without_a_parent_nothing_is_added(carried: object) -> None:
    params = {"sessionId": "s"}
    assert said(params, carried) is params


@pytest.mark.parametrize("meta", [{"traceparent": 5}, {"tracestate": "x"}, {"baggage": "a=1"}])
def test_half_a_trace_is_none(meta: object) -> None:
    assert said({}, {"_meta": meta}) == {}


def test_all_that_belongs_to_the_trace_is_handed_on_as_it_came() -> None:
    trace = {"traceparent": PARENT, "tracestate": "a=1", "baggage": "user=7"}
    assert said(None, {"_meta": trace | {"other": 1}}) == {"_meta": trace}


@pytest.mark.parametrize("params", [[], [1], {"_meta": 5}])
def test_what_cannot_carry_a_trace_stays_as_it_is(params: object) -> None:
    assert said(params, {"_meta": {"traceparent": PARENT}}) == params


def test_who_has_a_trace_of_their_own_keeps_it() -> None:
    own = {"_meta": {"traceparent": "own"}}
    assert said(own, {"_meta": {"traceparent": PARENT}}) == own


TRACE = {"traceparent": PARENT, "tracestate": "vendor=1"}


async def test_what_is_said_while_a_request_is_served_carries_its_trace() -> None:
    agent_side: list[Connection] = []

    async def serve(request: Request) -> Json:
        (agent,) = agent_side
        await agent.notify("session/update", {"sessionId": "s"})
        await agent.notify("session/update", {"sessionId": "s", "_meta": {"traceparent": "own"}})
        return await agent.request("fs/read_text_file", {"_meta": {"mine": 1}})

    async def look(request: Request) -> Json:
        return {"meta": request.params.get("_meta")}

    client_script = Script(on_request=look)
    async with talk(client_script, Script(on_request=serve)) as (client, agent):
        agent_side.append(agent)
        answer = await client.request("session/prompt", {"_meta": TRACE | {"other": 1}})
        assert answer == {"meta": TRACE | {"mine": 1}}
        metas = [told.params.get("_meta") for told in client_script.heard]
        assert metas == [TRACE, {"traceparent": "own"}]
        assert await client.request("session/prompt", {}) == {"meta": {"mine": 1}}
