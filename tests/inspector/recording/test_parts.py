"""The files of a recording that was written in several."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from acp_inspector.recording.format import Header, RecordingError, part_path, series_of
from acp_inspector.recording.rotation import part_paths
from acp_inspector.recording.writer import RecordingWriter

HEADER = Header("2026-01-01T00:00:00.000Z", "test", "v1")


def write(path: Path, *series: str) -> None:
    for number, name in enumerate(series, start=1):
        header = replace(HEADER, meta={"series": name, "part": number})
        RecordingWriter(part_path(path, number), header).close()


def test_parts_are_found_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    write(path, *["s"] * 11)
    assert part_paths(path) == [part_path(path, number) for number in range(1, 12)]


def test_another_recording_of_that_name_is_no_part(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    write(path, "s", "s", "other")
    part_path(path, 4).write_text("notes")
    assert part_paths(path) == [path, part_path(path, 2)]


def test_a_recording_in_one_file_is_its_only_part(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    RecordingWriter(path, HEADER).close()
    RecordingWriter(part_path(path, 2), HEADER).close()
    assert part_paths(path) == [path]
    assert series_of(path, HEADER) == "a.acp.ndjson of 2026-01-01T00:00:00.000Z"
    assert series_of(path, replace(HEADER, meta={"series": "s"})) == "s"


def test_a_missing_file_has_no_parts_and_another_file_is_an_error(tmp_path: Path) -> None:
    assert part_paths(tmp_path / "gone") == []
    (tmp_path / "notes").write_text("notes")
    with pytest.raises(RecordingError, match="is not a recording"):
        part_paths(tmp_path / "notes")


def test_a_pipe_of_that_name_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    os.mkfifo(part_path(path, 2))
    write(path, "s")
    assert part_paths(path) == [path]
    assert part_paths(part_path(path, 2)) == []
    assert part_paths(Path("/dev/null")) == []
