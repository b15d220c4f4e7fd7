"""Talks about the MCP servers of a session."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, Call, Talk, breaks, keeps

STDIO: dict[str, Any] = {"name": "files", "command": "/usr/bin/files", "args": [], "env": []}
HTTP: dict[str, Any] = {"type": "http", "name": "web", "url": "https://a.example", "headers": []}
SSE: dict[str, Any] = {"type": "sse", "name": "old", "url": "https://a.example", "headers": []}
ACP: dict[str, Any] = {"type": "acp", "name": "mine", "serverId": "m1"}


def _new(talk: Talk, *servers: Any) -> Call:
    return talk.ask("session/new", cwd=CWD, mcpServers=list(servers))


def _created(talk: Talk, *servers: Any) -> None:
    lists: dict[str, Any] = (
        {"configOptions": [], "availableCommands": []} if talk.version == 2 else {}
    )
    talk.answer(_new(talk, *servers), sessionId="s1", **lists)


@breaks("missing-mcp-servers")
def servers_are_left_out(talk: Talk) -> None:
    talk.initialize()
    talk.ask("session/new", cwd=CWD)


@breaks("missing-mcp-servers")
def servers_are_a_map(talk: Talk) -> None:
    talk.initialize()
    talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers={})


@keeps("missing-mcp-servers")
def the_list_of_servers_is_empty(talk: Talk) -> None:
    talk.initialize()
    _created(talk)


@breaks("undeclared-mcp-http")
def http_is_handed_over_unclaimed(talk: Talk) -> None:
    talk.initialize({}, {"mcpCapabilities": {"sse": True}})
    _new(talk, STDIO, HTTP)


@keeps("undeclared-mcp-http")
def http_is_handed_over_where_it_is_claimed(talk: Talk) -> None:
    talk.initialize({}, {"mcpCapabilities": {"http": True}})
    _created(talk, STDIO, HTTP)


@breaks("undeclared-mcp-sse")
def sse_is_handed_over_unclaimed(talk: Talk) -> None:
    talk.initialize({}, {"mcpCapabilities": {"http": True, "sse": False}})
    _new(talk, SSE)


@keeps("undeclared-mcp-sse")
def sse_is_handed_over_where_it_is_claimed(talk: Talk) -> None:
    talk.initialize({}, {"mcpCapabilities": {"sse": True}})
    _created(talk, SSE)


@breaks("undeclared-mcp-transport", 2)
def stdio_is_not_taken_for_granted_any_more(talk: Talk) -> None:
    talk.initialize({}, {"session": {"mcp": {"http": {}}}})
    _new(talk, STDIO | {"type": "stdio"})


@breaks("undeclared-mcp-transport", 2)
def http_is_handed_over_to_an_agent_of_stdio(talk: Talk) -> None:
    talk.initialize({}, {"session": {"mcp": {"stdio": {}, "http": None}}})
    _new(talk, HTTP)


@keeps("undeclared-mcp-transport", 2)
def both_are_handed_over_where_both_are_claimed(talk: Talk) -> None:
    talk.initialize()
    _created(talk, HTTP, STDIO | {"type": "stdio"})


@breaks("mcp-sse-in-v2", 2)
def sse_is_handed_over_in_version_2(talk: Talk) -> None:
    talk.initialize()
    _new(talk, SSE)


@keeps("mcp-sse-in-v2", 2)
def http_is_no_sse(talk: Talk) -> None:
    talk.initialize()
    _created(talk, HTTP)


@breaks("unknown-mcp-transport", 2)
def a_server_has_no_type(talk: Talk) -> None:
    talk.initialize()
    _new(talk, STDIO)


@breaks("unknown-mcp-transport", 2)
def a_transport_of_ones_own_has_no_underscore(talk: Talk) -> None:
    talk.initialize()
    _new(talk, {"type": "websocket", "name": "x"})


@keeps("unknown-mcp-transport", 2)
def a_transport_of_ones_own_has_an_underscore(talk: Talk) -> None:
    talk.initialize()
    talk.refuse(_new(talk, {"type": "_websocket", "name": "x"}), -32602)


@breaks("incomplete-mcp-server")
def a_server_has_no_args(talk: Talk) -> None:
    talk.initialize()
    _new(talk, {"name": "files", "command": "/usr/bin/files", "env": []})


@breaks("incomplete-mcp-server")
def a_remote_server_has_no_headers(talk: Talk) -> None:
    talk.initialize()
    _new(talk, {"type": "http", "name": "web", "url": "https://a.example"})


@keeps("incomplete-mcp-server")
def empty_arrays_are_written_down(talk: Talk) -> None:
    talk.initialize()
    _created(talk, STDIO, HTTP)


@breaks("relative-mcp-command")
def a_command_is_a_bare_name(talk: Talk) -> None:
    talk.initialize()
    _new(talk, STDIO | {"command": "npx"})


@breaks("relative-mcp-command", 2)
def a_command_is_relative(talk: Talk) -> None:
    talk.initialize()
    _new(talk, STDIO | {"type": "stdio", "command": "./files"})


@keeps("relative-mcp-command")
def a_command_lies_on_a_drive(talk: Talk) -> None:
    talk.initialize()
    _created(talk, STDIO | {"command": "C:\\tools\\files.exe"})


@breaks("mcp-env-not-list")
def an_environment_is_a_map(talk: Talk) -> None:
    talk.initialize()
    _new(talk, STDIO | {"env": {"A": "1"}})


@breaks("mcp-env-not-list", 2)
def a_header_has_no_value(talk: Talk) -> None:
    talk.initialize()
    _new(talk, HTTP | {"headers": [{"name": "X-A"}]})


@keeps("mcp-env-not-list")
def an_environment_is_a_list_of_pairs(talk: Talk) -> None:
    talk.initialize()
    _created(talk, STDIO | {"env": [{"name": "A", "value": ""}]})


@breaks("undeclared-acp-server", unstable=True)
def acp_is_handed_over_unclaimed(talk: Talk) -> None:
    talk.initialize()
    _new(talk, ACP)


@breaks("undeclared-acp-server", 2, unstable=True)
def acp_is_handed_over_unclaimed_in_version_2(talk: Talk) -> None:
    talk.initialize()
    _new(talk, ACP)


@keeps("undeclared-acp-server", unstable=True)
def acp_is_handed_over_where_it_is_claimed(talk: Talk) -> None:
    talk.initialize({}, {"mcpCapabilities": {"acp": True}})
    _created(talk, ACP)


@breaks("undeclared-mcp-http")
def http_is_claimed_by_an_object(talk: Talk) -> None:
    talk.initialize(None, {"mcpCapabilities": {"http": {}}})
    server: dict[str, Any] = {
        "type": "http",
        "name": "h",
        "url": "https://example.com",
        "headers": [],
    }
    talk.refuse(talk.ask("session/new", cwd=CWD, mcpServers=[server]), -32602)


@breaks("undeclared-mcp-transport", 2)
def http_is_claimed_by_true(talk: Talk) -> None:
    talk.initialize(None, {"session": {"mcp": {"http": True}}})
    server: dict[str, Any] = {
        "type": "http",
        "name": "h",
        "url": "https://example.com",
        "headers": [],
    }
    talk.refuse(talk.ask("session/new", cwd=CWD, mcpServers=[server]), -32602)
