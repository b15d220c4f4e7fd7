"""MCP servers in sessions: real servers of the SDK, over pipes and HTTP, from `session/new` on."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_agent.mcp.declarations import Limits, StdioServer, WebServer
from acp_agent.mcp.servers import McpServers, McpSettings
from acp_inspector.session.items import ToolCallItem
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.linted_client import Visit, visit
from tests.agent.mcp.rooms import (
    LIMIT,
    LIMITS,
    is_running,
    logged,
    on_web,
    scripted,
    weather,
    weather_command,
)

VERSIONS = pytest.mark.parametrize("version", [1, 2])
NOTICES: dict[str, Json] = {"clientCapabilities": {"session": {"notices": {}}}}
SILENT = "import signal; signal.pause()"


@asynccontextmanager
async def calling(
    cwd: Path,
    version: int = 1,
    *,
    limits: Limits = LIMITS,
    configured: tuple[StdioServer | WebServer, ...] = (),
    allowed: tuple[str, ...] = (),
    hello: dict[str, Json] | None = None,
    lints: bool = True,
    unstable: bool = False,
) -> AsyncGenerator[Visit]:
    """Connect to an agent that has MCP servers."""
    mcp = McpSettings(configured, allowed, limits)
    async with visit(
        cwd, version, mcp=mcp, patience=LIMIT, hello=hello, lints=lints, unstable=unstable
    ) as it:
        yield it


def declared(how: str = "stdio", name: str = "w", version: int = 1) -> Json:
    """Return the server of `weather.py` as a client names it."""
    kind: dict[str, Json] = {"type": "stdio"} if version == 2 else {}
    command, *arguments = weather_command(how)
    return {**kind, "name": name, "command": command, "args": arguments, "env": []}


def ended(it: Visit, session_id: str) -> list[tuple[str, str]]:
    """Return title and last status of each tool call."""
    calls = [item for item in it.conversation(session_id).items if isinstance(item, ToolCallItem)]
    return [(call.facts.title or "", call.facts.status or "") for call in calls]


@VERSIONS
async def test_a_tool_of_a_program_is_asked_about_called_and_answers(
    cwd: Path, version: int
) -> None:
    async with calling(cwd, version) as it:
        session_id = await it.new(mcpServers=[declared(version=version)])
        assert await it.turn(session_id, "call w__look place=Rome") == "end_turn"
        assert it.visitor.asked == ["session/request_permission"]
        assert "It rains in Rome." in it.said(session_id)
        assert ended(it, session_id) == [("Look␛[2J outside (w)", "completed")]
        await it.ask("session/close", sessionId=session_id)


@pytest.mark.parametrize("how", ["http", "sse"])
async def test_a_tool_at_an_address_is_called(cwd: Path, how: str) -> None:
    async with on_web(cwd, how) as (server, _), calling(cwd) as it:
        at: Json = {"type": how, "name": "w", "url": server.url, "headers": []}
        session_id = await it.new(mcpServers=[at])
        await it.turn(session_id, "call w__look place=Oslo")
        assert "It rains in Oslo." in it.said(session_id)
        await it.ask("session/close", sessionId=session_id)


@VERSIONS
async def test_a_tool_that_the_client_itself_serves_is_called(cwd: Path, version: int) -> None:
    def serve(params: Json) -> Json:
        match params["method"]:
            case "tools/list":
                tool = {"name": "do", "inputSchema": {"type": "object"}}
                result: Json = {"tools": [tool], "ttlMs": 0, "cacheScope": "private"}
            case "tools/call":
                result = {"content": [{"type": "text", "text": f"done: {params['serverId']}"}]}
            case _:
                return {"error": {"code": -32601, "message": "Method not found"}}
        return {"result": {"resultType": "complete", **result}}

    async with calling(cwd, version, unstable=True) as it:
        it.visitor.answers["mcp/message"] = serve
        session_id = await it.new(mcpServers=[{"type": "acp", "name": "ed", "serverId": "srv-1"}])
        await it.turn(session_id, "call ed__do")
        assert "done: srv-1" in it.said(session_id)
        handlers = it.server._handlers
        assert handlers is not None
        await handlers.sessions.suspend(handlers.sessions.awake[session_id])
        await it.turn(session_id, "call ed__do")
        assert it.said(session_id).count("done: srv-1") == 2


def forms(version: int) -> dict[str, Json]:
    """Return what a client claims that shows forms."""
    name = "clientCapabilities" if version == 1 else "capabilities"
    return {name: {"elicitation": {"form": {}}}}


@VERSIONS
async def test_a_server_asks_the_user_by_way_of_the_client(cwd: Path, version: int) -> None:
    async with calling(cwd, version, hello=forms(version)) as it:
        asked: list[Json] = []
        content = {"wind": True, "degrees": 21}
        it.visitor.heard["elicitation/create"] = asked
        it.visitor.answers["elicitation/create"] = {"action": "accept", "content": content}
        session_id = await it.new(mcpServers=[declared(version=version)])
        await it.turn(session_id, "call w__ask message='Which weather?'")
        assert "accept: wind=True degrees=21" in it.said(session_id)
        [question] = asked
        assert (question["mode"], question["message"]) == ("form", "w: Which weather?")
        it.visitor.answers["elicitation/create"] = {"action": "decline"}
        await it.turn(session_id, "call w__ask message='And now?'")
        assert "decline: None" in it.said(session_id)
        await it.turn(session_id, "call w__ask message='What is your password?'")
        assert len(asked) == 2


async def test_a_server_of_the_older_protocol_asks_too_and_its_question_is_taken_back(
    cwd: Path,
) -> None:
    async with on_web(cwd, "sse") as (server, _), calling(cwd, hello=forms(1)) as it:
        content = {"wind": False, "degrees": -3}
        it.visitor.answers["elicitation/create"] = {"action": "accept", "content": content}
        at: Json = {"type": "sse", "name": "w", "url": server.url, "headers": []}
        session_id = await it.new(mcpServers=[at])
        await it.choose(session_id, "policy", "allow_all")
        await it.turn(session_id, "call w__ask message='Which weather?'")
        assert "accept: wind=False degrees=-3" in it.said(session_id)
        it.visitor.is_silent = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(it.turn, session_id, "call w__ask message='Which weather?'")
            await it.visitor.until(lambda: len(it.visitor.asked) == 2)
            await it.cancel(session_id)
            await it.visitor.until(lambda: it.visitor.gave_up)
        await it.ask("session/close", sessionId=session_id)


async def test_a_server_whose_client_shows_no_forms_cannot_ask(cwd: Path) -> None:
    async with calling(cwd) as it:
        session_id = await it.new(mcpServers=[declared()])
        await it.turn(session_id, "call w__ask message='Which weather?'")
        assert it.visitor.asked == ["session/request_permission"]
        assert ended(it, session_id)[-1][1] == "failed"


async def test_a_cancelled_turn_takes_back_what_a_server_asks(cwd: Path) -> None:
    async with calling(cwd, hello=forms(1)) as it, anyio.create_task_group() as tasks:
        session_id = await it.new(mcpServers=[declared()])
        await it.choose(session_id, "policy", "allow_all")
        it.visitor.is_silent = True
        tasks.start_soon(it.turn, session_id, "call w__ask message='Which weather?'")
        await it.visitor.until(lambda: it.visitor.asked)
        await it.cancel(session_id)
        await it.visitor.until(lambda: it.visitor.gave_up)
        assert it.visitor.gave_up == ["elicitation/create"]


@VERSIONS
async def test_what_may_be_reached_is_claimed(cwd: Path, version: int) -> None:
    async with visit(cwd, version, unstable=True) as it:
        able = it.hello["agentCapabilities" if version == 1 else "capabilities"]
    if version == 1:
        assert able["mcpCapabilities"] == {"http": True, "sse": True, "acp": True}
    else:
        assert able["session"]["mcp"] == {"stdio": {}, "http": {}, "acp": {}}


async def test_a_cancelled_turn_ends_the_call_and_the_server_lives_on(cwd: Path) -> None:
    with logged() as log:
        async with calling(cwd) as it, anyio.create_task_group() as tasks:
            session_id = await it.new(mcpServers=[declared()])
            stops: list[str] = []
            has_ended = anyio.Event()

            async def hang() -> None:
                stops.append(await it.turn(session_id, "call w__hang"))
                has_ended.set()

            tasks.start_soon(hang)
            await log.wait_for("w: hanging")
            await it.cancel(session_id)
            await log.wait_for("w: no longer hanging")
            await has_ended.wait()
            assert stops == ["cancelled"]
            assert await it.turn(session_id, "call w__look place=Bonn") == "end_turn"
            assert "It rains in Bonn." in it.said(session_id)


@VERSIONS
async def test_a_server_that_dies_fails_its_call_and_the_user_is_told_once(
    cwd: Path, version: int
) -> None:
    async with calling(cwd, version) as it:
        session_id = await it.new(mcpServers=[declared(version=version)])
        assert await it.turn(session_id, "call w__die code=3") == "end_turn"
        assert ended(it, session_id)[-1][1] == "failed"
        assert "the MCP server w exited with code 3" in it.said(session_id)
        for _ in range(2):
            await it.turn(session_id, "hello")
        if version == 2:
            assert it.visitor.kinds().count("notice") == 1
        else:
            assert it.said(session_id).count("The MCP server w exited with code 3.") == 1


@pytest.mark.parametrize(("version", "hello"), [(1, {}), (1, NOTICES), (2, {})])
async def test_a_session_opens_without_a_server_that_does_not_get_ready_and_says_so(
    cwd: Path, version: int, hello: dict[str, Json]
) -> None:
    limits = Limits(spawn_timeout=0.3, eof_grace=0.1, kill_after=0.2)
    async with calling(cwd, version, limits=limits, hello=hello) as it:
        kind: dict[str, Json] = {"type": "stdio"} if version == 2 else {}
        slow = {"name": "slow", "command": sys.executable, "args": ["-c", SILENT], "env": []}
        session_id = await it.new(mcpServers=[kind | slow])
        told = "The MCP server slow was not ready within 0.3 s"
        if version == 2 or hello:
            await it.visitor.until(lambda: "notice" in it.visitor.kinds())
            [notice] = [
                params["update"]
                for params in it.visitor.updates
                if params["update"]["sessionUpdate"] == "notice"
            ]
            assert (notice["severity"], notice["title"]) == ("warning", told)
        await it.turn(session_id, "hello")
        assert (told in it.said(session_id)) == (version == 1 and not hello)


@VERSIONS
async def test_a_session_that_closes_ends_its_servers_even_stubborn_ones(
    cwd: Path, version: int
) -> None:
    async with calling(cwd, version) as it:
        session_id = await it.new(mcpServers=[declared("stubborn", version=version)])
        await it.turn(session_id, "call w__family")
        pids = [int(word) for word in it.said(session_id).split() if word.isdecimal()][-2:]
        assert [is_running(pid) for pid in pids] == [True, True]
        await it.ask("session/close", sessionId=session_id)
        assert [is_running(pid) for pid in pids] == [False, False]


@VERSIONS
async def test_a_session_that_sleeps_ends_its_servers_and_wakes_with_them(
    cwd: Path, version: int
) -> None:
    async with calling(cwd, version) as it:
        session_id = await it.new(mcpServers=[declared("stubborn", version=version)])
        await it.turn(session_id, "call w__family")
        pids = [int(word) for word in it.said(session_id).split() if word.isdecimal()][-2:]
        handlers = it.server._handlers
        assert handlers is not None
        await handlers.sessions.suspend(handlers.sessions.awake[session_id])
        assert [is_running(pid) for pid in pids] == [False, False]
        await it.turn(session_id, "call w__family")
        again = [int(word) for word in it.said(session_id).split() if word.isdecimal()][-2:]
        assert [is_running(pid) for pid in again] == [True, True]
        await it.ask("session/close", sessionId=session_id)
        assert [is_running(pid) for pid in again] == [False, False]


async def test_a_close_that_nobody_waits_for_ends_the_servers_all_the_same(cwd: Path) -> None:
    async with calling(cwd) as it:
        session_id = await it.new(mcpServers=[declared("stubborn")])
        await it.turn(session_id, "call w__family")
        pids = [int(word) for word in it.said(session_id).split() if word.isdecimal()][-2:]
        with anyio.move_on_after(0.05):
            await it.connection.request("session/close", {"sessionId": session_id})
        # The next one waits until the session is closed.
        await it.ask("session/load", sessionId=session_id, cwd=str(cwd), mcpServers=[])
        assert [is_running(pid) for pid in pids] == [False, False]


async def test_a_session_that_is_opened_again_gets_other_servers(cwd: Path) -> None:
    async with calling(cwd) as it:
        session_id = await it.new(mcpServers=[declared()])
        members: dict[str, Json] = {"sessionId": session_id, "cwd": str(cwd)}
        await it.ask("session/resume", **members, mcpServers=[declared()])
        await it.turn(session_id, "call w__look place=Rome")
        await it.ask("session/resume", **members, mcpServers=[declared(name="v")])
        await it.turn(session_id, "call w__look place=Rome then call v__look place=Paris")
        assert "there is no tool w__look" in it.said(session_id)
        assert "It rains in Paris." in it.said(session_id)


@VERSIONS
async def test_a_prompt_waits_for_the_other_servers_of_its_session(
    cwd: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with calling(cwd, version) as it:
        session_id = await it.new(mcpServers=[declared(version=version)])
        members: dict[str, Json] = {"sessionId": session_id, "cwd": str(cwd)}
        other = declared(name="v", version=version)
        begun, go_on = stalled(monkeypatch)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(it.ask, "session/resume", **members, mcpServers=[other]))
            await begun.wait()
            tasks.start_soon(it.say, session_id, "call v__look place=Paris")
            await it.ask("session/list")
            go_on.set()
        await it.visitor.until(lambda: "rains in Paris" in it.said(session_id))


def stalled(monkeypatch: pytest.MonkeyPatch) -> tuple[anyio.Event, anyio.Event]:
    """Let no server start from now on; return what tells that one is to, and what lets it."""
    begun, go_on, start = anyio.Event(), anyio.Event(), McpServers.open

    async def stall(self: McpServers, *declared: Any) -> None:
        begun.set()
        await go_on.wait()
        await start(self, *declared)

    monkeypatch.setattr(McpServers, "open", stall)
    return begun, go_on


async def test_other_servers_wait_for_the_end_of_a_turn(cwd: Path) -> None:
    with logged() as log:
        async with calling(cwd) as it, anyio.create_task_group() as tasks:
            session_id = await it.new(mcpServers=[declared()])
            tasks.start_soon(it.turn, session_id, "call w__hang")
            await log.wait_for("w: hanging")
            members: dict[str, Json] = {"sessionId": session_id, "cwd": str(cwd)}
            with pytest.raises(RequestFailedError, match="A turn is running"):
                await it.connection.request("session/resume", members | {"mcpServers": []})
            await it.ask("session/resume", **members, mcpServers=[declared()])
            await it.cancel(session_id)


async def test_a_configured_server_stands_beside_those_of_the_client(cwd: Path) -> None:
    async with calling(cwd, configured=(weather(id_="home"),)) as it:
        session_id = await it.new(mcpServers=[declared()])
        await it.turn(session_id, "call home__look place=Rome then call w__look place=Oslo")
        assert [status for _, status in ended(it, session_id)] == ["completed", "completed"]
        await it.turn(session_id, "tools")
        assert "- `home__measure`: Measure the temperature." in it.said(session_id)


async def test_what_is_wrong_with_a_server_is_told_by_its_place(cwd: Path) -> None:
    async with calling(cwd, allowed=("w",)) as it:
        elsewhere: Json = {"type": "http", "name": "w", "url": "ftp://a", "headers": []}
        for server, reason in (
            (declared(name="x"), "params.mcpServers.0.name: x is none of the allowed servers"),
            (elsewhere, "params.mcpServers.0.url: must be an http or https address"),
        ):
            with pytest.raises(RequestFailedError) as caught:
                await it.new(mcpServers=[server])
            assert caught.value.code == jsonrpc.INVALID_PARAMS
            assert caught.value.message == f"Invalid params: {reason}"
        listed = await it.ask("session/list")
        assert listed["sessions"] == []


async def test_a_client_that_gives_up_leaves_no_session_and_no_server(cwd: Path) -> None:
    code = f"import os, sys; print(os.getpid(), file=sys.stderr, flush=True)\n{SILENT}"
    pid = 0
    with logged() as log:
        async with calling(cwd, configured=(scripted(code),)) as it:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(it.new)
                pid = int((await log.wait_for("MCP server s: ")).rpartition(" ")[2])
                tasks.cancel_scope.cancel()
            await it.server.connection.wait_settled()
            assert not is_running(pid)
            assert (await it.ask("session/list"))["sessions"] == []


async def test_a_client_of_the_continuum_dialect_reaches_configured_servers(cwd: Path) -> None:
    async with calling(cwd, configured=(weather(),), lints=False) as it:
        bridge = it.hello["agentCapabilities"]["_meta"]["continuum"]
        assert bridge == {"mcp": True, "mcpCapabilities": {"acp": True}}
        opened = await it.connection.request("mcp/connect", {"id": "w"})
        params: Json = {"protocolVersion": "2025-06-18", "capabilities": {}}
        params |= {"clientInfo": {"name": "test", "version": "1"}}
        message: Json = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        answer = await it.connection.request("mcp/message", {**opened, "message": message})
        assert answer["result"]["serverInfo"]["name"] == "weather"
        assert await it.connection.request("mcp/disconnect", opened) == {}
