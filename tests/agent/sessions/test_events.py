"""Events: what may take the place of another, and what is told again as one."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.store import events
from acp_agent.store.errors import StoreError
from acp_agent.store.events import Event
from acp_protocol.jsonrpc import Json

PIECES = st.builds(
    events.text,
    st.sampled_from(["agent_message_chunk", "agent_thought_chunk"]),
    st.sampled_from(["a", "b"]),
    st.text(max_size=5),
)
EVENTS = st.lists(
    st.one_of(
        PIECES,
        st.just(events.plan([])),
        st.just(events.entry({"x": 1})),
        st.just(events.tool("call_1", {"status": "completed"})),
    )
)


def messages(told: list[Event]) -> list[Json]:
    """Return events with the texts of each message joined, and no entries."""
    shown = [event for event in told if event["what"] != "entry"]

    def key(event: Event) -> Json:
        return (event["what"], event.get("kind"), event.get("id"))

    found: list[Json] = []
    for (what, *rest), group in groupby(shown, key):
        each = list(group)
        text = "".join(event["text"] for event in each) if what == "text" else ""
        found.append((what, *rest, text) if what == "text" else (what, *rest, len(each)))
    return found


def joined_texts(told: list[Event]) -> list[Event]:
    joined = events.JoinedTexts()
    return [*(each for event in told for each in joined.add(event)), *joined.end()]


@given(EVENTS)
def test_joined_pieces_say_the_same_in_fewer_events(told: list[Event]) -> None:
    joined = joined_texts(told)
    assert messages(joined) == messages(told)
    assert len(joined) <= len(told)


def test_a_joined_piece_does_not_grow_for_ever() -> None:
    piece = events.text("agent_message_chunk", "a", "x" * 1000)
    lengths = [len(event["text"]) for event in joined_texts([piece] * 1000)]
    assert sum(lengths) == 1_000_000
    assert max(lengths) <= events.PIECE_LIMIT + 1000


@pytest.mark.parametrize(
    ("before", "after", "does"),
    [
        (events.tool("a", {"content": [1]}), events.tool("a", {"content": [2]}), True),
        (events.tool("a", {"content": [1]}), events.tool("a", {"content": [2], "x": 1}), True),
        (events.tool("a", {"status": "x"}), events.tool("a", {"content": [2]}), False),
        (events.tool("a", {"content": [1]}), events.tool("b", {"content": [2]}), False),
        (events.call("a", {"content": [1]}), events.tool("a", {"content": [2]}), False),
    ],
)
def test_an_event_takes_a_place_only_where_nothing_is_lost(
    before: Event, after: Event, does: bool
) -> None:
    assert events.replaces(after, before) is does


@pytest.mark.parametrize("value", [None, 1, [], {}, {"what": "text"}, {"what": "x"}])
def test_what_is_no_event_is_damage(value: Json) -> None:
    with pytest.raises(StoreError, match="damaged"):
        events.check_event(value)
