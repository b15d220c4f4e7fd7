"""A client that differs from the recorded one in anything that matters gets no green verdict."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_inspector.compare.id_map import IdMap
from acp_inspector.journal import Frame, Journal
from acp_inspector.recording.reader import read_recording
from acp_inspector.replay.agent_player import AgentPlayer
from acp_inspector.replay.agent_script import AgentScript
from acp_inspector.replay.client_player import PlayLimits, RecordingPlayer
from acp_inspector.replay.directories import ReplayDirectories
from acp_protocol.transport.memory import memory_pair

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parents[3] / "recordings"
NAMES = ["edit", "turns/cancel", "turns/cancel-v2", "turns/load", "turns/options", "turns/terminal"]
LIMIT = 0.3
"""Seconds that either side waits for what will not come."""
PLAYS_ALL = "FUZZ_EXAMPLES" in os.environ
"""Whether each mutation is played in each recording, as `make fuzz` wants, or in the first one."""
EQUAL = {".id", ".params.cwd", ".params.requestId", ".result.terminalId"}
"""Ids that the client makes, and its directory: any others will do."""


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, list[str | int]]]:
    """Yield the path of each scalar in a message, as text and as keys."""
    found: Any = value
    for key, inner in found.items() if isinstance(value, dict) else enumerate(found):
        name = f"{path}.{key}"
        if isinstance(inner, dict | list):
            yield from ((text, [key, *keys]) for text, keys in leaves(inner, name))
        elif name != ".jsonrpc":
            yield name, [key]


def changed(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case _:
            return "x"


def mutations(frames: tuple[Frame, ...]) -> Iterator[tuple[str, list[Frame]]]:
    """Yield what can be different in a client: a frame lost, sent twice, or with another field."""
    for at, frame in enumerate(frames):
        if frame.side != "client":
            continue
        rest = frames[:at], frames[at + 1 :]
        method = json.loads(frame.data).get("method", "response")
        yield f"{method} lost", [*rest[0], *rest[1]]
        yield f"{method} twice", [*rest[0], frame, frame, *rest[1]]
        for text, keys in leaves(json.loads(frame.data)):
            message = json.loads(frame.data)
            inner = message
            for key in keys[:-1]:
                inner = inner[key]
            inner[keys[-1]] = changed(inner[keys[-1]])
            # A response needs the id of its request.
            if text not in EQUAL or (text == ".id" and "method" not in message):
                line = replace(frame, data=json.dumps(message).encode())
                yield f"{method} {text}", [*rest[0], line, *rest[1]]


@cache
def played_before(name: str) -> frozenset[str]:
    """Return the mutations of the recordings before this one."""
    if PLAYS_ALL or name == NAMES[0]:
        return frozenset()
    earlier = NAMES[NAMES.index(name) - 1]
    frames = read_recording(FOLDER / f"{earlier}.acp.ndjson").frames
    return played_before(earlier) | {text for text, _ in mutations(frames)}


async def passes(recorded: tuple[Frame, ...], live: list[Frame]) -> bool:
    """Play a recording for a client that sends what is recorded in another one."""
    ours, theirs = memory_pair()
    agent = AgentPlayer(AgentScript(recorded), ours)
    client = RecordingPlayer(
        live,
        theirs,
        ReplayDirectories(FOLDER, {}),
        options={},
        ids=IdMap(),
        new_ids=IdMap,
        journal=Journal(),
    )
    async with anyio.create_task_group() as tasks:

        async def play() -> None:
            await agent.play(timeout=LIMIT, quiet=0.02)
            await ours.aclose()

        tasks.start_soon(play)
        await client.play(PlayLimits(timeout=LIMIT, settle=0.01, quiet=0.1))
        await theirs.aclose()
    return agent.result().is_passed


@pytest.mark.parametrize("name", NAMES)
async def test_any_change_in_the_client_is_found(name: str) -> None:
    frames = read_recording(FOLDER / f"{name}.acp.ndjson").frames
    assert await passes(frames, list(frames))
    played = played_before(name)
    found = [
        text
        for text, live in mutations(frames)
        if text not in played and await passes(frames, live)
    ]
    assert found == []
