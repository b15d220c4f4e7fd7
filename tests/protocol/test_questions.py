"""Who waits for which answer."""

from __future__ import annotations

import anyio
import pytest

from acp_protocol.jsonrpc import Json, Result
from acp_protocol.questions import Questions


async def test_an_answer_goes_to_who_asked() -> None:
    questions = Questions()
    first, second = questions.open(1, None), questions.open("1", None)
    questions.answer("1", Result("1", "b", b""))
    questions.answer(1, Result(1, "a", b""))
    assert await first == Result(1, "a", b"")
    assert await second == Result("1", "b", b"")
    assert not questions.has(1)


async def test_an_answer_that_nobody_waits_for_does_no_harm() -> None:
    questions = Questions()
    questions.answer(1, None)
    questions.open(1, None)
    assert questions.close(1)
    assert not questions.close(1)
    questions.answer(1, Result(1, {}, b""))


@pytest.mark.parametrize(
    ("params", "session"),
    [({"sessionId": "s"}, "s"), ({"sessionId": 5}, None), ({}, None), (None, None), ([1], None)],
)
async def test_a_question_knows_its_session(params: Json, session: str | None) -> None:
    questions = Questions()
    questions.open(1, params)
    assert questions.session(1) == session


async def test_who_asks_a_peer_that_has_gone_waits_neither_for_room_nor_for_an_answer() -> None:
    questions = Questions()
    left: list[int] = []

    async def ask(number: int) -> None:
        answer = questions.open(number, None)
        await questions.leave(number, anyio.sleep_forever())
        assert await answer is None
        left.append(number)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as asking:
            asking.start_soon(ask, 1)
            asking.start_soon(ask, 2)
            await anyio.wait_all_tasks_blocked()
            questions.lose(1)
            await anyio.wait_all_tasks_blocked()
            assert left == [1]
            questions.lose_all()
    assert left == [1, 2]
