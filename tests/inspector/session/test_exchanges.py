"""Questions and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.journal import Frame
from acp_inspector.messages import DecodedFrame
from acp_inspector.session.exchanges import MARK_INTERVAL, Exchange, Exchanges
from acp_protocol.framing import Side, opposite
from acp_protocol.jsonrpc import Notification, Request
from tests.inspector.talks import Said, answer, ask, encoded, frames, prompt


def paired(said: Sequence[Frame]) -> Exchanges:
    exchanges = Exchanges()
    for frame in said:
        exchanges.apply(frame)
    return exchanges


def wrong(*said: Said) -> list[tuple[str, int]]:
    """Return the kind of each fault, and the frame it is in."""
    return [(fault.kind, fault.frame.seq) for fault in paired(frames(*said)).faults]


def test_another_process_answers_no_question_of_the_one_before() -> None:
    """Both count their ids from the same number on."""
    first, second, reply = frames(
        ask("client", 1, "session/prompt", sessionId="s1"),
        ask("client", 1, "session/prompt", sessionId="s1"),
        answer("agent", 1, {"stopReason": "end_turn"}),
    )
    exchanges = Exchanges()
    lost = exchanges.apply(first)
    exchanges.restart(5)
    assert exchanges.open() == []
    exchange = exchanges.apply(replace(second, seq=12))
    assert exchanges.apply(replace(reply, seq=13)) is exchange
    assert (lost and lost.ending, exchanges.faults) == ("open", [])
    assert [len(exchanges.open_at(n)) for n in (0, 1, 5, 12, 13)] == [0, 1, 0, 1, 0]


def test_only_what_was_open_at_the_end_of_a_turn_is_moot() -> None:
    asked = [ask("agent", n, "fs/read_text_file", sessionId=s) for n, s in ((1, "s1"), (2, "s2"))]
    exchanges = paired(
        frames(
            ask("client", 1, "session/prompt", sessionId="s1"),
            *asked,
            ask("agent", 3, "fs/read_text_file", sessionId="s1"),
            answer("client", 3, {"content": ""}),
            answer("agent", 1, {"stopReason": "end_turn"}),
            ask("agent", 4, "fs/read_text_file", sessionId="s1"),
        )
    )
    assert [each.is_moot for each in exchanges.all] == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("version", "result", "ends"),
    [
        (1, {}, True),
        (1, None, True),
        (1, {"stopReason": "end_turn"}, True),
        (1, {"messageId": "m1"}, False),
        (2, {}, False),
        (2, {"messageId": "m1"}, False),
        (2, {"stopReason": "refusal"}, True),
    ],
)
def test_a_result_ends_the_turn_in_version_1_whatever_is_in_it(
    version: int, result: Any, ends: bool
) -> None:
    """In version 2 it begins the turn; the version may be missing from a recording."""
    exchanges = paired(
        frames(
            ask("client", 0, "initialize", protocolVersion=2),
            answer("agent", 0, {"protocolVersion": version}),
            prompt(1, "go"),
            ask("agent", 1, "fs/read_text_file", sessionId="s1"),
            answer("agent", 1, result),
        )
    )
    assert (exchanges.all[1].has_ended_turn, exchanges.all[2].is_moot) == (ends, ends)


def failure(side: Side, id_: Any, code: int) -> Said:
    return side, {"id": id_, "error": {"code": code, "message": "no"}}


def test_an_answer_closes_its_question_and_gives_the_time_between() -> None:
    question, reply = frames(ask("client", 1, "initialize"), answer("agent", 1, {}))
    exchanges = Exchanges()
    exchange = exchanges.apply(question)
    assert exchange is not None
    assert exchanges.open() == [exchange]
    assert exchanges.apply(reply) is exchange
    assert exchange.latency == pytest.approx(0.1)
    assert exchanges.open() == []
    assert exchanges.of(question) is exchanges.of(reply) is exchange


def test_each_direction_has_its_own_ids() -> None:
    theirs, ours, to_theirs, to_ours = said = frames(
        ask("agent", 1, "fs/read_text_file"),
        ask("client", 1, "session/prompt"),
        answer("client", 1, {"content": ""}),
        answer("agent", 1, {"stopReason": "end_turn"}),
    )
    exchanges = paired(said)
    assert exchanges.of(to_theirs) is exchanges.of(theirs)
    assert exchanges.of(to_ours) is exchanges.of(ours)


def test_a_prompt_and_the_permission_asked_within_it_may_bear_the_same_id() -> None:
    asked, consent, chosen, ended = said = frames(
        prompt(3, "edit it"),
        ask("agent", 3, "session/request_permission", sessionId="s1", options=[]),
        answer("client", 3, {"outcome": {"outcome": "selected", "optionId": "yes"}}),
        answer("agent", 3, {"stopReason": "end_turn"}),
    )
    exchanges = paired(said)
    assert exchanges.faults == []
    first, second = exchanges.of(asked), exchanges.of(consent)
    assert first is not None
    assert second is not None
    assert (first.response_frame, second.response_frame) == (ended, chosen)
    assert exchanges.open_at(2) == [first, second]
    assert exchanges.open_at(3) == [first]


def test_an_id_of_another_type_answers_nothing_and_is_named_as_the_mistake() -> None:
    exchanges = paired(frames(ask("client", 1, "initialize"), answer("agent", "1", {})))
    assert len(exchanges.open()) == 1
    (fault,) = exchanges.faults
    assert (fault.kind, fault.why) == ("orphan", "the id of the request is of another type")


def test_who_answers_its_own_question_is_told_so() -> None:
    (fault,) = paired(frames(ask("agent", 7, "x"), answer("agent", 7, {}))).faults
    assert fault.why == "only the agent itself has sent a request with this id"


@pytest.mark.parametrize("raw", [b"", b"no JSON", b"[]", b'{"jsonrpc":"2.0","id":7,"result":1}'])
def test_what_belongs_to_nothing_is_left_alone(raw: bytes) -> None:
    assert Exchanges().apply(frames(("agent", raw))[0]) is None


def test_a_second_answer_is_double_and_leaves_the_first_in_place() -> None:
    said = frames(ask("client", 1, "a"), answer("agent", 1, {}), failure("agent", 1, -32603))
    exchanges = paired(said)
    (exchange,) = exchanges.all
    (fault,) = exchanges.faults
    assert exchange.ending == "result"
    assert (fault.kind, fault.exchange) == ("double", exchange)


def test_an_error_without_an_id_answers_what_could_not_be_read() -> None:
    assert wrong(("client", b"{"), failure("agent", None, -32700)) == []


def test_an_error_without_an_id_is_no_second_answer_to_a_question_without_one() -> None:
    asked = ask("client", None, "a")
    assert wrong(asked, answer("agent", None, {}), failure("agent", None, -32700)) == []


def test_who_asks_badly_may_be_answered() -> None:
    broken = ("client", b'{"id":"x","method":"a"}')
    assert wrong(broken, failure("agent", "x", -32600)) == []
    twice = failure("agent", "x", -32600)
    assert wrong(broken, twice, twice) == [("orphan", 3)]


def test_an_id_that_lost_its_last_digits_is_named_as_that() -> None:
    others = [ask("client", "x", "a"), ask("client", str(2**53 + 1), "a")]
    said = [*others, ask("client", 2**53 + 1, "a"), answer("agent", 2**53, {})]
    (fault,) = paired(frames(*said)).faults
    assert fault.why == "the id of the request has more digits: it was read as a float"


def test_an_answer_to_a_withdrawn_question_is_late_unless_it_says_cancelled() -> None:
    asked = ask("client", 1, "session/list")
    withdrawn: Said = "client", {"method": "$/cancel_request", "params": {"requestId": 1}}
    assert wrong(asked, withdrawn, answer("agent", 1, {})) == [("late", 3)]
    assert wrong(asked, withdrawn, failure("agent", 1, -32800)) == []


def test_questions_of_one_id_are_withdrawn_by_the_first_that_came_behind_them() -> None:
    asked = ask("client", 1, "session/list")
    withdrawn: Said = "client", {"method": "$/cancel_request", "params": {"requestId": 1}}
    exchanges = paired(frames(asked, asked, withdrawn, withdrawn, asked, withdrawn, asked))
    by = [each.cancel_frame.seq if each.cancel_frame else None for each in exchanges.all]
    assert by == [3, 3, 6, None]


def test_a_choice_made_after_the_turn_is_late_in_version_1() -> None:
    said = (
        prompt(1, "go"),
        ask("agent", 1, "session/request_permission", sessionId="s1"),
        ask("agent", 2, "session/request_permission", sessionId="s2"),
        answer("agent", 1, {"stopReason": "end_turn"}),
        answer("client", 1, {"outcome": {"outcome": "selected", "optionId": "yes"}}),
        answer("client", 2, {"outcome": {"outcome": "selected", "optionId": "yes"}}),
    )
    assert wrong(*said) == [("late", 5)]
    inserted = [*said[:3], answer("agent", 1, {"messageId": "m"}), *said[4:]]
    assert wrong(*inserted) == []


def test_an_id_used_again_too_early_is_answered_in_the_order_of_the_questions() -> None:
    said = frames(
        ask("client", 1, "a"), ask("client", 1, "b"), answer("agent", 1, 1), answer("agent", 1, 2)
    )
    exchanges = paired(said)
    assert [fault.kind for fault in exchanges.faults] == ["reused"]
    assert [exchange.response_frame for exchange in exchanges.all] == said[2:]


def test_the_entries_of_a_batch_are_paired_but_the_batch_itself_is_no_answer() -> None:
    both = b"[%b,%b]" % (encoded(ask("client", 1, "a")[1]), encoded({"method": "n"}))  # type: ignore[arg-type]
    batch, reply = said = frames(("client", both), answer("agent", 1, {}))
    exchanges = paired(said)
    (exchange,) = exchanges.all
    assert exchanges.of(batch) is None
    assert exchanges.all_of(batch) == exchanges.all_of(reply) == (exchange,)


@pytest.mark.parametrize(
    ("reply", "ending"),
    [
        (answer("agent", 1, {"stopReason": "end_turn"}), "result"),
        (answer("agent", 1, {"stopReason": "cancelled"}), "cancelled"),
        (answer("agent", 1, {"outcome": {"outcome": "cancelled"}}), "cancelled"),
        (answer("agent", 1, {"action": "cancel"}), "cancelled"),
        (answer("agent", 1, "cancelled"), "result"),
        (failure("agent", 1, -32800), "cancelled"),
        (failure("agent", 1, -32603), "error"),
    ],
)
def test_an_answer_says_how_its_exchange_ended(reply: Said, ending: str) -> None:
    (exchange,) = paired(frames(ask("client", 1, "session/prompt"), reply)).all
    assert exchange.ending == ending


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["client", "agent"]),
        st.booleans(),
        st.sampled_from([0, 1, "0", "1", None]),
    ),
    max_size=40,
)


@given(MOVES)
def test_every_answer_is_paired_or_a_fault_and_no_question_has_two(moves: list[Any]) -> None:
    said = [ask(side, id_, "m") if asks else answer(side, id_, {}) for side, asks, id_ in moves]
    exchanges = paired(frames(*said))
    answers = [n for n, (_, asks, _) in enumerate(moves, start=1) if not asks]
    paired_answers = [each.response_frame.seq for each in exchanges.all if each.response_frame]
    unpaired = [fault.frame.seq for fault in exchanges.faults if fault.kind in {"orphan", "double"}]
    assert sorted(paired_answers + unpaired) == answers
    for exchange in exchanges.all:
        if exchange.response_frame is not None:
            side, asks, id_ = moves[exchange.response_frame.seq - 1]
            assert not asks
            assert side == opposite(exchange.requester)
            assert (type(id_), id_) == (type(exchange.request.id), exchange.request.id)
            assert exchange.response_frame.seq > exchange.request_frame.seq


@given(MOVES, st.integers(0, 45))
def test_what_was_open_at_a_frame_is_what_is_open_after_the_frames_until_then(
    moves: list[Any], n: int
) -> None:
    said = frames(
        *[ask(side, id_, "m") if asks else answer(side, id_, {}) for side, asks, id_ in moves]
    )
    then = [exchange.request_frame.seq for exchange in paired(said[:n]).open()]
    assert [exchange.request_frame.seq for exchange in paired(said).open_at(n)] == then


def test_marks_let_a_long_connection_be_looked_at_anywhere() -> None:
    said = frames(
        *[
            turn
            for id_ in range(3 * MARK_INTERVAL)
            for turn in (ask("client", id_, "m"), answer("agent", id_, {}))
        ],
        ask("client", "last", "m"),
    )
    exchanges = paired(said)

    def open_at(n: int) -> list[Exchange]:
        return exchanges.open_at(n)

    assert [each.request_frame.seq for each in open_at(2 * MARK_INTERVAL + 1)] == [
        2 * MARK_INTERVAL + 1
    ]
    assert open_at(2 * MARK_INTERVAL) == []
    assert [each.request_frame.seq for each in open_at(1)] == [1]
    assert [each.request.id for each in open_at(len(said))] == ["last"]


# A connection that runs for days


def test_a_lean_history_knows_the_newest_frame_of_each_side_and_open_requests() -> None:
    exchanges = Exchanges(is_lean=True)
    first, second, reply = said = frames(
        ask("client", 1, "a"), ask("client", 2, "b"), answer("agent", 1, {})
    )
    paired_with = [exchanges.apply(frame) for frame in said]
    assert [each and each.request.method for each in paired_with] == ["a", "b", "a"]
    assert exchanges.of(first) is None
    assert exchanges.of(second) is paired_with[1]
    assert exchanges.of(reply) is paired_with[2]
    assert [each.request.method for each in exchanges.open()] == ["b"]
    assert (exchanges.all, exchanges.faults) == ([], [])


def test_the_oldest_open_request_is_forgotten_beyond_the_limit() -> None:
    exchanges = Exchanges(is_lean=True, max_open=2)
    for frame in frames(*(ask("client", number, "m") for number in range(4))):
        exchanges.apply(frame)
    assert [each.request.id for each in exchanges.open()] == [2, 3]
    (late,) = frames(answer("agent", 0, {}))
    assert exchanges.apply(late) is None


def test_a_new_connection_forgets_the_requests_of_a_lean_history() -> None:
    exchanges = Exchanges(is_lean=True)
    request, response = frames(ask("client", 1, "session/prompt"), answer("agent", 1, {}))
    exchanges.apply(request)
    exchanges.restart(2)
    assert exchanges.apply(response) is None
    assert exchanges.open() == []


def test_long_params_are_not_kept_with_a_lean_request() -> None:
    exchanges = Exchanges(is_lean=True, max_request_bytes=100)
    params = ("x", "x" * 100, "x")
    short, long, after = frames(*(ask("client", n, "m", a=each) for n, each in enumerate(params)))
    asked = [exchanges.apply(frame) for frame in (short, long)]
    assert [each.request.params for each in asked if each] == [{"a": "x"}, {"a": "x" * 100}]
    exchanges.apply(after)
    kept = exchanges.open()[:2]
    assert [each.request.params for each in kept] == [{"a": "x"}, None]
    assert [each.request_frame.data for each in kept] == [b"", b""]


def test_the_messages_of_a_batch_are_paired_one_by_one() -> None:
    exchanges = Exchanges()
    batch = b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]'
    (frame,) = frames(("client", batch))
    (first, exchange), (second, nothing) = exchanges.pair(DecodedFrame(frame))
    assert isinstance(first, Request)
    assert isinstance(second, Notification)
    assert [exchange] == exchanges.open()
    assert (nothing, exchanges.of(frame)) == (None, None)
