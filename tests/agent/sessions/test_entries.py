"""What a model knows, written and read again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models import types
from acp_agent.sessions.log import joined, read_entry, write_entry
from acp_agent.sessions.store import StoreError
from acp_agent.turn.history import HistoryItem, LocalExchange, Summary
from acp_protocol.jsonrpc import Json

TEXT = st.text()
JSON = st.dictionaries(
    TEXT, st.recursive(st.none() | st.booleans() | st.integers() | TEXT, st.lists, max_leaves=5)
)


def several(of: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Return tuples of values."""
    return st.lists(of, max_size=4).map(tuple)


EVENTS = st.one_of(
    st.builds(types.TextDelta, TEXT),
    st.builds(types.ReasoningDelta, TEXT),
    st.builds(types.PlanChange, several(st.builds(types.PlanStep, TEXT, st.just("pending")))),
    st.builds(types.ToolUse, TEXT, JSON, TEXT, st.none() | TEXT),
    st.builds(types.ProviderBlock, TEXT, JSON),
    st.builds(types.Stop, st.just("refusal"), TEXT),
)
ENTRIES = st.one_of(
    st.builds(
        types.PromptMessage,
        TEXT,
        several(st.builds(types.Attachment, TEXT, st.none() | TEXT)),
        several(st.builds(types.Image, TEXT, TEXT)),
    ),
    st.builds(types.AssistantMessage, several(EVENTS)),
    st.builds(types.ToolResult, TEXT, TEXT, st.booleans()),
    st.builds(LocalExchange, TEXT),
    st.builds(Summary, TEXT, several(st.builds(types.PromptMessage, TEXT))),
)


@given(ENTRIES)
def test_an_entry_is_the_same_when_it_was_written_and_read(entry: HistoryItem) -> None:
    """But for neighbouring pieces of text, which are one afterwards."""
    if isinstance(entry, types.AssistantMessage):
        entry = types.AssistantMessage(tuple(joined(entry.events)))
    assert read_entry(json.loads(json.dumps(write_entry(entry)))) == entry


@given(
    ENTRIES,
    st.lists(st.tuples(st.sampled_from(["agent_message_chunk", "agent_thought_chunk"]), TEXT)),
)
def test_an_entry_is_the_same_whatever_rows_it_refers_to(
    entry: HistoryItem, texts: list[tuple[str, str]]
) -> None:
    written = json.loads(json.dumps(write_entry(entry, texts)))
    assert read_entry(written, texts) == read_entry(write_entry(entry))


@pytest.mark.parametrize("behind", [0, 1, "x", None])
def test_an_entry_that_refers_to_no_row_is_damage(behind: Json) -> None:
    said = {"is": "Say", "members": {"text": "b"}, "behind": behind}
    written = {"is": "ModelSaid", "members": {}, "parts": {"events": [said]}}
    with pytest.raises(StoreError, match="damaged"):
        read_entry(written)


def test_what_a_later_version_adds_is_left_out() -> None:
    written: Json = write_entry(
        types.AssistantMessage((types.ReasoningDelta("a"), types.TextDelta("b")))
    )
    written["members"]["later"] = 1
    written["parts"]["events"][0]["is"] = "Sing"
    assert read_entry(written) == types.AssistantMessage((types.TextDelta("b"),))


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"is": "Nobody", "members": {}},
        {"is": "UserSaid", "members": {}},
        {"is": "Say", "members": {"text": "a"}},
        {"is": "ModelSaid", "members": {}, "parts": {"events": [1]}},
    ],
)
def test_what_is_no_entry_is_damage(value: Json) -> None:
    with pytest.raises(StoreError, match="damaged"):
        read_entry(value)
