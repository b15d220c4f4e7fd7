"""Anthropic's messages: what is asked, and what is made of the answers."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_agent.models.anthropic import LENGTH, MessagesModel, MessagesReader, conversation
from acp_agent.models.errors import ServiceErrors, ServiceFailedError
from acp_agent.models.http import ClientLimits
from acp_agent.models.types import (
    AssistantMessage,
    Continue,
    HistoryEntry,
    Image,
    ModelEvent,
    ModelFailedError,
    ProjectInstructions,
    PromptMessage,
    ProviderBlock,
    ReasoningDelta,
    Stop,
    TextDelta,
    TokenUsage,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from acp_agent.models.wire import INSTRUCTIONS, ToolNames
from acp_agent.settings.model import ModelSettings, Prices
from acp_agent.settings.providers import PROVIDERS
from acp_protocol.jsonrpc import Json
from tests.agent.models.provider import found, providing, refused, replied, sse, streamed

CACHED = {"cache_control": {"type": "ephemeral"}}
SCHEMA: Json = {"type": "object", "properties": {}}
NAMES = ToolNames([ToolSpec("re.ad", "Reads.", {})])
STOP: Json = {"type": "message_stop"}
START: Json = {
    "type": "message_start",
    "message": {
        "usage": {
            "input_tokens": 10,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20,
            "output_tokens": 1,
        }
    },
}


def block(index: int, start: Json, *deltas: Json) -> list[Json]:
    """Return the messages of a block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *pieces: str) -> list[Json]:
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(index, {"type": "text", "text": ""}, *deltas)


def thinking(index: int, *pieces: str) -> list[Json]:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    seal = {"type": "signature_delta", "signature": "seal"}
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, seal)


def call(index: int, id_: str, *pieces: str) -> list[Json]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, {"type": "tool_use", "id": id_, "name": "read", "input": {}}, *deltas)


def ended(reason: str) -> Json:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 30, "input_tokens": None},
    }


def folded(*messages: Json, options: ModelSettings | None = None) -> list[ModelEvent]:
    reading = MessagesReader(
        ServiceErrors(PROVIDERS["anthropic"], "m"), "anthropic:m", options or ModelSettings(), NAMES
    )
    events = [event for message in messages for event in reading.feed(message)]
    return events if reading.is_over else [*events, *reading.ended()]


async def test_a_reply_streams_and_the_request_is_as_the_service_wants_it() -> None:
    answer = sse(START, {"type": "ping"}, *text(0, "Grüß ", "dich 語"), ended("end_turn"), STOP)
    tool = ToolSpec("read", "Reads.", {"type": "object"})
    async with providing(streamed(answer)) as provider:
        model = MessagesModel(found("anthropic", provider.url), "claude-x", ModelSettings())
        events = await replied(model, [PromptMessage("hi")], [tool])
    assert events == [TextDelta("Grüß "), TextDelta("dich 語"), TokenUsage(130, 30, 0, 100, 20)]
    [asked] = provider.asked
    assert asked.path == "/v1/messages"
    assert asked.headers["x-api-key"] == "sk-canary-0123456789"
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in asked.headers
    assert asked.body == {
        "model": "claude-x",
        "max_tokens": LENGTH,
        "system": [{"type": "text", "text": INSTRUCTIONS, **CACHED}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **CACHED}]}],
        "stream": True,
        "tools": [{"name": "read", "description": "Reads.", "input_schema": SCHEMA}],
    }


async def test_what_the_project_tells_stands_behind_what_we_tell() -> None:
    async with providing(streamed(sse(START, ended("end_turn"), STOP))) as provider:
        model = MessagesModel(found("anthropic", provider.url), "claude-x", ModelSettings())
        await replied(model, [ProjectInstructions("Use tabs."), PromptMessage("hi")])
    body = provider.asked[0].body
    told = f"{INSTRUCTIONS}\nUse tabs."
    assert body["system"] == [{"type": "text", "text": told, **CACHED}]
    assert [message["role"] for message in body["messages"]] == ["user"]


def test_thoughts_are_shown_and_kept_sealed() -> None:
    redacted = {"type": "redacted_thinking", "data": "…"}
    events = folded(*thinking(0, "hm, ", "so"), *block(1, redacted), *text(2, "yes"), STOP)
    assert events == [
        ReasoningDelta("hm, "),
        ReasoningDelta("so"),
        ProviderBlock(
            "anthropic:m", {"type": "thinking", "thinking": "hm, so", "signature": "seal"}
        ),
        ProviderBlock("anthropic:m", redacted),
        TextDelta("yes"),
    ]


def test_parallel_calls_come_each_when_it_is_whole() -> None:
    events = folded(
        *call(0, "a", '{"path"', ': "x"}'),
        *call(1, "b"),
        *call(2, "c", "{"),
        ended("tool_use"),
        STOP,
    )
    assert events[:2] == [ToolUse("read", {"path": "x"}, "a"), ToolUse("read", {}, "b")]
    assert isinstance(events[2], ToolUse)
    assert events[2].fault is not None


def test_tools_are_called_as_the_service_takes_it() -> None:
    named: Json = {"type": "tool_use", "id": "a", "name": "re_ad", "input": {}}
    events = folded(*block(0, named), STOP)
    assert events == [ToolUse("re.ad", {}, "a")]
    history: list[HistoryEntry] = [AssistantMessage(tuple(events)), ToolResult("re.ad", "x")]
    assert conversation(history, "m", NAMES, takes_images=False)[0]["content"] == [named]


def test_what_a_reply_took_is_told_with_its_price() -> None:
    options = ModelSettings(prices=Prices(3.0, 15.0, 0.3, 3.75), window=1000)
    [used] = folded(START, ended("end_turn"), STOP, options=options)
    cost = (10 * 3 + 30 * 15 + 100 * 0.3 + 20 * 3.75) / 1e6
    assert used == TokenUsage(130, 30, 0, 100, 20, cost, 1000)


@pytest.mark.parametrize(
    ("reason", "stopped"),
    [
        ("max_tokens", "max_tokens"),
        ("model_context_window_exceeded", "max_tokens"),
        ("refusal", "refusal"),
    ],
)
def test_an_unusual_end_ends_the_turn(reason: str, stopped: Any) -> None:
    last = folded(*text(0, "a"), ended(reason), STOP)[-1]
    assert isinstance(last, Stop)
    assert last.reason == stopped
    assert last.why


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "tool_use", "new_reason", ""])
def test_any_other_end_is_a_usual_one(reason: str) -> None:
    assert folded(*text(0, "a"), ended(reason), STOP) == [TextDelta("a"), TokenUsage(0, 30)]


async def test_a_paused_reply_is_sent_back_as_it_came_and_goes_on() -> None:
    asked: Json = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    query = {"type": "input_json_delta", "partial_json": '{"query": "x"}'}
    found_: Json = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    begun = [*text(0, "I look. "), *block(1, asked, query), *block(2, found_)]
    first = sse(START, *begun, *text(3, "So \n"), ended("pause_turn"), STOP)
    second = sse(START, *text(0, "it is."), ended("end_turn"), STOP)
    async with providing(streamed(first), streamed(second)) as provider:
        model = MessagesModel(found("anthropic", provider.url), "m", ModelSettings())
        events = await replied(model, [PromptMessage("hi")])
        assert events[-1] == Continue()
        kept = tuple(event for event in events if not isinstance(event, TokenUsage | Continue))
        assert (await replied(model, [PromptMessage("hi"), AssistantMessage(kept)]))[
            0
        ] == TextDelta("it is.")
    assert provider.asked[1].body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hi", **CACHED}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look. "},
                asked | {"input": {"query": "x"}},
                found_,
                {"type": "text", "text": "So"},
            ],
        },
    ]


def test_an_answer_without_an_end_is_cut() -> None:
    with pytest.raises(ServiceFailedError, match=r"^The stream from Anthropic ended before"):
        folded(START, *text(0, "a"), ended("end_turn"))


@pytest.mark.parametrize(
    ("kind", "is_passing"), [("overloaded_error", True), ("invalid_request_error", False)]
)
def test_an_error_amid_the_stream_is_told(kind: str, is_passing: bool) -> None:
    with pytest.raises(ServiceFailedError, match=r"aborted its response: Sorry\.$") as caught:
        folded(START, {"type": "error", "error": {"type": kind, "message": "Sorry"}})
    assert caught.value.is_transient == is_passing


def test_kinds_of_messages_that_are_new_are_passed_over() -> None:
    new = {"type": "content_block_delta", "index": 0, "delta": {"type": "new_delta", "new": 1}}
    events = folded({"type": "new"}, *block(0, {"type": "new_block"}, new["delta"]), STOP)
    assert events == []


def test_the_history_becomes_messages_that_take_turns() -> None:
    seal = {"type": "thinking", "thinking": "hm", "signature": "seal"}
    replies = (
        ReasoningDelta("hm"),
        ProviderBlock("m", seal),
        TextDelta("I "),
        TextDelta("read."),
        ToolUse("read", {"path": "x"}, "a"),
        ToolUse("read", {"path": "y"}),
    )
    history: list[HistoryEntry] = [
        PromptMessage("look"),
        AssistantMessage(replies),
        ToolResult("read", "text"),
        ToolResult("read", "", is_failed=True),
        AssistantMessage(()),
        PromptMessage("again"),
    ]
    assert conversation(history, "m", NAMES, takes_images=True) == [
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {
            "role": "assistant",
            "content": [
                seal,
                {"type": "text", "text": "I read."},
                {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}},
                {"type": "tool_use", "id": "toolu_1_1", "name": "read", "input": {"path": "y"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "text"},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1_1",
                    "content": "(nothing)",
                    "is_error": True,
                },
                {"type": "text", "text": "again"},
            ],
        },
    ]
    assert seal not in conversation(history, "other", NAMES, takes_images=True)[1]["content"]


def test_thoughts_that_led_to_nothing_do_not_go_back() -> None:
    lonely = AssistantMessage(
        (ReasoningDelta("hm"), ProviderBlock("m", {"type": "thinking"}), TextDelta(" "))
    )
    history = [PromptMessage("a"), lonely, PromptMessage("b")]
    [message] = conversation(history, "m", NAMES, takes_images=True)
    assert [part["text"] for part in message["content"]] == ["a", "b"]


def test_images_go_to_who_takes_them_and_are_named_to_others() -> None:
    history = [PromptMessage("look", (), (Image("image/png", "aGk="),))]
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    [message] = conversation(history, "m", NAMES, takes_images=True)
    assert message["content"][0] == {"type": "image", "source": source}
    [message] = conversation(history, "m", NAMES, takes_images=False)
    assert [part["type"] for part in message["content"]] == ["text"]
    assert "image/png" in message["content"][0]["text"]


@pytest.mark.parametrize(
    ("thinking", "members"),
    [
        (
            "low",
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "low"},
                "max_tokens": 9,
            },
        ),
        (2000, {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 2009}),
    ],
)
async def test_wishes_are_told_in_the_words_of_the_service(
    thinking: Any, members: dict[str, Json]
) -> None:
    options = ModelSettings(thinking=thinking, max_tokens=9)
    async with providing(streamed(sse(STOP))) as provider:
        await replied(
            MessagesModel(found("anthropic", provider.url), "m", options), [PromptMessage("x")]
        )
    body = provider.asked[0].body
    assert {name: body.get(name) for name in members} == members


WHOLE: dict[str, Json] = {
    "type": "message",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "seal"},
        {"type": "text", "text": "I read."},
        {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 10, "output_tokens": 5},
}


async def test_a_reply_is_requested_and_read_as_a_whole() -> None:
    options = ModelSettings(stream=False, temperature=1.5)
    async with providing(refused(200, WHOLE, Content_Type="application/json")) as provider:
        model = MessagesModel(found("anthropic", provider.url), "m", options)
        events = await replied(model, [PromptMessage("x")])
    asked = provider.asked[0]
    assert (asked.body["stream"], asked.body["temperature"]) == (False, 1.0)
    assert asked.headers["accept"] == "application/json"
    assert [each for each in events if not isinstance(each, ProviderBlock)] == [
        ReasoningDelta("hm"),
        TextDelta("I read."),
        ToolUse("read", {"path": "a"}, "t1"),
        TokenUsage(10, 5),
    ]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"type": "error", "error": {"type": "api_error", "message": "down"}}, "down"),
        ({"what": 1}, "without a type"),
        (b"[1]", "no object"),
        (b"\xff", "UTF-8"),
    ],
)
async def test_a_whole_reply_that_is_none_fails(answer: Json, why: str) -> None:
    options = ModelSettings(stream=False)
    answers = [refused(200, answer, Content_Type="application/json")] * 2
    async with providing(*answers) as provider:
        limits = ClientLimits(max_attempts=2, first_delay_s=0.0)
        model = MessagesModel(found("anthropic", provider.url), "m", options, limits=limits)
        with pytest.raises(ModelFailedError, match=why):
            await replied(model, [PromptMessage("x")])
        provider.answers.clear()


async def test_a_model_that_thinks_gets_no_temperature() -> None:
    options = ModelSettings(temperature=0.5, thinking="low")
    async with providing(streamed(sse(STOP))) as provider:
        model = MessagesModel(found("anthropic", provider.url), "m", options)
        await replied(model, [PromptMessage("x")])
    assert "temperature" not in provider.asked[0].body


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)
kinds = st.sampled_from(
    [
        *("content_block_start", "content_block_delta", "content_block_stop", "message_start"),
        *("message_delta", "message_stop", "error", "ping"),
    ]
)


@st.composite
def oddities(draw: st.DrawFn) -> Json:
    names = ["index", "content_block", "delta", "message", "usage"]
    inner = st.sampled_from(["text", "thinking", "tool_use", "redacted_thinking"])
    parts = st.dictionaries(st.sampled_from(["text", "input", "id", "signature"]), json_values)
    odd = json_values | parts.map(lambda part: {"type": draw(inner), **part})
    message = draw(st.dictionaries(st.sampled_from(names), odd, max_size=5))
    return {"index": 0, "type": draw(kinds), **message}


@settings(deadline=None)
@given(messages=st.lists(oddities(), max_size=8))
def test_whatever_comes_is_read_or_refused(messages: list[Json]) -> None:
    with suppress(ModelFailedError):
        folded(*messages)
