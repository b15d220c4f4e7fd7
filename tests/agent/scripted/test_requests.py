"""What a step asks the client."""

from __future__ import annotations

import pytest

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.validate import validate_params
from tests.agent.scripted.stages import Client, played, steps

CONSENT = """
[[prompt]]
[[prompt.steps]]
permission = "c1"
title = "Delete all"
kind = "delete"
options = ["allow_once", "reject_once", { optionId = "odd", name = "Odd", kind = "allow_always" }]
allowed = [{ text = "allowed" }]
rejected = [{ text = "rejected" }]
cancelled = [{ text = "cancelled" }]
failed = [{ text = "failed" }]
chosen = { odd = [{ text = "odd, " }] }
"""
OFFERS: Json = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "elicitation": {"form": {}},
}
CONSENTS = "session/request_permission"


def selected(option: str) -> Json:
    return {"outcome": {"outcome": "selected", "optionId": option}}


async def answered(client: Client, method: str, result: Json) -> Json:
    """Say something, answer a question about it, and return the question."""
    asked = client.begin_prompt()
    pending = await client.pending(method)
    client.answer(pending, result)
    if client.player.connection.version == 1:
        await client.answer_to(asked)
    else:
        await client.until(lambda _: client.states[-1:] == ["end_turn"])
    return pending


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (selected("allow_once"), "allowed"),
        (selected("reject_once"), "rejected"),
        (selected("odd"), "odd, allowed"),
        (selected("stranger"), "failed"),
        ({"outcome": {"outcome": "cancelled"}}, "cancelled"),
        ({"outcome": {"outcome": "postponed"}}, "failed"),
        ({"outcome": "selected"}, "failed"),
        ([], "failed"),
        (None, "failed"),
    ],
)
async def test_it_goes_on_by_what_was_chosen(version: int, result: Json, shown: str) -> None:
    async with played(CONSENT, version=version) as client:
        pending = await answered(client, CONSENTS, result)
    assert client.text == shown
    assert client.lint == [] or shown == "failed"
    assert validate_params(CONSENTS, pending["params"], version) == ()


async def test_an_error_is_no_consent() -> None:
    async with played(CONSENT) as client:
        asked = client.begin_prompt()
        pending = await client.pending(CONSENTS)
        client.send({"jsonrpc": "2.0", "id": pending["id"], "error": {"code": 1, "message": "no"}})
        await client.answer_to(asked)
    assert client.text == "failed"


async def test_a_call_that_was_not_told_before_is_told_with_the_question() -> None:
    async with played(CONSENT) as client:
        await answered(client, CONSENTS, selected("allow_once"))
    call = client.updates[0]
    assert (call["sessionUpdate"], call["title"], call["kind"]) == (
        "tool_call",
        "Delete all",
        "delete",
    )


async def test_version_2_tells_that_it_waits_for_the_user() -> None:
    async with played(CONSENT, version=2) as client:
        await answered(client, CONSENTS, selected("allow_once"))
    assert client.states == ["running", "requires_action", "running", "end_turn"]


async def test_what_the_client_does_not_offer_is_not_asked() -> None:
    text = steps(
        "{ read = '/a', failed = [{ text = '1' }] }",
        "{ write = '/a', failed = [{ text = '2' }] }",
        "{ run = 'ls', failed = [{ text = '3' }] }",
        "{ elicit = 'who?', failed = [{ text = '4' }] }",
    )
    for version in (1, 2):
        async with played(text, version=version) as client:
            await client.prompt()
        assert client.text == "1234"
        assert [each for each in client.messages if "id" in each and "method" in each] == []
        assert (
            "it.toml:3: prompt 1, step 1: not asked, the client has no fs.readTextFile"
            in client.shown[0]
        )


async def test_it_is_asked_all_the_same_where_that_is_forced() -> None:
    async with played(steps("{ read = '/a', force = true }")) as client:
        await answered(client, "fs/read_text_file", {"content": "x"})


async def test_a_file_is_read_and_its_content_told() -> None:
    text = steps(
        "{ read = '$cwd/a', line = 2, limit = 3, answered = [{ text = '$answer.content' }] }"
    )
    async with played(text, offers=OFFERS) as client:
        pending = await answered(client, "fs/read_text_file", {"content": "milk"})
    assert pending["params"] == {
        "sessionId": "session-1",
        "path": "/project/a",
        "line": 2,
        "limit": 3,
    }
    assert client.text == "milk"
    assert not client.player.connection.has_failed


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ({"content": "oat milk"}, "step 1: $.content is 'oat milk', not 'milk'"),
        ({}, "step 1: $.content is missing"),
    ],
)
async def test_an_answer_that_is_not_as_expected_is_told_and_noted(
    result: Json, sentence: str
) -> None:
    text = steps("{ read = '/a', expect = { content = 'milk' } }", "{ text = 'on' }")
    async with played(text, offers=OFFERS) as client:
        await answered(client, "fs/read_text_file", result)
    assert client.shown == [f"acp-agent: it.toml:3: prompt 1, {sentence}"]
    assert client.player.connection.has_failed
    assert client.text == "on"


@pytest.mark.parametrize("branch", ["", ", failed = []"])
async def test_an_error_is_not_as_expected_unless_there_is_a_branch_for_it(branch: str) -> None:
    text = steps(f"{{ read = '/a', expect = {{ content = 'milk' }}{branch} }}")
    async with played(text, offers=OFFERS) as client:
        asked = client.begin_prompt()
        pending = await client.pending("fs/read_text_file")
        client.send({"jsonrpc": "2.0", "id": pending["id"], "error": {"code": 1, "message": "no"}})
        await client.answer_to(asked)
    assert client.player.connection.has_failed is not bool(branch)


async def test_a_command_is_run_to_its_end_and_its_terminal_let_go() -> None:
    text = steps(
        "{ tool = 'c1', title = 'Run' }",
        "{ run = ['echo', 'a'], tool = 'c1', expect = { output = 'a' },"
        " answered = [{ text = '$answer.output' }] }",
    )
    async with played(text, offers=OFFERS) as client:
        asked = client.begin_prompt()
        for method, result in {
            "terminal/create": {"terminalId": "t1"},
            "terminal/wait_for_exit": {"exitCode": 0},
            "terminal/output": {"output": "a", "truncated": False},
            "terminal/release": {},
        }.items():
            pending = await client.pending(method)
            assert validate_params(method, pending["params"]) == ()
            client.answer(pending, result)
        await client.answer_to(asked)
    assert client.text == "a"
    assert client.updates[1]["content"] == [{"type": "terminal", "terminalId": "t1"}]


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ({"action": "accept", "content": {"name": "Ada"}}, "Hello, Ada."),
        ({"action": "decline"}, "declined"),
        ({"action": "cancel"}, "cancelled"),
        ({"action": "shrug"}, "failed"),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
async def test_a_form_goes_on_by_what_the_user_did(version: int, result: Json, shown: str) -> None:
    text = steps(
        "{ elicit = 'Who?', schema = { properties = { name = { type = 'string' } } },"
        " accepted = [{ text = 'Hello, $answer.content.name.' }],"
        " declined = [{ text = 'declined' }], cancelled = [{ text = 'cancelled' }],"
        " failed = [{ text = 'failed' }] }"
    )
    async with played(text, version=version, offers=OFFERS) as client:
        pending = await answered(client, "elicitation/create", result)
    assert validate_params("elicitation/create", pending["params"], version) == ()
    assert client.text == shown


async def test_an_address_is_shown_to_who_can_visit_it() -> None:
    text = steps("{ elicit = 'Log in', url = 'https://example.org', name = 'e1' }")
    async with played(text, offers={"elicitation": {"url": {}}}) as client:
        pending = await answered(client, "elicitation/create", {"action": "accept"})
    assert validate_params("elicitation/create", pending["params"]) == ()
    assert (pending["params"]["mode"], pending["params"]["elicitationId"]) == ("url", "e1")


async def test_anything_can_be_asked() -> None:
    how = "params = { a = '$prompt' }, id = 'q', answered = [{ text = '$answer' }]"
    text = steps(f"{{ ask = '_own/thing', {how} }}")
    async with played(text) as client:
        pending = await answered(client, "_own/thing", [1, 2])
    assert (pending["id"], pending["params"]) == ("q", {"a": "hello"})
    assert client.text == "[1, 2]"


async def test_two_questions_may_have_one_id_and_are_answered_in_turn() -> None:
    text = steps("{ ask = '_a', id = 'q', await = false }", "{ ask = '_b', id = 'q' }")
    async with played(text) as client:
        asked = client.begin_prompt()
        first, second = await client.pending("_a"), await client.pending("_b")
        assert first["id"] == second["id"] == "q"
        client.answer(first, 1)
        client.answer(second, 2)
        await client.answer_to(asked)
    assert client.shown == []


async def test_an_answer_that_comes_twice_is_told() -> None:
    async with played(steps("{ ask = '_a' }")) as client:
        pending = await answered(client, "_a", 1)
        client.answer(pending, 2)
    assert client.shown == ["acp-agent: an answer to nothing that was asked, id 1"]


async def test_a_question_is_not_answered_by_a_client_that_has_left() -> None:
    async with played(CONSENT) as client:
        client.begin_prompt()
        await client.pending(CONSENTS)
    assert client.text == "failed"
    assert client.messages[-1]["result"] == {"stopReason": "end_turn"}


async def test_version_1_waits_for_the_answers_of_a_client_that_cancels() -> None:
    async with played(CONSENT) as client:
        asked = client.begin_prompt()
        pending = await client.pending(CONSENTS)
        client.cancel()
        client.answer(pending, {"outcome": {"outcome": "cancelled"}})
        answer = await client.answer_to(asked)
    assert (answer["result"], client.text, client.shown) == ({"stopReason": "cancelled"}, "", [])
    assert client.lint == []


async def test_version_2_takes_its_questions_back() -> None:
    async with played(CONSENT, version=2) as client:
        client.begin_prompt()
        pending = await client.pending(CONSENTS)
        client.cancel()
        back = await client.until(lambda it: it.get("method") == "$/cancel_request")
        client.answer(pending, {"outcome": {"outcome": "cancelled"}})
        await client.until(lambda _: client.states[-1:] == ["cancelled"])
    assert back["params"] == {"requestId": pending["id"]}
    assert client.lint == []
