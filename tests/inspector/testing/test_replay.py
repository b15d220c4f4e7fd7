"""Replays judged by meaning: what counts as the same behaviour, and what does not."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from acp_inspector.recording.reader import read_recording
from acp_inspector.replay.client_player import PlayLimits, play_as_client
from acp_inspector.replay.directories import replay_directories
from acp_inspector.replay.trust import TRUSTED
from tests.inspector.talks import Said, answer, ask, chunk, encoded, frames, prompt, update

HELLO = Path(__file__).parents[3] / "recordings" / "hello.acp.ndjson"
AGENT = """
import json, sys
script = json.loads(sys.argv[1])
while script:
    side, line = script.pop(0)
    if side == "client":
        if not sys.stdin.readline():
            sys.exit(0)
    else:
        sys.stdout.write(line + "\\n")
        sys.stdout.flush()
sys.stdin.read()
"""
"""Plays the agent of a script: after each line of the client it sends what follows there."""


async def replay(recorded: Sequence[Said], live: Sequence[Said], cwd: Path) -> list[str]:
    """Return where a replay of `recorded` against an agent that sends `live` differs."""
    recording = replace(read_recording(HELLO), entries=tuple(frames(*recorded)))
    lines = [
        (side, (what if isinstance(what, bytes) else encoded(what)).decode()) for side, what in live
    ]
    command = [sys.executable, "-c", AGENT, json.dumps(lines)]
    directories = replay_directories(recording.frames, cwd, cwd, recorded_cwd="")
    result = await play_as_client(
        recording, command, directories, limits=PlayLimits(timeout=5, settle=0.1), trust=TRUSTED
    )
    assert result.errors == ()
    return [f"{each.name} {each.path}".strip() for each in result.differences]


def talk(*told: Said, version: int = 1) -> list[Said]:
    """Return a turn in which the agent sends `told`."""
    is_v2 = version == 2
    ended = (
        [update("state_update", state="idle", stopReason="end_turn")]
        if is_v2
        else [answer("agent", 3, {"stopReason": "end_turn"})]
    )
    inserted = [answer("agent", 3, {"messageId": "m1"})] if is_v2 else []
    return [
        ask("client", 1, "initialize", protocolVersion=version),
        answer("agent", 1, {"protocolVersion": version}),
        ask("client", 2, "session/new", cwd="/w"),
        answer("agent", 2, {"sessionId": "s1"}),
        prompt(3, "go"),
        *inserted,
        *told,
        *ended,
    ]


def output(*texts: str) -> list[Said]:
    return [update("terminal_output_chunk", terminalId="t1", data=text) for text in texts]


def content(*texts: str) -> list[Said]:
    return [
        update(
            "tool_call_content_chunk",
            toolCallId="c1",
            content={"type": "content", "content": {"type": "text", "text": text}},
        )
        for text in texts
    ]


CALL = update("tool_call_update", toolCallId="c1", title="Look")
TERMINAL = update("terminal_update", terminalId="t1", command="ls")
SAME: dict[str, tuple[int, list[Said], list[Said]]] = {
    "chunks of a message between sessions": (
        2,
        [chunk("Hello", kind="session_message_chunk")],
        [chunk("Hel", kind="session_message_chunk"), chunk("lo", kind="session_message_chunk")],
    ),
    "chunks of a compaction summary": (
        2,
        [chunk("Hello", kind="compaction_summary_chunk")],
        [
            chunk("Hel", kind="compaction_summary_chunk"),
            chunk("lo", kind="compaction_summary_chunk"),
        ],
    ),
    "a terminal that is updated more than once": (
        2,
        [TERMINAL, *output("YQ==")],
        [TERMINAL, TERMINAL, *output("YQ==")],
    ),
    "content of a tool call, interleaved with text": (
        2,
        [CALL, *content("a", "b"), chunk("x")],
        [CALL, *content("a"), chunk("x"), *content("b")],
    ),
    "a plan of version 2 that is sent again": (
        2,
        [update("plan_update", plan={"entries": [1, 2]})],
        [
            update("plan_update", plan={"entries": [1]}),
            update("plan_update", plan={"entries": [1, 2]}),
        ],
    ),
    "a field of a call that null removes, also if it had been there": (
        2,
        [update("tool_call_update", toolCallId="c1", title="Look")],
        [
            update("tool_call_update", toolCallId="c1", title="Look", rawInput={"a": 1}),
            update("tool_call_update", toolCallId="c1", rawInput=None),
        ],
    ),
    "a title that is set twice in a turn": (
        1,
        [update("session_info_update", title="B")],
        [update("session_info_update", title="A"), update("session_info_update", title="B")],
    ),
    "commands that are listed twice in a turn": (
        1,
        [update("available_commands_update", availableCommands=[])],
        [update("available_commands_update", availableCommands=[])] * 2,
    ),
}


@pytest.mark.parametrize("name", SAME)
async def test_a_replay_passes_where_diff_finds_no_difference(name: str, tmp_path: Path) -> None:
    version, one, other = SAME[name]
    recorded, live = talk(*one, version=version), talk(*other, version=version)
    assert await replay(recorded, live, tmp_path) == []
    assert await replay(live, recorded, tmp_path) == []


DIFFERENT: dict[str, tuple[list[Said], list[Said], list[str]]] = {
    "content of a tool call that is lost": (
        [CALL, *content("a", "b")],
        [CALL, *content("b")],
        [
            "tool call $.params.update.content[0].content.text",
            "tool call $.params.update.content[1]",
        ],
    ),
    "output of a terminal that is lost": (
        [TERMINAL, *output("YQ==", "Yg==")],
        [TERMINAL, *output("Yg==")],
        ["terminal $.params.update.data", "terminal $.params.update.data"],
    ),
    "an exit status that is another": (
        [TERMINAL, update("terminal_update", terminalId="t1", exitStatus={"exitCode": 0})],
        [TERMINAL, update("terminal_update", terminalId="t1", exitStatus={"exitCode": 1})],
        ["terminal $.params.update.exitStatus.exitCode"],
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
async def test_a_replay_of_version_2_fails_where_diff_finds_a_difference(
    name: str, tmp_path: Path
) -> None:
    one, other, expected = DIFFERENT[name]
    recorded, live = talk(*one, version=2), talk(*other, version=2)
    assert await replay(recorded, live, tmp_path) == expected


async def test_a_prompt_of_version_1_that_is_answered_without_a_reason_ends_its_turn(
    tmp_path: Path,
) -> None:
    """The next prompt is played at once, and what comes between both belongs to its turn."""
    between = update("plan", entries=[])
    said = [
        *talk(chunk("one"))[:-1],
        answer("agent", 3, {}),
        between,
        prompt(4, "again"),
        chunk("two"),
        answer("agent", 4, {}),
    ]
    late = [each for each in said if each is not between]
    late.insert(late.index(said[-2]), between)
    assert await replay(said, said, tmp_path) == []
    assert await replay(said, late, tmp_path) == []
