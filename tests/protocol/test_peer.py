"""A JSON-RPC endpoint without I/O."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol import jsonrpc
from acp_protocol.errors import LocalProtocolError
from acp_protocol.jsonrpc import Failure, Notification, Request, Result, read_message
from acp_protocol.peer import CancelAsked, Fault, Lost, Peer


def test_an_answer_finds_its_question() -> None:
    peer = Peer()
    id_, frame = peer.ask("initialize", {"protocolVersion": 1})
    assert json.loads(frame) == {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "initialize",
        "params": {"protocolVersion": 1},
    }
    (fact,) = peer.received(jsonrpc.result_line(id_, {"ok": True}))
    assert isinstance(fact, Result)
    assert fact.id == id_


def test_an_error_is_an_answer_too() -> None:
    peer = Peer()
    id_, _ = peer.ask("m")
    (fact,) = peer.received(jsonrpc.failure_line(id_, -32601, "Method not found"))
    assert isinstance(fact, Failure)


def test_each_question_has_an_id_of_its_own() -> None:
    peer = Peer()
    assert len({peer.ask("m")[0] for _ in range(100)}) == 100


def test_a_response_whose_id_has_another_type_is_a_violation() -> None:
    peer = Peer()
    id_, _ = peer.ask("m")
    (fact,) = peer.received(jsonrpc.result_line(str(id_), {}))
    assert isinstance(fact, Fault)
    assert "response without a request" in fact.reason
    assert fact.reply is None


def test_a_second_response_is_a_violation_without_a_reply() -> None:
    peer = Peer()
    id_, _ = peer.ask("m")
    peer.received(jsonrpc.result_line(id_, {}))
    (fact,) = peer.received(jsonrpc.result_line(id_, {}))
    assert isinstance(fact, Fault)
    assert "second response" in fact.reason
    assert fact.reply is None


def test_a_late_answer_to_a_cancelled_question_is_no_fault() -> None:
    """ACP, Cancellation: who gave up has to bear the answer that still comes."""
    peer = Peer()
    id_, _ = peer.ask("m")
    frame = peer.give_up(id_)
    assert frame is not None
    assert json.loads(frame)["params"] == {"requestId": id_}
    assert isinstance(peer.received(jsonrpc.result_line(id_, {}))[0], Result)
    assert isinstance(peer.received(jsonrpc.result_line(id_, {}))[0], Fault)


def test_an_answered_question_cannot_be_given_up() -> None:
    peer = Peer()
    id_, _ = peer.ask("m")
    peer.received(jsonrpc.result_line(id_, {}))
    assert peer.give_up(id_) is None


def test_the_end_loses_every_open_question_once() -> None:
    peer = Peer()
    first, second = peer.ask("a")[0], peer.ask("b")[0]
    assert peer.closed() == [Lost(first), Lost(second)]
    assert peer.closed() == []


def test_the_peers_question_is_answered_under_its_own_id() -> None:
    peer = Peer()
    (fact,) = peer.received(jsonrpc.request_line("x", "fs/read_text_file", {}))
    assert isinstance(fact, Request)
    frame = peer.answer("x", {"content": ""})
    assert frame is not None
    assert read_message(frame) == Result(
        "x", {"content": ""}, b'{"jsonrpc":"2.0","id":"x","result":{"content":""}}'
    )


def test_no_request_gets_two_responses() -> None:
    peer = Peer()
    peer.received(jsonrpc.request_line(1, "m"))
    peer.answer(1, {})
    with pytest.raises(LocalProtocolError, match="no open request"):
        peer.refuse(1, -1, "no")


def test_a_second_request_with_an_open_id_is_refused_without_that_id() -> None:
    peer = Peer()
    peer.received(jsonrpc.request_line(1, "m"))
    (fact,) = peer.received(jsonrpc.request_line(1, "m"))
    assert isinstance(fact, Fault)
    assert fact.reply is not None
    reply = json.loads(fact.reply)
    assert reply["id"] is None
    assert reply["error"]["code"] == jsonrpc.INVALID_REQUEST


def test_a_notification_is_an_event() -> None:
    (fact,) = Peer().received(jsonrpc.notification_line("session/cancel", {}))
    assert isinstance(fact, Notification)


def test_a_cancel_names_the_request_with_its_type() -> None:
    frame = jsonrpc.notification_line("$/cancel_request", {"requestId": "1"})
    assert Peer().received(frame) == (CancelAsked("1"),)


@pytest.mark.parametrize("params", [None, [], {}, {"requestId": True}, {"requestId": []}])
def test_a_cancel_that_names_no_request_is_a_silent_fault(params: object) -> None:
    (fact,) = Peer().received(jsonrpc.notification_line("$/cancel_request", params))
    assert isinstance(fact, Fault)
    assert fact.reply is None


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"garbage", jsonrpc.PARSE_ERROR),
        (b"5", jsonrpc.INVALID_REQUEST),
        (b"[]", jsonrpc.INVALID_REQUEST),
        (b'[{"jsonrpc":"2.0","id":1,"method":"m"}]', jsonrpc.INVALID_REQUEST),
    ],
)
def test_a_broken_frame_is_answered_once_without_an_id(raw: bytes, code: int) -> None:
    """ACP, Transports: an array gets one error, and none of its entries runs."""
    (fact,) = Peer().received(raw)
    assert isinstance(fact, Fault)
    assert fact.reply is not None
    reply = json.loads(fact.reply)
    assert (reply["id"], reply["error"]["code"]) == (None, code)


@pytest.mark.parametrize("raw", [b"", b" \r", b'{"jsonrpc":"2.0","id":[],"result":1}'])
def test_blank_lines_and_broken_answers_are_not_answered(raw: bytes) -> None:
    (fact,) = Peer().received(raw)
    assert isinstance(fact, Fault)
    assert fact.reply is None


@pytest.mark.parametrize(
    "members",
    [
        {"jsonrpc": "2.0", "error": "no"},
        {"jsonrpc": "2.0", "error": {"code": "1", "message": "no"}},
        {"jsonrpc": "2.0", "result": {}, "error": {"code": 1, "message": "no"}},
        {"result": {}},
    ],
    ids=str,
)
def test_an_answer_that_is_none_fails_its_question_instead_of_leaving_it_open(
    members: dict[str, object],
) -> None:
    peer = Peer()
    id_, _ = peer.ask("m")
    raw = json.dumps({"id": id_} | members).encode()
    fault, failure = peer.received(raw)
    assert isinstance(fault, Fault)
    assert fault.reply is None
    assert isinstance(failure, Failure)
    assert (failure.id, failure.raw) == (id_, raw)
    assert failure.message.startswith("the response is no JSON-RPC: ")
    assert peer.closed() == []
    (again,) = peer.received(raw)
    assert isinstance(again, Fault)


def test_a_broken_question_of_the_peer_leaves_ours_of_that_id_open() -> None:
    peer = Peer()
    id_, _ = peer.ask("m")
    peer.received(json.dumps({"jsonrpc": "2.0", "id": id_, "method": 7}).encode())
    assert peer.closed() == [Lost(id_)]


@given(st.lists(st.binary()))
def test_no_input_breaks_a_peer(frames: list[bytes]) -> None:
    peer = Peer()
    peer.ask("m")
    for frame in frames:
        peer.received(frame)


# Batches, as a draft of version 2 had them: what goes in, and what comes out when every request
# that a handler knows ("known", "slow") is answered with {} and every other one is refused.

PARSE, INVALID, MISSING = jsonrpc.PARSE_ERROR, jsonrpc.INVALID_REQUEST, jsonrpc.METHOD_NOT_FOUND


def call(id_: object, method: str = "known", **members: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, **members}


def told(method: str = "known", **members: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, **members}


def good(id_: object) -> tuple[object, int | None]:
    return id_, None


def bad(code: int, id_: object = None) -> tuple[object, int | None]:
    return id_, code


TRUTH: list[tuple[list[Any], object]] = [
    ([], bad(INVALID)),
    ([1], [bad(INVALID)]),
    ([1, 2, 3], [bad(INVALID)] * 3),
    ([{"foo": "bar"}], [bad(INVALID)]),
    ([{}], [bad(INVALID)]),
    ([None], [bad(INVALID)]),
    (["s"], [bad(INVALID)]),
    ([[]], [bad(INVALID)]),
    ([[call(1)]], [bad(INVALID)]),
    ([call(1), call(2)], [good(1), good(2)]),
    ([call(1)], [good(1)]),
    ([told(), told()], None),
    ([told(), call(1), told()], [good(1)]),
    ([call(1), 5, call(2)], [bad(INVALID), good(1), good(2)]),
    ([told(), 5], [bad(INVALID)]),
    ([call(9, "unknown")], [bad(MISSING, 9)]),
    ([told("unknown")], None),
    ([told(params={"sessionId": 5})], None),
    ([{"id": 1, "method": "known"}], [bad(INVALID)]),
    ([call(1) | {"method": 5}], [bad(INVALID)]),
    ([call(True)], [bad(INVALID)]),
    ([call([])], [bad(INVALID)]),
    ([call({})], [bad(INVALID)]),
    ([call(1.5)], [bad(INVALID)]),
    ([call(None)], [good(None)]),
    ([call(1), call(1)], [bad(INVALID), good(1)]),
    ([{"jsonrpc": "2.0", "id": 70, "result": {}}, call(7)], [good(7)]),
    ([{"jsonrpc": "2.0", "id": 4, "result": {}}], None),
    ([{"jsonrpc": "2.0", "id": 4, "result": {}, "error": {}}], None),
    ([call(0, "initialize")], [bad(MISSING, 0)]),
    ([call(1), told("$/cancel_request", params={"requestId": 1})], [good(1)]),
    ([call(1), told("session/cancel", params={"sessionId": "s"})], [good(1)]),
    ([1, {}, call(True)], [bad(INVALID)] * 3),
]
"""ACP 2.0.0-alpha.3, Transports, "Batches"; where it is silent, the calmest answer."""


@pytest.mark.parametrize(("line", "answers"), TRUTH, ids=lambda value: json.dumps(value)[:60])
def test_a_batch_is_answered_by_the_rules_of_the_draft(line: object, answers: object) -> None:
    assert said_to(json.dumps(line).encode()) == answers


def test_an_array_that_is_no_json_gets_a_single_error() -> None:
    assert said_to(b'[{"jsonrpc":"2.0","method":"x"},') == bad(PARSE)


def test_what_is_no_call_and_no_answer_gets_a_single_error() -> None:
    assert said_to(b'{"jsonrpc":"2.0","id":1}') == bad(INVALID)


def said_to(line: bytes) -> object:
    """Return what a peer that takes batches says to `line`, ids with their error codes, sorted."""
    peer, frames = Peer(takes_batches=True), list[bytes]()
    for fact in peer.received(line):
        if isinstance(fact, Fault) and fact.reply is not None:
            frames.append(fact.reply)
        elif isinstance(fact, Request):
            is_known = fact.method == "known"
            frame = peer.answer(fact.id, {}) if is_known else peer.refuse(fact.id, MISSING, "no")
            frames += [frame] if frame else []
    if not frames:
        return None
    (frame,) = frames
    said: Any = json.loads(frame)
    if isinstance(said, dict):
        return summary(cast("dict[str, Any]", said))
    return sorted(
        (summary(answer) for answer in said), key=lambda each: (each[1] is None, str(each))
    )


def summary(answer: dict[str, Any]) -> tuple[object, int | None]:
    return answer["id"], answer["error"]["code"] if "error" in answer else None


def test_the_answers_of_a_batch_leave_together_and_last() -> None:
    peer = Peer(takes_batches=True)
    peer.received(json.dumps([call(1), call(2, "slow")]).encode())
    assert peer.answer(1, {}) is None
    alone = peer.received(json.dumps(call(3)).encode())
    assert isinstance(alone[0], Request)
    assert peer.answer(3, {}) == jsonrpc.result_line(3, {})
    frame = peer.answer(2, {})
    assert frame is not None
    assert [answer["id"] for answer in json.loads(frame)] == [1, 2]


def test_answers_in_an_array_reach_their_questions() -> None:
    peer = Peer(takes_batches=True)
    first, second = peer.ask("a")[0], peer.ask("b")[0]
    lines = jsonrpc.result_line(second, {}), jsonrpc.failure_line(first, -1, "no")
    facts = peer.received(b"[%b]" % b",".join(lines))
    assert [type(fact) for fact in facts] == [Result, Failure]
    assert peer.closed() == []
