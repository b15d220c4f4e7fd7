"""The recordings of dialects: read alike in every directory, and played in every role."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from acp_inspector.messages import Decoder
from acp_inspector.recording.reader import Recording, read_recording
from acp_inspector.replay.snapshot import read_snapshot, snapshot_path, take_snapshot
from acp_inspector.replay.trust import TRUSTED
from acp_inspector.session.items import ToolCallItem
from acp_inspector.testing.recording_test import PlayOptions, run_recording
from acp_inspector.views.session_model import SessionModel
from tests.warm import WARM
from tools.make_recordings import PLACE
from tools.stories import RECORDINGS, installed

FOLDER = Path(__file__).parents[1] / "recordings/dialects"
PATHS = sorted(FOLDER.glob("*.acp.ndjson"))
DIALECTS = ("acpex", "continuum", "openoxide")
LIMIT = 60.0
"""Seconds after which a replay counts as hung."""

each_recording = pytest.mark.parametrize(
    "path", PATHS, ids=lambda path: path.name.partition(".")[0]
)


def dialect_of(path: Path) -> str:
    return path.name.partition(".")[0].partition("-")[0]


def read(recording: Recording) -> SessionModel:
    model = SessionModel()
    model.read((recording.header, *recording.entries))
    return model


def test_each_dialect_is_recorded_with_our_peers_and_with_strangers() -> None:
    names = {path.name.removesuffix(".acp.ndjson") for path in PATHS}
    assert names == {f"{each}{peer}" for each in DIALECTS for peer in ("", "-agent", "-client")}


@each_recording
def test_a_recording_is_read_alike_in_every_directory(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = read_recording(path)
    for place in (tmp_path, Path("/")):
        monkeypatch.chdir(place)
        assert take_snapshot(recording) == read_snapshot(snapshot_path(path))
        model = read(recording)
        opened = [each.info.cwd for each in model.conversations.sessions.values() if each.info.cwd]
        assert opened == [PLACE.decode()]
        assert model.dialect == dialect_of(path)


@each_recording
def test_no_frame_is_malformed_or_unpaired(path: Path) -> None:
    recording = read_recording(path)
    decoder = Decoder()
    decoder.begin_recording(recording.header.dialect, recording.header.cwd)
    kinds = [decoder.decode(frame).kind for frame in recording.frames]
    assert len(kinds) > 5
    assert "malformed" not in kinds
    assert read(recording).exchanges.faults == []


@pytest.mark.parametrize("name", DIALECTS)
def test_what_a_tool_call_has_is_there_in_each_dialect(name: str) -> None:
    """Diffs, terminals and outputs of one call add to each other."""
    recording = read_recording(FOLDER / f"{name}.acp.ndjson")
    (session,) = read(recording).conversations.sessions.values()
    calls = [each for each in session.items if isinstance(each, ToolCallItem)]
    kinds = [{item["type"] for item in each.content} for each in calls]
    assert [each for each in kinds if each & {"diff", "terminal"}] == [
        {"diff"} if name == "continuum" else {"diff", "content"},
        {"diff"} if name == "continuum" else {"diff", "content"},
        {"terminal"} if name == "continuum" else {"terminal", "content"},
    ]
    assert [each.status for each in calls] == ["completed"] * 6


@each_recording
async def test_the_agent_still_does_as_recorded(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a directory of its own, wherever the test is started."""
    monkeypatch.chdir(tmp_path)
    recipe = RECORDINGS[f"dialects/{path.name.removesuffix('.acp.ndjson')}"]
    options = PlayOptions(installed(recipe.command, WARM), trust=TRUSTED)
    with anyio.fail_after(LIMIT):
        outcome = await run_recording(path, options)
    outcome.assert_passed()
