"""Where the time of a turn went; frames are a tenth of a second apart."""

from __future__ import annotations

import pytest
from hypothesis import given

from acp_inspector.session.turn import SessionTurn
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.turn_times import TimeSplit
from tests.inspector.session.traffic import talks
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update

ENDED = answer("agent", 1, {"stopReason": "end_turn"})
YES = {"outcome": {"outcome": "selected", "optionId": "y"}}


def call(status: str | None = None, key: str = "c1", **more: str) -> Said:
    said = {"status": status} if status else {}
    return update("tool_call_update", toolCallId=key, **said, **more)


def permission(id_: int, key: str = "c1") -> Said:
    asked = {"toolCallId": key}
    return ask("agent", id_, "session/request_permission", sessionId="s1", toolCall=asked)


def split(*said: Said) -> TimeSplit:
    """Return how the time of the first turn was spent."""
    model = SessionModel()
    model.read(frames(prompt(1, "go"), *said))
    [turn] = model.conversations.sessions["s1"].turns
    found = model.turn_times.of(turn, model.at)
    assert found.person + found.tools + found.agent == pytest.approx(model.at - turn.began_at)
    return found


def seconds(found: TimeSplit) -> tuple[float, float, float]:
    return round(found.person, 3), round(found.tools, 3), round(found.agent, 3)


def test_a_person_who_is_asked_a_client_that_works_and_the_agent_each_have_their_time() -> None:
    found = split(
        chunk("a"),
        permission(1),
        answer("client", 1, YES),
        ask("agent", 2, "fs/read_text_file", sessionId="s1", path="/w/a"),
        ("agent", {"method": "_note", "params": {"sessionId": "s1"}}),
        answer("client", 2, {"content": ""}),
        ENDED,
    )
    assert seconds(found) == (0.1, 0.2, 0.4)
    assert found.longest is not None
    assert found.longest.exchange is not None
    assert found.longest.exchange.request.method == "fs/read_text_file"


def test_a_call_that_is_in_progress_is_time_of_tools_and_names_what_took_longest() -> None:
    found = split(call("pending"), call("in_progress", title="pytest -q"), chunk("a"), chunk("b"))
    assert seconds(found) == (0.0, 0.2, 0.2)
    found = split(call("in_progress", title="pytest -q"), chunk("a"), call("completed"), ENDED)
    assert seconds(found) == (0.0, 0.2, 0.2)
    assert found.longest is not None
    assert (found.longest.title, found.longest.n) == ("pytest -q", 2)
    assert found.longest.seconds == pytest.approx(0.2)


def test_a_call_that_never_says_that_it_has_begun_did_so_when_it_was_announced_or_allowed() -> None:
    assert seconds(split(call(), chunk("a"), call("completed"), ENDED)) == (0.0, 0.2, 0.2)
    allowed = (call(), chunk("a"), permission(1), answer("client", 1, YES), call("completed"))
    assert seconds(split(*allowed)) == (0.1, 0.1, 0.3)


def test_two_calls_at_once_take_no_time_twice() -> None:
    both = (call(), call(key="c2"), chunk("a"), call("completed"), call("completed", key="c2"))
    assert seconds(split(*both, ENDED)) == (0.0, 0.4, 0.2)


def test_a_person_is_waited_for_until_the_call_is_over_even_without_a_response() -> None:
    assert seconds(split(call(), permission(1), call("failed"), chunk("a"))) == (0.1, 0.1, 0.2)


@given(talks())
def test_each_moment_of_a_turn_counts_once(talk: list[Said]) -> None:
    model = SessionModel()
    model.read(frames(*talk))

    def length(turn: SessionTurn) -> float:
        return (model.at if turn.ended_at is None else turn.ended_at) - turn.began_at

    for each in model.conversations.sessions.values():
        for turn in each.turns:
            found = model.turn_times.of(turn, model.at)
            assert min(found.person, found.tools, found.agent) >= 0
            assert found.person + found.tools + found.agent == pytest.approx(length(turn))
