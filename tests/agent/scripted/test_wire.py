"""Faults as they reach the client: what is written, in which order, and what ends the process."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from acp_protocol.faults import Crash, Hang
from tests.agent.scripted.stage import HELLO, Client, Message, running


async def turn(tmp_path: Path, body: str, *, ends: bool = True) -> Client:
    """Run the body of a prompt function to the end; return the client."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    async with running(tmp_path, f"async def prompt(call):\n{lines}\n") as client:
        await client.open()
        id_ = await client.start_prompt()
        if ends:
            await client.response(id_)
        await client.rest()
        assert client.reports == []
        return client
    raise AssertionError


async def test_frames_are_dropped_repeated_and_cut_in_pieces(tmp_path: Path) -> None:
    client = await turn(
        tmp_path,
        """
await call.text("a", drop())
await call.text("b", duplicate(3))
await call.text("c", split(50, pause=0))
await call.text("d", throttle(100_000))
""",
    )
    assert client.text == "bbbcd"
    assert any(len(piece) == 50 for piece in client.written)


async def test_a_delayed_frame_is_overtaken(tmp_path: Path) -> None:
    client = await turn(tmp_path, 'await call.text("a", delay(0.02))\nawait call.text("b")')
    assert client.text == "ba"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("reorder()", "bac"),
        ("reorder(2)", "bca"),
        ("reorder(of='response')", "bca"),
        ("reorder(9, seconds=0.01)", "bca"),
    ],
)
async def test_a_reordered_frame_comes_after_others(tmp_path: Path, fault: str, text: str) -> None:
    body = f'await call.text("a", {fault})\nawait call.text("b")\nawait call.text("c")'
    client = await turn(tmp_path, body)
    assert client.text == text


@pytest.mark.parametrize(
    ("kind", "id_"),
    [("other", 987_654_321), ("retyped", "3"), ("null", None), ("previous", 2), ("missing", ...)],
)
async def test_a_response_gets_a_wrong_id(tmp_path: Path, kind: str, id_: Any) -> None:
    client = await turn(tmp_path, f"await call.answer(wrong_id({kind!r}))", ends=False)
    assert client.messages[-1].get("id", ...) == id_
    assert "result" in client.messages[-1]


async def test_two_requests_get_the_ids_of_each_other(tmp_path: Path) -> None:
    script = """
async def prompt(call):
    if call.nth == 1:
        call.ignore_cancel()
        await call.wait_cancel()
        await call.answer(result="first")
    else:
        await call.answer(wrong_id("swapped"), result="second")
"""
    async with running(tmp_path, script) as client:
        await client.open()
        await client.ask("session/new", cwd="/", mcpServers=[])
        first = await client.start_prompt()
        second = await client.start_prompt(session_id="session-2")
        assert (await client.response(first))["result"]["stopReason"] == "second"
        await client.notify("session/cancel", sessionId="session-1")
        assert (await client.response(second))["result"]["stopReason"] == "first"


async def test_bytes_frames_batches_and_noise_are_written_as_they_are(tmp_path: Path) -> None:
    client = await turn(
        tmp_path,
        """
await call.raw("DEBUG\\n")
await call.raw(b"\\x00\\xff\\n")
await call.frame([1, 2])
await call.fault(noise("loud"))
async with call.batch():
    await call.text("one")
    await call.text("two")
await call.text("three", noise("before"), ending("crlf"))
""",
    )
    written = b"".join(client.written)
    for expected in (b"DEBUG\n", b"\x00\xff\n", b"[1,2]\n", b"loud\n", b"before\n{", b"}\r\n"):
        assert expected in written
    (batch,) = [line for line in written.splitlines() if line.startswith(b"[{")]
    assert [each["params"]["update"]["content"]["text"] for each in json.loads(batch)] == [
        "one",
        "two",
    ]


async def test_nothing_is_written_after_a_cut_or_a_closed_stdout(tmp_path: Path) -> None:
    client = await turn(tmp_path, 'await call.text("a", cut(20))\nawait call.text("b")', ends=False)
    assert client.text == ""
    assert len(client.written[-1]) == 20
    body = 'await call.text("a")\nawait call.close_stdout()\nawait call.text("b")'
    assert (await turn(tmp_path, body, ends=False)).text == "a"


@pytest.mark.parametrize(
    ("fault", "end"),
    [
        ("crash(3)", Crash(3)),
        ("crash(signal='KILL')", Crash(1, signal.SIGKILL)),
        ("hang(0, ignore='TERM')", Hang(0, (signal.SIGTERM,))),
    ],
)
async def test_the_process_ends_or_hangs_in_place_of_a_frame(
    tmp_path: Path, fault: str, end: Crash | Hang
) -> None:
    client = await turn(tmp_path, f'await call.text("a", {fault})', ends=False)
    assert client.ends[0] == end
    assert client.text == ""


async def test_any_frame_can_be_struck_by_what_it_is(tmp_path: Path) -> None:
    script = """
def faults(message, random):
    if frame_kind(message) == "notification" and "a" in str(message["params"]["update"]["content"]):
        yield drop()
    if frame_kind(message) == "response" and random.random() < 1:
        yield duplicate()

async def prompt(call):
    await call.text("a")
    await call.text("b")
"""
    async with running(tmp_path, script) as client:
        await client.ask("initialize", **HELLO[1])
        await client.ask("session/new", cwd="/", mcpServers=[])
        await client.prompt()
        await client.rest()
        assert client.text == "b"
        assert [each["id"] for each in client.messages if "result" in each] == [1, 1, 2, 2, 3, 3]


ASKING = """
agent = Agent(protocol=2, dialect="v2-batch")

async def prompt(call):
    await call.tool("call-1", title="Edit")
    async with call.batch() as batch:
        await call.text("May I?")
        chosen = batch.start(call.permission("call-1"))
        refused = batch.start(call.ask("_no/such/method"))
    await call.text(f" {await chosen}")
    try:
        await refused
    except Failed as error:
        await call.text(f" {error.code}")
"""


async def test_requests_are_sent_in_an_array_and_awaited_after_it(tmp_path: Path) -> None:
    def respond(request: Message) -> Any:
        if request["method"] == "session/request_permission":
            return {"result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}}
        return {"error": {"code": -32601, "message": "Method not found"}}

    async with running(tmp_path, ASKING) as client:
        client.responder = respond
        await client.open(2)
        assert await client.prompt() == "end_turn"
        assert client.text == "May I? allow_once -32601"
        assert client.reports == []
    arrays = [line for line in b"".join(client.written).splitlines() if line.startswith(b"[")]
    (array,) = map(json.loads, arrays)
    methods = [each["method"] for each in array]
    assert [each for each in methods if each != "session/update"] == [
        "session/request_permission",
        "_no/such/method",
    ]
    assert methods[0] == "session/update"


async def test_a_request_that_would_wait_for_its_own_array_is_an_error(tmp_path: Path) -> None:
    script = """
async def prompt(call):
    async with call.batch():
        await call.ask("_any/method")
"""
    async with running(tmp_path, script) as client:
        await client.open()
        response: Any = await client.prompt()
        assert response["code"] == -32603
        (report,) = client.reports
    assert "batch.start(call.ask(…))" in report


@pytest.mark.parametrize("version", [1, 2])
async def test_arrays_of_the_client_are_taken_by_the_rules_of_the_draft(
    tmp_path: Path, version: int
) -> None:
    """In version 1 an array is refused as a whole, as in every script without the dialect."""
    cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "session-1"}}
    calls: list[Message] = [
        {"jsonrpc": "2.0", "id": n, "method": "session/list", "params": {}} for n in "ab"
    ]
    async with running(tmp_path, "agent = Agent(protocol=2, dialect='v2-batch')") as client:
        await client.open(version)
        before = len(client.written)
        arrays: list[list[Any]] = [[], [cancel, cancel], [calls[0], cancel, 1, calls[1]]]
        for array in arrays:
            await client.to_agent.send(json.dumps(array).encode() + b"\n")
        if version == 2:
            await client.response("b")
        await client.ask("session/list")
    answers = [json.loads(line) for line in b"".join(client.written[before:]).splitlines()][:-1]
    if version == 1:
        assert [each["id"] for each in answers] == [None, None, None]
        return
    empty, whole = answers
    assert (empty["id"], empty["error"]["code"]) == (None, -32600)
    assert sorted(str(each["id"]) for each in whole) == ["None", "a", "b"]
