"""What a model knows, written and read again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models.model import (
    Attachment,
    CallTool,
    HistoryEntry,
    Image,
    ModelSaid,
    Say,
    Sealed,
    ShowPlan,
    Step,
    Stopped,
    Think,
    ToolAnswered,
    UserSaid,
)
from acp_agent.sessions.entries import read_entry, write_entry
from acp_agent.sessions.errors import StoreError
from acp_protocol.jsonrpc import Json

TEXT = st.text()
JSON = st.dictionaries(
    TEXT, st.recursive(st.none() | st.booleans() | st.integers() | TEXT, st.lists, max_leaves=5)
)


def several(of: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Return tuples of values."""
    return st.lists(of, max_size=4).map(tuple)


EVENTS = st.one_of(
    st.builds(Say, TEXT),
    st.builds(Think, TEXT),
    st.builds(ShowPlan, several(st.builds(Step, TEXT, st.just("pending")))),
    st.builds(CallTool, TEXT, JSON, TEXT, st.none() | TEXT),
    st.builds(Sealed, TEXT, JSON),
    st.builds(Stopped, st.just("refusal"), TEXT),
)
ENTRIES = st.one_of(
    st.builds(
        UserSaid,
        TEXT,
        several(st.builds(Attachment, TEXT, st.none() | TEXT)),
        several(st.builds(Image, TEXT, TEXT)),
    ),
    st.builds(ModelSaid, several(EVENTS)),
    st.builds(ToolAnswered, TEXT, TEXT, st.booleans()),
)


@given(ENTRIES)
def test_an_entry_is_the_same_when_it_was_written_and_read(entry: HistoryEntry) -> None:
    assert read_entry(json.loads(json.dumps(write_entry(entry)))) == entry


def test_what_a_later_version_adds_is_left_out() -> None:
    written: Json = write_entry(ModelSaid((Say("a"), Say("b"))))
    written["members"]["later"] = 1
    written["parts"]["events"][0]["is"] = "Sing"
    assert read_entry(written) == ModelSaid((Say("b"),))


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
