"""Counts, bytes, rates and times."""

from __future__ import annotations

import pytest
from hypothesis import given

from acp_inspector.session.exchanges import Exchanges
from acp_inspector.views.session_model import SessionModel
from acp_inspector.views.statistics import Statistics
from tests.inspector.session.traffic import talks
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update


def counted(*said: Said) -> Statistics:
    model = SessionModel()
    model.read(frames(*said))
    return model.statistics


TURN = (
    prompt(1, "go"),
    chunk("a"),
    chunk("b"),
    chunk("c"),
    update("tool_call", toolCallId="t", title="x"),
    ask("agent", 1, "session/request_permission", sessionId="s1", toolCall={"toolCallId": "t"}),
    answer("client", 1, {"outcome": {"outcome": "selected", "optionId": "y"}}),
    update("tool_call_update", toolCallId="t", status="failed"),
    update("usage_update", used=10, size=100, cost={"amount": 0.5, "currency": "USD"}),
    answer("agent", 1, {"stopReason": "end_turn"}),
)


def test_a_turn_has_its_chunks_calls_approvals_and_cost() -> None:
    statistics = counted(*TURN)
    turn = statistics.turns[1]
    assert (turn.frames, turn.chunks, turn.failed_calls, turn.cost) == (10, 3, 1, 0.5)
    assert turn.tool_calls == {"t": "failed"}
    assert turn.approvals.summary().p50 == pytest.approx(0.1)
    assert turn.chunk_rate == pytest.approx(10.0)
    assert statistics.sessions["s1"].frames == statistics.total.frames == 10


def test_a_later_turn_costs_only_what_it_adds() -> None:
    more = update("usage_update", used=20, size=100, cost={"amount": 0.75, "currency": "USD"})
    statistics = counted(
        *TURN, prompt(2, "more"), more, answer("agent", 2, {"stopReason": "end_turn"})
    )
    assert statistics.turns[2].cost == pytest.approx(0.25)
    assert statistics.sessions["s1"].cost == pytest.approx(0.75)


def test_methods_count_their_answers_by_how_they_ended() -> None:
    statistics = counted(
        ask("client", 1, "a"),
        ask("client", 2, "a"),
        ask("client", 3, "a"),
        answer("agent", 1, {}),
        ("agent", {"id": 2, "error": {"code": -32603, "message": "no"}}),
    )
    tally = statistics.methods["client", "a", ""]
    assert (tally.count, tally.endings) == (3, {"open": 1, "result": 1, "error": 1})
    assert tally.latencies.summary().maximum == pytest.approx(0.3)
    assert statistics.total.errors == 1


def test_updates_are_counted_by_their_kind() -> None:
    statistics = counted(chunk("a"), chunk("b"), update("plan", entries=[]))
    assert {key[2]: tally.count for key, tally in statistics.methods.items()} == {
        "agent_message_chunk": 2,
        "plan": 1,
    }


def test_what_is_no_message_is_counted_and_a_batch_is_one_frame() -> None:
    batch = b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]'
    statistics = counted(("client", b"no"), ("client", batch))
    assert (statistics.total.frames, statistics.total.malformed) == (2, 1)
    assert sum(tally.count for tally in statistics.methods.values()) == 2


@given(talks())
def test_every_byte_is_counted_once_and_every_exchange_has_an_ending(talk: list[Said]) -> None:
    said = frames(*talk)
    statistics = counted(*talk)
    assert sum(statistics.total.bytes.values()) == sum(len(frame.data) for frame in said)
    exchanges = Exchanges()
    for frame in said:
        exchanges.apply(frame)
    endings = sum(sum(tally.endings.values()) for tally in statistics.methods.values())
    assert endings == len(exchanges.all)
    per_session = sum(tally.frames for tally in statistics.sessions.values())
    assert per_session <= statistics.total.frames


def test_the_response_to_a_prompt_is_counted_in_its_own_turn() -> None:
    ended = answer("agent", 3, {"stopReason": "end_turn"})
    found = counted(prompt(3, "a"), prompt(4, "b"), ended)
    assert {number: counts.frames for number, counts in found.turns.items()} == {1: 2, 2: 1}
