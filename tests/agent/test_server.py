"""The agent's side of the protocol: what it answers, in which order, and what it refuses."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import RFC_4122, UUID

import anyio
import pytest

from acp_agent.door.server import AgentServer
from acp_agent.services import random_id
from acp_agent.store import log
from acp_protocol import jsonrpc
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.connection import Connection
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import UNSUPPORTED_VERSION, Json, Request
from acp_protocol.schema.validate import validate_result
from acp_protocol.transport.memory import memory_pair
from acp_protocol.version import VERSION
from tests.agent.client import LIMIT, selected
from tests.agent.client_v2 import HELLO as HELLO_V2
from tests.agent.client_v2 import before_hello as hello_v2
from tests.agent.client_v2 import code_of
from tests.agent.conftest import ScriptedClient, talk

HELLO: Json = {"protocolVersion": 1, "clientCapabilities": {}}


@asynccontextmanager
async def before_hello() -> AsyncGenerator[Connection]:
    """Connect to an agent to which nothing was said yet."""
    ours, theirs = memory_pair()
    server = AgentServer()
    server.connection = Connection(theirs, server)
    with anyio.fail_after(LIMIT):
        async with (
            BackgroundTasks() as server.tasks,
            server.connection,
            Connection(ours, ScriptedClient()) as client,
        ):
            yield client


async def refusal(connection: Connection, method: str, params: Json) -> tuple[int, str]:
    """Return code and message of the error that a question gets."""
    with pytest.raises(RequestFailedError) as raised:
        await connection.request(method, params)
    return raised.value.code, raised.value.message


@pytest.mark.parametrize("asked", [0, 1, 2, 65535])
async def test_version_one_is_answered_whatever_is_asked(asked: int) -> None:
    async with before_hello() as client:
        answer = await client.request("initialize", {"protocolVersion": asked})
    assert answer["protocolVersion"] == 1
    assert answer["agentInfo"]["version"] == VERSION
    assert answer["authMethods"] == []
    assert validate_result("initialize", answer) == ()


async def test_what_is_offered_is_answered_and_what_is_not_is_no_method(cwd: Path) -> None:
    async with talk(cwd) as it:
        answer = await it.ask("session/list")
        assert [session["sessionId"] for session in answer["sessions"]] == [it.session_id]
        for method in ("session/fork", "session/status", "logout", "_ours/own"):
            code, _ = await refusal(it.connection, method, {"sessionId": it.session_id})
            assert code == jsonrpc.METHOD_NOT_FOUND


async def test_nothing_is_answered_before_initialize() -> None:
    async with before_hello() as client:
        new: Json = {"cwd": "/", "mcpServers": []}
        assert await refusal(client, "session/new", new) == (
            jsonrpc.INVALID_REQUEST,
            "The first request is initialize",
        )
        await client.request("initialize", HELLO)


async def test_initialize_may_be_said_again_but_not_late(cwd: Path) -> None:
    async with before_hello() as client:
        await client.request("initialize", HELLO)
        await client.request("initialize", HELLO)
        await client.request("session/new", {"cwd": str(cwd), "mcpServers": []})
        code, _ = await refusal(client, "initialize", HELLO)
    assert code == jsonrpc.INVALID_REQUEST


BAD_PARAMS: list[tuple[str, Json, str]] = [
    ("initialize", {}, "params.protocolVersion is missing"),
    ("initialize", {"protocolVersion": "1.0"}, "params.protocolVersion"),
    ("authenticate", {"methodId": "key"}, "methodId"),
    ("session/new", {"mcpServers": []}, "params.cwd is missing"),
    ("session/new", {"cwd": "/"}, "params.mcpServers is missing"),
    ("session/new", {"cwd": 1, "mcpServers": []}, "params.cwd is no string"),
    ("session/new", {"cwd": "work", "mcpServers": []}, "cwd is no absolute path"),
    ("session/new", {"cwd": "/no/such", "mcpServers": []}, "cwd is no directory"),
    ("session/new", {"cwd": "/etc/hostname", "mcpServers": []}, "cwd is no directory"),
    ("session/new", {"cwd": "/" + "x" * 300, "mcpServers": []}, "cwd is no directory"),
    ("session/new", {"cwd": "/a\0b", "mcpServers": []}, "cwd is no directory"),
    (
        "session/new",
        {"cwd": "/", "mcpServers": [], "additionalDirectories": ["/etc", "etc"]},
        "additionalDirectories.1 is no absolute path",
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
    ("session/prompt", {"sessionId": "s", "prompt": "hello"}, "params.prompt is no array"),
    ("session/prompt", [], "params"),
]


@pytest.mark.parametrize(("method", "params", "named"), BAD_PARAMS)
async def test_bad_params_are_refused_by_the_name_of_the_member(
    method: str, params: Json, named: str
) -> None:
    async with before_hello() as client:
        await client.request("initialize", HELLO)
        code, message = await refusal(client, method, params)
    assert code == jsonrpc.INVALID_PARAMS
    assert named in message


async def test_members_that_nobody_knows_do_no_harm(cwd: Path) -> None:
    async with before_hello() as client:
        await client.request("initialize", HELLO | {"_meta": {"a": 1}, "extra": True})
        new: Json = {"cwd": str(cwd), "mcpServers": [], "_meta": {"b": 2}, "future": []}
        assert "sessionId" in await client.request("session/new", new)


async def test_a_new_session_tells_its_commands_behind_its_answer(cwd: Path) -> None:
    told = anyio.Event()
    async with before_hello() as client:
        await client.request("initialize", HELLO)
    async with talk(cwd) as it:
        it.client.on_update = lambda _: told.set()
        if not it.client.updates:
            await told.wait()
    answer, update = it.wire[1:3]
    assert b'"sessionId":"session_1","modes"' in answer
    assert b"available_commands_update" in update
    names = [command["name"] for command in it.client.updates[0]["availableCommands"]]
    assert names == ["tour", "plan", "think", "tools", "help", "usage", "permissions"]


def test_sessions_are_named_by_random_uuids() -> None:
    names = {random_id() for _ in range(256)}
    assert len(names) == 256
    for name in names:
        read = UUID(name)
        assert (str(read), read.version, read.variant) == (name, 4, RFC_4122)


async def test_a_session_that_is_not_there_is_named(cwd: Path) -> None:
    async with talk(cwd) as it:
        it.session_id = "other"
        asked: list[tuple[str, dict[str, Json]]] = [
            ("session/prompt", {"prompt": []}),
            ("session/close", {}),
            ("session/set_mode", {"modeId": "ask"}),
        ]
        for method, params in asked:
            with pytest.raises(RequestFailedError) as raised:
                await it.ask(method, **params)
            assert raised.value.code == jsonrpc.RESOURCE_NOT_FOUND
            assert raised.value.data == {"sessionId": "other"}


async def test_only_one_prompt_at_a_time_runs_in_a_session(cwd: Path) -> None:
    asked = anyio.Event()

    async def wait(request: Request) -> Json:
        del request
        asked.set()
        await anyio.sleep_forever()

    async with (
        talk(cwd, answers={"session/request_permission": wait}) as it,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(it.prompt, "run ls")
        await asked.wait()
        code, message = await refusal(
            it.connection, "session/prompt", {"sessionId": it.session_id, "prompt": []}
        )
        assert code == jsonrpc.INVALID_REQUEST
        assert "cancel it first" in message
        other = await it.connection.request("session/new", {"cwd": str(cwd), "mcpServers": []})
        hello = [{"type": "text", "text": "hello"}]
        params = {"sessionId": other["sessionId"], "prompt": hello}
        assert await it.connection.request("session/prompt", params) == {"stopReason": "end_turn"}
        await it.cancel()


async def test_content_that_was_not_offered_is_refused(cwd: Path) -> None:
    block = {"type": "audio", "data": "", "mimeType": "audio/x"}
    text = {"type": "text", "text": "hello"}
    async with talk(cwd) as it:
        params = {"sessionId": it.session_id, "prompt": [text, block]}
        code, message = await refusal(it.connection, "session/prompt", params)
    assert code == jsonrpc.INVALID_PARAMS
    assert "params.prompt.1: audio" in message


async def test_closing_ends_the_turn_before_it_is_answered(cwd: Path) -> None:
    asked = anyio.Event()
    ended: list[str] = []

    async def wait(request: Request) -> Json:
        del request
        asked.set()
        await anyio.sleep_forever()

    async with (
        talk(cwd, answers={"session/request_permission": wait}) as it,
        anyio.create_task_group() as tasks,
    ):

        async def prompt() -> None:
            ended.append(await it.prompt("run ls"))

        tasks.start_soon(prompt)
        await asked.wait()
        assert await it.ask("session/close") == {}
        assert ended == ["cancelled"]
        assert len((await it.ask("session/list"))["sessions"]) == 1


async def test_sessions_are_listed_by_directory_and_with_their_title(cwd: Path) -> None:
    async with talk(cwd) as it:
        await it.prompt("think of\n  nothing")
        for wanted, found in [(f"{cwd}/", 1), (str(cwd / "src"), 0), (None, 1)]:
            answer = await it.connection.request("session/list", {"cwd": wanted})
            assert validate_result("session/list", answer) == ()
            assert len(answer["sessions"]) == found
    assert answer["sessions"][0]["title"] == "think of nothing"
    (update,) = it.client.of("session_info_update")
    assert update["title"] == "think of nothing"
    assert update["updatedAt"] == answer["sessions"][0]["updatedAt"]


async def test_modes_decide_when_the_user_is_asked(cwd: Path) -> None:
    answers: dict[str, Json] = {"session/request_permission": selected("allow")}
    async with talk(cwd, answers=answers) as it:
        await it.ask("session/set_mode", modeId="auto")
        await it.prompt("write auto.txt: x")
        assert it.client.asked == []
        await it.ask("session/set_mode", modeId="read-only")
        await it.prompt("write never.txt: x then read auto.txt")
        assert it.client.asked == []
        await it.ask("session/set_mode", modeId="ask")
        await it.prompt("write asked.txt: x")
        assert len(it.client.asked) == 1
        code, message = await refusal(
            it.connection, "session/set_mode", {"sessionId": it.session_id, "modeId": "yolo"}
        )
    assert (code, "yolo" in message) == (jsonrpc.INVALID_PARAMS, True)
    assert [update["currentModeId"] for update in it.client.of("current_mode_update")] == [
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
        answers: dict[str, Json] = {"session/request_permission": selected("allow")}
        async with talk(cwd, answers=answers) as it:
            await it.prompt("/tour")
            await it.prompt("read notes.md then search TODO then plan")
        wires.append(it.wire)
    assert wires[0] == wires[1]


# Agreeing on a version, where the agent speaks both.


@pytest.mark.parametrize(
    ("asked", "newest", "spoken"),
    [(1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 2), (3, 2, 2), (65535, 2, 2), (0, 1, 1)],
)
async def test_the_highest_version_that_both_speak_is_spoken(
    asked: int, newest: int, spoken: int
) -> None:
    async with hello_v2(newest) as (connection, _):
        answer = await connection.request("initialize", HELLO_V2 | {"protocolVersion": asked})
    assert answer["protocolVersion"] == spoken
    assert ("agentCapabilities" in answer) == (spoken == 1)
    assert validate_result("initialize", answer, spoken) == ()


async def test_a_version_that_nobody_speaks_is_refused_with_those_that_are() -> None:
    async with hello_v2() as (connection, _):
        with pytest.raises(RequestFailedError) as caught:
            await connection.request("initialize", HELLO_V2 | {"protocolVersion": 0})
        assert caught.value.code == UNSUPPORTED_VERSION
        assert caught.value.data == {"requested": 0, "supported": [1, 2]}
        answer = await connection.request("initialize", HELLO_V2)
    assert answer["protocolVersion"] == 2


@pytest.mark.parametrize("asked", [65536, -1, "2", 1.5, True, None])
async def test_what_is_no_version_is_refused_as_such(asked: object) -> None:
    async with hello_v2() as (connection, _):
        code = await code_of(connection, "initialize", HELLO_V2 | {"protocolVersion": asked})
    assert code == jsonrpc.INVALID_PARAMS


async def test_version_two_wants_to_know_who_asks_but_a_newer_one_may_say_it_otherwise() -> None:
    async with hello_v2() as (connection, _):
        code = await code_of(connection, "initialize", {"protocolVersion": 2})
        assert code == jsonrpc.INVALID_PARAMS
        answer = await connection.request("initialize", {"protocolVersion": 3, "info": 5})
    assert answer["protocolVersion"] == 2


async def test_a_lower_version_cannot_be_had_after_a_higher_one(cwd: Path) -> None:
    async with hello_v2() as (connection, _):
        await connection.request("initialize", HELLO_V2)
        lower: Json = {"protocolVersion": 1, "clientCapabilities": {}}
        assert await code_of(connection, "initialize", lower) == jsonrpc.INVALID_REQUEST
        assert "availableCommands" in await connection.request("session/new", {"cwd": str(cwd)})
