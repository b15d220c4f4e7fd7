"""Sessions, files and permissions of a test are handled as the chat handles them."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_inspector.journal import JournalEvent
from acp_inspector.recording.format import Header
from acp_inspector.recording.reader import Recording
from acp_inspector.replay.parts import gaps
from acp_inspector.testing.fixtures import AcpAgent
from acp_protocol.errors import RemoteProtocolError
from tests.inspector.talks import chunk, frames
from tests.inspector.testing.live_agents import agent

READING = """
start("live")
prompt = hear("session/prompt")
request(5, "fs/read_text_file", path=os.getcwd() + "/notes.txt", line=1, limit=1)
text(hear(id=5)["result"]["content"])
respond(prompt, stopReason="end_turn")
"""

ASKING = """
start("live")
prompt = hear("session/prompt")
request(5, "fs/read_text_file", path=os.getcwd() + "/none.txt")
code = hear(id=5)["error"]["code"]
request(6, "session/request_permission", toolCall={"toolCallId": "c"}, options=[
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "now", "name": "Once", "kind": "allow_once"},
])
chosen = hear(id=6)["result"]["outcome"]["optionId"]
request(7, "terminal/create", command="true")
text(f"{code} {chosen} {hear(id=7)['error']['code']}")
respond(prompt, stopReason="end_turn")
"""


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes("a\x0cb\u2028c\rd\ntwo\n".encode())
    live = AcpAgent(agent(READING), tmp_path, 20)
    try:
        live.start()
        live.new_session()
        assert live.prompt("read").text == "a\x0cb\u2028c\rd\n"
    finally:
        live.close()


def test_a_test_allows_once_and_refuses_what_it_does_not_have(tmp_path: Path) -> None:
    live = AcpAgent(agent(ASKING), tmp_path, 20)
    try:
        live.start()
        live.new_session()
        assert live.prompt("go").text == "-32002 now -32601"
    finally:
        live.close()


NAMELESS = """
respond(hear("initialize"), protocolVersion=1, agentCapabilities={})
respond(hear("session/new"))
"""


def test_a_session_without_an_id_is_the_agents_fault(tmp_path: Path) -> None:
    live = AcpAgent(agent(NAMELESS), tmp_path, 20)
    try:
        live.start()
        with pytest.raises(RemoteProtocolError, match="session/new has no sessionId"):
            live.new_session()
    finally:
        live.close()


def test_what_a_recorder_left_out_is_told_as_it_counted_it() -> None:
    first = frames(chunk("hello"))
    dropped = {"count": 3, "bytes": 1000, "from": "agent", "why": "the disk is full"}
    more = (
        JournalEvent(9, 0.9, "dropped", dropped),
        JournalEvent(10, 1.0, "dropped", {"count": "x", "bytes": [], "from": {}, "why": 1}),
    )
    recording = Recording(Path("x"), Header("", "", ""), (*first, *more), (), None)
    assert gaps(recording) == [
        "the recorder left out 3 entries with 1000 bytes of agent: the disk is full",
        "the recorder left out some entries",
    ]


ARRAYS = """
first = hear("initialize")
respond(first, protocolVersion=2, info={"name": "t", "version": "1"}, capabilities={"session": {}})
respond(hear("session/new"), sessionId="live")
respond(hear("session/prompt"), messageId="m1")
chunk = {"sessionUpdate": "agent_message_chunk", "messageId": "m2",
         "content": {"type": "text", "text": "hi there"}}
idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
array = [{"jsonrpc": "2.0", "method": "session/update",
          "params": {"sessionId": "live", "update": each}} for each in (chunk, idle)]
sys.stdout.write(json.dumps(array) + "\\n")
sys.stdout.flush()
hear("never")
"""


@pytest.mark.parametrize("dialect", [None, "v2-batch"])
def test_arrays_are_named_or_read_in_the_dialect_that_has_them(
    tmp_path: Path, dialect: str | None
) -> None:
    live = AcpAgent(agent(ARRAYS), tmp_path, 20, dialect=dialect)
    try:
        live.start(protocol=2)
        live.new_session()
        if dialect is None:
            with pytest.raises(RemoteProtocolError, match="sends arrays of messages"):
                live.prompt("x")
        else:
            assert live.prompt("x").text == "hi there"
    finally:
        live.close()
