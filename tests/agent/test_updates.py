"""What programs write, in the words of version 1."""

from __future__ import annotations

import pytest

from acp_agent.store import events
from acp_agent.store.database import SessionStore
from acp_agent.store.log import SessionLog
from acp_agent.tools.call import CommandLine, output_content, terminal_content, text_content
from acp_agent.updates.v1 import SessionUpdates
from acp_protocol.jsonrpc import Json
from tests.agent.client import nothing, stream

COMMAND = CommandLine("make", "/work")


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Json] = []

    async def notify(self, method: str, params: Json = None) -> None:
        del method
        self.told.append(params["update"])


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.mark.parametrize("shows_notices", [True, False])
async def test_a_wait_is_told_as_a_notice_or_among_the_thoughts_and_never_kept(
    listener: Listener, *, shows_notices: bool
) -> None:
    store = SessionStore()
    log = SessionLog(store, store.create("s", "/", [], {}))
    updates = SessionUpdates(listener, "s", log)
    updates.shows_notices = shows_notices
    updates.shows_thoughts = False
    await updates.retrying("X is busy.", "Again in 3 s.")
    notice = {"severity": "info", "title": "X is busy.", "description": "Again in 3 s."}
    thought = {"content": {"type": "text", "text": "X is busy. Again in 3 s.\n\n"}}
    assert listener.told == [
        {"sessionUpdate": "notice", **notice}
        if shows_notices
        else {"sessionUpdate": "agent_thought_chunk", **thought}
    ]
    assert (list(log.events()), await log.current()) == ([], log.record)


SUMMARY = [{"type": "text", "text": "- a\n\n- b"}]
IN_WORDS = "The conversation was summarized. The model continues from this:\n\n> - a\n>\n> - b\n\n"
UNCHANGED = "No room was made; nothing has changed. It is down.\n\n"


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"status": "completed", "summary": SUMMARY}, [IN_WORDS]),
        ({"status": "failed", "error": "It is down."}, [UNCHANGED]),
        ({"status": "cancelled"}, [UNCHANGED.replace("is down", "was cancelled")]),
    ],
)
async def test_a_compaction_is_told_in_words_where_the_client_shows_none(
    listener: Listener, members: dict[str, Json], told: list[str]
) -> None:
    for shows in (True, False):
        updates = SessionUpdates(listener, "s")
        updates.shows_compactions = shows
        await updates.compaction("c", members)
    update, *words = listener.told
    assert update == {"sessionUpdate": "compaction_update", "compactionId": "c", **members}
    assert [each["content"]["text"] for each in words] == told


async def test_that_room_is_made_is_told_as_it_begins(listener: Listener) -> None:
    await SessionUpdates(listener, "s").compaction("c", {"status": "in_progress"})
    (thought,) = listener.told
    assert thought["sessionUpdate"] == "agent_thought_chunk"


async def test_output_is_text_and_nothing_written_is_not_told(listener: Listener) -> None:
    updates = SessionUpdates(listener, "s")
    await updates.update_call("c", {"content": [output_content("", COMMAND)]})
    await updates.update_call("c", {"content": [output_content("a\n", COMMAND)]})
    ended = [output_content("", COMMAND, {"exitCode": 0})]
    await updates.update_call("c", {"status": "completed", "content": ended})
    call = {"sessionUpdate": "tool_call_update", "toolCallId": "c"}
    assert listener.told == [
        {**call, "content": [text_content("```\na\n```")]},
        {**call, "status": "completed"},
    ]


async def test_a_terminal_of_the_client_is_shown_while_it_is_there_and_later_its_text(
    listener: Listener,
) -> None:
    updates = SessionUpdates(listener, "s")
    ended = {**terminal_content("t", COMMAND), "text": "a\n"}
    event = events.tool("c", {"status": "completed", "content": [ended]})
    await updates.update_call("c", event["members"])
    await updates.replay(stream([event]), nothing)
    shown = [update["content"] for update in listener.told]
    assert shown == [[{"type": "terminal", "terminalId": "t"}], [text_content("```\na\n```")]]
    assert updates._is_replay is False
