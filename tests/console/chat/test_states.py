"""The states of a chat: each can be reached and left, and a dead agent ends them all."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_console.chat import states
from acp_console.chat.states import SHOWN, TRANSITIONS, ChatState, Event, State


def after(*events: Event) -> ChatState:
    state = ChatState()
    for event in events:
        assert state.take(event), event
    return state


def test_a_prompt_is_read_sent_and_answered() -> None:
    state = after("opened", "configured")
    assert (state.now, state.shown) == ("ready", "ready")
    for event, now in [("prompt", "reading"), ("prompt_sent", "working"), ("turn_over", "ready")]:
        assert state.take(event)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        assert state.now == now


def test_what_was_not_sent_yet_needs_no_word_to_the_agent_to_be_cancelled() -> None:
    assert after("opened", "configured", "prompt", "cancel").now == "ready"
    assert after("opened", "configured", "prompt", "prompt_sent", "cancel").now == "cancelling"


def test_only_an_agent_that_waits_gets_a_prompt() -> None:
    assert list(TRANSITIONS["prompt"]) == ["ready"]


def test_an_agent_that_died_before_it_opened_the_session_has_failed() -> None:
    assert after("agent_ended").now == "failed"
    assert after("refused", "agent_ended").now == "failed"
    assert after("opened", "agent_ended").now == "ended"


@pytest.mark.parametrize("state", get_args(State))
def test_a_dead_agent_stops_the_chat_and_a_restart_opens_it_again(state: State) -> None:
    chat = ChatState()
    chat.now = state
    assert chat.take("agent_ended")
    assert chat.shown == "stopped"
    assert chat.take("agent_starts")
    assert chat.shown == "starting"


@given(st.lists(st.sampled_from(get_args(Event))))
def test_no_order_of_events_leads_nowhere(events: list[Event]) -> None:
    state = ChatState()
    for event in events:
        before = state.now
        assert state.take(event) == (before in TRANSITIONS[event])
        assert state.now in SHOWN
        assert not (event == "turn_over" and state.now in {"working", "stopping", "cancelling"})


def test_every_state_can_be_reached_and_the_table_says_how_it_is_shown() -> None:
    reached: set[State] = {"opening"}
    for _ in SHOWN:
        reached |= {row[state] for row in TRANSITIONS.values() for state in reached & row.keys()}
    assert reached == set(get_args(State))
    rows = re.findall(r"^\| `(\w+)` +\| (\w+) ", states.__doc__ or "", re.MULTILINE)
    assert rows == list(SHOWN.items())
