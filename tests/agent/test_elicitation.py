"""Asking the user by forms and pages, in both versions."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.validate import validate_params
from tests.agent.linted_client import Visit, visit

VERSIONS = pytest.mark.parametrize("version", [1, 2])


def able(version: int, *ways: str) -> dict[str, Json]:
    """Return what a client claims that can ask in these ways."""
    name = "clientCapabilities" if version == 1 else "capabilities"
    return {name: {"elicitation": {way: {} for way in ways}}}


def answering(it: Visit, answer: Json) -> list[Json]:
    """Let the client answer each question so; return the questions as they come."""
    asked: list[Json] = []
    it.visitor.answers["elicitation/create"] = answer
    it.visitor.heard["elicitation/create"] = asked
    return asked


@VERSIONS
async def test_a_form_is_filled_in(cwd: Path, version: int) -> None:
    async with visit(cwd, version, hello=able(version, "form")) as it:
        content = {"name": "Ada", "age": 36.5, "agreed": True, "colour": "red", "days": ["Monday"]}
        asked = answering(it, {"action": "accept", "content": content})
        session_id = await it.new()
        assert await it.turn(session_id, "form") == "end_turn"
        [params] = asked
        assert validate_params("elicitation/create", params, version) == ()
        assert params["mode"] == "form"
        assert params["sessionId"] == session_id
        schema = params["requestedSchema"]
        assert list(schema["properties"]) == ["name", "age", "agreed", "colour", "days"]
        assert schema["required"] == ["name", "agreed", "colour", "days"]
        assert '{"name": "Ada", "age": 36.5, "agreed": true' in it.said(session_id)
        assert it.visitor.asked == ["elicitation/create"]


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
    async with visit(cwd, version, hello=able(version, "form"), lints=False) as it:
        answering(it, answer)
        session_id = await it.new()
        assert await it.turn(session_id, "ask Which colour?: red, green") == "end_turn"
        assert told in it.said(session_id)
        if version == 2:
            states = [
                params["update"]["state"]
                for params in it.visitor.updates
                if params["update"]["sessionUpdate"] == "state_update"
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
            "name is no text; agreed is missing; colour offers no 'blue'",
        ),
    ],
)
async def test_an_answer_that_does_not_fit_is_told_as_such(
    cwd: Path, version: int, answer: Json, told: str
) -> None:
    async with visit(cwd, version, hello=able(version, "form"), lints=False) as it:
        answering(it, answer)
        session_id = await it.new()
        assert await it.turn(session_id, "form") == "end_turn"
        assert f"does not fit the form: {told}" in it.said(session_id)


@VERSIONS
async def test_a_page_is_opened_and_not_waited_for(cwd: Path, version: int) -> None:
    async with visit(cwd, version, hello=able(version, "url")) as it:
        asked = answering(it, {"action": "accept"})
        session_id = await it.new()
        await it.turn(session_id, "open https://example.org/login")
        [params] = asked
        assert validate_params("elicitation/create", params, version) == ()
        assert (params["mode"], params["url"]) == ("url", "https://example.org/login")
        done = ("elicitation/complete", {"elicitationId": params["elicitationId"]})
        assert it.visitor.told == [done]
        assert "the user agreed to open the page" in it.said(session_id)


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
    async with visit(cwd, hello=able(1, "url")) as it:
        asked = answering(it, {"action": "accept"})
        await it.turn(await it.new(), f"open {url}")
        [params] = asked
        assert params["url"] == f"https://{shown}"


async def test_a_host_that_there_cannot_be_is_not_shown(cwd: Path) -> None:
    async with visit(cwd, hello=able(1, "url")) as it:
        session_id = await it.new()
        await it.turn(session_id, "open https://" + "\u0430" * 70 + ".com")
        assert "the address names no host that there could be" in it.said(session_id)
        assert it.visitor.asked == []


@VERSIONS
async def test_a_cancelled_turn_takes_its_question_back(cwd: Path, version: int) -> None:
    async with (
        visit(cwd, version, hello=able(version, "form")) as it,
        anyio.create_task_group() as tasks,
    ):
        it.visitor.is_silent = True
        session_id = await it.new()
        stops: list[str] = []
        has_ended = anyio.Event()

        async def turn() -> None:
            stops.append(await it.turn(session_id, "ask Why?"))
            has_ended.set()

        tasks.start_soon(turn)
        await it.visitor.until(lambda: it.visitor.asked)
        await it.cancel(session_id)
        await has_ended.wait()
        await it.visitor.until(lambda: it.visitor.gave_up)
        assert stops == ["cancelled"]


@VERSIONS
async def test_a_client_that_cannot_ask_is_not_asked(cwd: Path, version: int) -> None:
    async with visit(cwd, version, hello=able(version)) as it:
        session_id = await it.new()
        await it.turn(session_id, "ask Why? then open https://example.org then tools")
        said = it.said(session_id)
        assert "Your client shows no forms." in said
        assert "Your client opens no pages." in said
        assert "- `ask_user`" not in said
        assert it.visitor.asked == []
