"""A JSON-RPC endpoint without I/O."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol import jsonrpc
from acp_protocol.errors import LocalProtocolError
from acp_protocol.jsonrpc import Failure, Result, read_message
from acp_protocol.peer import Answered, Asked, CancelAsked, Fault, Lost, Peer, Told


def test_an_answer_finds_its_question() -> None:
    peer = Peer()
    id_, frame = peer.ask("initialize", {"protocolVersion": 1})
    assert json.loads(frame) == {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "initialize",
        "params": {"protocolVersion": 1},
    }
    fact = peer.received(jsonrpc.result_line(id_, {"ok": True}))
    assert isinstance(fact, Answered)
    assert isinstance(fact.answer, Result)
    assert fact.id == id_


def test_an_error_is_an_answer_too() -> None:
    peer = Peer()
    id_, _ = peer.ask("m")
    fact = peer.received(jsonrpc.failure_line(id_, -32601, "Method not found"))
    assert isinstance(fact, Answered)
    assert isinstance(fact.answer, Failure)


def test_each_question_has_an_id_of_its_own() -> None:
    peer = Peer()
    assert len({peer.ask("m")[0] for _ in range(100)}) == 100


def test_an_answer_whose_id_has_another_type_is_a_fault() -> None:
    peer = Peer()
    id_, _ = peer.ask("m")
    fact = peer.received(jsonrpc.result_line(str(id_), {}))
    assert isinstance(fact, Fault)
    assert "never asked" in fact.reason
    assert fact.reply is None


def test_a_second_answer_is_a_fault_and_not_answered() -> None:
    peer = Peer()
    id_, _ = peer.ask("m")
    peer.received(jsonrpc.result_line(id_, {}))
    fact = peer.received(jsonrpc.result_line(id_, {}))
    assert isinstance(fact, Fault)
    assert "second answer" in fact.reason
    assert fact.reply is None


def test_a_late_answer_to_a_cancelled_question_is_no_fault() -> None:
    """ACP, Cancellation: who gave up has to bear the answer that still comes."""
    peer = Peer()
    id_, _ = peer.ask("m")
    frame = peer.give_up(id_)
    assert frame is not None
    assert json.loads(frame)["params"] == {"requestId": id_}
    assert isinstance(peer.received(jsonrpc.result_line(id_, {})), Answered)
    assert isinstance(peer.received(jsonrpc.result_line(id_, {})), Fault)


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
    fact = peer.received(jsonrpc.request_line("x", "fs/read_text_file", {}))
    assert isinstance(fact, Asked)
    assert read_message(peer.answer("x", {"content": ""})) == Result(
        "x", {"content": ""}, b'{"jsonrpc":"2.0","id":"x","result":{"content":""}}'
    )


def test_no_question_is_answered_twice() -> None:
    peer = Peer()
    peer.received(jsonrpc.request_line(1, "m"))
    peer.answer(1, {})
    with pytest.raises(LocalProtocolError, match="no open request"):
        peer.refuse(1, -1, "no")


def test_a_second_question_of_an_open_id_is_refused_without_that_id() -> None:
    peer = Peer()
    peer.received(jsonrpc.request_line(1, "m"))
    fact = peer.received(jsonrpc.request_line(1, "m"))
    assert isinstance(fact, Fault)
    assert fact.reply is not None
    reply = json.loads(fact.reply)
    assert reply["id"] is None
    assert reply["error"]["code"] == jsonrpc.INVALID_REQUEST


def test_a_notification_is_told() -> None:
    assert isinstance(Peer().received(jsonrpc.notification_line("session/cancel", {})), Told)


def test_a_cancel_names_the_request_with_its_type() -> None:
    frame = jsonrpc.notification_line("$/cancel_request", {"requestId": "1"})
    assert Peer().received(frame) == CancelAsked("1")


@pytest.mark.parametrize("params", [None, [], {}, {"requestId": True}, {"requestId": []}])
def test_a_cancel_that_names_no_request_is_a_silent_fault(params: object) -> None:
    fact = Peer().received(jsonrpc.notification_line("$/cancel_request", params))
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
    fact = Peer().received(raw)
    assert isinstance(fact, Fault)
    assert fact.reply is not None
    reply = json.loads(fact.reply)
    assert (reply["id"], reply["error"]["code"]) == (None, code)


@pytest.mark.parametrize("raw", [b"", b" \r", b'{"jsonrpc":"2.0","id":[],"result":1}'])
def test_blank_lines_and_broken_answers_are_not_answered(raw: bytes) -> None:
    fact = Peer().received(raw)
    assert isinstance(fact, Fault)
    assert fact.reply is None


@given(st.lists(st.binary()))
def test_no_input_breaks_a_peer(frames: list[bytes]) -> None:
    peer = Peer()
    peer.ask("m")
    for frame in frames:
        peer.received(frame)
