"""What all runs of a connection share."""

from __future__ import annotations

from acp_agent.scripted.messages import MessagesV1
from acp_agent.scripted.run import MAX_UPDATES, ConnectionState, SessionState
from acp_agent.scripted.wire import FrameCodec, ScriptIo
from tests.agent.scripted.stages import Client, played


def talking() -> tuple[Client, ConnectionState]:
    client = Client()
    stage = ScriptIo(client.pipe, client.shown.append, client.fates.append, client.sleep)
    return client, ConnectionState(stage, [], FrameCodec())


def test_an_answer_to_nothing_is_told() -> None:
    client, connection = talking()
    connection.answered("1", "text", None)
    assert client.shown == ["acp-agent: an answer to nothing that was asked, id '1'"]


def test_who_leaves_leaves_its_questions_open() -> None:
    _, connection = talking()
    pending = connection.sent.new()
    connection.leave()
    assert (connection.has_left.is_set(), pending.is_answered.is_set()) == (True, True)


def test_an_expectation_that_holds_is_not_spoken_of() -> None:
    client, connection = talking()
    connection.expect({"a": 1}, {"a": 1, "b": 2}, "here")
    assert (client.shown, connection.has_failed) == ([], False)


async def test_a_message_is_one_line() -> None:
    client, connection = talking()
    await connection.send({"a": "x\ny"})
    assert client.raw == b'{"a":"x\\ny"}\n'


def test_a_session_keeps_no_more_than_it_can_bear() -> None:
    place = SessionState("s", MessagesV1("s"))
    place.history.extend(range(MAX_UPDATES + 5))
    assert (len(place.history), place.history[0]) == (MAX_UPDATES, 5)


async def test_what_is_known_can_be_said() -> None:
    text = "[[prompt]]\nsteps = [{ text = '$prompt $session $cwd $id $seed $params.sessionId' }]"
    async with played(text, seed=9) as client:
        await client.prompt("Hi")
    assert client.text == "Hi session-1 /project 3 9 session-1"
