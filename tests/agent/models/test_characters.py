"""What a model says can be said again, to clients and services that take whole characters alone."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models.openai import ChatModel
from acp_agent.models.types import PromptMessage
from acp_agent.models.wire import read_arguments, replace_surrogates
from acp_agent.settings.model import ModelSettings
from acp_protocol.jsonrpc import Json
from tests.agent.models.provider import found, providing, replied, said, streamed

TEXT = st.text(st.characters(categories=("L", "Cs", "So")))
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_whole_has_a_utf8_form_and_stays_as_it_is(value: Json) -> None:
    made = replace_surrogates(value)
    json.dumps(made, ensure_ascii=False).encode()
    assert replace_surrogates(made) == made
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        assert made != value
    else:
        assert made == value


def test_a_call_with_half_a_character_is_told_to_the_model_and_never_carried_out() -> None:
    call = read_arguments("write", r'{"path": "a", "content": "\ud83d!"}')
    assert call.arguments == {}
    assert "half a character" in (call.fault or "")
    pair = read_arguments("write", r'{"content": "\ud83d\ude00"}')
    assert (pair.arguments, pair.fault) == ({"content": "\U0001f600"}, None)


async def test_half_a_character_in_a_reply_is_said_as_one_that_is_missing() -> None:
    spelled = (
        rb'{"choices": [{"delta": {"content": "a\ud83db\ud83d\ude00"}, "finish_reason": "stop"}]}'
    )
    answer = b"data: " + spelled + b"\n\ndata: [DONE]\n\n"
    async with providing(streamed(answer)) as provider:
        model = ChatModel(found("openai", provider.url), "gpt-x", ModelSettings())
        events = await replied(model, [PromptMessage("hi")])
    assert said(events) == "a\ufffdb\U0001f600"
