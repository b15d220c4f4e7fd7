"""Servers as clients and configurations declare them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.mcp.declarations import (
    AcpServer,
    DeclarationError,
    Limits,
    StdioServer,
    WebServer,
    configured_servers,
    session_servers,
)
from acp_protocol.jsonrpc import Json

STDIO: dict[str, Json] = {"name": "files", "command": "/bin/files", "args": ["-v"], "env": []}
HTTP: dict[str, Json] = {"type": "http", "name": "web", "url": "https://a.test/mcp", "headers": []}
ACP: dict[str, Json] = {"type": "acp", "name": "editor", "serverId": "srv-1"}


def test_version_1_has_stdio_without_a_type_and_both_transports_of_the_web() -> None:
    env = [{"name": "KEY", "value": "a"}, {"name": "KEY", "value": "b"}]
    servers = session_servers(
        [{**STDIO, "env": env}, HTTP, {**HTTP, "type": "sse", "name": "old"}], version=1
    )
    assert servers == (
        StdioServer("files", ("/bin/files", "-v"), {"KEY": "b"}),
        WebServer("web", "https://a.test/mcp"),
        WebServer("old", "https://a.test/mcp", is_sse=True),
    )


def test_version_2_names_every_type_and_may_leave_out_lists() -> None:
    bare: dict[str, Json] = {"type": "stdio", "name": "files", "command": "/bin/files"}
    assert session_servers([bare | {"args": None}], version=2) == (
        StdioServer("files", ("/bin/files",)),
    )


def test_servers_over_acp_are_unstable() -> None:
    assert session_servers([ACP], version=1, is_unstable=True) == (AcpServer("editor", "srv-1"),)
    with pytest.raises(DeclarationError, match=r"mcpServers\.0\.type: 'acp' was not offered"):
        session_servers([ACP], version=1)


@pytest.mark.parametrize(
    ("version", "wrong", "reason"),
    [
        (1, {**STDIO, "command": ""}, "mcpServers.0: command is missing"),
        (1, {**STDIO, "args": "x"}, "mcpServers.0.args: must be a list"),
        (1, {**STDIO, "args": [1]}, "mcpServers.0.args: must be a string"),
        (1, {**STDIO, "args": ["\0"]}, "mcpServers.0.args: must not contain NUL"),
        (1, {**STDIO, "env": 7}, "mcpServers.0.env"),
        (1, {**STDIO, "env": [{"name": "A"}]}, "mcpServers.0.env"),
        (1, {**STDIO, "env": [{"name": "A=B", "value": ""}]}, "mcpServers.0.env"),
        (1, {**STDIO, "name": None}, "mcpServers.0.name: must be a non-empty string"),
        (1, {**HTTP, "url": "file:///etc"}, "mcpServers.0.url: must be an http or https address"),
        (1, {**HTTP, "url": "http://[::1"}, "mcpServers.0.url: must be an http or https address"),
        (
            1,
            {**HTTP, "headers": [{"name": "A", "value": "b\r\nC: d"}]},
            "mcpServers.0.headers",
        ),
        (1, {**HTTP, "type": "carrier pigeon"}, "mcpServers.0.type: 'carrier pigeon' was not"),
        (2, STDIO, "mcpServers.0.type: None was not offered"),
        (2, {**HTTP, "type": "sse"}, "mcpServers.0.type: 'sse' was not offered"),
        (2, {**HTTP, "type": ["http"]}, "mcpServers.0.type"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(
    version: int, wrong: dict[str, Json], reason: str
) -> None:
    with pytest.raises(DeclarationError) as refused:
        session_servers([wrong], version=version)
    assert str(refused.value).startswith(reason)


def test_a_name_that_is_no_id_becomes_one_and_twins_are_told_apart() -> None:
    names = ["My Server", "My Server", "__"]
    servers = session_servers([{**STDIO, "name": name} for name in names], version=1)
    assert [server.id for server in servers] == ["My-Server", "My-Server-2", "server"]


def test_version_2_refuses_the_same_name_twice() -> None:
    with pytest.raises(DeclarationError, match=r"mcpServers\.1\.name: 'web' is there twice"):
        session_servers([HTTP, HTTP], version=2)


def test_only_allowed_servers_are_taken() -> None:
    home = configured_servers({"one": {"command": "x"}, "two": {"command": "x"}})
    servers = session_servers([HTTP], version=1, allowed={"web", "two"}, configured=home)
    assert [server.id for server in servers] == ["two", "web"]
    with pytest.raises(DeclarationError, match="files is none of the allowed servers"):
        session_servers([HTTP, STDIO], version=1, allowed={"web"})


def test_a_server_of_the_client_stands_in_for_a_configured_one() -> None:
    home = configured_servers({"web": {"command": "x"}})
    assert session_servers([HTTP], version=1, configured=home) == (
        WebServer("web", "https://a.test/mcp"),
    )


def test_a_session_has_only_so_many_servers() -> None:
    with pytest.raises(DeclarationError, match="mcpServers: a session has 1 servers at most"):
        session_servers([HTTP, STDIO], version=1, limits=Limits(servers=1))


def test_a_configuration_names_servers_by_their_ids() -> None:
    tables: dict[str, dict[str, Json]] = {
        "files": {"command": "/bin/files", "args": ["-v"], "env": {"KEY": "a"}},
        "web": {"url": "https://a.test/mcp", "headers": {"X": "y"}},
        "old": {"url": "https://a.test/sse", "type": "sse"},
    }
    assert configured_servers(tables) == (
        StdioServer("files", ("/bin/files", "-v"), {"KEY": "a"}),
        WebServer("web", "https://a.test/mcp", {"X": "y"}),
        WebServer("old", "https://a.test/sse", is_sse=True),
    )


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ({"a": {}}, r"mcp\.servers\.a: command is missing"),
        ({"a": {"type": "acp"}}, r"mcp\.servers\.a\.type: must be one of http"),
        ({"a": {"type": []}}, r"mcp\.servers\.a\.type"),
        (
            {"a": {"command": "x", "env": {"K=secret": ""}}},
            r"servers\.a\.env: must not contain",
        ),
        (
            {"a": {"command": "x", "env": {"K": 1}}},
            r"mcp\.servers\.a\.env: must be a string",
        ),
    ],
)
def test_what_is_wrong_in_a_configuration_is_named_by_its_key(
    tables: dict[str, dict[str, Json]], reason: str
) -> None:
    with pytest.raises(DeclarationError, match=reason):
        configured_servers(tables)


def test_secrets_are_not_in_what_is_printed_of_a_server() -> None:
    server = configured_servers(
        {"a": {"url": "https://x:canary@a.test", "headers": {"A": "canary"}}}
    )
    assert "canary" not in repr(server)
    assert "canary" not in repr(configured_servers({"a": {"command": "x", "env": {"A": "canary"}}}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
MEMBERS = st.sampled_from(["name", "type", "command", "args", "env", "url", "headers", "serverId"])
KNOWN = st.sampled_from(["stdio", "http", "acp", "http://a.test", [{"name": "a", "value": "b"}]])


@given(st.lists(st.dictionaries(MEMBERS, JSON | KNOWN), max_size=3), st.sampled_from([1, 2]))
def test_whatever_is_declared_is_taken_or_refused(
    declared: list[dict[str, Json]], version: int
) -> None:
    with suppress(DeclarationError):
        servers = session_servers(declared, version=version, is_unstable=True)
        assert len({server.id for server in servers}) == len(declared)
