"""Chat completions: what is asked, and what is made of the answers."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models.errors import ServiceErrors, ServiceFailedError
from acp_agent.models.http import ClientLimits
from acp_agent.models.openai import FILTERED, TOO_LONG, ChatModel, ChatReader, conversation
from acp_agent.models.types import (
    AssistantMessage,
    Attachment,
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

READ = ToolSpec("read", "Reads.", {"type": "object"})
NONE = ModelSettings()
NAMES = ToolNames([READ, ToolSpec("git.hub__find", "Finds.", {})])


def chunk(reason: str | None = None, **delta: Json) -> dict[str, Json]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def piece(index: int | None, arguments: Json, **members: Json) -> dict[str, Json]:
    """Return a chunk with a piece of a tool call."""
    function = {"arguments": arguments} | (
        {"name": members.pop("name")} if "name" in members else {}
    )
    place = {} if index is None else {"index": index}
    return chunk(tool_calls=[{**place, "function": function, **members}])


def reader(options: ModelSettings = NONE) -> ChatReader:
    return ChatReader(ServiceErrors(PROVIDERS["openai"], "m"), "openai:m", options, NAMES)


def folded(*messages: Json, options: ModelSettings = NONE) -> list[ModelEvent]:
    reading = reader(options)
    return [event for message in messages for event in reading.feed(message)] + [*reading.ended()]


async def test_a_reply_streams_and_the_request_is_as_the_service_wants_it() -> None:
    answer = sse(
        chunk(role="assistant", content=""),
        chunk(content="Grüß "),
        chunk(content="dich 語"),
        chunk("stop"),
        {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 4}},
        done=True,
    )
    async with providing(streamed(answer)) as provider:
        model = ChatModel(found("openai", provider.url), "gpt-x", NONE)
        events = await replied(model, [PromptMessage("hi")], [READ])
    assert events == [TextDelta("Grüß "), TextDelta("dich 語"), TokenUsage(10, 4)]
    [asked] = provider.asked
    assert asked.path == "/chat/completions"
    assert asked.headers["authorization"] == "Bearer sk-canary-0123456789"
    assert asked.body == {
        "model": "gpt-x",
        "messages": [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": "hi"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read",
                    "description": "Reads.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
    }


async def test_what_the_project_tells_stands_behind_what_we_tell() -> None:
    async with providing(streamed(sse(chunk("stop"), done=True))) as provider:
        model = ChatModel(found("openai", provider.url), "gpt-x", NONE)
        await replied(model, [ProjectInstructions("Use tabs."), PromptMessage("hi")])
    assert provider.asked[0].body["messages"] == [
        {"role": "system", "content": f"{INSTRUCTIONS}\nUse tabs."},
        {"role": "user", "content": "hi"},
    ]


async def test_without_a_key_none_is_sent() -> None:
    async with providing(streamed(sse(chunk("stop"), done=True))) as provider:
        await replied(
            ChatModel(found("ollama", provider.url, None), "m", NONE), [PromptMessage("hi")]
        )
    assert "authorization" not in provider.asked[0].headers


def test_parallel_calls_are_put_together_from_their_pieces() -> None:
    events = folded(
        piece(0, "", id="a", name="read"),
        piece(1, '{"path":', id="b", name="write"),
        piece(0, '{"path"'),
        piece(1, ' "y"}'),
        piece(0, ': "x"}'),
        chunk("tool_calls"),
    )
    assert events == [ToolUse("read", {"path": "x"}, "a"), ToolUse("write", {"path": "y"}, "b")]


def test_a_count_of_calls_may_have_gaps_and_their_ids_may_be_one() -> None:
    events = folded(
        piece(3, '{"a":', id="x", name="read"),
        piece(9, "", id="x", name="read"),
        piece(3, "1}"),
        chunk("tool_calls"),
    )
    assert events == [ToolUse("read", {"a": 1}, "x"), ToolUse("read", {}, "x")]
    called, *_ = conversation([AssistantMessage(tuple(events))], "m", NAMES, takes_images=False)
    assert [call["id"] for call in called["tool_calls"]] == ["x", "call_0_1"]


def test_calls_without_a_count_are_told_apart_by_their_ids() -> None:
    for index in (0, None):
        events = folded(
            piece(index, '{"path": "x"}', id="a", name="read"),
            piece(index, '{"path": "y"}', id="b", name="read"),
            chunk("stop"),
        )
        assert [event.id for event in events if isinstance(event, ToolUse)] == ["a", "b"]


def test_tools_are_called_as_the_service_takes_it() -> None:
    events = folded(piece(0, "", id="a", name="git_hub__find"), chunk("tool_calls"))
    assert events == [ToolUse("git.hub__find", {}, "a")]
    history: list[HistoryEntry] = [
        AssistantMessage(tuple(events)),
        ToolResult("git.hub__find", "x"),
    ]
    message = conversation(history, "m", NAMES, takes_images=False)[0]
    assert message["tool_calls"][0]["function"]["name"] == "git_hub__find"


def test_arguments_may_come_as_an_object_or_not_at_all() -> None:
    events = folded(
        piece(0, {"path": "x"}, name="read"), piece(1, "", name="list"), chunk("tool_calls")
    )
    assert events == [ToolUse("read", {"path": "x"}), ToolUse("list", {})]


@pytest.mark.parametrize("member", ["reasoning_content", "reasoning"])
def test_thoughts_are_told_apart_and_go_back_with_the_results_of_calls(member: str) -> None:
    thoughts: list[dict[str, Json]] = [chunk(**{member: "hm, "}), chunk(**{member: "so"})]
    assert folded(*thoughts, chunk("stop", content="yes")) == [
        ReasoningDelta("hm, "),
        ReasoningDelta("so"),
        TextDelta("yes"),
    ]
    events = folded(*thoughts, piece(0, "", id="a", name="list"), chunk("tool_calls"))
    assert events[2:] == [ProviderBlock("openai:m", {member: "hm, so"}), ToolUse("list", {}, "a")]
    history: list[HistoryEntry] = [
        PromptMessage("go"),
        AssistantMessage(tuple(events)),
        ToolResult("list", "x"),
    ]
    assert conversation(history, "openai:m", NAMES, takes_images=False)[1][member] == "hm, so"
    assert member not in conversation(history, "openai:other", NAMES, takes_images=False)[1]


def test_what_a_reply_took_is_told_with_its_price() -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 600},
        "completion_tokens_details": {"reasoning_tokens": 40},
    }
    options = ModelSettings(prices=Prices(2.0, 10.0, cached_read=0.5), window=8000)
    [used] = folded(chunk("stop"), {"choices": [], "usage": usage}, options=options)
    assert used == TokenUsage(1000, 100, 40, 600, 0, (400 * 2 + 100 * 10 + 600 * 0.5) / 1e6, 8000)
    [told] = folded(chunk("stop"), {"choices": [], "usage": {**usage, "cost": 7}}, options=options)
    assert isinstance(told, TokenUsage)
    assert told.cost == 7


@pytest.mark.parametrize(
    ("last", "stopped"),
    [
        (chunk("length"), TOO_LONG),
        (chunk("model_length"), TOO_LONG),
        (chunk("content_filter"), FILTERED),
        (chunk("stop", refusal="No."), Stop("refusal")),
    ],
)
def test_an_unusual_end_ends_the_turn(last: Json, stopped: Stop) -> None:
    assert folded(chunk(content="a"), last)[-1] == stopped


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call", "new_reason"])
def test_any_other_end_is_a_usual_one(reason: str) -> None:
    assert folded(chunk(content="a"), chunk(reason)) == [TextDelta("a")]


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
def test_an_end_that_is_a_failure_is_told_as_one(reason: str) -> None:
    with pytest.raises(ServiceFailedError, match=reason) as caught:
        folded(chunk(content="a"), chunk(reason))
    assert caught.value.is_transient


def test_a_call_in_the_word_of_old_is_one() -> None:
    pieces = [{"name": "read", "arguments": ""}, {"arguments": '{"a":'}, {"arguments": "1}"}]
    chunks = [chunk(function_call=each) for each in pieces]
    assert folded(*chunks, chunk("function_call")) == [ToolUse("read", {"a": 1})]


def test_a_call_that_was_cut_by_the_length_is_none() -> None:
    assert folded(piece(0, '{"pa', id="a", name="read"), chunk("length")) == [TOO_LONG]


@pytest.mark.parametrize("written", ['{"path": ', "[1]", "nope", '"x"'])
def test_arguments_that_are_no_object_are_told_to_the_model(written: str) -> None:
    [call] = folded(piece(0, written, id="a", name="read"), chunk("tool_calls"))
    assert isinstance(call, ToolUse)
    assert call.arguments == {}
    assert call.fault is not None
    assert call.fault.startswith("the arguments are no JSON")


def test_an_answer_without_an_end_is_cut() -> None:
    with pytest.raises(ModelFailedError, match=r"^The stream from OpenAI ended before"):
        folded(chunk(content="a"))


CALLED = piece(0, '{"path": "a"}', id="a", name="read")


@pytest.mark.parametrize(
    ("chunks", "events"),
    [
        ([chunk(content="a"), chunk()], [TextDelta("a")]),
        ([CALLED], [ToolUse("read", {"path": "a"}, "a")]),
        ([chunk(content="a"), CALLED], [TextDelta("a"), ToolUse("read", {"path": "a"}, "a")]),
        ([chunk(refusal="No.")], [TextDelta("No."), Stop("refusal")]),
    ],
)
async def test_an_end_that_is_told_without_a_reason_is_one(
    chunks: list[Json], events: list[ModelEvent]
) -> None:
    async with providing(streamed(sse(*chunks, done=True))) as provider:
        model = ChatModel(found("llamacpp", provider.url), "m", NONE)
        assert await replied(model, [PromptMessage("x")], [READ]) == events


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk(content="a"), piece(0, '{"path": "a', id="a", name="read")],
        [CALLED, piece(1, '{"path"', id="b", name="read")],
        [chunk(content="a"), piece(0, "", id="a", name="read")],
        [chunk(reasoning="Hm.")],
    ],
)
async def test_an_end_that_is_told_amid_an_answer_is_none(chunks: list[Json]) -> None:
    async with providing(streamed(sse(*chunks, done=True))) as provider:
        once = ClientLimits(max_attempts=1)
        model = ChatModel(found("llamacpp", provider.url), "m", NONE, limits=once)
        with pytest.raises(ModelFailedError, match=r"ended before the response was complete\.$"):
            await replied(model, [PromptMessage("x")], [READ])


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "out of memory", "code": 500}},
        {"error": "out of memory"},
        {"object": "error", "message": "out of memory"},
    ],
)
def test_an_error_amid_the_stream_is_told(error: Json) -> None:
    with pytest.raises(ModelFailedError, match=r"OpenAI aborted its response: out of memory\.$"):
        folded(chunk(content="a"), error)


def test_the_history_becomes_messages() -> None:
    history = [
        PromptMessage("look", (Attachment("file:///a", "text"), Attachment("file:///b", None))),
        AssistantMessage(
            (
                ReasoningDelta("hm"),
                TextDelta("I "),
                TextDelta("read."),
                ToolUse("read", {"path": "é"}),
            )
        ),
        ToolResult("read", "no such file", is_failed=True),
        AssistantMessage(()),
        PromptMessage("again"),
        PromptMessage("and again"),
    ]
    call = {"name": "read", "arguments": '{"path": "é"}'}
    assert conversation(history, "m", NAMES, takes_images=True) == [
        {
            "role": "user",
            "content": "look\n\n<attachment uri='file:///a'>\ntext\n</attachment>\n\n"
            "[Attached, not as text: file:///b]",
        },
        {
            "role": "assistant",
            "content": "I read.",
            "tool_calls": [{"id": "call_1_0", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "call_1_0", "content": "Failed: no such file"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "again"}, {"type": "text", "text": "and again"}],
        },
    ]


def test_images_go_to_who_takes_them_and_are_named_to_others() -> None:
    history = [PromptMessage("look", (), (Image("image/png", "aGk="),))]
    seen = conversation(history, "m", NAMES, takes_images=True)[0]["content"]
    assert seen[1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    unseen = conversation(history, "m", NAMES, takes_images=False)[0]["content"]
    assert unseen == "look\n\n[An image of type image/png, which this model cannot look at.]"


@pytest.mark.parametrize(
    ("prefix", "thinking", "members"),
    [
        ("openai", "high", {"reasoning_effort": "high", "max_completion_tokens": 9}),
        ("ollama", "low", {"reasoning_effort": "low", "max_tokens": 9}),
        ("openrouter", "low", {"reasoning": {"effort": "low"}, "usage": {"include": True}}),
        ("openrouter", 2000, {"reasoning": {"max_tokens": 2000}}),
    ],
)
async def test_wishes_are_told_in_the_words_of_the_service(
    prefix: str, thinking: Any, members: dict[str, Json]
) -> None:
    options = ModelSettings(thinking=thinking, max_tokens=9)
    async with providing(streamed(sse(chunk("stop"), done=True))) as provider:
        await replied(ChatModel(found(prefix, provider.url), "m", options), [PromptMessage("hi")])
    body = provider.asked[0].body
    assert {name: body.get(name) for name in members} == members


async def test_a_reply_is_requested_and_read_as_a_whole() -> None:
    calls = [
        {"type": "function", "function": {"name": "read", "arguments": f'{{"path": "{path}"}}'}}
        for path in "ab"
    ]
    message = {"role": "assistant", "content": "I read.", "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    whole: Json = {"choices": [choice], "usage": usage}
    options = ModelSettings(stream=False, temperature=0)
    async with providing(refused(200, whole, Content_Type="application/json")) as provider:
        model = ChatModel(found("openai", provider.url), "m", options)
        events = await replied(model, [PromptMessage("x")])
    body = provider.asked[0].body
    assert (body["stream"], body["temperature"]) == (False, 0)
    assert "stream_options" not in body
    assert events == [
        TextDelta("I read."),
        ToolUse("read", {"path": "a"}),
        ToolUse("read", {"path": "b"}),
        TokenUsage(10, 5),
    ]


async def test_a_service_may_stream_although_it_should_not() -> None:
    options = ModelSettings(stream=False)
    answer = sse(chunk(content="Hi."), chunk("stop"), done=True)
    async with providing(streamed(answer)) as provider:
        model = ChatModel(found("openai", provider.url), "m", options)
        assert await replied(model, [PromptMessage("x")]) == [TextDelta("Hi.")]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)


def objects(*names: str) -> st.SearchStrategy[Json]:
    return st.dictionaries(st.sampled_from(names), json_values, max_size=len(names))


@st.composite
def chunks(draw: st.DrawFn) -> Json:
    delta = draw(objects("content", "refusal", "reasoning", "reasoning_details"))
    calls = st.lists(objects("index", "id", "function"), max_size=3)
    return chunk("stop", **{**delta, "tool_calls": draw(json_values | calls)})


@given(messages=st.lists(objects("choices", "usage", "error") | chunks(), max_size=6))
def test_whatever_comes_is_read_or_refused(messages: list[Json]) -> None:
    with suppress(ModelFailedError):
        folded(*messages)
