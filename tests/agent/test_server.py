"""The agent's side of the protocol: what it answers, in which order, and what it refuses."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import RFC_4122, UUID

import anyio
import pytest

from acp_agent.services import random_id
from acp_agent.store import log
from acp_protocol import jsonrpc
from acp_protocol.connection import Connection
from acp_protocol.jsonrpc import UNSUPPORTED_VERSION, Json
from acp_protocol.schema.validate import validate_result
from acp_protocol.version import VERSION
from tests.agent.client import INITIALIZE, SILENCE, connected, open_session, refusal

HELLO = INITIALIZE[1]
HELLO_V2 = INITIALIZE[2]


@asynccontextmanager
async def uninitialized(version: int = 1) -> AsyncGenerator[Connection]:
    """Connect to an agent that gets its first request from the test, and refuses some."""
    async with connected(Path("/"), version, initializes=False, lints=False) as it:
        yield it.connection


@pytest.mark.parametrize("asked", [0, 1, 2, 65535])
async def test_version_one_is_answered_whatever_is_asked(asked: int) -> None:
    async with uninitialized() as client:
        answer = await client.request("initialize", {"protocolVersion": asked})
    assert answer["protocolVersion"] == 1
    assert answer["agentInfo"]["version"] == VERSION
    assert answer["authMethods"] == []
    assert validate_result("initialize", answer) == ()


async def test_what_is_offered_is_answered_and_what_is_not_is_no_method(cwd: Path) -> None:
    async with open_session(cwd, lints=False) as session:
        answer = await session.ask("session/list")
        assert [each["sessionId"] for each in answer["sessions"]] == [session.id]
        for method in ("session/fork", "session/status", "logout", "_ours/own"):
            assert (await session.refusal(method)).code == jsonrpc.METHOD_NOT_FOUND


async def test_nothing_is_answered_before_initialize() -> None:
    async with uninitialized() as client:
        new: Json = {"cwd": "/", "mcpServers": []}
        refused = await refusal(client, "session/new", new)
        assert refused.code == jsonrpc.INVALID_REQUEST
        assert refused.message == "The first request is initialize"
        await client.request("initialize", HELLO)


async def test_initialize_may_be_said_again_but_not_late(cwd: Path) -> None:
    async with uninitialized() as client:
        await client.request("initialize", HELLO)
        await client.request("initialize", HELLO)
        await client.request("session/new", {"cwd": str(cwd), "mcpServers": []})
        refused = await refusal(client, "initialize", HELLO)
    assert refused.code == jsonrpc.INVALID_REQUEST


BAD_PARAMS: list[tuple[str, Json, str]] = [
    ("initialize", {}, "params.protocolVersion is missing"),
    ("initialize", {"protocolVersion": "1.0"}, "params.protocolVersion"),
    ("authenticate", {"methodId": "key"}, "methodId"),
    ("session/new", {"mcpServers": []}, "params.cwd is missing"),
    ("session/new", {"cwd": "/"}, "params.mcpServers is missing"),
    ("session/new", {"cwd": 1, "mcpServers": []}, "params.cwd is not a string"),
    ("session/new", {"cwd": "work", "mcpServers": []}, "cwd is not an absolute path"),
    ("session/new", {"cwd": "/no/such", "mcpServers": []}, "cwd is not a directory"),
    ("session/new", {"cwd": "/etc/hostname", "mcpServers": []}, "cwd is not a directory"),
    ("session/new", {"cwd": "/" + "x" * 300, "mcpServers": []}, "cwd is not a directory"),
    ("session/new", {"cwd": "/a\0b", "mcpServers": []}, "cwd is not a directory"),
    (
        "session/new",
        {"cwd": "/", "mcpServers": [], "additionalDirectories": ["/etc", "etc"]},
        "additionalDirectories.1 is not an absolute path",
    ),
    (
        "session/new",
        {
            "cwd": "/",
            "mcpServers": [{"type": "http", "name": "x", "url": "file:///etc", "headers": []}],
        },
        "params.mcpServers.0.url: must be an http or https address",
    ),
    ("session/list", {"cursor": "x"}, "cursor"),
    ("session/prompt", {"prompt": []}, "params.sessionId is missing"),
    ("session/prompt", {"sessionId": "s", "prompt": "hello"}, "params.prompt is not an array"),
    ("session/prompt", [], "params"),
]


@pytest.mark.parametrize(("method", "params", "named"), BAD_PARAMS)
async def test_bad_params_are_refused_by_the_name_of_the_member(
    method: str, params: Json, named: str
) -> None:
    async with uninitialized() as client:
        await client.request("initialize", HELLO)
        refused = await refusal(client, method, params)
    assert refused.code == jsonrpc.INVALID_PARAMS
    assert named in refused.message


async def test_members_that_nobody_knows_do_no_harm(cwd: Path) -> None:
    async with uninitialized() as client:
        await client.request("initialize", HELLO | {"_meta": {"a": 1}, "extra": True})
        new: Json = {"cwd": str(cwd), "mcpServers": [], "_meta": {"b": 2}, "future": []}
        assert "sessionId" in await client.request("session/new", new)


async def test_a_new_session_tells_its_commands_behind_its_answer(cwd: Path) -> None:
    async with open_session(cwd) as session:
        await session.client.until(lambda: session.updates)
    answer, update = session.client.received[1:3]
    assert f'"sessionId":"{session.id}","modes"'.encode() in answer
    assert b"available_commands_update" in update
    names = [command["name"] for command in session.updates[0]["availableCommands"]]
    assert names == ["tour", "plan", "think", "tools", "help", "usage", "permissions"]


def test_sessions_are_named_by_random_uuids() -> None:
    names = {random_id() for _ in range(256)}
    assert len(names) == 256
    for name in names:
        read = UUID(name)
        assert (str(read), read.version, read.variant) == (name, 4, RFC_4122)


async def test_a_session_that_is_not_there_is_named(cwd: Path) -> None:
    async with open_session(cwd, lints=False) as session:
        session.id = "other"
        asked: list[tuple[str, dict[str, Json]]] = [
            ("session/prompt", {"prompt": []}),
            ("session/close", {}),
            ("session/set_mode", {"modeId": "ask"}),
        ]
        for method, params in asked:
            refused = await session.refusal(method, **params)
            assert refused.code == jsonrpc.RESOURCE_NOT_FOUND
            assert refused.data == {"sessionId": "other"}


async def test_only_one_prompt_at_a_time_runs_in_a_session(cwd: Path) -> None:
    async with (
        open_session(cwd, permission=SILENCE) as session,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(session.turn, "run ls")
        await session.client.until(lambda: session.client.requests)
        refused = await session.refusal("session/prompt", prompt=[])
        assert refused.code == jsonrpc.INVALID_REQUEST
        assert "cancel it first" in refused.message
        assert await (await session.client.new()).turn("hello") == "end_turn"
        await session.cancel()


async def test_content_that_was_not_offered_is_refused(cwd: Path) -> None:
    block = {"type": "audio", "data": "", "mimeType": "audio/x"}
    text = {"type": "text", "text": "hello"}
    async with open_session(cwd, lints=False) as session:
        refused = await session.refusal("session/prompt", prompt=[text, block])
    assert refused.code == jsonrpc.INVALID_PARAMS
    assert "params.prompt.1: audio" in refused.message


async def test_closing_ends_the_turn_before_it_is_answered(cwd: Path) -> None:
    ended: list[str] = []
    async with (
        open_session(cwd, permission=SILENCE) as session,
        anyio.create_task_group() as tasks,
    ):

        async def prompt() -> None:
            ended.append(await session.turn("run ls"))

        tasks.start_soon(prompt)
        await session.client.until(lambda: session.client.requests)
        assert await session.ask("session/close") == {}
        assert ended == ["cancelled"]
        assert len((await session.ask("session/list"))["sessions"]) == 1


async def test_sessions_are_listed_by_directory_and_with_their_title(cwd: Path) -> None:
    async with open_session(cwd) as session:
        await session.turn("think of\n  nothing")
        for wanted, found in [(f"{cwd}/", 1), (str(cwd / "src"), 0), (None, 1)]:
            answer = await session.client.connection.request("session/list", {"cwd": wanted})
            assert validate_result("session/list", answer) == ()
            assert len(answer["sessions"]) == found
    assert answer["sessions"][0]["title"] == "think of nothing"
    (update,) = session.of("session_info_update")
    assert update["title"] == "think of nothing"
    assert update["updatedAt"] == answer["sessions"][0]["updatedAt"]


async def test_modes_decide_when_the_user_is_asked(cwd: Path) -> None:
    async with open_session(cwd, lints=False) as session:
        await session.ask("session/set_mode", modeId="auto")
        await session.turn("write auto.txt: x")
        assert session.client.requests == []
        await session.ask("session/set_mode", modeId="read-only")
        await session.turn("write never.txt: x then read auto.txt")
        assert session.client.requests == []
        await session.ask("session/set_mode", modeId="ask")
        await session.turn("write asked.txt: x")
        assert len(session.client.requests) == 1
        refused = await session.refusal("session/set_mode", modeId="yolo")
    assert (refused.code, "yolo" in refused.message) == (jsonrpc.INVALID_PARAMS, True)
    assert [update["currentModeId"] for update in session.of("current_mode_update")] == [
        "code",
        "architect",
        "ask",
    ]
    assert sorted(path.name for path in cwd.iterdir()) == [
        "asked.txt",
        "auto.txt",
        "notes.md",
        "src",
    ]


async def test_the_same_prompts_give_the_same_bytes(
    cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "now", lambda: "2026-11-21T08:00:00+00:00")
    wires: list[list[bytes]] = []
    for _ in range(2):
        async with open_session(cwd, new_id=lambda: "session_1") as session:
            await session.turn("/tour")
            await session.turn("read notes.md then search TODO then plan")
        wires.append(session.client.received)
    assert wires[0] == wires[1]


# Agreeing on a version, where the agent speaks both.


@pytest.mark.parametrize(
    ("asked", "newest", "spoken"),
    [(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 2), (3, 2, 2), (65535, 2, 2), (0, 1, 1)],
)
async def test_the_highest_version_that_both_speak_is_spoken(
    asked: int, newest: int, spoken: int
) -> None:
    async with uninitialized(newest) as connection:
        answer = await connection.request("initialize", HELLO_V2 | {"protocolVersion": asked})
    assert answer["protocolVersion"] == spoken
    assert ("agentCapabilities" in answer) == (spoken == 1)
    assert validate_result("initialize", answer, spoken) == ()


async def test_a_version_that_nobody_speaks_is_refused_with_those_that_are() -> None:
    async with uninitialized(2) as connection:
        refused = await refusal(connection, "initialize", HELLO_V2 | {"protocolVersion": 0})
        assert refused.code == UNSUPPORTED_VERSION
        assert refused.data == {"requested": 0, "supported": [1, 2]}
        answer = await connection.request("initialize", HELLO_V2)
    assert answer["protocolVersion"] == 2


@pytest.mark.parametrize("asked", [65536, -1, "2", 1.5, True, None])
async def test_what_is_no_version_is_refused_as_such(asked: object) -> None:
    async with uninitialized(2) as connection:
        code = (await refusal(connection, "initialize", HELLO_V2 | {"protocolVersion": asked})).code
    assert code == jsonrpc.INVALID_PARAMS


async def test_version_two_wants_to_know_who_asks_but_a_newer_one_may_say_it_otherwise() -> None:
    async with uninitialized(2) as connection:
        code = (await refusal(connection, "initialize", {"protocolVersion": 2})).code
        assert code == jsonrpc.INVALID_PARAMS
        answer = await connection.request("initialize", {"protocolVersion": 3, "info": 5})
    assert answer["protocolVersion"] == 2


async def test_a_lower_version_cannot_be_had_after_a_higher_one(cwd: Path) -> None:
    async with uninitialized(2) as connection:
        await connection.request("initialize", HELLO_V2)
        lower: Json = {"protocolVersion": 1, "clientCapabilities": {}}
        assert (await refusal(connection, "initialize", lower)).code == jsonrpc.INVALID_REQUEST
        assert "availableCommands" in await connection.request("session/new", {"cwd": str(cwd)})
