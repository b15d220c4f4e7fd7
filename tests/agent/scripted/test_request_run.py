"""How a message of the client is answered."""

from __future__ import annotations

import pytest

from acp_protocol.jsonrpc import Json
from tests.agent.scripted.stages import HELLO, played

OPENED: Json = {"cwd": "/project", "mcpServers": []}
CANCEL = """
[[prompt]]
steps = [{ text = "a" }, { wait = "cancel" }, { text = "b" }]
"""

REORDER_TIMEOUT_S = """
steps = [{ tool = "c", title = "t", reorder = 1 }, { tool = "c", status = "completed" }]
"""
MARKS = {"answer": '"stopReason"', "a": '"text":"a"'}
SWAPPED = """
[[prompt]]
id = "swapped"
stop = "refusal"
steps = [{ ask = "_go/one" }]
[[prompt]]
steps = [{ ask = "_go/two" }, { text = "still here" }]
"""


async def test_a_prompt_without_a_reaction_is_repeated() -> None:
    async with played("") as client:
        await client.prompt("Hi there")
    assert client.text == "You said: Hi there"


@pytest.mark.parametrize(
    ("stop", "result"),
    [
        ("'max_tokens'", {"stopReason": "max_tokens"}),
        ("'out_of_coffee'", {"stopReason": "out_of_coffee"}),
        ("false", {}),
    ],
)
async def test_a_turn_ends_as_it_is_told(stop: str, result: Json) -> None:
    async with played(f"[[prompt]]\nstop = {stop}") as client:
        assert (await client.prompt())["result"] == result


@pytest.mark.parametrize(
    ("scenario", "version", "order", "rule"),
    [
        (REORDER_TIMEOUT_S, 1, ["tool_call_update", "tool_call"], "unannounced-tool-call"),
        (REORDER_TIMEOUT_S, 2, ["completed", "pending"], "untitled-tool-call"),
        (
            "steps = [{ text = 'a', reorder = { of = 'answer' } }]",
            1,
            ["answer", "a"],
            "update-outside-turn",
        ),
        ("steps = []\nafter = [{ text = 'a' }]", 1, ["answer", "a"], "update-outside-turn"),
    ],
)
async def test_what_comes_in_another_order_is_found(
    scenario: str, version: int, order: list[str], rule: str
) -> None:
    async with played(f"[[prompt]]\n{scenario}", version=version) as client:
        await client.prompt()
    shown = client.raw.decode()
    assert sorted(order, key=lambda it: shown.rfind(MARKS.get(it, f'"{it}"'))) == order
    assert rule in client.findings


async def test_of_two_sessions_the_first_may_be_answered_last() -> None:
    async with played("[[prompt]]\nreorder = { of = 'answer' }\n[[prompt]]") as client:
        await client.ask("session/new", cwd="/project", mcpServers=[])
        first = client.begin_prompt("a", "session-1")
        second = client.begin_prompt("b", "session-2")
        await client.answer_to(first)
    answers = [each["id"] for each in client.messages if "result" in each]
    assert answers[-2:] == [second, first]
    assert client.findings == set()


async def test_two_sessions_are_answered_with_each_others_id() -> None:
    async with played(SWAPPED) as client:
        await client.ask("session/new", cwd="/project", mcpServers=[])
        first = client.begin_prompt("a", "session-1")
        second = client.begin_prompt("b", "session-2")
        pending_requests = [await client.pending(f"_go/{which}") for which in ("one", "two")]
        client.answer(pending_requests[0], {})
        assert (await client.answer_to(second))["result"]["stopReason"] == "refusal"
        client.answer(pending_requests[1], {})
        assert (await client.answer_to(first))["result"]["stopReason"] == "end_turn"
    assert client.findings == {"update-outside-turn"}


async def test_an_answer_that_finds_none_to_swap_with_has_its_id() -> None:
    async with played("[[prompt]]\nid = 'swapped'") as client:
        assert "result" in await client.prompt()


async def test_version_2_answers_first_and_ends_with_a_state() -> None:
    async with played(
        "[[prompt]]\nsteps = [{ text = 'a' }]\nstop = 'refusal'", version=2
    ) as client:
        await client.prompt("Hi")
    ack = client.messages[2]
    assert ack["result"] == {"messageId": "message-1"}
    assert client.kinds == ["user_message", "state_update", "agent_message_chunk", "state_update"]
    assert client.updates[0]["messageId"] == "message-1"
    assert client.states == ["running", "refusal"]


async def test_version_2_may_leave_out_echo_and_end() -> None:
    text = "[[prompt]]\necho = false\nstop = false\nsteps = [{ text = 'a' }]"
    async with played(text, version=2) as client:
        client.begin_prompt()
        await client.until(lambda _: client.text == "a")
    assert client.kinds == ["state_update", "agent_message_chunk"]


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("result = { a = '$session' }", {"result": {"a": "session-1"}}),
        ("result = 'null'", {"result": None}),
        ("result = [1]", {"result": [1]}),
        ("with = { b = 2 }", {"result": {"stopReason": "end_turn", "b": 2}}),
        ("error = { code = -5, message = 'no' }", {"error": {"code": -5, "message": "no"}}),
        (
            "error = { message = 'no', data = [1] }",
            {"error": {"code": -32603, "message": "no", "data": [1]}},
        ),
    ],
)
async def test_an_answer_is_what_it_is_told_to_be(key: str, answer: Json) -> None:
    async with played(f"[[prompt]]\n{key}") as client:
        fields = await client.prompt()
    assert {name: fields[name] for name in fields if name not in {"jsonrpc", "id"}} == answer


@pytest.mark.parametrize(
    ("wrong", "members"),
    [
        ("other", {"id": 987654321}),
        ("retyped", {"id": "3"}),
        ("null", {"id": None}),
        ("missing", {}),
        ("previous", {"id": 2}),
    ],
)
async def test_an_answer_may_have_a_wrong_id(wrong: str, members: Json) -> None:
    async with played(f"[[prompt]]\nid = '{wrong}'") as client:
        client.begin_prompt()
        fields = await client.until(lambda it: it.get("result") == {"stopReason": "end_turn"})
    assert {name: fields[name] for name in fields if name == "id"} == members


async def test_an_answer_may_come_twice_late_or_never() -> None:
    text = """
[[prompt]]
contains = "twice"
duplicate = 2
[[prompt]]
contains = "late"
delay = 4
[[prompt]]
contains = "never"
drop = true
after = [{ line = "over" }]
"""
    async with played(text) as client:
        await client.prompt("twice")
        assert client.lines[-1] == client.lines[-2]
        assert client.slept == []
        await client.prompt("late")
        assert client.slept == [4.0]
        never = client.begin_prompt("never")
        await client.until(lambda _: b"over" in client.lines)
        last = await client.prompt("else")
    assert never not in [each.get("id") for each in client.messages]
    assert last["result"] == {"stopReason": "end_turn"}


async def test_something_may_come_behind_the_answer() -> None:
    text = "[[prompt]]\nsteps = [{ text = 'a' }]\nafter = [{ wait = 1 }, { text = 'b' }]"
    async with played(text) as client:
        await client.prompt()
        await client.until(lambda _: client.text == "ab")
    assert client.messages[-1]["params"]["update"]["content"]["text"] == "b"


@pytest.mark.parametrize("version", [1, 2])
async def test_an_error_without_steps_refuses_the_prompt(version: int) -> None:
    async with played("[[prompt]]\nerror = { message = 'no' }", version=version) as client:
        assert (await client.prompt())["error"]["message"] == "no"
    assert client.updates == []


async def test_an_error_with_steps_ends_the_turn_of_version_2() -> None:
    text = "[[prompt]]\nerror = { message = 'no' }\nsteps = [{ text = 'a' }]"
    async with played(text, version=2) as client:
        ended = await client.prompt()
    assert client.lint == []
    assert (ended["stopReason"], ended["error"]) == ("error", {"code": -32603, "message": "no"})
    assert client.text == "a"


@pytest.mark.parametrize("version", [1, 2])
async def test_a_turn_that_is_cancelled_ends_so(version: int) -> None:
    async with played(CANCEL + "cancel = [{ text = 'c' }]", version=version) as client:
        asked = client.begin_prompt()
        await client.until(lambda _: client.text == "a")
        client.cancel()
        if version == 1:
            assert (await client.answer_to(asked))["result"] == {"stopReason": "cancelled"}
        else:
            await client.until(lambda _: client.states[-1:] == ["cancelled"])
    assert client.text == "ac"
    assert client.lint == []


@pytest.mark.parametrize("version", [1, 2])
async def test_a_turn_may_ignore_that_it_is_cancelled(version: int) -> None:
    async with played(CANCEL + "cancel = 'ignore'", version=version) as client:
        client.begin_prompt()
        await client.until(lambda _: client.text == "a")
        client.cancel()
        await client.until(lambda _: client.text == "ab")
    assert client.messages[-1].get("result") == {"stopReason": "end_turn"} or (
        client.states[-1] == "end_turn"
    )


async def test_a_cancel_right_behind_its_prompt_is_not_overheard() -> None:
    async with played("[[prompt]]\nsteps = [{ text = 'a', repeat = 1000 }]") as client:
        asked = client.begin_prompt()
        client.cancel()
        answer = await client.answer_to(asked)
    assert answer["result"] == {"stopReason": "cancelled"}
    assert client.text == ""


async def test_a_flood_is_ended_by_a_cancel() -> None:
    async with played("[[prompt]]\nsteps = [{ text = 'a', repeat = 10_000_000 }]") as client:
        asked = client.begin_prompt()
        while not client.text:
            await client.pipe.changed.wait()
        client.cancel()
        answer = await client.answer_to(asked)
    assert answer["result"] == {"stopReason": "cancelled"}


async def test_a_cancel_of_another_session_changes_nothing() -> None:
    async with played(CANCEL) as client:
        await client.ask("session/new", **OPENED)
        first = client.begin_prompt()
        second = client.begin_prompt(session="session-2")
        client.cancel("session-2")
        assert (await client.answer_to(second))["result"] == {"stopReason": "cancelled"}
        assert first not in [each.get("id") for each in client.messages]


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_a_session_that_is_closed_ends_its_turn(method: str) -> None:
    async with played(CANCEL) as client:
        asked = client.begin_prompt()
        await client.until(lambda _: client.text == "a")
        await client.ask(method, sessionId="session-1")
        assert (await client.answer_to(asked))["result"] == {"stopReason": "cancelled"}


async def test_who_resumes_a_session_of_version_2_hears_that_it_is_at_work() -> None:
    async with played(CANCEL, version=2) as client:
        client.begin_prompt()
        await client.until(lambda _: client.text == "a")
        before = len(client.states)
        await client.ask("session/resume", sessionId="session-1", **OPENED)
        assert client.states[before:] == ["running"]


async def test_a_second_prompt_is_refused_in_version_1() -> None:
    async with played(CANCEL) as client:
        asked = client.begin_prompt()
        assert (await client.prompt())["error"]["code"] == -32600
        client.cancel()
        assert (await client.answer_to(asked))["result"] == {"stopReason": "cancelled"}


async def test_a_second_prompt_is_held_in_version_2() -> None:
    async with played(CANCEL + "cancel = 'ignore'", version=2) as client:
        client.begin_prompt()
        await client.until(lambda _: client.text == "a")
        second = client.begin_prompt()
        client.cancel()
        await client.answer_to(second)
        await client.until(lambda _: client.states.count("end_turn") == 2)
    assert client.text == "abab"
    assert client.lint == []


async def test_a_held_prompt_that_is_cancelled_never_stood_anywhere() -> None:
    async with played(CANCEL, version=2) as client:
        client.begin_prompt()
        await client.until(lambda _: client.text == "a")
        second = client.begin_prompt()
        client.cancel()
        assert (await client.answer_to(second))["error"]["code"] == -32800
        await client.until(lambda _: client.states[-1:] == ["cancelled"])
    assert client.kinds.count("user_message") == 1
    assert client.lint == []


async def test_a_request_that_is_withdrawn_is_answered_with_an_error() -> None:
    async with played(CANCEL) as client:
        asked = client.begin_prompt()
        await client.until(lambda _: client.text == "a")
        client.tell("$/cancel_request", requestId=asked)
        assert (await client.answer_to(asked))["error"]["code"] == -32800
        again = client.begin_prompt()
        client.cancel()
        assert (await client.answer_to(again))["result"] == {"stopReason": "cancelled"}


@pytest.mark.parametrize(
    ("method", "params"),
    [("session/new", OPENED), ("session/list", {}), ("_own", {"a": 1})],
)
async def test_any_request_may_have_steps_before_and_behind(method: str, params: Json) -> None:
    text = f"""
[[on]]
method = "{method}"
nth = 2
steps = [{{ line = "before $id" }}]
result = {{ x = 1 }}
after = [{{ line = "behind" }}]
"""
    async with played(text) as client:
        await client.ask(method, **params)
        if method != "session/new":
            await client.ask(method, **params)
        await client.until(lambda _: b"behind" in client.lines)
    before, answer, behind = client.lines[-3:]
    assert (before.partition(b" ")[0], behind) == (b"before", b"behind")
    assert b'"result":{"x":1}' in answer


async def test_a_session_has_the_id_that_the_scenario_gives_it() -> None:
    async with played("[[on]]\nmethod = 'session/new'\nwith = { sessionId = 'mine' }") as client:
        assert "result" in await client.prompt(session="mine")
        assert (await client.prompt())["error"]["code"] == -32002


async def test_a_session_that_is_refused_does_not_exist() -> None:
    async with played("[[on]]\nmethod = 'session/new'\nerror = { message = 'no' }") as client:
        assert (await client.ask("session/list"))["result"] == {"sessions": []}


async def test_steps_of_a_load_stand_for_the_usual_replay() -> None:
    text = "[[on]]\nmethod = 'session/load'\nsteps = [{ text = 'mine' }]"
    async with played(text) as client:
        await client.prompt("Hi")
        before = len(client.updates)
        await client.ask("session/load", sessionId="session-1", **OPENED)
    assert [each["content"]["text"] for each in client.updates[before:]] == ["mine"]


async def test_a_version_that_nobody_asked_for_may_be_answered() -> None:
    text = "[[on]]\nmethod = 'initialize'\nwith = { protocolVersion = 99 }"
    async with played(text, opens=False) as client:
        answer = await client.ask("initialize", **HELLO[1])
    assert answer["result"]["protocolVersion"] == 99
    assert answer["result"]["agentInfo"]["name"] == "scripted"


async def test_what_the_client_sends_is_held_against_what_is_expected() -> None:
    text = """
[[on]]
method = "initialize"
expect = { clientCapabilities = { fs = { readTextFile = true } } }
[[on]]
method = "session/new"
expect = { cwd = "*", mcpServers = [] }
"""
    async with played(text) as client:
        pass
    assert client.shown == [
        "acp-agent: it.toml:2: on 1 (initialize): $.clientCapabilities.fs is missing"
    ]
    assert client.player.connection.has_failed
