"""Talks on one hop of a chain of proxies."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import TOOL, Call, Talk, breaks, keeps

ASKED: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": TOOL}
ANSWERED: dict[str, Any] = {
    "protocolVersion": 1,
    "agentCapabilities": {"loadSession": True},
    "agentInfo": TOOL,
    "authMethods": [],
}


def successor(talk: Talk, method: str, params: Any = None, /, **members: Any) -> Call:
    """Let the proxy ask its successor."""
    wrapped = {"method": method, "params": params} | members
    return talk.ask("proxy/successor", wrapped, side="agent")


def begun(talk: Talk, version: int = 1) -> None:
    """Begin a hop."""
    call = talk.ask("proxy/initialize", ASKED)
    talk.answer(successor(talk, "initialize", ASKED), ANSWERED)
    talk.answer(call, ANSWERED | {"protocolVersion": version})


@breaks("wrong-proxy-initialize", unstable=True)
def a_proxy_is_begun_as_an_agent(talk: Talk) -> None:
    talk.initialize()
    talk.refuse(successor(talk, "session/new", {}), -32601)


@keeps("wrong-proxy-initialize", unstable=True)
def a_proxy_is_begun_as_a_proxy(talk: Talk) -> None:
    begun(talk)
    talk.answer(successor(talk, "_x", {}))


@breaks("initialize-not-forwarded", unstable=True)
def a_proxy_does_not_ask_its_successor(talk: Talk) -> None:
    talk.answer(talk.ask("proxy/initialize", ASKED), ANSWERED)


@keeps("initialize-not-forwarded", unstable=True)
def a_proxy_asks_its_successor(talk: Talk) -> None:
    begun(talk)


@breaks("proxy-changes-version", 2, unstable=True)
def a_proxy_changes_the_version(talk: Talk) -> None:
    begun(talk, 2)


@keeps("proxy-changes-version", unstable=True)
def a_proxy_keeps_the_version(talk: Talk) -> None:
    begun(talk)


@breaks("malformed-successor-params", unstable=True)
def wrapped_params_are_a_text(talk: Talk) -> None:
    begun(talk)
    talk.refuse(successor(talk, "_x", "all"), -32602)


@keeps("malformed-successor-params", unstable=True)
def wrapped_params_are_a_list(talk: Talk) -> None:
    begun(talk)
    talk.answer(successor(talk, "_x", [1]))


@breaks("proxy-copies-meta", unstable=True)
def the_envelopes_meta_is_copied(talk: Talk) -> None:
    begun(talk)
    meta = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    talk.answer(successor(talk, "_x", {"_meta": meta}, _meta=meta))


@keeps("proxy-copies-meta", unstable=True)
def both_have_metas_of_their_own(talk: Talk) -> None:
    begun(talk)
    talk.answer(successor(talk, "_x", {"_meta": {"a": 1}}, _meta={"hop": 1}))


@breaks("cancel-wrapped", unstable=True)
def a_cancel_is_wrapped(talk: Talk) -> None:
    begun(talk)
    wrapped = {"requestId": 1}
    talk.send(
        "agent",
        {"method": "proxy/successor", "params": {"method": "$/cancel_request", "params": wrapped}},
    )


@keeps("cancel-wrapped", unstable=True)
def a_cancel_names_the_envelope(talk: Talk) -> None:
    begun(talk)
    call = successor(talk, "_x", {})
    talk.tell("$/cancel_request", side="agent", requestId=call.id)
    talk.refuse(call, -32800, "Cancelled")
