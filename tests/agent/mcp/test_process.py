"""Programs that are MCP servers, and what they do wrong on their pipes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from acp_agent.mcp.process import LOG_HELD, LOG_LINES, MINUTE, StderrLog
from acp_agent.tools.call import ToolFailedError
from tests.agent.mcp.rooms import LIMIT, LIMITS, call, logged, opened, scripted, weather
from tests.protocol.host.test_processes import is_running

ANSWERING = """
import json, sys
def answer(asked, **members):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **members}) + "\\n")
    sys.stdout.flush()
def serve(tools):
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        match asked["method"]:
            case "initialize":
                version = asked["params"]["protocolVersion"]
                info = {"name": "s", "version": "1"}
                answer(asked, result={
                    "protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
            case "tools/list":
                answer(asked, **tools(asked))
            case "tools/call":
                called(asked)
            case _:
                answer(asked, error={"code": -32601, "message": "Method not found"})
def one(asked):
    return {"result": {"tools": [{"name": "do", "inputSchema": {"type": "object"}}]}}
"""
"""An MCP server of the year 2025 without the SDK, which could not do what is wrong here."""


async def test_what_is_no_message_is_logged_and_left_out(tmp_path: Path) -> None:
    with logged() as log:
        async with opened(tmp_path, weather("noisy")) as room:
            assert (await call(room, "w__look", place="Rome")).text == "It rains in Rome."
    noise = [line for line in log.lines if "said no message" in line]
    assert noise == [
        "MCP server w said no message: Welcome!",
        "MCP server w said no message: []",
        "MCP server w said no message: �␀{",
    ]


async def test_stderr_goes_to_the_log(tmp_path: Path) -> None:
    with logged() as log:
        async with opened(tmp_path, weather()):
            assert await log.wait_for("server is up") == "MCP server w: stdio server is up"


async def test_a_server_that_knows_only_the_old_handshake_works(tmp_path: Path) -> None:
    code = f"""{ANSWERING}
def called(asked):
    answer(asked, result={{"content": [{{"type": "text", "text": "done"}}]}})
serve(one)
"""
    async with opened(tmp_path, scripted(code)) as room:
        assert (await call(room, "s__do")).text == "done"


async def test_a_message_without_an_end_ends_the_server(tmp_path: Path) -> None:
    code = f"""{ANSWERING}
def called(asked):
    while True:
        sys.stdout.write("x" * 4096)
serve(one)
"""
    limits = replace(LIMITS, message_size=64 * 1024)
    async with opened(tmp_path, scripted(code), limits=limits) as room:
        with pytest.raises(ToolFailedError, match="the MCP server s sent too much: a frame"):
            await call(room, "s__do")
        assert "sent too much" in room.failures["s"]


@pytest.mark.parametrize(
    ("answered", "reason"),
    [
        ('answer(asked, result={"content": 7})', "answered with something that is not MCP"),
        ('answer(asked, error={"code": 5, "message": "No\\x1b way"})', "refused: No␛ way (5)"),
        ("os.close(1); signal.pause()", "closed its output"),
        ("raise SystemExit(0)", "exited with code 0"),
    ],
)
async def test_an_answer_that_is_none_fails_the_call(
    tmp_path: Path, answered: str, reason: str
) -> None:
    code = f"""{ANSWERING}
import os, signal
def called(asked):
    {answered}
serve(one)
"""
    async with opened(tmp_path, scripted(code)) as room:
        with pytest.raises(ToolFailedError) as failed:
            await call(room, "s__do")
    assert str(failed.value) == f"the MCP server s {reason}"


@pytest.mark.parametrize(
    "listing", ['{"result": {"tools": {}}}', '{"result": 5}', '{"error": {"code": 1}}']
)
async def test_a_list_of_tools_that_is_none_is_a_trouble(tmp_path: Path, listing: str) -> None:
    code = f"{ANSWERING}\nserve(lambda asked: {listing})"
    limits = replace(LIMITS, spawn_timeout=3.0)
    async with opened(tmp_path, scripted(code), limits=limits) as room:
        assert set(room.failures) == {"s"}
        assert "validation" not in room.failures["s"]


async def test_answers_to_nobody_and_questions_of_the_server_harm_nothing(tmp_path: Path) -> None:
    code = f"""{ANSWERING}
def called(asked):
    answer({{"id": 4711}}, result={{}})
    answer({{"id": "sample"}}, method="sampling/createMessage")
    refusal = json.loads(sys.stdin.readline())
    text = f"{{refusal['id']}} {{'error' in refusal}}"
    answer(asked, result={{"content": [{{"type": "text", "text": text}}]}})
serve(one)
"""
    async with opened(tmp_path, scripted(code)) as room:
        assert (await call(room, "s__do")).text == "sample True"


def test_stderr_is_held_and_logged_in_bounds() -> None:
    with logged() as log:
        stderr = StderrLog("s")
        for _ in range(100):
            stderr.feed(b"x" * 1000)
        assert len(stderr._unfinished) <= LOG_HELD
        stderr.feed(b"\n\n\x1b[2Jred")
        stderr.feed(b"dish\xff\n")
    assert len(log.lines) == 2
    assert len(log.lines[0]) < 600
    assert log.lines[1] == "MCP server s: ␛[2Jreddish�"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells environments")
async def test_what_leaves_the_group_of_a_server_ends_with_it_too(tmp_path: Path) -> None:
    code = f"""{ANSWERING}
import subprocess
left = subprocess.Popen(["sleep", "1000"], start_new_session=True, stdout=2)
def called(asked):
    answer(asked, result={{"content": [{{"type": "text", "text": str(left.pid)}}]}})
serve(one)
"""
    async with opened(tmp_path, scripted(code)) as room:
        left = int((await call(room, "s__do")).text)
        assert is_running(left)
    with anyio.fail_after(LIMIT):
        while is_running(left):
            await anyio.sleep(0.01)


def test_a_server_that_never_stops_talking_does_not_fill_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    times = [0.0]
    stderr = StderrLog("s", lambda: times[0])
    stderr.feed(b"on and on\n" * 100_000)
    assert len(caplog.messages) == LOG_LINES
    times[0] = MINUTE
    stderr.feed(b"still there\n")
    left_out = f"MCP server s: … {100_000 - LOG_LINES} more lines"
    assert caplog.messages[LOG_LINES:] == [left_out, "MCP server s: still there"]


async def test_half_a_sign_in_an_answer_is_replaced(tmp_path: Path) -> None:
    code = f"""{ANSWERING}
def called(asked):
    answer(asked, result={{"content": [{{"type": "text", "text": "a\\ud800b"}}]}})
serve(one)
"""
    async with opened(tmp_path, scripted(code)) as room:
        assert (await call(room, "s__do")).text == "a\ufffdb"
