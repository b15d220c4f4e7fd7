"""Open questions, and never too many of them."""

from __future__ import annotations

from acp_inspector.intercept.questions import OPEN_LIMIT, SIZE_LIMIT, Questions
from tests.inspector.talks import answer, ask, frames


def test_an_answer_finds_its_question_once() -> None:
    questions = Questions()
    asked, answered, again = frames(
        ask("client", 1, "m", a=1), answer("agent", 1, {}), answer("agent", 1, {})
    )
    questions.apply(asked)
    assert questions.of(asked) is not None
    exchange = questions.apply(answered)
    assert exchange is not None
    assert (exchange.request.method, exchange.request.params) == ("m", {"a": 1})
    assert questions.of(answered) is exchange
    assert questions.apply(again) is None
    assert questions.of(answered) is None


def test_the_oldest_questions_are_forgotten() -> None:
    questions = Questions()
    for frame in frames(*(ask("client", number, "m") for number in range(OPEN_LIMIT + 5))):
        questions.apply(frame)
    opened = questions.open()
    assert len(opened) == OPEN_LIMIT
    assert opened[0].request.id == 5


def test_of_a_very_long_question_only_the_method_is_kept() -> None:
    questions = Questions()
    for frame in frames(ask("client", 1, "m", text="x" * SIZE_LIMIT)):
        questions.apply(frame)
    (exchange,) = questions.open()
    assert (exchange.request.method, exchange.request.params) == ("m", None)
    assert exchange.request.raw + exchange.question.raw == b""
