"""The small directory that a recording may bring along."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_inspector.recording.format import Header, RecordingError
from acp_inspector.replay.client_player import prepare_workspace
from acp_inspector.replay.directories import replay_directories
from tests.inspector.talks import ask, frames


def header(files: object) -> Header:
    return Header("", "", "", meta={"files": files})


def test_its_files_are_written(tmp_path: Path) -> None:
    prepare_workspace(header({"a.txt": "A", "sub/b.txt": "B"}), tmp_path)
    assert (tmp_path / "a.txt").read_text() == "A"
    assert (tmp_path / "sub" / "b.txt").read_text() == "B"


def test_files_are_written_below_the_root_too(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "a.txt"
    prepare_workspace(header({str(path).removeprefix("/"): "A"}), Path("/"))
    assert path.read_text() == "A"


@pytest.mark.parametrize("name", ["../out.txt", "/etc/x", "a/../../out.txt", "link/out.txt", "\0"])
def test_no_name_leads_out(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    with pytest.raises(RecordingError, match="refused"):
        prepare_workspace(header({name: "x"}), inside)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inside"]


@pytest.mark.parametrize("files", [[], {"a": 5}, "x"])
def test_another_shape_is_told(tmp_path: Path, files: object) -> None:
    with pytest.raises(RecordingError):
        prepare_workspace(header(files), tmp_path)


@pytest.mark.parametrize("cwd", ["/home/somebody/with/a/long/path/to/the/project", "/w"])
def test_a_new_directory_has_a_path_of_the_recorded_length_if_possible(cwd: str) -> None:
    """Agents cut titles by their length."""
    said = frames(ask("client", 1, "session/new", cwd=cwd))
    place = str(replay_directories(said, None, Path("/tmp/new"), recorded_cwd="").cwd)
    assert place.startswith("/tmp/new")
    assert len(place) == max(len(cwd), len("/tmp/new"))


def test_the_directory_of_the_agent_counts_where_the_client_names_none() -> None:
    said = frames(ask("client", 1, "session/new"))
    found = replay_directories(said, None, Path("/tmp/new"), recorded_cwd="/project")
    assert found.places == {"/project": Path("/tmp/new")}
