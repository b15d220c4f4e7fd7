"""What one side was asked and has not answered yet."""

from __future__ import annotations

import pytest

from acp_agent.scripted.run import OutgoingRequests, ReceivedRequests
from acp_protocol.jsonrpc import Json, Request, RequestId, encode_request, read_message


def request(id_: RequestId, method: str = "session/prompt") -> Request:
    read = read_message(encode_request(id_, method, {}))
    assert isinstance(read, Request)
    return read


def test_an_id_keeps_its_type() -> None:
    sent = OutgoingRequests()
    first, second = sent.new(1), sent.new("1")
    assert sent.answered("1", "text", None)
    assert sent.answered(1, "number", None)
    assert (first.result, second.result) == ("number", "text")


def test_of_two_questions_of_one_id_the_first_is_answered_first() -> None:
    sent = OutgoingRequests()
    twins = [sent.new("same"), sent.new("same")]
    for result in ("one", "two"):
        sent.answered("same", result, None)
    assert [each.result for each in twins] == ["one", "two"]
    assert not sent.answered("same", "three", None)


def test_a_refused_duplicate_fails_and_the_first_request_still_gets_its_response() -> None:
    sent = OutgoingRequests()
    alone, first, second = (sent.new(id_) for id_ in ("alone", "same", "same"))
    refusal: Json = {"code": -32600, "message": "Invalid request"}
    sent.refuse_duplicate(refusal)
    sent.refuse_duplicate(refusal)
    assert second.error == refusal
    assert not first.is_answered.is_set()
    assert not alone.is_answered.is_set()
    assert sent.answered("same", "one", None)
    assert first.result == "one"


def test_who_has_left_answers_nothing() -> None:
    sent = OutgoingRequests()
    before = sent.new()
    sent.leave()
    after = sent.new()
    assert before.is_answered.is_set()
    assert before.error == after.error == {"code": -32603, "message": "the client has left"}


def test_a_request_is_answered_under_its_id() -> None:
    requests = ReceivedRequests()
    requests.begin(asked := request(7))
    assert (requests.previous, requests.answer(asked), requests.previous) == (None, 7, 7)


@pytest.mark.parametrize("early", [0, 1])
def test_those_who_trade_are_answered_under_each_others_id(early: int) -> None:
    requests, both = ReceivedRequests(), [request(1), request("1")]
    for each in both:
        requests.begin(each)
    requests.trade(both[early])
    requests.trade(both[1 - early])
    ids: dict[int, Json] = {place: requests.answer(both[place]) for place in (early, 1 - early)}
    assert ids == {0: "1", 1: 1}


def test_who_finds_nobody_to_trade_with_keeps_its_id() -> None:
    requests, mine = ReceivedRequests(), request(1)
    for each in (mine, request(2, "session/list"), answered := request(3)):
        requests.begin(each)
    requests.answer(answered)
    requests.trade(mine)
    assert requests.answer(mine) == 1


def test_nobody_is_traded_with_twice() -> None:
    requests, asked = ReceivedRequests(), [request(id_) for id_ in (1, 2, 3)]
    for each in asked:
        requests.begin(each)
    requests.trade(asked[1])
    requests.trade(asked[2])
    assert [requests.answer(each) for each in asked] == [2, 1, 3]
