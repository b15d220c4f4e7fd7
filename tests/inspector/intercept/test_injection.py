"""Frames of ours, and the answers that are for us alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.intercept.injection import (
    BROKEN_TIMEOUT_S,
    MAX_EXPECTED,
    IdSpace,
    Injection,
    Injections,
)
from acp_inspector.intercept.message import InterceptedFrame
from acp_inspector.journal import Frame
from acp_protocol import jsonrpc
from acp_protocol.framing import Side
from tests.inspector.intercept.scene import NOTIFICATION, REQUEST, Scene, counted_ids


def injected(injections: Injections, line: bytes = REQUEST) -> Injection:
    (injection,) = injections.make("client", line, "person")
    injections.expect(injection)
    return injection


def answer(id_: str | None, side: Side = "agent", **members: object) -> InterceptedFrame:
    message = {"jsonrpc": "2.0", "id": id_, **(members or {"result": 1})}
    return InterceptedFrame.of(Frame(9, 0.0, side, json.dumps(message).encode()))


def test_only_requests_get_an_id_and_only_their_answers_are_awaited() -> None:
    injections = Injections(counted_ids())
    for line in (NOTIFICATION, b'{"jsonrpc":"2.0","id":1,"result":1}'):
        assert injected(injections, line).raw == line
    (kept,) = injections.make("client", REQUEST, "person", keeps_id=True)
    assert (kept.raw, kept.id, injections.are_expected) == (REQUEST, None, False)


def test_an_error_answers_too_and_a_second_answer_is_anybodys() -> None:
    injections = Injections(counted_ids())
    injection = injected(injections)
    assert not injections.take_response(answer(injection.id, method="m"))
    assert not injections.take_response(answer(injection.id, "client"))
    assert not injections.take_response(answer(None))
    failed = answer(injection.id, error={"code": 1, "message": "no"})
    assert injections.take_response(failed)
    assert failed.is_dropped
    assert injection.wait_for_response(0) == failed.frame.data
    assert not injections.take_response(answer(injection.id))


def test_too_many_injected_requests_give_up_the_oldest() -> None:
    injections = Injections(counted_ids())
    first, *_, last = [injected(injections) for _ in range(MAX_EXPECTED + 1)]
    assert not injections.take_response(answer(first.id))
    assert injections.take_response(answer(last.id))
    assert first.wait_for_response(0) is None


def test_whatever_asks_gets_an_id_of_ours_also_where_it_is_broken_or_in_an_array() -> None:
    injections = Injections(counted_ids())
    for line in (
        b'{"jsonrpc":"2.0","id":5,"method":"m"}',
        b'{"jsonrpc":"2.0","id":"5","method":"m"}',
        b'{"jsonrpc":"2.0","id":null,"method":"m"}',
        b'{"jsonrpc":"1.0","id":5,"method":7}',
        b'[{"jsonrpc":"2.0","id":5,"method":"m"},{"jsonrpc":"2.0","method":"n"}]',
    ):
        injection = injected(injections, line)
        assert injection.id is not None
        value = json.loads(injection.raw)
        assert (value[0] if isinstance(value, list) else value)["id"] == injection.id
        assert injections.take_response(answer(injection.id))


def test_an_array_of_answers_is_ours_as_far_as_it_answers_us() -> None:
    injections = Injections(counted_ids())
    array = injected(injections, b"[%b,%b]" % (REQUEST, REQUEST))
    answers = [{"jsonrpc": "2.0", "id": id_, "result": 1} for id_ in array.ids]
    other = {"jsonrpc": "2.0", "id": 1, "result": 2}
    mixed = InterceptedFrame.of(Frame(9, 0.0, "agent", json.dumps([answers[0], other]).encode()))
    assert not injections.take_response(mixed)
    assert json.loads(mixed.raw) == [other]
    rest = InterceptedFrame.of(Frame(9, 0.0, "agent", json.dumps([answers[1]]).encode()))
    assert injections.take_response(rest)
    assert rest.is_dropped
    assert not injections.are_expected


@pytest.mark.parametrize("line", [b"no JSON", b"{}", b"[]", b'{"jsonrpc":"2.0","method":7}'])
def test_an_error_without_an_id_answers_a_broken_frame_of_ours_once(line: bytes) -> None:
    injections = Injections(counted_ids())
    injection = injected(injections, line)
    assert not injections.take_response(answer(None)), "a result answers something"
    refusal = {"code": -32700, "message": "no JSON"}
    assert not injections.take_response(answer(None, "client", error=refusal))
    assert injections.take_response(answer(None, error=refusal))
    assert injection.wait_for_response(0) is not None
    assert not injections.take_response(answer(None, error=refusal))
    assert not injections.are_expected


def test_a_broken_frame_of_ours_that_is_answered_by_its_id_is_answered() -> None:
    injections = Injections(counted_ids())
    injection = injected(injections, b'{"jsonrpc":"1.0","id":5,"method":"m"}')
    refusal = {"code": -32600, "message": "no request"}
    assert injections.take_response(answer(injection.id, error=refusal))
    assert not injections.take_response(answer(None, error=refusal))


def test_an_error_without_an_id_is_the_peers_after_a_while() -> None:
    now = [0.0]
    injections = Injections(counted_ids(), lambda: now[0])
    injected(injections, b"no JSON")
    now[0] = BROKEN_TIMEOUT_S + 1
    assert not injections.take_response(answer(None, error={"code": 1, "message": "no"}))
    assert not injections.are_expected


def test_an_id_that_was_broken_on_purpose_stays_and_is_ours() -> None:
    injections = Injections(counted_ids())
    line = b'{"jsonrpc":"2.0","id":1.5,"method":"m"}'
    injection = injected(injections, line)
    assert injection.raw == line
    odd = b'{"jsonrpc":"2.0","id":1.5,"error":{"code":1,"message":"no"}}'
    assert injections.take_response(InterceptedFrame.of(Frame(9, 0.0, "agent", odd)))
    assert not injections.take_response(InterceptedFrame.of(Frame(9, 0.0, "agent", odd)))


# Both peers ask and answer as they like, and somebody asks in between.

SIDES: tuple[Side, ...] = ("client", "agent")
OTHER: dict[Side, Side] = {"client": "agent", "agent": "client"}
PEER_IDS = st.one_of(
    st.integers(0, 3),
    st.sampled_from(["1", "a", "acp-console", "acp-console-t0-1", "acp-console-t1-2"]),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from(SIDES), PEER_IDS),
        st.tuples(st.just("inject"), st.sampled_from(SIDES), PEER_IDS),
        st.tuples(st.just("answer"), st.sampled_from(SIDES), st.none()),
    ),
    max_size=30,
)


class Talk:
    """Two peers with an interceptor between them; each responds to what it receives."""

    def __init__(self) -> None:
        self.scene = Scene()
        self.scene.controller.set_breakpoint("", lambda frame: False)
        self.to_answer: dict[Side, list[dict[str, Any]]] = {"client": [], "agent": []}
        self.got: dict[Side, list[tuple[Any, int]]] = {"client": [], "agent": []}
        self.injected: list[tuple[Injection, int]] = []
        self.sent: dict[Side, list[tuple[Any, int]]] = {"client": [], "agent": []}
        self.count = 0

    def next_request(self, id_: object) -> bytes:
        self.count += 1
        message = {"jsonrpc": "2.0", "id": id_, "method": "m", "params": {"n": self.count}}
        return json.dumps(message).encode()

    def ask(self, side: Side, id_: object) -> None:
        if id_ in [sent for sent, _ in self.sent[side]]:
            return
        self.sent[side].append((id_, self.count + 1))
        self.pass_on(side, self.next_request(id_))

    def inject(self, side: Side, id_: object) -> None:
        injection = self.scene.controller.inject(side, self.next_request(id_))
        self.injected.append((injection, self.count))
        self.pass_on(side)

    def answer(self, side: Side, _: object = None) -> None:
        if self.to_answer[side]:
            sent = self.to_answer[side].pop(0)
            answer = {"jsonrpc": "2.0", "id": sent["id"], "result": sent["params"]["n"]}
            self.pass_on(side, json.dumps(answer).encode())

    def pass_on(self, side: Side, *lines: bytes) -> None:
        for line in self.scene.passed(side, *lines):
            message = json.loads(line)
            if "method" in message:
                self.to_answer[OTHER[side]].append(message)
            else:
                self.got[OTHER[side]].append((message["id"], message["result"]))


@given(STEPS)
def test_each_side_gets_only_the_responses_to_its_own_requests(
    steps: list[tuple[str, Side, object]],
) -> None:
    talk = Talk()
    for step, side, id_ in steps:
        getattr(talk, step)(side, id_)
    for side in SIDES:
        while talk.to_answer[side]:
            talk.answer(side)
    for side in SIDES:
        # Compared as JSON spells them: 1 is not "1".
        assert sorted(map(json.dumps, talk.got[side])) == sorted(map(json.dumps, talk.sent[side]))
    for injection, number in talk.injected:
        assert injection.response is not None
        assert json.loads(injection.response) == {
            "jsonrpc": "2.0",
            "id": injection.id,
            "result": number,
        }


def test_ids_are_given_out_once() -> None:
    ids = IdSpace()
    issued = [ids.issue() for _ in range(100)]
    assert len({*issued}) == 100
    assert IdSpace().issue() not in issued


def test_a_peer_that_uses_our_beginning_makes_us_take_another() -> None:
    ids = counted_ids()
    first = ids.issue()
    ids.add_foreign("acp-console-t1-9")
    ids.add_foreign(first)
    assert (first, ids.issue()) == ("acp-console-t0-1", "acp-console-t2-2")
    for other in (7, None, "else", "acp-console"):
        ids.add_foreign(other)
    assert ids.issue() == "acp-console-t2-3"


@pytest.mark.parametrize("sign", ["c", r"\u0063"])
def test_an_id_of_ours_is_seen_however_it_is_spelled(sign: str) -> None:
    ids = IdSpace()
    spelled = ids.issue().replace("c", sign)
    raw = b'{"jsonrpc":"2.0","id":"%b","result":1}' % spelled.encode()
    assert jsonrpc.is_json(raw)
    assert ids.may_contain_id(raw)
    assert not ids.may_contain_id(b'{"jsonrpc":"2.0","id":7,"result":1}')
