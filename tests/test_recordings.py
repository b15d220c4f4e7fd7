"""The recordings of whole turns that lie in recordings/turns, played against our agent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_inspector.lint.engine import lint
from acp_inspector.recording.reader import read_recording
from acp_inspector.replay.client_player import PlayLimits, play_as_client, prepare_workspace
from acp_inspector.replay.directories import replay_directories
from acp_inspector.replay.trust import TRUSTED
from tests.interop.published import misfits
from tests.warm import WARM
from tools.stories import RECORDINGS, installed

FOLDER = Path(__file__).parents[1] / "recordings"
TURNS = sorted((FOLDER / "turns").glob("*.acp.ndjson"))
DIALECTS = sorted((FOLDER / "dialects").glob("*.acp.ndjson"))
OWN = [FOLDER / f"{name}.acp.ndjson" for name in RECORDINGS]
PUBLISHED = [path for path in OWN if path not in DIALECTS]
"""Those in the published protocol."""
LIMIT = 60.0
"""Seconds after which a replay counts as hung."""


def said(name: str) -> list[dict[str, Any]]:
    """Return what both sides say in a recording."""
    frames = read_recording(FOLDER / f"turns/{name}.acp.ndjson").frames
    return [json.loads(frame.data) for frame in frames]


def updates(name: str, *kinds: str) -> list[dict[str, Any]]:
    told = [each["params"] for each in said(name) if each.get("method") == "session/update"]
    return [each["update"] for each in told if each["update"]["sessionUpdate"] in kinds]


def statuses(name: str, call_id: str) -> list[str]:
    calls = updates(name, "tool_call", "tool_call_update")
    return [each["status"] for each in calls if each["toolCallId"] == call_id and "status" in each]


def stops(frames: Sequence[dict[str, Any]]) -> list[str]:
    results = [each["result"] for each in frames if "result" in each]
    return [result["stopReason"] for result in results if "stopReason" in result]


def test_each_of_our_recordings_can_be_made_anew() -> None:
    lying = {*FOLDER.glob("*.acp.ndjson"), *TURNS, *DIALECTS}
    assert lying == set(OWN)


@pytest.mark.parametrize("path", TURNS, ids=lambda path: path.name)
async def test_our_agent_still_takes_its_turns_as_recorded(path: Path, tmp_path: Path) -> None:
    recording = read_recording(path)
    assert recording.bad_lines == ()
    prepare_workspace(recording.header, tmp_path)
    directories = replay_directories(
        recording.frames, tmp_path, tmp_path, recorded_cwd=recording.header.cwd
    )
    directories.create()
    agent = installed(recording.header.command, WARM)
    with anyio.fail_after(LIMIT):
        result = await play_as_client(
            recording, agent, directories, limits=PlayLimits(timeout=20), trust=TRUSTED
        )
    assert result.is_passed, result.render()
    assert result.render().startswith("pass: ")


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_of_ours_is_clean(name: str) -> None:
    """But for what a client does on purpose, to see how an agent reacts."""
    recording = read_recording(FOLDER / f"{name}.acp.ndjson")
    rows = (recording.header, *recording.entries)
    report = lint(rows, unstable="--unstable" in recording.header.command)
    assert not report.failed
    found = {each.rule.name for each in report.findings if each.severity != "info"}
    assert found == set(RECORDINGS[name].breaches)


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.name)
def test_a_recording_of_ours_fits_the_published_schema(path: Path, shared: Path) -> None:
    recording = read_recording(path)
    assert misfits(recording, shared) == []


def test_reads_of_one_reply_run_side_by_side() -> None:
    calls = updates("parallel", "tool_call", "tool_call_update")
    begun = [each["toolCallId"] for each in calls if each.get("status") == "in_progress"]
    ended = [each["toolCallId"] for each in calls if each.get("status") == "completed"]
    assert sorted(begun) == sorted(ended) == ["call_1", "call_2", "call_3"]
    assert calls.index(_first(calls, "completed")) > calls.index(_last(calls, "in_progress"))


def test_consent_is_refused_given_for_good_and_then_not_asked_for() -> None:
    asked = [each for each in said("consent") if each.get("method") == "session/request_permission"]
    diffs = [each["params"]["toolCall"]["content"][0] for each in asked]
    assert [diff["type"] for diff in diffs] == ["diff", "diff"]
    assert statuses("consent", "call_1")[-1] == "failed"
    assert statuses("consent", "call_3")[-1] == "completed"


@pytest.mark.parametrize("name", ["cancel", "cancel-v2"])
def test_a_cancelled_turn_is_followed_by_one_that_is_not(name: str) -> None:
    ends = stops(said(name)) or [
        each["stopReason"] for each in updates(name, "state_update") if "stopReason" in each
    ]
    assert ends == ["cancelled", "end_turn"]


def test_what_is_loaded_is_what_was_said() -> None:
    frames = said("load")
    loads = [place for place, each in enumerate(frames) if each.get("method") == "session/load"]
    (place,) = loads
    answer = next(
        at for at, each in enumerate(frames) if each.get("id") == frames[place]["id"] and at > place
    )
    replayed = [each["params"]["update"] for each in frames[place + 1 : answer]]
    assert replayed[0]["sessionUpdate"] == "user_message_chunk"
    assert "tool_call" in {each["sessionUpdate"] for each in replayed}


def test_an_image_is_refused_with_a_reason() -> None:
    (refusal,) = [each["error"] for each in said("images") if "error" in each]
    assert refusal["code"] == -32602
    assert "image" in json.dumps(refusal)


def test_the_user_is_asked_by_form_and_page() -> None:
    asked = [each["params"] for each in said("elicitation") if "params" in each]
    assert [each["mode"] for each in asked if "mode" in each] == ["form", "url"]


def _first(calls: list[dict[str, Any]], status: str) -> dict[str, Any]:
    return next(each for each in calls if each.get("status") == status)


def _last(calls: list[dict[str, Any]], status: str) -> dict[str, Any]:
    return _first(calls[::-1], status)
