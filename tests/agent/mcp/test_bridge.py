"""The bridge to configured servers, over real pipes and addresses."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

import anyio
import pytest

from acp_agent.continuum.mcp_bridge import Bridge
from acp_agent.mcp.declarations import Limits, Server
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import DirectClient
from tests.agent.mcp.rooms import LIMIT, LIMITS, is_running, on_web, scripted, weather

HELLO: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}


@asynccontextmanager
async def bridged(
    cwd: Path, *servers: Server, limits: Limits = LIMITS, allowed: tuple[str, ...] = ()
) -> AsyncGenerator[tuple[Bridge, DirectClient]]:
    """Open a bridge, and close it at the end."""
    names, client = count(1), DirectClient(violations=None)
    with anyio.fail_after(LIMIT):
        async with BackgroundTasks() as tasks:
            bridge = Bridge(
                servers,
                client,
                tasks,
                cwd=cwd,
                new_id=lambda: f"c-{next(names)}",
                limits=limits,
                allowed=allowed,
            )
            try:
                yield bridge, client
            finally:
                await bridge.aclose()


async def connected(bridge: Bridge, id_: str = "w") -> str:
    """Open a connection; return its id."""
    return (await bridge.handlers["mcp/connect"]({"id": id_}))["connectionId"]


async def say(bridge: Bridge, connection: str, **message: Json) -> Json:
    """Send a message; return the answer."""
    params: Json = {"connectionId": connection, "message": {"jsonrpc": "2.0", **message}}
    return await bridge.handlers["mcp/message"](params)


async def greet(bridge: Bridge, connection: str) -> None:
    """Shake hands with a server as MCP wants it."""
    answer = await say(bridge, connection, id="hi", method="initialize", params=HELLO)
    assert answer["id"] == "hi"
    assert answer["result"]["serverInfo"]["name"] == "weather"
    assert await say(bridge, connection, method="notifications/initialized") == {}


async def test_messages_go_to_a_server_and_come_back_as_they_are(tmp_path: Path) -> None:
    async with bridged(tmp_path, weather()) as (bridge, client):
        connection = await connected(bridge)
        assert connection == "c-1"
        await greet(bridge, connection)
        listed = await say(bridge, connection, id=1, method="tools/list")
        assert "look" in [tool["name"] for tool in listed["result"]["tools"]]
        call = {"name": "change", "arguments": {"to": "more"}}
        called = await say(bridge, connection, id=2, method="tools/call", params=call)
        assert called["result"]["content"] == [{"type": "text", "text": "more"}]
        await client.until(lambda: client.notifications)
        changed = client.notifications[0].params
        assert changed["connectionId"] == "c-1"
        assert changed["message"]["method"] == "notifications/tools/list_changed"
        wrong = await say(bridge, connection, id=3, method="no/such")
        assert wrong["error"]["code"] == -32601


async def test_a_server_at_an_address_is_bridged_too(tmp_path: Path) -> None:
    async with on_web(tmp_path, "http") as (server, _), bridged(tmp_path, server) as (bridge, _):
        connection = await connected(bridge)
        await greet(bridge, connection)
        listed = await say(bridge, connection, id=1, method="tools/list")
        assert "look" in [tool["name"] for tool in listed["result"]["tools"]]


async def test_disconnecting_ends_the_server_and_what_it_has_started(tmp_path: Path) -> None:
    async with bridged(tmp_path, weather("stubborn")) as (bridge, _):
        connection = await connected(bridge)
        await greet(bridge, connection)
        call: Json = {"name": "family", "arguments": {}}
        answer = await say(bridge, connection, id=1, method="tools/call", params=call)
        pids = answer["result"]["structuredContent"]["result"]
        assert await bridge.handlers["mcp/disconnect"]({"connectionId": connection}) == {}
        assert [pid for pid in pids if is_running(pid)] == []
        with pytest.raises(RequestFailedError, match="no such MCP connection"):
            await say(bridge, connection, id=2, method="tools/list")


async def test_only_configured_and_allowed_servers_are_reached(tmp_path: Path) -> None:
    servers = (weather(), weather(id_="x"))
    async with bridged(tmp_path, *servers, allowed=("x",)) as (bridge, _):
        for id_ in ("w", "nobody"):
            with pytest.raises(RequestFailedError, match="no such MCP server") as refused:
                await bridge.handlers["mcp/connect"]({"id": id_})
            assert refused.value.code == -33001
        assert await connected(bridge, "x") == "c-1"


@pytest.mark.parametrize("id_", ["../w", "a__b", "", "a" * 129, None, 7, {"id": "w"}], ids=repr)
async def test_what_can_be_no_server_is_refused_by_the_rule(tmp_path: Path, id_: Json) -> None:
    async with bridged(tmp_path, weather()) as (bridge, _):
        with pytest.raises(RequestFailedError, match="an id has at most 128") as refused:
            await bridge.handlers["mcp/connect"]({"id": id_})
        assert refused.value.code == -32602


async def test_connections_are_counted(tmp_path: Path) -> None:
    limits = replace(LIMITS, connections=1)
    async with bridged(tmp_path, weather(), limits=limits) as (bridge, _):
        connection = await connected(bridge)
        with pytest.raises(RequestFailedError, match="Too many MCP connections: 1 may"):
            await connected(bridge)
        await bridge.handlers["mcp/disconnect"]({"connectionId": connection})
        await connected(bridge)


async def test_a_server_that_dies_ends_what_waits_for_it(tmp_path: Path) -> None:
    async with bridged(tmp_path, weather()) as (bridge, _):
        connection = await connected(bridge)
        await greet(bridge, connection)
        call: Json = {"name": "die", "arguments": {"code": 4}}
        with pytest.raises(RequestFailedError, match="w exited with code 4") as failed:
            await say(bridge, connection, id=1, method="tools/call", params=call)
        assert failed.value.code == -33002


async def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    missing = replace(weather(), command=("/nowhere/at/all",))
    async with bridged(tmp_path, missing) as (bridge, _):
        with pytest.raises(RequestFailedError, match="there is no such command"):
            await connected(bridge)


async def test_a_server_that_does_not_answer_is_waited_for_in_bounds(tmp_path: Path) -> None:
    limits = replace(LIMITS, call_timeout=0.2)
    mute = scripted("import sys; sys.stdin.read()", "w")
    async with bridged(tmp_path, mute, limits=limits) as (bridge, _):
        connection = await connected(bridge)
        with pytest.raises(RequestFailedError, match="w takes too long"):
            await say(bridge, connection, id=1, method="ping")


async def test_a_server_that_does_not_start_in_time_is_given_up(tmp_path: Path) -> None:
    async with bridged(tmp_path, weather(), limits=replace(LIMITS, spawn_timeout=0)) as (bridge, _):
        with pytest.raises(RequestFailedError, match="w takes too long"):
            await connected(bridge)


@pytest.mark.parametrize(
    "message", [None, 7, [], {}, {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "1.0", "method": "x"}]
)
async def test_what_is_no_message_is_refused(tmp_path: Path, message: Json) -> None:
    async with bridged(tmp_path, weather()) as (bridge, _):
        connection = await connected(bridge)
        with pytest.raises(RequestFailedError, match="message is no") as refused:
            await bridge.handlers["mcp/message"]({"connectionId": connection, "message": message})
        assert refused.value.code == -32602


async def test_an_id_that_is_open_is_refused(tmp_path: Path) -> None:
    async with bridged(tmp_path, scripted("import sys; sys.stdin.read()", "w")) as (bridge, _):
        connection = await connected(bridge)
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                await say(bridge, connection, id=1, method="ping")

            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(RequestFailedError, match="an open request"):
                await say(bridge, connection, id=1, method="ping")
            tasks.cancel_scope.cancel()
