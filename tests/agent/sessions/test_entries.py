"""What a model knows, written and read again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.memory import Aside, Compacted, Kept
from acp_agent.models import model
from acp_agent.sessions.errors import StoreError
from acp_agent.sessions.log import joined, read_entry, write_entry
from acp_protocol.jsonrpc import Json

TEXT = st.text()
JSON = st.dictionaries(
    TEXT, st.recursive(st.none() | st.booleans() | st.integers() | TEXT, st.lists, max_leaves=5)
)


def several(of: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Return tuples of values."""
    return st.lists(of, max_size=4).map(tuple)


EVENTS = st.one_of(
    st.builds(model.Say, TEXT),
    st.builds(model.Think, TEXT),
    st.builds(model.ShowPlan, several(st.builds(model.Step, TEXT, st.just("pending")))),
    st.builds(model.CallTool, TEXT, JSON, TEXT, st.none() | TEXT),
    st.builds(model.Sealed, TEXT, JSON),
    st.builds(model.Stopped, st.just("refusal"), TEXT),
)
ENTRIES = st.one_of(
    st.builds(
        model.UserSaid,
        TEXT,
        several(st.builds(model.Attachment, TEXT, st.none() | TEXT)),
        several(st.builds(model.Image, TEXT, TEXT)),
    ),
    st.builds(model.ModelSaid, several(EVENTS)),
    st.builds(model.ToolAnswered, TEXT, TEXT, st.booleans()),
    st.builds(Aside, TEXT),
    st.builds(Compacted, TEXT, several(st.builds(model.UserSaid, TEXT))),
)


@given(ENTRIES)
def test_an_entry_is_the_same_when_it_was_written_and_read(entry: Kept) -> None:
    """But for neighbouring pieces of text, which are one afterwards."""
    if isinstance(entry, model.ModelSaid):
        entry = model.ModelSaid(tuple(joined(entry.events)))
    assert read_entry(json.loads(json.dumps(write_entry(entry)))) == entry


@given(
    ENTRIES,
    st.lists(st.tuples(st.sampled_from(["agent_message_chunk", "agent_thought_chunk"]), TEXT)),
)
def test_an_entry_is_the_same_whatever_rows_it_refers_to(
    entry: Kept, texts: list[tuple[str, str]]
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
    written: Json = write_entry(model.ModelSaid((model.Think("a"), model.Say("b"))))
    written["members"]["later"] = 1
    written["parts"]["events"][0]["is"] = "Sing"
    assert read_entry(written) == model.ModelSaid((model.Say("b"),))


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
