"""Frames of ours, and the answers that are for us alone."""

from __future__ import annotations

import json

from acp_inspector.intercept.injection import ANSWERS_LIMIT, Injection, Injections
from acp_inspector.intercept.passage import Passage
from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from tests.inspector.intercept.scene import ASK, TELL, counted_ids


def injected(injections: Injections, line: bytes = ASK) -> Injection:
    injection = injections.make("client", line, "person", keeps_id=False)
    injections.expect(injection)
    return injection


def answer(id_: str | None, side: Side = "agent", **members: object) -> Passage:
    message = {"jsonrpc": "2.0", "id": id_, **(members or {"result": 1})}
    return Passage.of(Frame(9, 0.0, side, json.dumps(message).encode()))


def test_only_requests_get_an_id_and_only_their_answers_are_awaited() -> None:
    injections = Injections(counted_ids())
    for line in (TELL, b"no JSON", b'{"jsonrpc":"2.0","id":1,"result":1}'):
        assert injected(injections, line).raw == line
    kept = injections.make("client", ASK, "person", keeps_id=True)
    assert (kept.raw, kept.id, injections.are_awaited) == (ASK, None, False)


def test_an_error_answers_too_and_a_second_answer_is_anybodys() -> None:
    injections = Injections(counted_ids())
    injection = injected(injections)
    assert not injections.take(answer(injection.id, method="m"))
    assert not injections.take(answer(injection.id, "client"))
    assert not injections.take(answer(None))
    failed = answer(injection.id, error={"code": 1, "message": "no"})
    assert injections.take(failed)
    assert failed.is_dropped
    assert injection.wait(0) == failed.frame.raw
    assert not injections.take(answer(injection.id))


def test_too_many_questions_give_the_oldest_up() -> None:
    injections = Injections(counted_ids())
    first, *_, last = [injected(injections) for _ in range(ANSWERS_LIMIT + 1)]
    assert not injections.take(answer(first.id))
    assert injections.take(answer(last.id))
    assert first.wait(0) is None
