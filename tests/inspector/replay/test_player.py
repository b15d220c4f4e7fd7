"""Recordings played against real agents."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.reader import Recording, read_recording
from acp_inspector.replay.client_player import (
    QUIET_SECONDS,
    PlayLimits,
    play_as_client,
    prepare_workspace,
)
from acp_inspector.replay.directories import replay_directories
from acp_inspector.replay.result import ReplayResult
from acp_inspector.replay.trust import TRUSTED
from tests.warm import WARM

FOLDER = Path(__file__).parents[3] / "recordings"
AGENT = [*WARM, "-m", "acp_agent"]
LIMIT = 60.0
"""Seconds after which a replay counts as hung."""


async def play(
    recording: Recording, cwd: Path, command: list[str] = AGENT, *, quiet: float = QUIET_SECONDS
) -> ReplayResult:
    prepare_workspace(recording.header, cwd)
    with anyio.fail_after(LIMIT):
        directories = replay_directories(recording.frames, cwd, cwd, recorded_cwd="")
        return await play_as_client(
            recording,
            command,
            directories,
            limits=PlayLimits(timeout=20, quiet=quiet),
            trust=TRUSTED,
        )


def changed(recording: Recording, change: Callable[[Frame], Entry | None]) -> Recording:
    entries: list[Entry] = []
    for entry in recording.entries:
        new = change(entry) if isinstance(entry, Frame) else entry
        if new is not None:
            entries.append(new)
    return replace(recording, entries=tuple(entries))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.acp.ndjson")), ids=lambda path: path.name)
async def test_our_agent_still_behaves_as_recorded(path: Path, tmp_path: Path) -> None:
    recording = read_recording(path)
    assert recording.bad_lines == ()
    assert recording.header.about
    result = await play(recording, tmp_path)
    assert result.is_passed, result.render()
    assert result.played > 0
    assert result.render().startswith("pass: ")


async def test_another_answer_fails_with_a_diff(tmp_path: Path) -> None:
    def change(frame: Frame) -> Frame:
        return replace(frame, data=frame.data.replace(b"demo agent", b"grand agent"))

    result = await play(changed(read_recording(FOLDER / "hello.acp.ndjson"), change), tmp_path)
    assert not result.is_passed
    assert "grand agent" in result.render()


async def test_a_step_that_does_not_come_is_waited_for_and_named(tmp_path: Path) -> None:
    extra: dict[str, Any] = {"jsonrpc": "2.0", "method": "session/update"}
    recording = read_recording(FOLDER / "hello.acp.ndjson")
    session = json.loads(recording.frames[3].data)["result"]["sessionId"]
    extra["params"] = {"sessionId": session, "update": {"sessionUpdate": "brand_new"}}
    last = recording.entries[-1]
    more = Frame(last.seq + 1, last.time, "agent", json.dumps(extra).encode())
    longer = replace(recording, entries=(*recording.entries, more))
    result = await play(longer, tmp_path, quiet=1.0)
    assert not result.is_passed
    assert "brand_new" in result.render()


async def test_a_recording_without_a_client_fails(tmp_path: Path) -> None:
    recording = read_recording(FOLDER / "hello.acp.ndjson")
    result = await play(replace(recording, entries=()), tmp_path)
    assert not result.is_passed
    assert "nothing to play" in result.render()


async def test_an_agent_that_dies_fails_with_its_last_words(tmp_path: Path) -> None:
    dying = [sys.executable, "-c", "import sys; print('oh no', file=sys.stderr); sys.exit(5)"]
    result = await play(read_recording(FOLDER / "hello.acp.ndjson"), tmp_path, dying)
    assert not result.is_passed
    assert "exited with code 5" in result.render()
    assert "oh no" in result.render()


async def test_the_result_is_safe_to_show(tmp_path: Path) -> None:
    def change(frame: Frame) -> Frame:
        return replace(frame, data=frame.data.replace(b"demo agent", b"\\u001b[31m agent"))

    result = await play(changed(read_recording(FOLDER / "hello.acp.ndjson"), change), tmp_path)
    assert not result.is_passed
    assert "\x1b" not in result.render()
