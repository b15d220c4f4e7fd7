"""What the services' refusals mean, with bodies as they really send them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from time import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models.anthropic import MessagesModel
from acp_agent.models.errors import INVALID, MAX_QUOTE, ServiceErrors, ServiceFailedError
from acp_agent.models.factory import ProviderModel, create_model
from acp_agent.models.http import ClientLimits
from acp_agent.settings.model import ModelSettings
from acp_agent.settings.providers import PROVIDERS
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import open_session
from tests.agent.models.provider import Answer, LocalProvider, found, providing, sse, streamed
from tests.agent.models.provider import refused as service_refused

KEY = "sk-canary-0123456789"
OLLAMA = "Ollama has no model gpt-x"


def refusals(prefix: str = "openai", key: str | None = KEY) -> ServiceErrors:
    return ServiceErrors(replace(PROVIDERS[prefix], key=key), "gpt-x")


def refused(
    status: int,
    body: Json | bytes,
    headers: Mapping[str, str] | None = None,
    *,
    prefix: str = "openai",
    key: str | None = KEY,
) -> ServiceFailedError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return refusals(prefix, key).refused(status, headers or {}, raw)


def openai_error(message: str, code: str | None = None) -> Json:
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


@pytest.mark.parametrize(
    ("prefix", "status", "body", "sentence"),
    [
        (
            "openai",
            401,
            openai_error("Wrong key: sk-ab**.", "invalid_api_key"),
            "OpenAI does not accept the key in OPENAI_API_KEY: Wrong key: sk-ab**.",
        ),
        (
            "anthropic",
            401,
            {"type": "error", "error": {"type": "authentication_error", "message": "invalid"}},
            "Anthropic does not accept the key in ANTHROPIC_API_KEY: invalid.",
        ),
        ("openai", 403, b"", "OpenAI does not allow this key to use the model gpt-x."),
        (
            "ollama",
            404,
            {"error": {"message": 'no "x"', "code": None}},
            f'{OLLAMA} at http://127.0.0.1:11434/v1: no "x". Check --model and OLLAMA_HOST.',
        ),
        ("openai", 429, b"<html>x</html>", "OpenAI limits the rate of requests."),
        (
            "anthropic",
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            "Anthropic is overloaded: Overloaded.",
        ),
        ("vllm", 500, {"detail": "CUDA"}, "vLLM failed with status 500: CUDA."),
        ("openai", 422, {"message": "No."}, "OpenAI rejected the request with status 422: No."),
        ("openai", 400, "plain", "OpenAI rejected the request with status 400: plain."),
        (
            "openrouter",
            402,
            {"error": {"message": "Insufficient credits", "code": 402}},
            "OpenRouter refuses the request for lack of credit: Insufficient credits.",
        ),
    ],
)
def test_a_refusal_becomes_a_sentence(
    prefix: str, status: int, body: Json | bytes, sentence: str
) -> None:
    assert str(refused(status, body, prefix=prefix)) == sentence


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_key_is_told_in_none_of_its_spellings(depth: int) -> None:
    key = spelled = 'sk-CANARY"1234\\5678'
    for _ in range(depth):
        spelled = json.dumps(spelled)[1:-1]
    problem = refused(400, openai_error(f"no {spelled} here"), key=key)
    assert str(problem) == "OpenAI rejected the request with status 400: no … here."


@pytest.mark.parametrize(
    ("environment", "url", "variable", "sentence"),
    [
        ({}, None, None, "OpenAI requires a key. Set OPENAI_API_KEY where the agent starts."),
        ({"OPENAI_API_KEY": KEY}, None, None, "OpenAI does not accept the key in OPENAI_API_KEY."),
        (
            {"OPENAI_API_KEY": KEY},
            "http://own",
            None,
            (
                "OpenAI requires a key. Name the variable that holds one as api_key_env, "
                "beside base_url."
            ),
        ),
        (
            {"OWN_KEY": KEY},
            "http://own",
            "OWN_KEY",
            "OpenAI does not accept the key in OWN_KEY.",
        ),
    ],
)
def test_a_key_that_is_wanted_is_brought_where_the_agent_looks_for_it(
    environment: dict[str, str], url: str | None, variable: str | None, sentence: str
) -> None:
    choice = ModelSettings(name="openai:m", base_url=url, api_key_env=variable)
    model = create_model(choice, environment)
    assert isinstance(model, ProviderModel)
    told = ServiceErrors(model.service, "m")
    assert str(told.refused(401, {}, b"")) == sentence
    address = "base_url" if url else "OPENAI_BASE_URL"
    assert str(told.error(INVALID, "x")).endswith(f"Is {address} right?")


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({}, "requires a key. The client has set its address, and has to set a header with one."),
        ({"Authorization": f"Bearer {KEY}"}, "does not accept the key that the client has set."),
    ],
)
def test_where_the_client_leads_it_brings_the_key(headers: dict[str, str], sentence: str) -> None:
    model = create_model(ModelSettings(name="openai:m"), {"OPENAI_API_KEY": "sk-of-the-user"})
    assert isinstance(model, ProviderModel)
    model.route("http://own", headers)
    told = ServiceErrors(model.service, "m")
    assert str(told.refused(401, {}, b"")) == f"OpenAI {sentence}"
    assert "the address that the client has set" in str(told.error(INVALID, "x"))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, openai_error("x", "context_length_exceeded")),
        (400, openai_error("This model's maximum context length is 4096 tokens")),
        (400, {"error": {"message": "prompt is too long: 200001 tokens > 200000 maximum"}}),
        (400, {"error": {"type": "exceed_context_size_error", "message": "the request exceeds"}}),
        (413, b""),
        (500, openai_error("input is too long for requested model")),
    ],
)
def test_a_conversation_that_is_too_long_is_told_as_that(status: int, body: Json) -> None:
    problem = refused(status, body)
    assert str(problem).startswith("The conversation is too long for gpt-x")
    assert str(problem).endswith("`/compact` makes room, or begin a new session.")
    assert not problem.is_transient


def test_who_has_used_up_what_was_paid_need_not_try_again() -> None:
    problem = refused(429, openai_error("You exceeded your quota", "insufficient_quota"))
    assert not problem.is_transient
    assert "lack of credit" in str(problem)


def test_a_key_that_is_missing_is_told_as_that() -> None:
    problem = refused(401, b"", key=None)
    assert str(problem) == "OpenAI requires a key. Set OPENAI_API_KEY where the agent starts."
    assert problem.needs_key


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}, 0.0),
        ({"retry-after": "Wed, 99 Oct 99999 07:28:00 GMT"}, None),
        ({"retry-after": f"Mon, 01 Jan 2024 00:00:00 +{'9' * 20}"}, None),
    ],
)
def test_a_service_may_say_when_to_come_again(headers: dict[str, str], wait: float | None) -> None:
    assert refused(429, b"", headers).retry_after_s == wait


def test_a_time_to_come_again_is_told_from_now() -> None:
    told = refused(429, b"", {"retry-after": formatdate(time() + 1000, usegmt=True)})
    assert told.retry_after_s is not None
    assert 900 < told.retry_after_s < 1001


@given(said=st.text(max_size=50), status=st.integers(300, 599))
def test_no_key_and_nothing_that_a_screen_obeys_is_quoted(said: str, status: int) -> None:
    message = f"{said}{KEY}\x1b[31m\u202e\n{said}"
    for body in (openai_error(message, message), message, message.encode("utf-8", "replace")):
        sentence = str(refused(status, body))
        assert KEY not in sentence
        assert not {"\x1b", "\u202e", "\n"} & set(sentence)


def test_long_words_are_cut() -> None:
    assert len(str(refused(400, openai_error("x" * 100_000)))) < 2 * MAX_QUOTE


# What a client hears, from a service that fails over real sockets.

QUICK = ClientLimits(first_delay_s=0.0, max_attempts=2)
GONE: Json = {"type": "error", "error": {"type": "not_found_error", "message": "model: x"}}
CALL: list[Json] = [
    {
        "type": "content_block_start",
        "index": 7,
        "content_block": {"type": "tool_use", "id": "a", "name": "read", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 7,
        "delta": {"type": "input_json_delta", "partial_json": '{"path": "notes.md"}'},
    },
]
CLOSED: Json = {"type": "content_block_stop", "index": 7}
CALLS_END: Json = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
STOP: Json = {"type": "message_stop"}


def words(text: str) -> list[Json]:
    delta = {"type": "text_delta", "text": text}
    return [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
    ]


def replying(*messages: Json) -> Answer:
    return streamed(sse(*messages))


def messages_at(provider: LocalProvider) -> MessagesModel:
    service = found("anthropic", provider.url)
    return MessagesModel(service, "m", ModelSettings(), limits=QUICK)


BUSY = service_refused(529, GONE)
FAULTS: list[tuple[list[Answer], int, str]] = [
    ([service_refused(401)], -32000, "does not accept the key in ANTHROPIC_API_KEY"),
    ([service_refused(403)], -32603, "does not allow this key to use the model m"),
    ([service_refused(404, GONE)], -32603, "has no model m at"),
    ([service_refused(429)] * 2, -32603, "limits the rate of requests"),
    ([service_refused(429, retry_after="900")], -32603, "retry after 900 seconds"),
    ([service_refused(500)] * 2, -32603, "failed with status 500"),
    ([service_refused(502), service_refused(503)], -32603, "is overloaded"),
    ([BUSY, BUSY], -32603, "is overloaded"),
    ([service_refused(307, location="http://127.0.0.1:9")], -32603, "redirects, status 307"),
    ([replying(*words("Well. "), *CALL)], -32603, "ended before the response was complete"),
    ([replying(*CALL, CALLS_END, STOP)] * 2, -32603, "ended before the response was complete"),
    ([streamed(b"data: {oops\n\n")], -32603, "sent an invalid response: no JSON"),
    ([replying(*words("a"), GONE)], -32603, "aborted its response: model: x"),
    ([streamed()] * 2, -32603, "ended before the response was complete"),
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("answers", "code", "sentence"), FAULTS)
async def test_a_client_is_told_what_fails_and_the_session_goes_on(
    cwd: Path, version: int, answers: list[Answer], code: int, sentence: str
) -> None:
    well = replying(*words("Fine."), STOP)
    async with (
        providing(*answers, well) as provider,
        open_session(cwd, version, model=messages_at(provider)) as session,
    ):
        if version == 1:
            with pytest.raises(RequestFailedError) as caught:
                await session.turn("hello")
            told = (caught.value.code, caught.value.message)
        else:
            assert await session.turn("hello") == "error"
            error = session.idles()[-1]["error"]
            told = (error["code"], error["message"])
        assert told[0] == code
        assert sentence in told[1]
        assert "canary" not in told[1]
        assert session.client.requested == []
        assert await session.turn("again") == "end_turn"
        assert session.text.endswith("Fine.")


async def test_two_calls_of_one_id_are_both_carried_out_and_told_apart(cwd: Path) -> None:
    twice = [*CALL, CLOSED, *CALL, CLOSED, CALLS_END, STOP]
    async with (
        providing(replying(*twice), replying(*words("Done."), STOP)) as provider,
        open_session(cwd, model=messages_at(provider)) as session,
    ):
        assert await session.turn("look twice") == "end_turn"
    sent = provider.asked[1].body["messages"]
    ids = [block["id"] for block in sent[1]["content"]]
    assert len(set(ids)) == 2
    assert [block["tool_use_id"] for block in sent[2]["content"]] == ids
    assert all("milk" in block["content"] for block in sent[2]["content"])


async def test_arguments_that_are_broken_are_told_to_the_model_which_tries_again(
    cwd: Path,
) -> None:
    cut = {"type": "content_block_delta", "index": 7, "delta": {"partial_json": "}"}}
    async with (
        providing(
            replying(*CALL, cut, CLOSED, CALLS_END, STOP), replying(*words("Sorry."), STOP)
        ) as provider,
        open_session(cwd, model=messages_at(provider)) as session,
    ):
        assert await session.turn("look") == "end_turn"
    (result,) = provider.asked[1].body["messages"][2]["content"]
    assert result["is_error"]
    assert "the arguments are no JSON" in result["content"]


@pytest.mark.parametrize("version", [1, 2])
async def test_a_paused_reply_goes_on_in_the_same_turn(cwd: Path, version: int) -> None:
    paused: Json = {"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}
    async with (
        providing(
            replying(*words("I look"), paused, STOP), replying(*words(" and see."), STOP)
        ) as provider,
        open_session(cwd, version, model=messages_at(provider)) as session,
    ):
        assert await session.turn("look") == "end_turn"
        assert session.text == "I look and see."
    sent = provider.asked[1].body["messages"]
    assert sent[1] == {"role": "assistant", "content": [{"type": "text", "text": "I look"}]}
