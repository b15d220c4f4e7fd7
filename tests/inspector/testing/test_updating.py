"""A recording that is rewritten with what the agent does now."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.compare.diff import compare
from acp_inspector.compare.id_map import IdMap
from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.format import RecordingError, new_header
from acp_inspector.recording.reader import read_recording
from acp_inspector.replay.directories import replay_directories
from acp_inspector.testing.updating import replace_recording, updated_entries

FOLDER = Path(__file__).parents[3] / "recordings"
NAMES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.acp.ndjson"))
TEXT = re.compile(rb'"text":"[A-Za-z]')


def places_of(entries: Sequence[Entry]) -> dict[str, str]:
    frames = [each for each in entries if isinstance(each, Frame)]
    places = replay_directories(frames, None, Path("/elsewhere/now"), recorded_cwd="").places
    return {recorded: str(place) for recorded, place in places.items()}


def again(entries: Sequence[Entry], changed: int | None) -> list[Entry]:
    """Return the frames of another run: other directories, and one text that is different."""
    places = sorted(places_of(entries).items(), key=lambda pair: -len(pair[0]))
    found: list[Entry] = []
    for entry in entries:
        if not isinstance(entry, Frame):
            continue
        data = entry.data
        for recorded, place in places:
            data = re.sub(re.escape(recorded.encode()) + rb"(?![\w-])", place.encode(), data)
        if len(found) == changed:
            data = TEXT.sub(b'"text":"Changed: X', data, count=1)
        found.append(replace(entry, seq=len(found) + 1, time=entry.time * 2 + 1, data=data))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_means_the_same_changes_no_frame(name: str) -> None:
    recorded = read_recording(FOLDER / name).entries
    updated = updated_entries(recorded, again(recorded, None), places_of(recorded))
    assert [(each.side, each.wire) for each in updated if isinstance(each, Frame)] == [
        (each.side, each.wire) for each in recorded if isinstance(each, Frame)
    ]


@settings(max_examples=40)
@given(name=st.sampled_from(NAMES), data=st.data())
def test_one_change_is_written_and_little_else(name: str, data: st.DataObject) -> None:
    recorded = read_recording(FOLDER / name).entries
    frames = [each for each in recorded if isinstance(each, Frame)]
    texts = [
        place
        for place, each in enumerate(frames)
        if each.side == "agent" and TEXT.search(each.data) and b"agent_message_chunk" in each.data
    ]
    if not texts:
        return
    live = again(recorded, data.draw(st.sampled_from(texts)))
    updated = updated_entries(recorded, live, places_of(recorded))
    now = [each for each in updated if isinstance(each, Frame)]
    assert compare(updated, live, ids=IdMap(places_of(recorded))).differences == ()
    assert b"Changed: X" in b"".join(each.data for each in now)
    assert b"/elsewhere/now" not in b"".join(each.data for each in now)
    assert [each.seq for each in updated] == list(range(1, len(updated) + 1))
    assert sorted(each.time for each in updated) == [each.time for each in updated]
    # Chunks of one text are one step, hence written together.
    other = [each.data for each, old in zip(now, frames, strict=True) if each.data != old.data]
    assert all(b"agent_message_chunk" in each for each in other)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep/new.acp.ndjson"
    entries = read_recording(FOLDER / "hello.acp.ndjson").entries
    replace_recording(path, new_header(["agent"], tmp_path), entries)
    path.chmod(0o644)
    replace_recording(path, new_header(["agent"], tmp_path), entries)
    assert path.stat().st_mode & 0o777 == 0o644
    assert read_recording(path).entries == entries
    assert [each.name for each in path.parent.iterdir()] == ["new.acp.ndjson"]
    with pytest.raises(RecordingError, match=r"cannot write .*: file exists"):
        replace_recording(path / "below.acp.ndjson", new_header(["agent"], tmp_path), entries)
