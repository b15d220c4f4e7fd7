"""The recordings of dialects: read alike in every directory, and played in every role."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from acp_inspector.messages import DecodedFrame, Decoder
from acp_inspector.recording.reader import Recording, read_recording
from acp_inspector.replay.snapshot import read_snapshot, snapshot_path, take_snapshot
from acp_inspector.replay.trust import TRUSTED
from acp_inspector.session.items import ToolCallItem
from acp_inspector.testing.recording_test import PlayOptions, run_recording
from acp_inspector.views.session_model import SessionModel
from acp_protocol.dialects.spellings import BATCHES
from acp_protocol.framing import Side
from tests.warm import WARM
from tools.make_recordings import PLACE
from tools.stories import RECORDINGS, RecordingRecipe, installed

FOLDER = Path(__file__).parents[1] / "recordings/dialects"
PATHS = sorted(FOLDER.glob("*.acp.ndjson"))
DIALECTS = ("acpex", "continuum", "openoxide")
"""Those that are recognised."""
LIMIT = 60.0
"""Seconds after which a replay counts as hung."""

each_recording = pytest.mark.parametrize(
    "path", PATHS, ids=lambda path: path.name.partition(".")[0]
)


def dialect_of(path: Path) -> str:
    name = path.name.partition(".")[0]
    return name.removesuffix("-agent").removesuffix("-client")


def recipe_of(path: Path) -> RecordingRecipe:
    return RECORDINGS[f"dialects/{path.name.removesuffix('.acp.ndjson')}"]


def read(recording: Recording) -> SessionModel:
    model = SessionModel()
    model.read((recording.header, *recording.entries))
    return model


def test_each_dialect_is_recorded_with_our_peers_and_with_strangers() -> None:
    names = {path.name.removesuffix(".acp.ndjson") for path in PATHS}
    dialects = (*DIALECTS, BATCHES)
    assert names == {f"{each}{peer}" for each in dialects for peer in ("", "-agent", "-client")}


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
        name = recording.header.dialect or model.dialect
        assert name == dialect_of(path)


@each_recording
def test_no_frame_is_malformed_or_unpaired(path: Path) -> None:
    recording = read_recording(path)
    decoder = Decoder()
    decoder.begin_recording(recording.header.dialect, recording.header.cwd)
    kinds = [decoder.decode(frame).kind for frame in recording.frames]
    assert len(kinds) > 5
    if recipe_of(path).breaches.count("not-json"):
        # This client shows that each of these is answered.
        assert kinds.count("malformed") == 1
        kinds.remove("malformed")
    assert "malformed" not in kinds
    faults = read(recording).exchanges.faults
    assert [each.kind for each in faults if each.id is not None] == []


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
    options = PlayOptions(installed(recipe_of(path).command, WARM), trust=TRUSTED)
    with anyio.fail_after(LIMIT):
        outcome = await run_recording(path, options)
    outcome.assert_passed()


def arrays(name: str, side: Side) -> list[list[str | None]]:
    """Return the methods in each array that a side has sent; None for a response."""
    frames = read_recording(FOLDER / f"{name}.acp.ndjson").frames
    return [
        [part.method for part in decoded.parts]
        for decoded in map(DecodedFrame, frames)
        if decoded.frame.side == side and decoded.kind == "batch"
    ]


def test_arrays_hold_requests_a_permission_and_updates() -> None:
    assert arrays("v2-batch-client", "client")[0][::2] == ["session/list", "no/such_method"]
    assert len(arrays("v2-batch-client", "agent")[0]) == 2
    asked, told = arrays("v2-batch", "agent")
    assert asked == [*["session/update"] * 3, "session/request_permission"]
    assert told == ["session/update"] * 2
    assert arrays("v2-batch", "client") == [[None]]
