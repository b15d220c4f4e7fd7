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
from tests.agent.client import SILENCE, Client, ClientSession, connected
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
NOTICES: dict[str, Json] = {"session": {"notices": {}}}
SILENT = "import signal; signal.pause()"


@asynccontextmanager
async def calling(
    cwd: Path,
    version: int = 1,
    *,
    limits: Limits = LIMITS,
    configured: tuple[StdioServer | WebServer, ...] = (),
    allowed: tuple[str, ...] = (),
    capabilities: Json = None,
    lints: bool = True,
    unstable: bool = False,
) -> AsyncGenerator[Client]:
    """Connect to an agent that has MCP servers."""
    mcp = McpSettings(configured, allowed, limits)
    async with connected(
        cwd,
        version,
        mcp=mcp,
        timeout_s=LIMIT,
        capabilities=capabilities,
        lints=lints,
        unstable=unstable,
    ) as it:
        yield it


def declared(how: str = "stdio", name: str = "w", version: int = 1) -> Json:
    """Return the server of `weather.py` as a client names it."""
    kind: dict[str, Json] = {"type": "stdio"} if version == 2 else {}
    command, *arguments = weather_command(how)
    return {**kind, "name": name, "command": command, "args": arguments, "env": []}


def ended(session: ClientSession) -> list[tuple[str, str]]:
    """Return title and last status of each tool call."""
    calls = [item for item in session.conversation.items if isinstance(item, ToolCallItem)]
    return [(call.facts.title or "", call.facts.status or "") for call in calls]


@VERSIONS
async def test_a_tool_of_a_program_is_asked_about_called_and_answers(
    cwd: Path, version: int
) -> None:
    async with calling(cwd, version) as it:
        session = await it.new(mcpServers=[declared(version=version)])
        assert await session.turn("call w__look place=Rome") == "end_turn"
        assert it.requested == ["session/request_permission"]
        assert "It rains in Rome." in session.text
        assert ended(session) == [("Look␛[2J outside (w)", "completed")]
        await session.ask("session/close")


@pytest.mark.parametrize("how", ["http", "sse"])
async def test_a_tool_at_an_address_is_called(cwd: Path, how: str) -> None:
    async with on_web(cwd, how) as (server, _), calling(cwd) as it:
        at: Json = {"type": how, "name": "w", "url": server.url, "headers": []}
        session = await it.new(mcpServers=[at])
        await session.turn("call w__look place=Oslo")
        assert "It rains in Oslo." in session.text
        await session.ask("session/close")


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
        it.answers["mcp/message"] = serve
        session = await it.new(mcpServers=[{"type": "acp", "name": "ed", "serverId": "srv-1"}])
        await session.turn("call ed__do")
        assert "done: srv-1" in session.text
        handlers = it.server._handlers
        assert handlers is not None
        await handlers.sessions.suspend(handlers.sessions.awake[session.id])
        await session.turn("call ed__do")
        assert session.text.count("done: srv-1") == 2


FORMS: Json = {"elicitation": {"form": {}}}


@VERSIONS
async def test_a_server_asks_the_user_by_way_of_the_client(cwd: Path, version: int) -> None:
    async with calling(cwd, version, capabilities=FORMS) as it:
        content = {"wind": True, "degrees": 21}
        it.answers["elicitation/create"] = {"action": "accept", "content": content}
        session = await it.new(mcpServers=[declared(version=version)])
        await session.turn("call w__ask message='Which weather?'")
        assert "accept: wind=True degrees=21" in session.text
        [question] = [each.params for each in it.requests if each.method == "elicitation/create"]
        assert (question["mode"], question["message"]) == ("form", "w: Which weather?")
        it.answers["elicitation/create"] = {"action": "decline"}
        await session.turn("call w__ask message='And now?'")
        assert "decline: None" in session.text
        await session.turn("call w__ask message='What is your password?'")
        assert it.requested.count("elicitation/create") == 2


async def test_a_server_of_the_older_protocol_asks_too_and_its_question_is_taken_back(
    cwd: Path,
) -> None:
    async with on_web(cwd, "sse") as (server, _), calling(cwd, capabilities=FORMS) as it:
        content = {"wind": False, "degrees": -3}
        it.answers["elicitation/create"] = {"action": "accept", "content": content}
        at: Json = {"type": "sse", "name": "w", "url": server.url, "headers": []}
        session = await it.new(mcpServers=[at])
        await session.choose("policy", "allow_all")
        await session.turn("call w__ask message='Which weather?'")
        assert "accept: wind=False degrees=-3" in session.text
        it.answers["elicitation/create"] = SILENCE
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.turn, "call w__ask message='Which weather?'")
            await it.until(lambda: len(it.requested) == 2)
            await session.cancel()
            await it.until(lambda: it.cancelled)
        await session.ask("session/close")


async def test_a_server_whose_client_shows_no_forms_cannot_ask(cwd: Path) -> None:
    async with calling(cwd) as it:
        session = await it.new(mcpServers=[declared()])
        await session.turn("call w__ask message='Which weather?'")
        assert it.requested == ["session/request_permission"]
        assert ended(session)[-1][1] == "failed"


async def test_a_cancelled_turn_takes_back_what_a_server_asks(cwd: Path) -> None:
    async with calling(cwd, capabilities=FORMS) as it, anyio.create_task_group() as tasks:
        session = await it.new(mcpServers=[declared()])
        await session.choose("policy", "allow_all")
        it.answers["elicitation/create"] = SILENCE
        tasks.start_soon(session.turn, "call w__ask message='Which weather?'")
        await it.until(lambda: it.requested)
        await session.cancel()
        await it.until(lambda: it.cancelled)
        assert it.cancelled == ["elicitation/create"]


@VERSIONS
async def test_what_may_be_reached_is_claimed(cwd: Path, version: int) -> None:
    async with connected(cwd, version, unstable=True) as it:
        able = it.initialized["agentCapabilities" if version == 1 else "capabilities"]
    if version == 1:
        assert able["mcpCapabilities"] == {"http": True, "sse": True, "acp": True}
    else:
        assert able["session"]["mcp"] == {"stdio": {}, "http": {}, "acp": {}}


async def test_a_cancelled_turn_ends_the_call_and_the_server_lives_on(cwd: Path) -> None:
    with logged() as log:
        async with calling(cwd) as it, anyio.create_task_group() as tasks:
            session = await it.new(mcpServers=[declared()])
            stops: list[str] = []
            has_ended = anyio.Event()

            async def hang() -> None:
                stops.append(await session.turn("call w__hang"))
                has_ended.set()

            tasks.start_soon(hang)
            await log.wait_for("w: hanging")
            await session.cancel()
            await log.wait_for("w: no longer hanging")
            await has_ended.wait()
            assert stops == ["cancelled"]
            assert await session.turn("call w__look place=Bonn") == "end_turn"
            assert "It rains in Bonn." in session.text


@VERSIONS
async def test_a_server_that_dies_fails_its_call_and_the_user_is_told_once(
    cwd: Path, version: int
) -> None:
    async with calling(cwd, version) as it:
        session = await it.new(mcpServers=[declared(version=version)])
        assert await session.turn("call w__die code=3") == "end_turn"
        assert ended(session)[-1][1] == "failed"
        assert "the MCP server w exited with code 3" in session.text
        for _ in range(2):
            await session.turn("hello")
        if version == 2:
            assert it.kinds().count("notice") == 1
        else:
            assert session.text.count("The MCP server w exited with code 3.") == 1


@pytest.mark.parametrize(("version", "capabilities"), [(1, {}), (1, NOTICES), (2, {})])
async def test_a_session_opens_without_a_server_that_does_not_get_ready_and_says_so(
    cwd: Path, version: int, capabilities: dict[str, Json]
) -> None:
    limits = Limits(spawn_timeout=0.3, eof_grace=0.1, kill_after=0.2)
    async with calling(cwd, version, limits=limits, capabilities=capabilities) as it:
        kind: dict[str, Json] = {"type": "stdio"} if version == 2 else {}
        slow = {"name": "slow", "command": sys.executable, "args": ["-c", SILENT], "env": []}
        session = await it.new(mcpServers=[kind | slow])
        told = "The MCP server slow was not ready within 0.3 s"
        if version == 2 or capabilities:
            await it.until(lambda: "notice" in it.kinds())
            [notice] = session.of("notice")
            assert (notice["severity"], notice["title"]) == ("warning", told)
        await session.turn("hello")
        assert (told in session.text) == (version == 1 and not capabilities)


@VERSIONS
async def test_a_session_that_closes_ends_its_servers_even_stubborn_ones(
    cwd: Path, version: int
) -> None:
    async with calling(cwd, version) as it:
        session = await it.new(mcpServers=[declared("stubborn", version=version)])
        await session.turn("call w__family")
        pids = [int(word) for word in session.text.split() if word.isdecimal()][-2:]
        assert [is_running(pid) for pid in pids] == [True, True]
        await session.ask("session/close")
        assert [is_running(pid) for pid in pids] == [False, False]


@pytest.mark.long
@VERSIONS
async def test_a_session_that_sleeps_ends_its_servers_and_wakes_with_them(
    cwd: Path, version: int
) -> None:
    async with calling(cwd, version) as it:
        session = await it.new(mcpServers=[declared("stubborn", version=version)])
        await session.turn("call w__family")
        pids = [int(word) for word in session.text.split() if word.isdecimal()][-2:]
        handlers = it.server._handlers
        assert handlers is not None
        await handlers.sessions.suspend(handlers.sessions.awake[session.id])
        assert [is_running(pid) for pid in pids] == [False, False]
        await session.turn("call w__family")
        again = [int(word) for word in session.text.split() if word.isdecimal()][-2:]
        assert [is_running(pid) for pid in again] == [True, True]
        await session.ask("session/close")
        assert [is_running(pid) for pid in again] == [False, False]


async def test_a_close_that_nobody_waits_for_ends_the_servers_all_the_same(cwd: Path) -> None:
    async with calling(cwd) as it:
        session = await it.new(mcpServers=[declared("stubborn")])
        await session.turn("call w__family")
        pids = [int(word) for word in session.text.split() if word.isdecimal()][-2:]
        with anyio.move_on_after(0.05):
            await it.connection.request("session/close", {"sessionId": session.id})
        # The next one waits until the session is closed.
        await session.ask("session/load", cwd=str(cwd), mcpServers=[])
        assert [is_running(pid) for pid in pids] == [False, False]


async def test_a_session_that_is_opened_again_gets_other_servers(cwd: Path) -> None:
    async with calling(cwd) as it:
        session = await it.new(mcpServers=[declared()])
        members: dict[str, Json] = {"sessionId": session.id, "cwd": str(cwd)}
        await it.ask("session/resume", **members, mcpServers=[declared()])
        await session.turn("call w__look place=Rome")
        await it.ask("session/resume", **members, mcpServers=[declared(name="v")])
        await session.turn("call w__look place=Rome then call v__look place=Paris")
        assert "there is no tool w__look" in session.text
        assert "It rains in Paris." in session.text


@VERSIONS
async def test_a_prompt_waits_for_the_other_servers_of_its_session(
    cwd: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with calling(cwd, version) as it:
        session = await it.new(mcpServers=[declared(version=version)])
        members: dict[str, Json] = {"sessionId": session.id, "cwd": str(cwd)}
        other = declared(name="v", version=version)
        begun, go_on = stalled(monkeypatch)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(it.ask, "session/resume", **members, mcpServers=[other]))
            await begun.wait()
            tasks.start_soon(session.prompt, "call v__look place=Paris")
            await it.ask("session/list")
            go_on.set()
        await it.until(lambda: "rains in Paris" in session.text)


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
            session = await it.new(mcpServers=[declared()])
            tasks.start_soon(session.turn, "call w__hang")
            await log.wait_for("w: hanging")
            members: dict[str, Json] = {"sessionId": session.id, "cwd": str(cwd)}
            with pytest.raises(RequestFailedError, match="A turn is running"):
                await it.connection.request("session/resume", members | {"mcpServers": []})
            await it.ask("session/resume", **members, mcpServers=[declared()])
            await session.cancel()


async def test_a_configured_server_stands_beside_those_of_the_client(cwd: Path) -> None:
    async with calling(cwd, configured=(weather(id_="home"),)) as it:
        session = await it.new(mcpServers=[declared()])
        await session.turn("call home__look place=Rome then call w__look place=Oslo")
        assert [status for _, status in ended(session)] == ["completed", "completed"]
        await session.turn("tools")
        assert "- `home__measure`: Measure the temperature." in session.text


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
        bridge = it.initialized["agentCapabilities"]["_meta"]["continuum"]
        assert bridge == {"mcp": True, "mcpCapabilities": {"acp": True}}
        opened = await it.connection.request("mcp/connect", {"id": "w"})
        params: Json = {"protocolVersion": "2025-06-18", "capabilities": {}}
        params |= {"clientInfo": {"name": "test", "version": "1"}}
        message: Json = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        answer = await it.connection.request("mcp/message", {**opened, "message": message})
        assert answer["result"]["serverInfo"]["name"] == "weather"
        assert await it.connection.request("mcp/disconnect", opened) == {}
