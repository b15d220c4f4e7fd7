"""Talks to MCP servers over the connection itself."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Call, Talk, breaks, keeps

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
CLAIMS: dict[str, Any] = {"loadSession": True, "mcpCapabilities": {"acp": True}}


def server(id_: Any = "srv") -> dict[str, Any]:
    """Return a server that is offered over the connection."""
    return {"type": "acp", "name": f"tools-{id_}", "serverId": id_}


def opened(talk: Talk, *servers: dict[str, Any], session: str = "s1") -> None:
    """Open a session with servers."""
    if not talk.entries:
        talk.initialize(None, CLAIMS)
    call = talk.ask("session/new", cwd=CWD, mcpServers=list(servers or (server(),)))
    talk.answer(call, sessionId=session)


def ask(talk: Talk, request: str = "r1", /, **members: Any) -> Call:
    """Ask a server."""
    asked: dict[str, Any] = {"serverId": "srv", "requestId": request, "method": "tools/list"}
    asked |= {"params": {"_meta": META}}
    return talk.ask("mcp/message", asked | members, side="agent")


def progress(talk: Talk, request: str = "r1") -> None:
    """Tell of progress."""
    told = {"serverId": "srv", "requestId": request, "method": "notifications/progress"}
    talk.send("client", {"method": "mcp/message", "params": told})


@breaks("unknown-mcp-server", unstable=True)
def a_server_was_not_declared(talk: Talk) -> None:
    opened(talk)
    talk.refuse(ask(talk, serverId="other"), -33001)


@breaks("unknown-mcp-server", unstable=True)
def a_message_is_of_the_retired_binding(talk: Talk) -> None:
    opened(talk)
    talk.refuse(ask(talk, connectionId="c1"), -32602)


@keeps("unknown-mcp-server", unstable=True)
def a_server_was_declared(talk: Talk) -> None:
    opened(talk)
    talk.answer(ask(talk), result={"tools": []})


@breaks("wrong-mcp-direction", unstable=True)
def a_client_asks_its_own_server(talk: Talk) -> None:
    opened(talk)
    asked = {"serverId": "srv", "requestId": "r1", "method": "tools/list"}
    talk.refuse(talk.ask("mcp/message", asked), -32601)


@keeps("wrong-mcp-direction", unstable=True)
def an_agent_asks_and_a_client_tells(talk: Talk) -> None:
    opened(talk)
    call = ask(talk)
    progress(talk)
    talk.answer(call, result={})


@breaks("duplicate-mcp-request", unstable=True)
def an_inner_id_is_reused(talk: Talk) -> None:
    opened(talk)
    first = ask(talk)
    talk.refuse(ask(talk), -32602)
    talk.answer(first, result={})


@keeps("duplicate-mcp-request", unstable=True)
def an_inner_id_comes_again_later(talk: Talk) -> None:
    opened(talk)
    talk.answer(ask(talk), result={})
    talk.answer(ask(talk), result={})


@breaks("stale-mcp-notification", unstable=True)
def progress_comes_after_the_answer(talk: Talk) -> None:
    opened(talk)
    talk.answer(ask(talk), result={})
    progress(talk)


@keeps("stale-mcp-notification", unstable=True)
def progress_comes_before_the_answer(talk: Talk) -> None:
    opened(talk)
    call = ask(talk)
    progress(talk)
    talk.answer(call, result={})


@breaks("nested-mcp-envelope", unstable=True)
def a_message_holds_a_message(talk: Talk) -> None:
    opened(talk)
    talk.refuse(ask(talk, message={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}), -32602)


@keeps("nested-mcp-envelope", unstable=True)
def a_message_is_flat(talk: Talk) -> None:
    opened(talk)
    talk.answer(ask(talk, params=None), result={})


@breaks("duplicate-mcp-server", unstable=True)
def two_servers_share_an_id(talk: Talk) -> None:
    opened(talk, server(), server())


@keeps("duplicate-mcp-server", unstable=True)
def two_servers_have_two_ids(talk: Talk) -> None:
    opened(talk, server(), server("srv2"))


@breaks("malformed-mcp-result", unstable=True)
def a_carrier_holds_both(talk: Talk) -> None:
    opened(talk)
    talk.answer(ask(talk), result={}, error={"code": 1, "message": "No."})


@breaks("malformed-mcp-result", unstable=True)
def an_inner_error_has_no_code(talk: Talk) -> None:
    opened(talk)
    talk.answer(ask(talk), error={"message": "No."})


@keeps("malformed-mcp-result", unstable=True)
def a_carrier_holds_null(talk: Talk) -> None:
    opened(talk)
    talk.answer(ask(talk), result=None)


@breaks("mcp-error-sent-outside", unstable=True)
def an_inner_error_is_sent_outside(talk: Talk) -> None:
    opened(talk)
    talk.refuse(ask(talk), -32022, "Unsupported revision")


@keeps("mcp-error-sent-outside", unstable=True)
def a_binding_error_is_sent_outside(talk: Talk) -> None:
    opened(talk)
    talk.refuse(ask(talk), -33002, "The server is gone.")


@breaks("incomplete-mcp-meta", unstable=True)
def a_request_does_not_say_its_revision(talk: Talk) -> None:
    opened(talk)
    talk.answer(ask(talk, params={}), result={})


@keeps("incomplete-mcp-meta", unstable=True)
def a_request_says_its_revision(talk: Talk) -> None:
    opened(talk)
    talk.answer(ask(talk), result={})


@breaks("inner-mcp-initialize", unstable=True)
def a_handshake_is_sent(talk: Talk) -> None:
    opened(talk)
    talk.answer(ask(talk, method="initialize"), error={"code": -32601, "message": "No."})


@keeps("inner-mcp-initialize", unstable=True)
def no_handshake_is_sent(talk: Talk) -> None:
    opened(talk)
    talk.answer(ask(talk), result={})


@breaks("redeclared-mcp-server", unstable=True)
def a_second_session_declares_the_same_server(talk: Talk) -> None:
    opened(talk)
    opened(talk, session="s2")


@keeps("redeclared-mcp-server", unstable=True)
def a_second_session_declares_another_server(talk: Talk) -> None:
    opened(talk)
    opened(talk, server("srv2"), session="s2")


@breaks("duplicate-mcp-server", unstable=True)
def two_open_sessions_share_a_server(talk: Talk) -> None:
    talk.initialize(None, {"mcpCapabilities": {"acp": True}})
    server = {"type": "acp", "name": "a", "serverId": "A"}
    for id_ in ("s1", "s2"):
        call = talk.ask("session/new", cwd="/home/ada", mcpServers=[server])
        talk.answer(call, sessionId=id_)


@keeps("duplicate-mcp-server", unstable=True)
def a_session_is_taken_up_with_its_server(talk: Talk) -> None:
    talk.initialize(None, {"mcpCapabilities": {"acp": True}, "loadSession": True})
    server = {"type": "acp", "name": "a", "serverId": "A"}
    call = talk.ask("session/new", cwd="/home/ada", mcpServers=[server])
    talk.answer(call, sessionId="s1")
    taken_up = {"sessionId": "s1", "cwd": "/home/ada", "mcpServers": [server]}
    talk.answer(talk.ask("session/load", taken_up))
