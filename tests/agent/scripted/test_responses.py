"""What a good agent answers, where a scenario says nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.validate import validate_result
from tests.agent.scripted.stages import HELLO, Client, played

CARD = """
[agent]
name = "it"
modes = ["ask", "code"]
commands = { go = "Go on" }
options = [{ id = "model", configId = "model", name = "Model", type = "select", currentValue = "a",
  options = [{ value = "a", name = "A" }, { value = "b", name = "B" }] }]
auth = [{ id = "key", name = "A key" }]
page = 2
capabilities = { _meta = { own = true } }
[[session]]
id = "old"
title = "Old"
cwd = "/project"
updated_at = "2026-01-05T09:00:00Z"
steps = [{ user = "Hi" }, { text = "Hello." }]
[[session]]
id = "older"
cwd = "/elsewhere"
""".replace("\n  options", " options")
OPENED: Json = {"cwd": "/project", "mcpServers": []}


def code(answer: Json) -> int:
    return answer["error"]["code"]


async def fitting(client: Client, method: str, **params: Any) -> Json:
    """Ask, and return the result, which fits its shape."""
    answer = await client.ask(method, **params)
    assert validate_result(method, answer["result"], client.player.connection.version) == ()
    return answer["result"]


@pytest.mark.parametrize("version", [1, 2])
async def test_all_it_answers_fits_its_shape(version: int) -> None:
    opening = {"sessionId": "old", **OPENED}
    async with played(CARD, version=version) as client:
        hello = await fitting(client, "initialize", **HELLO[version])
        login = "authenticate" if version == 1 else "auth/login"
        assert await fitting(client, login, methodId="key") == {}
        new = await fitting(client, "session/new", **OPENED)
        assert await fitting(client, "session/resume", **opening) is not None
        listed = await fitting(client, "session/list")
        chosen = await fitting(
            client,
            "session/set_config_option",
            sessionId="old",
            configId="model",
            value="b",
            **({} if version == 1 else {"type": "id"}),
        )
        assert await fitting(client, "session/close", sessionId="old") == {}
        assert await fitting(client, "session/delete", sessionId="older") == {}
        assert await fitting(client, "logout" if version == 1 else "auth/logout") == {}
    assert client.lint == []
    assert hello["protocolVersion"] == version
    assert hello["agentInfo" if version == 1 else "info"]["name"] == "it"
    assert hello["agentCapabilities" if version == 1 else "capabilities"]["_meta"] == {"own": True}
    assert new["sessionId"] == "session-2"
    assert [each["sessionId"] for each in listed["sessions"]] == ["old", "older"]
    assert chosen["configOptions"][-1]["currentValue"] == "b"


async def test_sessions_are_listed_page_by_page_and_by_directory() -> None:
    async with played(CARD) as client:
        first = await fitting(client, "session/list")
        second = await fitting(client, "session/list", cursor=first["nextCursor"])
        here = await fitting(client, "session/list", cwd="/project")
        strange = await fitting(client, "session/list", cursor="what?")
    assert [each["sessionId"] for each in second["sessions"]] == ["session-1"]
    assert "nextCursor" not in second
    assert [each["sessionId"] for each in here["sessions"]] == ["old", "session-1"]
    assert strange == first


async def test_a_saved_session_is_where_the_agent_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with played("[[session]]\nid = 'old'") as client:
        listed = await fitting(client, "session/list", cwd=str(tmp_path))
    assert [each["sessionId"] for each in listed["sessions"]] == ["old"]


async def test_a_session_is_told_again_as_it_was() -> None:
    text = CARD + '[[prompt]]\nsteps = [{ text = "Yes.", pieces = 2 }, { tool = "c" }]\n'
    async with played(text) as client:
        await client.prompt("Really?")
        before = len(client.updates)
        await fitting(client, "session/load", sessionId="session-1", **OPENED)
        again = client.updates[before:]
        await fitting(client, "session/load", sessionId="old", **OPENED)
        old = client.updates[before + len(again) :]
    shown = [(each["sessionUpdate"], each.get("content", {}).get("text")) for each in again[:4]]
    assert shown == [
        ("user_message_chunk", "Really?"),
        ("agent_message_chunk", "Ye"),
        ("agent_message_chunk", "s."),
        ("tool_call", None),
    ]
    assert [each["content"]["text"] for each in old if "content" in each] == ["Hi", "Hello."]
    assert client.lint == []


SAVED = """
[[session]]
id = "old"
cwd = "/project"
steps = [{ user = "Hi" }, { text = "Hello." }, { tool = "c" }, { terminal = "t", tool = "c" }]
[[prompt]]
steps = [{ text = "More." }, { tool = "c", status = "completed" }]
"""


@pytest.mark.parametrize(
    ("version", "method", "more"),
    [(1, "session/load", {}), (2, "session/resume", {"replayFrom": {"type": "start"}})],
)
async def test_a_session_that_is_opened_twice_is_told_the_same_twice(
    version: int, method: str, more: Json
) -> None:
    async with played(SAVED, version=version) as client:
        fields: list[list[Json]] = []
        for number in range(3):
            before = len(client.updates)
            await fitting(client, method, sessionId="old", **OPENED, **more)
            fields.append([each for each in client.updates[before:] if "state" not in each])
            if number == 1:
                await client.prompt("Go on", "old")
    saved = fields[0]
    assert fields[1] == saved
    assert fields[2][: len(saved)] == saved
    assert [each["sessionUpdate"] for each in fields[2][len(saved) :]][-1] == "tool_call_update"
    ids = [each.get("messageId") for each in fields[2] if "messageId" in each]
    assert len(set(ids)) == (4 if version == 2 else 0)
    assert client.lint == []


@pytest.mark.parametrize("start", [None, {"type": "start"}])
async def test_version_2_tells_again_what_it_is_asked_for_and_its_state_always(start: Json) -> None:
    async with played(CARD, version=2) as client:
        more = {} if start is None else {"replayFrom": start}
        await fitting(client, "session/resume", sessionId="old", **OPENED, **more)
    kinds = ["user_message_chunk", "agent_message_chunk"] if start else []
    assert client.kinds == [*kinds, "state_update"]


@pytest.mark.parametrize("version", [1, 2])
async def test_a_mode_is_chosen(version: int) -> None:
    async with played(CARD, version=version) as client:
        if version == 1:
            await fitting(client, "session/set_mode", sessionId="session-1", modeId="code")
            wrong = await client.ask("session/set_mode", sessionId="session-1", modeId="fast")
        else:
            mode = {"sessionId": "session-1", "configId": "mode", "type": "id"}
            chosen = await fitting(client, "session/set_config_option", value="code", **mode)
            assert chosen["configOptions"][0]["currentValue"] == "code"
            mode["configId"] = "speed"
            wrong = await client.ask("session/set_config_option", value="x", **mode)
        assert client.player.connection.sessions["session-1"].mode == "code"
    assert code(wrong) == -32602


async def test_commands_are_told_behind_the_answer_in_version_1_and_in_it_in_version_2() -> None:
    async with played(CARD) as client:
        await client.until(lambda _: client.kinds)
    assert client.kinds == ["available_commands_update"]
    async with played(CARD, version=2) as client:
        pass
    assert client.kinds == []
    assert client.messages[1]["result"]["availableCommands"][0]["name"] == "go"


async def test_who_has_not_logged_in_has_no_session() -> None:
    text = '[agent]\nwants_login = true\nauth = [{ id = "key", name = "A key" }]\n'
    async with played(text) as client:
        assert code(client.messages[1]) == -32000
        assert code(await client.ask("authenticate", methodId="lock")) == -32602
        await fitting(client, "authenticate", methodId="key")
        await fitting(client, "session/new", **OPENED)
        await fitting(client, "logout")
        assert code(await client.ask("session/new", **OPENED)) == -32000


@pytest.mark.parametrize(
    ("method", "params", "number"),
    [
        ("session/prompt", {"sessionId": "nobody", "prompt": []}, -32002),
        ("session/prompt", {"sessionId": 5, "prompt": []}, -32602),
        ("session/prompt", {"sessionId": "session-1"}, -32602),
        ("session/load", {"sessionId": "nobody", "cwd": "/", "mcpServers": []}, -32002),
        ("session/new", {}, -32602),
        ("session/close", {"sessionId": "nobody"}, -32002),
        ("session/fork", {"sessionId": "session-1", "cwd": "/", "mcpServers": []}, -32601),
        ("auth/login", {"methodId": "key"}, -32601),
        ("what/ever", {}, -32601),
        ("initialize", {"protocolVersion": "1"}, -32602),
        ("initialize", {}, -32602),
    ],
)
async def test_what_makes_no_sense_is_refused(method: str, params: Any, number: int) -> None:
    async with played("") as client:
        assert code(await client.ask(method, **params)) == number
        assert (await client.prompt("on"))["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize(
    ("method", "part"), [("tool_call/cancel", "toolCallId"), ("terminal/cancel", "terminalId")]
)
async def test_version_2_ends_no_part_by_itself(method: str, part: str) -> None:
    async with played("", version=2) as client:
        answer = await client.ask(method, **{"sessionId": "session-1", part: "a"})
    assert code(answer) == -32602


async def test_params_are_not_looked_at_where_that_is_not_wanted() -> None:
    async with played("[agent]\nstrict = false") as client:
        assert "result" in await client.ask("session/new")


async def test_initialize_is_the_first() -> None:
    async with played("", opens=False) as client:
        assert code(await client.ask("session/list")) == -32600


@pytest.mark.parametrize(
    ("newest", "asked", "agreed"),
    [(1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 2, 2), (2, 7, 2), (2, 0, 1)],
)
async def test_a_version_is_agreed_on(newest: int, asked: int, agreed: int) -> None:
    async with played(f"protocol = {newest}", opens=False) as client:
        answer = await client.ask("initialize", **(HELLO[2] | {"protocolVersion": asked}))
    assert answer["result"]["protocolVersion"] == agreed


async def test_a_session_that_is_closed_is_not_spoken_in() -> None:
    async with played("") as client:
        await fitting(client, "session/close", sessionId="session-1")
        assert code(await client.prompt()) == -32002
        await fitting(client, "session/resume", sessionId="session-1", **OPENED)
        assert "result" in await client.prompt()
