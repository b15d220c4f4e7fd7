"""Questions and their answers."""

from __future__ import annotations

import pytest

from acp_inspector.analysis.exchanges import Exchanges
from tests.inspector.talks import answer, ask, frames


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
    theirs, ours, to_theirs, to_ours = frames(
        ask("agent", 1, "fs/read_text_file"),
        ask("client", 1, "session/prompt"),
        answer("client", 1, {"content": ""}),
        answer("agent", 1, {"stopReason": "end_turn"}),
    )
    exchanges = Exchanges()
    for frame in (theirs, ours, to_theirs, to_ours):
        exchanges.apply(frame)
    assert exchanges.of(to_theirs) is exchanges.of(theirs)
    assert exchanges.of(to_ours) is exchanges.of(ours)


def test_an_id_of_another_type_answers_nothing() -> None:
    question, reply = frames(ask("client", 1, "initialize"), answer("agent", "1", {}))
    exchanges = Exchanges()
    exchanges.apply(question)
    assert exchanges.apply(reply) is None
    assert len(exchanges.open()) == 1


@pytest.mark.parametrize("raw", [b"", b"no JSON", b"[]", b'{"jsonrpc":"2.0","id":7,"result":1}'])
def test_what_belongs_to_nothing_is_left_alone(raw: bytes) -> None:
    assert Exchanges().apply(frames(("agent", raw))[0]) is None
