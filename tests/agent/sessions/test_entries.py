"""What a model knows, written and read again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models import types
from acp_agent.store.entries import (
    HistoryItem,
    LocalExchange,
    Summary,
    joined,
    read_entry,
    read_usage,
    write_entry,
    write_usage,
)
from acp_agent.store.errors import StoreError
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
    st.builds(types.PlanChange, several(st.builds(types.PlannedStep, TEXT, st.just("pending")))),
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


WRITTEN: list[tuple[HistoryItem, Json]] = [
    (
        types.PromptMessage(
            "a", (types.Attachment("b", None),), (types.Image("image/png", "aa=="),)
        ),
        {
            "is": "UserSaid",
            "members": {"text": "a"},
            "parts": {
                "attachments": [{"is": "Attachment", "members": {"uri": "b", "text": None}}],
                "images": [{"is": "Image", "members": {"mime_type": "image/png", "data": "aa=="}}],
            },
        },
    ),
    (
        types.AssistantMessage(
            (
                types.TextDelta("a"),
                types.ReasoningDelta("b"),
                types.PlanChange((types.PlannedStep("c", "pending"),)),
                types.ToolUse("d", {"e": 1}, "f", "g"),
                types.ProviderBlock("h", {"i": 2}),
                types.Stop("refusal", "j"),
            )
        ),
        {
            "is": "ModelSaid",
            "members": {},
            "parts": {
                "events": [
                    {"is": "Say", "members": {"text": "a"}},
                    {"is": "Think", "members": {"text": "b"}},
                    {
                        "is": "ShowPlan",
                        "members": {},
                        "parts": {
                            "steps": [
                                {"is": "Step", "members": {"content": "c", "status": "pending"}}
                            ]
                        },
                    },
                    {
                        "is": "CallTool",
                        "members": {"name": "d", "arguments": {"e": 1}, "id": "f", "fault": "g"},
                    },
                    {"is": "Sealed", "members": {"maker": "h", "content": {"i": 2}}},
                    {"is": "Stopped", "members": {"reason": "refusal", "why": "j"}},
                ]
            },
        },
    ),
    (
        types.ToolResult("a", "b", True),
        {"is": "ToolAnswered", "members": {"name": "a", "text": "b", "is_failed": True}},
    ),
    (LocalExchange("a"), {"is": "Aside", "members": {"text": "a"}}),
    (
        Summary("a", (types.PromptMessage("b"),)),
        {
            "is": "Compacted",
            "members": {"summary": "a"},
            "parts": {
                "requests": [
                    {
                        "is": "UserSaid",
                        "members": {"text": "b"},
                        "parts": {"attachments": [], "images": []},
                    }
                ]
            },
        },
    ),
]


@pytest.mark.parametrize(("entry", "stored"), WRITTEN)
def test_stored_names_stay_as_they_are(entry: HistoryItem, stored: Json) -> None:
    """Stores of other versions hold these names, whatever classes and fields are called now."""
    assert write_entry(entry) == stored
    assert read_entry(stored) == entry


def test_stored_names_of_usage_stay_as_they_are() -> None:
    stored = {
        "read": 1,
        "written": 2,
        "thought": 3,
        "cached_read": 4,
        "cached_written": 5,
        "cost": 0.5,
        "window": 6,
    }
    usage = types.TokenUsage(1, 2, 3, 4, 5, 0.5, 6)
    assert write_usage(usage) == stored
    assert read_usage(stored) == usage


@pytest.mark.parametrize("stored", [{}, {"read": 1}, {"later": 1}])
def test_usage_that_cannot_be_read_is_none(stored: Json) -> None:
    assert read_usage(stored) == types.TokenUsage(0, 0)


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
