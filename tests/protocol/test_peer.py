"""A JSON-RPC endpoint without I/O."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol import jsonrpc
from acp_protocol.endpoint import CancelRequested, Endpoint, ProtocolViolation
from acp_protocol.errors import LocalProtocolError
from acp_protocol.jsonrpc import ErrorResponse, Notification, Request, SuccessResponse, read_message


def test_an_answer_finds_its_question() -> None:
    peer = Endpoint()
    id_, frame = peer.send_request("initialize", {"protocolVersion": 1})
    assert json.loads(frame) == {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "initialize",
        "params": {"protocolVersion": 1},
    }
    (fact,) = peer.receive(jsonrpc.encode_result(id_, {"ok": True}))
    assert isinstance(fact, SuccessResponse)
    assert fact.id == id_


def test_an_error_is_an_answer_too() -> None:
    peer = Endpoint()
    id_, _ = peer.send_request("m")
    (fact,) = peer.receive(jsonrpc.encode_error(id_, -32601, "Method not found"))
    assert isinstance(fact, ErrorResponse)


def test_each_question_has_an_id_of_its_own() -> None:
    peer = Endpoint()
    assert len({peer.send_request("m")[0] for _ in range(100)}) == 100


def test_a_response_whose_id_has_another_type_is_a_violation() -> None:
    peer = Endpoint()
    id_, _ = peer.send_request("m")
    (fact,) = peer.receive(jsonrpc.encode_result(str(id_), {}))
    assert isinstance(fact, ProtocolViolation)
    assert "response without a request" in fact.reason
    assert fact.reply is None


def test_a_second_response_is_a_violation_without_a_reply() -> None:
    peer = Endpoint()
    id_, _ = peer.send_request("m")
    peer.receive(jsonrpc.encode_result(id_, {}))
    (fact,) = peer.receive(jsonrpc.encode_result(id_, {}))
    assert isinstance(fact, ProtocolViolation)
    assert "second response" in fact.reason
    assert fact.reply is None


def test_a_late_answer_to_a_cancelled_question_is_no_fault() -> None:
    """ACP, Cancellation: who gave up has to bear the answer that still comes."""
    peer = Endpoint()
    id_, _ = peer.send_request("m")
    frame = peer.cancel(id_)
    assert frame is not None
    assert json.loads(frame)["params"] == {"requestId": id_}
    assert isinstance(peer.receive(jsonrpc.encode_result(id_, {}))[0], SuccessResponse)
    assert isinstance(peer.receive(jsonrpc.encode_result(id_, {}))[0], ProtocolViolation)


def test_an_answered_question_cannot_be_given_up() -> None:
    peer = Endpoint()
    id_, _ = peer.send_request("m")
    peer.receive(jsonrpc.encode_result(id_, {}))
    assert peer.cancel(id_) is None


def test_the_end_loses_every_open_question_once() -> None:
    peer = Endpoint()
    first, second = peer.send_request("a")[0], peer.send_request("b")[0]
    assert peer.close() == [first, second]
    assert peer.close() == []


def test_the_peers_question_is_answered_under_its_own_id() -> None:
    peer = Endpoint()
    (fact,) = peer.receive(jsonrpc.encode_request("x", "fs/read_text_file", {}))
    assert isinstance(fact, Request)
    frame = peer.send_result("x", {"content": ""})
    assert frame is not None
    assert read_message(frame) == SuccessResponse(
        "x", {"content": ""}, b'{"jsonrpc":"2.0","id":"x","result":{"content":""}}'
    )


def test_no_request_gets_two_responses() -> None:
    peer = Endpoint()
    peer.receive(jsonrpc.encode_request(1, "m"))
    peer.send_result(1, {})
    with pytest.raises(LocalProtocolError, match="no open request"):
        peer.send_error(1, -1, "no")


def test_a_second_request_with_an_open_id_is_refused_without_that_id() -> None:
    peer = Endpoint()
    peer.receive(jsonrpc.encode_request(1, "m"))
    (fact,) = peer.receive(jsonrpc.encode_request(1, "m"))
    assert isinstance(fact, ProtocolViolation)
    assert fact.reply is not None
    reply = json.loads(fact.reply)
    assert reply["id"] is None
    assert reply["error"]["code"] == jsonrpc.INVALID_REQUEST


def test_a_notification_is_an_event() -> None:
    (fact,) = Endpoint().receive(jsonrpc.encode_notification("session/cancel", {}))
    assert isinstance(fact, Notification)


def test_a_cancel_names_the_request_with_its_type() -> None:
    frame = jsonrpc.encode_notification("$/cancel_request", {"requestId": "1"})
    assert Endpoint().receive(frame) == (CancelRequested("1"),)


@pytest.mark.parametrize("params", [None, [], {}, {"requestId": True}, {"requestId": []}])
def test_a_cancel_that_names_no_request_is_a_silent_fault(params: object) -> None:
    (fact,) = Endpoint().receive(jsonrpc.encode_notification("$/cancel_request", params))
    assert isinstance(fact, ProtocolViolation)
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
    (fact,) = Endpoint().receive(raw)
    assert isinstance(fact, ProtocolViolation)
    assert fact.reply is not None
    reply = json.loads(fact.reply)
    assert (reply["id"], reply["error"]["code"]) == (None, code)


@pytest.mark.parametrize("raw", [b"", b" \r", b'{"jsonrpc":"2.0","id":[],"result":1}'])
def test_blank_lines_and_broken_answers_are_not_answered(raw: bytes) -> None:
    (fact,) = Endpoint().receive(raw)
    assert isinstance(fact, ProtocolViolation)
    assert fact.reply is None


@pytest.mark.parametrize(
    "members",
    [
        {"jsonrpc": "2.0", "error": "no"},
        {"jsonrpc": "2.0", "error": {"code": "1", "message": "no"}},
        {"jsonrpc": "2.0", "result": {}, "error": {"code": 1, "message": "no"}},
        {"jsonrpc": "1.0", "result": {}},
    ],
    ids=str,
)
def test_an_answer_that_is_none_fails_its_question_instead_of_leaving_it_open(
    members: dict[str, object],
) -> None:
    peer = Endpoint()
    id_, _ = peer.send_request("m")
    raw = json.dumps({"id": id_} | members).encode()
    fault, failure = peer.receive(raw)
    assert isinstance(fault, ProtocolViolation)
    assert fault.reply is None
    assert isinstance(failure, ErrorResponse)
    assert (failure.id, failure.raw) == (id_, raw)
    assert failure.message.startswith("the response is no JSON-RPC: ")
    assert peer.close() == []
    (again,) = peer.receive(raw)
    assert isinstance(again, ProtocolViolation)


@pytest.mark.parametrize(
    "members", [{"result": "cache warmed"}, {"error": "retrying"}, {"result": {}}], ids=str
)
def test_a_log_line_with_the_id_of_a_request_does_not_end_it(members: dict[str, object]) -> None:
    peer = Endpoint()
    id_, _ = peer.send_request("m")
    (stray,) = peer.receive(json.dumps({"id": id_, "level": "info"} | members).encode())
    assert isinstance(stray, ProtocolViolation)
    assert stray.reply is None
    (response,) = peer.receive(json.dumps({"jsonrpc": "2.0", "id": id_, "result": 1}).encode())
    assert isinstance(response, SuccessResponse)


def test_a_broken_question_of_the_peer_leaves_ours_of_that_id_open() -> None:
    peer = Endpoint()
    id_, _ = peer.send_request("m")
    peer.receive(json.dumps({"jsonrpc": "2.0", "id": id_, "method": 7}).encode())
    assert peer.close() == [id_]


@given(st.lists(st.binary()))
def test_no_input_breaks_a_peer(frames: list[bytes]) -> None:
    peer = Endpoint()
    peer.send_request("m")
    for frame in frames:
        peer.receive(frame)


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
    peer, frames = Endpoint(allow_batches=True), list[bytes]()
    for fact in peer.receive(line):
        if isinstance(fact, ProtocolViolation) and fact.reply is not None:
            frames.append(fact.reply)
        elif isinstance(fact, Request):
            is_known = fact.method == "known"
            frame = (
                peer.send_result(fact.id, {})
                if is_known
                else peer.send_error(fact.id, MISSING, "no")
            )
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
    peer = Endpoint(allow_batches=True)
    peer.receive(json.dumps([call(1), call(2, "slow")]).encode())
    assert peer.send_result(1, {}) is None
    alone = peer.receive(json.dumps(call(3)).encode())
    assert isinstance(alone[0], Request)
    assert peer.send_result(3, {}) == jsonrpc.encode_result(3, {})
    frame = peer.send_result(2, {})
    assert frame is not None
    assert [answer["id"] for answer in json.loads(frame)] == [1, 2]


def test_answers_in_an_array_reach_their_questions() -> None:
    peer = Endpoint(allow_batches=True)
    first, second = peer.send_request("a")[0], peer.send_request("b")[0]
    lines = jsonrpc.encode_result(second, {}), jsonrpc.encode_error(first, -1, "no")
    facts = peer.receive(b"[%b]" % b",".join(lines))
    assert [type(fact) for fact in facts] == [SuccessResponse, ErrorResponse]
    assert peer.close() == []
