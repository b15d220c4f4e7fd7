"""What differs between two states."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.journal import Frame
from acp_inspector.session.conversations import Conversations
from acp_inspector.views.state_diff import (
    ItemAppeared,
    ItemChanged,
    ItemVanished,
    SessionAppeared,
    SessionInfoChanged,
    SessionVanished,
    TextGrew,
    state_changes,
)
from tests.inspector.session.traffic import talks
from tests.inspector.talks import Said, answer, chunk, frames, prompt, update


def folded(said: list[Frame]) -> Conversations:
    conversations = Conversations()
    for frame in said:
        conversations.apply(frame)
    return conversations


@given(talks(), st.integers(0, 27), st.integers(0, 27))
def test_two_frames_of_one_fold_differ_as_two_folds_that_stopped_there(
    talk: list[Said], one: int, other: int
) -> None:
    said = frames(*talk)
    early, late = sorted((one, other))
    both = folded(said)
    first, second = folded(said[:early]), folded(said[:late])
    expected = state_changes(first.at(early), second.at(late))
    assert state_changes(both.at(early), both.at(late)) == expected


@given(talks(), st.integers(0, 27))
def test_a_state_does_not_differ_from_itself(talk: list[Said], n: int) -> None:
    fold = folded(frames(*talk))
    assert state_changes(fold.at(n), fold.at(n)) == []


def test_a_turn_is_told_as_what_appeared_and_what_grew() -> None:
    fold = folded(
        frames(
            prompt(1, "go"),
            chunk("Hello"),
            update("tool_call", toolCallId="c", title="Look", status="pending"),
            update("tool_call_update", toolCallId="c", status="completed"),
            chunk(" there"),
            answer("agent", 1, {"stopReason": "end_turn"}),
        )
    )
    assert [type(each) for each in state_changes({}, fold.at(1))] == [
        *(SessionAppeared, ItemAppeared, SessionInfoChanged, SessionInfoChanged)
    ]
    (grown,) = state_changes(fold.at(3), fold.at(4))[:1]
    assert grown == ItemChanged("s1", "c", "status", "pending", "completed")
    appeared = state_changes(fold.at(4), fold.at(5))
    assert [(type(each), getattr(each, "key", None)) for each in appeared] == [
        (ItemAppeared, "agentmessage-3")
    ]
    around = [each for each in state_changes(fold.at(5), fold.at(6)) if hasattr(each, "member")]
    assert {each.member for each in around if isinstance(each, SessionInfoChanged)} == {
        *("isBusy", "turn 1")
    }


def test_more_words_are_told_alone() -> None:
    fold = folded(frames(chunk("Hel"), chunk("lo")))
    assert state_changes(fold.at(1), fold.at(2)) == [TextGrew("s1", "agentmessage-1", "lo")]


def test_backwards_everything_vanishes() -> None:
    fold = folded(frames(chunk("a"), chunk("b", session="s2"), update("plan", entries=[])))
    found = state_changes(fold.at(3), fold.at(1))
    assert [type(each) for each in found] == [ItemVanished, SessionVanished]
