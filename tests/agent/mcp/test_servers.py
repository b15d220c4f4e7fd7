"""The room of a session's servers, as a session opens it: real programs over real pipes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from acp_agent.mcp.servers import McpClient, McpServers
from acp_agent.permissions.decide import SessionPermissions
from acp_agent.tools.call import ToolFailedError
from acp_agent.world.workspace import Workspace
from acp_protocol.concurrency import BackgroundTasks
from tests.agent.mcp.rooms import (
    LIMITS,
    Nobody,
    call,
    is_running,
    listed_anew,
    logged,
    opened,
    scripted,
    weather,
)

HANGING = "import signal\nsignal.pause()"


async def test_a_tool_is_named_after_its_server_and_returns_text(tmp_path: Path) -> None:
    async with opened(tmp_path, weather()) as room:
        assert room.failures == {}
        assert "w__look" in room
        assert room["w__look"].offer.parameters["required"] == ["place"]
        outcome = await call(room, "w__look", place="Rome")
    assert outcome.text == "It rains in Rome."
    assert outcome.raw["structuredContent"] == {"result": "It rains in Rome."}
    assert not outcome.is_failed


async def test_a_call_is_asked_about_whatever_the_server_says_of_itself(tmp_path: Path) -> None:
    async with opened(tmp_path, weather()) as room:
        prepared = await room["w__look"].prepare({"place": "Rome"}, Workspace("s", tmp_path))
    assert (prepared.kind, prepared.scope) == ("execute", "w__look")
    assert prepared.title == "Look␛[2J outside (w)"
    permissions = SessionPermissions()
    assert permissions.decide(prepared) is None
    permissions.mode = "architect"
    ruling = permissions.decide(prepared)
    assert ruling is not None
    assert ruling.verdict == "forbidden"


async def test_servers_run_in_the_directory_of_the_session(tmp_path: Path) -> None:
    async with opened(tmp_path, weather()) as room:
        assert (await call(room, "w__where")).text == str(tmp_path)


async def test_a_server_gets_what_is_declared_but_no_secrets_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary")
    async with opened(tmp_path, weather(WEATHER_KEY="sunny")) as room:
        assert (await call(room, "w__secret", variable="WEATHER_KEY")).text == "sunny"
        assert (await call(room, "w__secret", variable="ANTHROPIC_API_KEY")).text == "unset"


async def test_what_a_tool_refuses_is_a_failed_call(tmp_path: Path) -> None:
    async with opened(tmp_path, weather()) as room:
        outcome = await call(room, "w__fail")
        assert outcome.is_failed
        assert "Error executing tool fail" in outcome.text
        assert (await call(room, "w__look")).is_failed


async def test_servers_start_side_by_side_and_one_that_fails_harms_no_other(
    tmp_path: Path,
) -> None:
    servers = [
        scripted("raise SystemExit(3)", "dead"),
        scripted("import os, sys; os.close(1); sys.stdin.read()", "mute"),
        replace(weather(), id="missing", command=("/nowhere/at/all",)),
        weather(id_="one"),
        weather(id_="two"),
    ]
    async with opened(tmp_path, *servers) as room:
        troubles = room.failures
        assert (await call(room, "one__look", place="Oslo")).text == "It rains in Oslo."
        assert (await call(room, "two__look", place="Bern")).text == "It rains in Bern."
    assert troubles["dead"] == "exited with code 3"
    assert troubles["mute"] == "closed its output"
    assert "there is no such command" in troubles["missing"]
    assert set(troubles) == {"dead", "mute", "missing"}


async def test_a_server_that_is_never_ready_is_given_up(tmp_path: Path) -> None:
    limits = replace(LIMITS, spawn_timeout=0.2)
    async with opened(tmp_path, scripted(HANGING), limits=limits) as room:
        assert room.failures == {"s": "was not ready within 0.2 s"}
        assert list(room) == []


async def test_a_server_that_dies_in_a_call_ends_that_call_and_says_how(tmp_path: Path) -> None:
    async with opened(tmp_path, weather()) as room:
        for _ in range(2):
            with pytest.raises(ToolFailedError, match="the MCP server w exited with code 4"):
                await call(room, "w__die", code=4)
        assert room.failures == {"w": "exited with code 4"}
        assert "w__look" in room


async def test_a_call_that_takes_too_long_is_ended_on_both_sides(tmp_path: Path) -> None:
    limits = replace(LIMITS, call_timeout=2.0)
    with logged() as log:
        async with opened(tmp_path, weather(), limits=limits) as room:
            with pytest.raises(ToolFailedError, match="took longer than 2 s"):
                await call(room, "w__hang")
            await log.wait_for("no longer hanging")
            assert (await call(room, "w__look", place="Rome")).text == "It rains in Rome."


async def test_a_cancelled_call_is_cancelled_at_the_server_too(tmp_path: Path) -> None:
    with logged() as log:
        async with opened(tmp_path, weather()) as room, anyio.create_task_group() as tasks:
            tasks.start_soon(call, room, "w__hang")
            await log.wait_for(": hanging")
            tasks.cancel_scope.cancel()
        assert "no longer hanging" in await log.wait_for("no longer hanging")


async def test_two_calls_of_one_server_run_side_by_side(tmp_path: Path) -> None:
    with logged() as log:
        async with opened(tmp_path, weather()) as room, anyio.create_task_group() as tasks:
            tasks.start_soon(call, room, "w__hang")
            await log.wait_for(": hanging")
            assert (await call(room, "w__look", place="Rome")).text == "It rains in Rome."
            tasks.cancel_scope.cancel()


async def test_the_list_of_tools_follows_the_server(tmp_path: Path) -> None:
    async with opened(tmp_path, weather()) as room:
        assert "w__snow" not in room
        async with listed_anew(room):
            await call(room, "w__change", to="more")
        assert (await call(room, "w__snow")).text == "It snows."
        async with listed_anew(room):
            await call(room, "w__change", to="less")
        assert "w__snow" not in room
        assert len(room) == len(list(room)) == len(set(room))


async def test_closing_ends_a_server_with_all_that_it_has_started(tmp_path: Path) -> None:
    async with opened(tmp_path, weather(), weather("stubborn", "z")) as room:
        first = await call(room, "w__family")
        second = await call(room, "z__family")
        pids = [
            *first.raw["structuredContent"]["result"],
            *second.raw["structuredContent"]["result"],
        ]
        assert all(is_running(pid) for pid in pids)
    assert [pid for pid in pids if is_running(pid)] == []


async def test_a_closed_room_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path, weather()) as room:
        await room.aclose()
        with pytest.raises(ToolFailedError, match="the MCP server w is closed"):
            await call(room, "w__look", place="Rome")
        await room.aclose()


async def test_cancelled_while_it_opens_a_room_leaves_nothing_running(tmp_path: Path) -> None:
    code = f"import os, sys; print(os.getpid(), file=sys.stderr, flush=True)\n{HANGING}"
    room = McpServers()
    with logged() as log:
        async with BackgroundTasks() as tasks:
            home = McpClient(Nobody(), tasks, LIMITS)
            async with anyio.create_task_group() as opening:
                opening.start_soon(room.open, [scripted(code)], home, [tmp_path])
                await log.wait_for("MCP server s: ")
                opening.cancel_scope.cancel()
            line = await log.wait_for("MCP server s: ")
            assert not is_running(int(line.rpartition(" ")[2]))


async def test_a_session_without_servers_starts_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as room:
        assert len(room) == 0
        assert room.failures == {}


def test_the_sdk_comes_in_with_the_first_server_and_not_before() -> None:
    code = (
        "import sys, acp_agent.mcp.servers, acp_agent.continuum.mcp_bridge;"
        "print({name.split('.')[0] for name in sys.modules} & {'mcp', 'mcp_types', 'httpx2'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "set()\n"
