"""What all runs of a connection share."""

from __future__ import annotations

from random import Random

from acp_agent.scripted.answers import words_of
from acp_agent.scripted.run import TOLD_LIMIT, Place, Talk
from acp_agent.scripted.speech import Speech
from acp_agent.scripted.wire import Stage
from acp_agent.scripted.words import Words
from tests.agent.scripted.stages import Client, played


def talking() -> tuple[Client, Talk]:
    client = Client()
    stage = Stage(client.pipe, client.said.append, client.fates.append, client.sleep)
    return client, Talk(stage, [], words_of, Speech())


def test_an_answer_to_nothing_is_told() -> None:
    client, talk = talking()
    talk.answered("1", "text", None)
    assert client.said == ["acp-agent: an answer to nothing that was asked, id '1'"]


def test_who_leaves_leaves_its_questions_open() -> None:
    _, talk = talking()
    question = talk.questions.ask()
    talk.leave()
    assert (talk.has_left.is_set(), question.is_answered.is_set()) == (True, True)


def test_an_expectation_that_holds_is_not_spoken_of() -> None:
    client, talk = talking()
    talk.expect({"a": 1}, {"a": 1, "b": 2}, "here")
    assert (client.said, talk.has_failed) == ([], False)


async def test_a_message_is_one_line() -> None:
    client, talk = talking()
    await talk.send({"a": "x\ny"}, (), Random(0))
    assert client.raw == b'{"a":"x\\ny"}\n'


def test_a_session_keeps_no_more_than_it_can_bear() -> None:
    place = Place("s", Words("s"))
    place.told.extend(range(TOLD_LIMIT + 5))
    assert (len(place.told), place.told[0]) == (TOLD_LIMIT, 5)


async def test_what_is_known_can_be_said() -> None:
    text = "[[prompt]]\nsteps = [{ text = '$prompt $session $cwd $id $seed $params.sessionId' }]"
    async with played(text, seed=9) as client:
        await client.prompt("Hi")
    assert client.text == "Hi session-1 /project 3 9 session-1"
