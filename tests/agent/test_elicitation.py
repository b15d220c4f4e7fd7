"""Asking the user by forms and pages, in both versions."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.validate import validate_params
from tests.agent.client import SILENCE, connected, open_session

VERSIONS = pytest.mark.parametrize("version", [1, 2])


def able(*ways: str) -> Json:
    """Return the capabilities of a client that can ask in these ways."""
    return {"elicitation": {way: dict[str, Json]() for way in ways}}


@VERSIONS
async def test_a_form_is_filled_in(cwd: Path, version: int) -> None:
    async with connected(cwd, version, capabilities=able("form")) as it:
        content = {"name": "Ada", "age": 36.5, "agreed": True, "colour": "red", "days": ["Monday"]}
        it.answers["elicitation/create"] = {"action": "accept", "content": content}
        session = await it.new()
        assert await session.turn("form") == "end_turn"
        [params] = [each.params for each in it.requests]
        assert validate_params("elicitation/create", params, version) == ()
        assert params["mode"] == "form"
        assert params["sessionId"] == session.id
        schema = params["requestedSchema"]
        assert list(schema["properties"]) == ["name", "age", "agreed", "colour", "days"]
        assert schema["required"] == ["name", "agreed", "colour", "days"]
        assert '{"name": "Ada", "age": 36.5, "agreed": true' in session.text
        assert it.requested == ["elicitation/create"]


@VERSIONS
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"action": "decline"}, "the user declined to answer"),
        ({"action": "cancel"}, "the user dismissed the form"),
        ({"action": "_later"}, "the user dismissed the form"),
        (RequestFailedError(jsonrpc.INTERNAL_ERROR, "no\x1b screen"), "could not ask: no␛ screen"),
    ],
)
async def test_a_question_without_an_answer_is_told_to_the_model(
    cwd: Path, version: int, answer: Json, told: str
) -> None:
    async with connected(cwd, version, capabilities=able("form"), lints=False) as it:
        it.answers["elicitation/create"] = answer
        session = await it.new()
        assert await session.turn("ask Which colour?: red, green") == "end_turn"
        assert told in session.text
        if version == 2:
            states = [
                update["state"]
                for update in it.updates
                if update["sessionUpdate"] == "state_update"
            ]
            assert states == ["running", "requires_action", "running", "idle"]


@VERSIONS
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"action": "accept"}, "name is missing; agreed is missing; colour is missing"),
        ({"action": "accept", "content": None}, "name is missing"),
        (
            {"action": "accept", "content": {"name": 5, "colour": "blue", "days": []}},
            "name is not text; agreed is missing; colour does not offer 'blue'",
        ),
    ],
)
async def test_an_answer_that_does_not_fit_is_told_as_such(
    cwd: Path, version: int, answer: Json, told: str
) -> None:
    async with connected(cwd, version, capabilities=able("form"), lints=False) as it:
        it.answers["elicitation/create"] = answer
        session = await it.new()
        assert await session.turn("form") == "end_turn"
        assert f"does not fit the form: {told}" in session.text


@VERSIONS
async def test_a_page_is_opened_and_not_waited_for(cwd: Path, version: int) -> None:
    async with connected(cwd, version, capabilities=able("url")) as it:
        it.answers["elicitation/create"] = {"action": "accept"}
        session = await it.new()
        await session.turn("open https://example.org/login")
        [params] = [each.params for each in it.requests]
        assert validate_params("elicitation/create", params, version) == ()
        assert (params["mode"], params["url"]) == ("url", "https://example.org/login")
        [done] = [each for each in it.notifications if each.method == "elicitation/complete"]
        assert done.params == {"elicitationId": params["elicitationId"]}
        assert "the user agreed to open the page" in session.text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ex\u0430mple.com:8443/a?b=\u0430#c", "xn--exmple-4nf.com:8443/a?b=\u0430#c"),
        ("https://ex%D0%B0mple.com/%D0%B0", "xn--exmple-4nf.com/%D0%B0"),
        ("https://b\u00fccher.example", "xn--bcher-kva.example"),
        ("https://[::1]:8443/\u0430", "[::1]:8443/\u0430"),
    ],
)
async def test_a_host_is_shown_in_letters_that_are_no_others(
    cwd: Path, url: str, shown: str
) -> None:
    async with connected(cwd, capabilities=able("url")) as it:
        it.answers["elicitation/create"] = {"action": "accept"}
        await (await it.new()).turn(f"open {url}")
        [params] = [each.params for each in it.requests]
        assert params["url"] == f"https://{shown}"


async def test_a_host_that_there_cannot_be_is_not_shown(cwd: Path) -> None:
    async with open_session(cwd, capabilities=able("url")) as session:
        await session.turn("open https://" + "\u0430" * 70 + ".com")
        assert "the address names no host that there could be" in session.text
        assert session.client.requested == []


@VERSIONS
async def test_a_cancelled_turn_takes_its_question_back(cwd: Path, version: int) -> None:
    async with (
        connected(cwd, version, capabilities=able("form")) as it,
        anyio.create_task_group() as tasks,
    ):
        it.answers["elicitation/create"] = SILENCE
        session = await it.new()
        stops: list[str] = []
        has_ended = anyio.Event()

        async def turn() -> None:
            stops.append(await session.turn("ask Why?"))
            has_ended.set()

        tasks.start_soon(turn)
        await it.until(lambda: it.requested)
        await session.cancel()
        await has_ended.wait()
        await it.until(lambda: it.cancelled)
        assert stops == ["cancelled"]


@VERSIONS
async def test_a_client_that_cannot_ask_is_not_asked(cwd: Path, version: int) -> None:
    async with open_session(cwd, version, capabilities=able()) as session:
        await session.turn("ask Why? then open https://example.org then tools")
        said = session.text
        assert "Your client can't show forms." in said
        assert "Your client can't open pages." in said
        assert "- `ask_user`" not in said
        assert session.client.requested == []
