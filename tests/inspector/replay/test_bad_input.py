"""Damaged or foreign recordings, and agents that misbehave: a limit and a sentence each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.from_thread
import pytest

from acp_inspector.compare.diff import CompareOptions
from acp_inspector.compare.ignoring import Ignore
from acp_inspector.journal import Entry, JournalEvent
from acp_inspector.replay.client_player import PlayLimits, play_as_client
from acp_inspector.replay.directories import replay_directories
from acp_inspector.replay.trust import TRUSTED
from tests.inspector.talks import Said, answer, ask, chunk, frames, prompt, update
from tests.inspector.testing.live_agents import LIMIT, QUICK, agent, begun, ended, recording, replay

TURN = [*begun("s1"), prompt(3, "go"), chunk("Hello"), ended(3)]
GREETS = """
start("live")
turn = hear("session/prompt")
text("Hello")
respond(turn, stopReason="end_turn")
"""


# Recordings


async def test_a_recording_that_ends_in_a_turn_is_played_to_its_end(tmp_path: Path) -> None:
    recorded = [*begun("s1"), prompt(3, "go"), chunk("Hel")]
    script = """
start("live")
turn = hear("session/prompt")
text("Hello")
update("tool_call", toolCallId="x", title="More")
request(1, "session/request_permission", toolCall={"toolCallId": "x"}, options=[])
"""
    result = await replay(recorded, agent(script), tmp_path)
    assert result.is_passed, result.render()
    assert result.notes[-1].startswith("the recording ends in a turn")
    other = script.replace("Hello", "Goodbye")
    assert not (await replay(recorded, agent(other), tmp_path)).is_passed


def spawned(said: Sequence[Said]) -> list[Entry]:
    """Return a recorded process and what was said to it."""
    later = [replace(frame, seq=frame.seq + 1) for frame in frames(*said)]
    return [JournalEvent(1, 0.0, "spawn"), *later]


async def test_each_process_of_a_recording_gets_an_agent_of_its_own(tmp_path: Path) -> None:
    """Also if sessions of two processes have one name in the recording."""
    script = """
mine = f"live-{os.getpid()}"
start(mine)
turn = hear("session/prompt", session=mine)
text("Hello", mine)
respond(turn, stopReason="end_turn")
"""
    first = spawned(TURN)
    again = [replace(entry, seq=entry.seq + len(first)) for entry in spawned(TURN)]
    for merged in ([*first, *again], [*first, *spawned(TURN)]):
        result = await replay(recording(merged), agent(script), tmp_path)
        assert result.is_passed, result.render()
        assert result.played == 6


async def test_ids_of_one_process_are_unknown_to_the_next(tmp_path: Path) -> None:
    script = """
start("live")
turn = hear("session/prompt")
mine = f"call-{os.getpid()}"
update("tool_call", toolCallId=mine, title="Run")
stop = hear("_stop")
respond(turn, stopReason="end_turn" if stop["params"]["toolCallId"] == mine else "refusal")
"""
    stop = "client", {"method": "_stop", "params": {"sessionId": "s1", "toolCallId": "call-0001"}}
    call = update("tool_call", toolCallId="call-0001", title="Run")
    process = spawned([*begun("s1"), prompt(3, "go"), call, stop, ended(3)])
    result = await replay(recording([*process, *process]), agent(script), tmp_path)
    assert result.is_passed, result.render()


async def test_a_foreign_conversation_fails_and_does_no_harm(tmp_path: Path) -> None:
    said: list[Said] = [("client", b'{"op": "connect"}'), ("agent", b'{"op": "ready"}')]
    result = await replay(recording(frames(*said)), agent("hear()\nsend(op='no')"), tmp_path)
    assert not result.is_passed
    assert result.played == 1
    assert "the recording has no initialize" in result.render()


async def test_another_version_of_the_agent_ends_the_replay(tmp_path: Path) -> None:
    recorded = [*begun("s1", version=2), prompt(3, "go"), answer("agent", 3, {})]
    result = await replay(recorded, agent(GREETS), tmp_path)
    (error,) = result.errors
    assert error.startswith("the agent chose protocol version 1, in the recording it is 2")


async def test_a_missing_initialize_is_named_and_the_rest_is_played(tmp_path: Path) -> None:
    script = GREETS.replace('start("live")', 'respond(hear("session/new"), sessionId="live")')
    result = await replay(TURN[2:], agent(script), tmp_path)
    assert result.is_passed, result.render()
    assert result.notes == ("the recording has no initialize: the agent may refuse what follows",)


async def test_an_initialize_that_is_the_second_request_is_not_missing(tmp_path: Path) -> None:
    """Clients look what an agent says to a request that comes too early."""
    refused = {"code": -32002, "message": "not initialized"}
    early: list[Said] = [
        ask("client", 9, "session/new", cwd="/w"),
        ("agent", {"id": 9, "error": refused}),
    ]
    refusing = f"send(id=hear('session/new')['id'], error={refused})"
    result = await replay([*early, *TURN], agent(f"{refusing}\n{GREETS}"), tmp_path)
    assert result.is_passed, result.render()
    assert result.notes == ()


async def test_gaps_are_named_and_the_rest_is_played(tmp_path: Path) -> None:
    """Without the response that names the session, its prompt still reaches the live one."""
    said = frames(*TURN)
    result = await replay(recording(said[:3] + said[4:]), agent(GREETS), tmp_path)
    assert result.notes == ("number 4 is missing in the recording",)
    assert result.played == 3
    assert "response to session/new" in [each.name for each in result.differences]


async def test_a_response_whose_request_is_missing_goes_to_the_same_id(tmp_path: Path) -> None:
    said = frames(
        *begun("s1"),
        prompt(3, "go"),
        ask("agent", 5, "fs/read_text_file", sessionId="s1", path="/w/a"),
        answer("client", 5, {"content": "A"}),
        chunk("A"),
        ended(3),
    )
    script = """
start("live")
turn = hear("session/prompt")
request(5, "fs/read_text_file", path=os.getcwd() + "/a")
text(hear(id=5)["result"]["content"])
respond(turn, stopReason="end_turn")
"""
    result = await replay(recording(said[:5] + said[6:]), agent(script), tmp_path)
    assert result.errors == ()
    assert result.played == 4
    assert [each.name for each in result.differences] == ["fs/read_text_file"]


async def test_a_placeholder_that_the_agent_resolves_is_sent_resolved(tmp_path: Path) -> None:
    secret = "«secret:1»"
    recorded = [
        *begun("s1"),
        prompt(3, "go"),
        ask("agent", 1, "fs/read_text_file", sessionId="s1", path=f"/w/{secret}"),
        answer("client", 1, {"content": f"use {secret}"}),
        chunk(f"used {secret}"),
        ended(3),
    ]
    script = """
start("live")
turn = hear("session/prompt")
request(1, "fs/read_text_file", path=os.getcwd() + "/hunter2")
text(hear(id=1)["result"]["content"].replace("use", "used"))
respond(turn, stopReason="end_turn")
"""
    played = recording(frames(*recorded), redacted=["token"])
    result = await replay(played, agent(script), tmp_path)
    assert result.is_passed, result.render()
    other = script.replace('.replace("use", "used")', "[:-1] + '?'")
    assert not (await replay(played, agent(other), tmp_path)).is_passed


async def test_content_length_headers_are_played_as_such(tmp_path: Path) -> None:
    script = """
import json, sys
def read():
    size = 0
    while (line := sys.stdin.buffer.readline().strip()):
        size = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(size)) if size else sys.exit(0)
def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
    sys.stdout.buffer.flush()
results = [{"protocolVersion": 1}, {"sessionId": "live"}, {"stopReason": "end_turn"}]
for result in results:
    send({"id": read()["id"], "result": result})
read()
"""
    entries: list[Entry] = []
    for said in frames(*begun("s1"), prompt(3, "go"), ended(3)):
        header = b"Content-Length: %d\r\n\r\n" % len(said.data)
        entries.append(replace(said, line_ending=b"", header=header))
    result = await replay(recording(entries), [sys.executable, "-c", script], tmp_path)
    assert result.is_passed, result.render()
    assert result.played == 3


# Agents


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("", "before frame 3 (session/new): the agent kept silent for 3 s"),
        (
            GREETS.replace("respond(turn", "hear('never')\nrespond(turn"),
            "before the end: waited for 3 s; response to session/prompt (recorded frame 7) was ",
        ),
        (GREETS.replace("respond(turn", "sys.exit(7)\nrespond(turn"), "exited with code 7"),
        (
            GREETS.replace('text("Hello")', 'for n in range(5000): text("Hello")'),
            "the agent floods: it sent",
        ),
        (
            GREETS + 'respond(turn, stopReason="end_turn")',
            "the agent responded twice to session/prompt",
        ),
        (GREETS.replace('text("Hello")', "sys.stdout.close()"), "the agent closed its side"),
        (
            'first = hear("initialize")\nos.close(0)\nrespond(first, protocolVersion=1)',
            "frame 3 (session/new) could not be sent: the agent closed its stdin",
        ),
        (GREETS + "sys.exit(3)", "exited with code 3"),
        (GREETS + "sys.stdout.write('{')", "malformed message is not in the recording"),
        (
            GREETS + "is_something_sent(20)\nrequest(9, 'fs/write_text_file', path='/w/a')",
            "the agent sent fs/write_text_file (live frame 9), which the recording does not have",
        ),
        (GREETS.replace('text("Hello")', 'print("Loading…", flush=True)'), "malformed message"),
    ],
    ids=[
        "hangs at once",
        "hangs in a turn",
        "dies",
        "floods",
        "responds twice",
        "closes stdout",
        "closes stdin",
        "fails behind its response",
        "ends within a line",
        "sends a request when its stdin is closed",
        "sends lines that are no JSON",
    ],
)
async def test_an_agent_that_misbehaves_fails_with_a_sentence(
    script: str, sentence: str, tmp_path: Path
) -> None:
    limits = PlayLimits(timeout=3, settle=0.3, quiet=0.5, extra_frames=1000)
    result = await replay(TURN, agent(script), tmp_path, limits=limits)
    assert not result.is_passed
    assert sentence in result.render()


async def test_an_agent_that_sends_too_long_a_frame_fails_with_a_sentence(tmp_path: Path) -> None:
    script = GREETS.replace('text("Hello")', 'sys.stdout.write("x" * (64 * 2**20 + 1))')
    # A loaded machine needs a while for it.
    limits = PlayLimits(timeout=25, settle=0.3)
    result = await replay(TURN, agent(script), tmp_path, limits=limits)
    why = "what cannot be read: a frame is longer than the limit of 67108864 bytes"
    assert why in result.render()


async def test_an_agent_that_fails_when_its_stdin_is_closed_is_noted(tmp_path: Path) -> None:
    script = GREETS + "is_something_sent(20)\nsys.exit(3)"
    result = await replay(TURN, agent(script), tmp_path)
    assert result.is_passed, result.render()
    assert "note: the agent exited with code 3 when its stdin was closed" in result.render()


async def test_bytes_without_end_count_as_a_flood_too(tmp_path: Path) -> None:
    script = GREETS.replace('"Hello"', '"Hello" * 100_000')
    limits = PlayLimits(timeout=5, settle=0.1, extra_bytes=1000)
    result = await replay(TURN, agent(script), tmp_path, limits=limits)
    assert "the agent floods" in result.render()


async def test_an_agent_that_reads_nothing_fails_in_time(tmp_path: Path) -> None:
    script = 'start("live")\nselect.select([], [], [])'
    recorded = [*begun("s1"), prompt(3, "x" * 1_000_000), ended(3)]
    limits = PlayLimits(timeout=3, settle=0.1)
    result = await replay(recorded, agent(script), tmp_path, limits=limits)
    assert "frame 5 (session/prompt) could not be sent: the agent reads nothing" in result.render()


async def test_a_slow_drip_of_other_updates_prolongs_no_wait(tmp_path: Path) -> None:
    script = """
start("live")
turn = hear("session/prompt")
while not is_something_sent(0.01): update("usage_update", used=1)
"""
    limits = PlayLimits(timeout=3, settle=0.1, quiet=0.5)
    result = await replay(TURN, agent(script), tmp_path, limits=limits)
    assert "before the end: waited for 3 s" in result.render()


async def test_a_comparison_can_be_cancelled(tmp_path: Path) -> None:
    class Cancelling:
        needs_responses = False
        seen = 0

        def matches(self, frame: object, exchanges: object, notes: object) -> bool:
            del frame, exchanges, notes
            self.seen += 1
            anyio.from_thread.run_sync(scope.cancel)
            return False

    script = """
start("live")
turn = hear("session/prompt")
for _ in range(1000):
    text("A")
respond(turn, stopReason="end_turn")
"""
    recorded = recording(frames(*begun("s1"), prompt(3, "go"), *[chunk("A")] * 1000, ended(3)))
    directories = replay_directories(recorded.frames, tmp_path, tmp_path, recorded_cwd="")
    cancelling = Cancelling()
    options: CompareOptions = {"ignores": [Ignore("", cancelling)]}
    with anyio.fail_after(LIMIT), anyio.CancelScope() as scope:
        await play_as_client(
            recorded, agent(script), directories, limits=QUICK, options=options, trust=TRUSTED
        )
    assert scope.cancelled_caught
    assert 0 < cancelling.seen < len(recorded.frames)
