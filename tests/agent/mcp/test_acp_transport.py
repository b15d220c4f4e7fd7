"""Servers that the client serves over ACP itself: a real server behind a scripted client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import anyio
import pytest

from acp_agent.mcp.declarations import AcpServer
from acp_agent.mcp.servers import McpClient, McpServers
from acp_agent.tools.call import ToolFailedError
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.connection import Connection
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.transport.memory import memory_pair
from tests.agent.client import Client
from tests.agent.mcp.rooms import LIMIT, LIMITS, call

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
TOOLS: Json = [{"name": "do", "inputSchema": {"type": "object"}}]


def complete(**members: Json) -> Json:
    """Return the carrier of a result."""
    return {"result": {"resultType": "complete", **members}}


class Editor(Client):
    """A client that serves the tool `do` of the server `srv-1`; `do` says what comes of a call."""

    def __init__(self, do: Callable[[Mapping[str, Json]], Awaitable[Json]]) -> None:
        super().__init__(answers={"mcp/message": self._serve})
        self._do = do
        self.tools: Json = TOOLS
        self.reports_changes = False

    @property
    def messages(self) -> list[Json]:
        """The messages of the agent to the servers."""
        return [request.params for request in self.requests]

    async def _serve(self, params: Mapping[str, Json]) -> Json:
        """Answer an inner request with a carrier."""
        match params["method"]:
            case "tools/list":
                return complete(tools=self.tools, ttlMs=0, cacheScope="private")
            case "tools/call":
                return await self._do(params)
            case "server/discover" if self.reports_changes:
                able = {"tools": {"listChanged": True}}
                return complete(supportedVersions=["2026-07-28"], capabilities=able)
            case "subscriptions/listen":
                return await self._report_changes(params)
            case _:
                return {"error": {"code": -32601, "message": "Method not found"}}

    async def _report_changes(self, params: Mapping[str, Json]) -> Json:
        """Tell twice that the tools have changed, once the agent listens."""
        ids = {name: params[name] for name in ("serverId", "requestId")}
        meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": params["requestId"]}}
        for name in ("subscriptions/acknowledged", "tools/list_changed"):
            inner = {**meta, "notifications": {"toolsListChanged": True}}
            message: Json = {**ids, "method": f"notifications/{name}", "params": inner}
            await self.connection.notify("mcp/message", message)
            self.tools = [*self.tools, {"name": name[-7:], "inputSchema": {"type": "object"}}]
        return await anyio.sleep_forever()


class Agent:
    """The agent's side of the connection, as far as it matters here."""

    home: McpClient

    async def handle_request(self, request: Request) -> Json:
        """Refuse."""
        raise RequestFailedError(-32601, request.method)

    async def handle_notification(self, notification: Notification) -> None:
        """Hand it on as a surface does."""
        self.home.notified(cast("Mapping[str, Json]", notification.params))


async def talk(
    do: Callable[[Mapping[str, Json]], Awaitable[Json]],
    then: Callable[[McpServers, Connection], Awaitable[None]],
    *servers: AcpServer,
    is_short: bool = False,
    reports_changes: bool = False,
) -> Editor:
    """Open a room at a connection in memory, and do `then` with it and the client's side."""
    ours, theirs = memory_pair()
    editor, agent, room = Editor(do), Agent(), McpServers()
    patience = replace(LIMITS, call_timeout=2) if is_short else LIMITS
    with anyio.fail_after(LIMIT):
        async with (
            Connection(theirs, agent) as connection,
            Connection(ours, editor) as client,
            BackgroundTasks() as tasks,
        ):
            editor.connection, editor.reports_changes = client, reports_changes
            agent.home = McpClient(connection, tasks, patience)
            await room.open(servers or (AcpServer("e", "srv-1"),), agent.home, [Path.cwd()])
            try:
                await then(room, client)
            finally:
                await room.aclose()
    assert editor.violations == []
    return editor


async def done(params: Mapping[str, Json]) -> Json:
    """Do what is asked."""
    return complete(content=[{"type": "text", "text": f"did {params['params']['arguments']}"}])


async def test_tools_of_the_client_are_called_without_a_handshake() -> None:
    async def then(room: McpServers, client: Connection) -> None:
        del client
        assert room.failures == {}
        assert (await call(room, "e__do", what=1)).text == "did {'what': 1}"

    editor = await talk(done, then)
    assert [asked["method"] for asked in editor.messages] == [
        "server/discover",
        "tools/list",
        "tools/call",
    ]
    assert {asked["serverId"] for asked in editor.messages} == {"srv-1"}
    assert len({asked["requestId"] for asked in editor.messages}) == 3
    assert all(asked["params"]["_meta"][VERSION_KEY] == "2026-07-28" for asked in editor.messages)


async def test_requests_of_two_servers_are_told_apart() -> None:
    async def then(room: McpServers, client: Connection) -> None:
        del client
        assert list(room) == ["e__do", "f__do"]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, room, "e__do")
            tasks.start_soon(call, room, "f__do")

    editor = await talk(done, then, AcpServer("e", "srv-1"), AcpServer("f", "srv-2"))
    names = [asked["requestId"] for asked in editor.messages]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("carrier", "reason"),
    [
        ({"error": {"code": 7, "message": "no"}}, "refused: no (7)"),
        (
            {"error": {"code": True, "message": "no"}},
            "refused: the client's answer holds no result",
        ),
        ({}, "refused: the client's answer holds no result"),
        ([], "refused: the client's answer holds no result"),
        (None, "refused: the client's answer holds no result"),
        ({"result": 5}, "refused: the client's answer holds no result"),
        (
            {"result": {"content": 5, "resultType": "complete"}},
            "answered with something that is not MCP",
        ),
    ],
)
async def test_a_carrier_without_a_result_fails_the_call(carrier: Json, reason: str) -> None:
    async def do(params: Mapping[str, Json]) -> Json:
        del params
        return carrier

    async def then(room: McpServers, client: Connection) -> None:
        del client
        with pytest.raises(ToolFailedError) as failed:
            await call(room, "e__do")
        assert str(failed.value).startswith(f"the MCP server e {reason}")

    await talk(do, then)


async def test_a_result_counts_more_than_an_error_beside_it() -> None:
    async def do(params: Mapping[str, Json]) -> Json:
        return {**(await done(params)), "error": {"code": 1, "message": "no"}}

    async def then(room: McpServers, client: Connection) -> None:
        del client
        assert (await call(room, "e__do")).text == "did {}"

    await talk(do, then)


async def test_a_refusal_of_the_binding_fails_the_call() -> None:
    async def do(params: Mapping[str, Json]) -> Json:
        raise RequestFailedError(-33001, f"{params['serverId']} is not registered")

    async def then(room: McpServers, client: Connection) -> None:
        del client
        with pytest.raises(ToolFailedError, match="srv-1 is not registered"):
            await call(room, "e__do")

    await talk(do, then)


async def test_a_call_without_an_answer_is_taken_back() -> None:
    ended = anyio.Event()

    async def do(params: Mapping[str, Json]) -> Json:
        del params
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async def then(room: McpServers, client: Connection) -> None:
        del client
        with pytest.raises(ToolFailedError, match=r"took longer than 2 s"):
            await call(room, "e__do")
        await ended.wait()

    await talk(do, then, is_short=True)


async def test_notifications_reach_only_the_request_that_they_name() -> None:
    async def then(room: McpServers, client: Connection) -> None:
        hostile: list[Json] = [
            {"serverId": "srv-1", "requestId": "nobody's", "method": "notifications/message"},
            {"serverId": 7, "requestId": None, "method": "notifications/message"},
            {"serverId": "srv-1"},
            {},
        ]
        for params in hostile:
            await client.notify("mcp/message", params)
        assert (await call(room, "e__do")).text == "did {}"

    await talk(done, then)


async def test_changes_of_the_tools_are_heard_through_the_request_that_listens() -> None:
    async def then(room: McpServers, client: Connection) -> None:
        del client
        assert "e__do" in room
        while "e__changed" not in room:
            await anyio.sleep(0.01)
        assert (await call(room, "e__changed")).text == "did {}"

    editor = await talk(done, then, reports_changes=True)
    assert editor.messages[1]["method"] == "subscriptions/listen"
