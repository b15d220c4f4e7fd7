"""Where a recording that is there already has to be gone on with."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.format import Header
from acp_inspector.recording.lines import BLOCK
from acp_inspector.recording.writer import AppendState, RecordingWriter, read_append_state

HEADER = Header("2026-01-01T00:00:00.000Z", "test", "v1")
ENTRIES: list[Entry] = [
    JournalEvent(1, 0.1, "spawn", {"pid": 1}),
    Frame(2, 0.2, "client", b'{"a":1}'),
    StderrChunk(3, 0.3, b"\xff"),
    Frame(4, 0.4, "agent", b"x" * (2 * BLOCK)),
]
COUNTS = {"events": 1, "frames": 2, "stderr": 1}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.acp.ndjson"
    writer = RecordingWriter(path, HEADER)
    writer.write(ENTRIES)
    writer.close()
    return path


def append_state(path: Path, max_line: int | None = None) -> AppendState | None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return read_append_state(descriptor, max_line=max_line)
    finally:
        os.close(descriptor)


def state_values(path: Path) -> tuple[str, dict[str, int], int, float, bool]:
    found = append_state(path)
    assert found is not None
    digest = found.digest.hexdigest()
    return digest, dict(found.counts), found.last_number, found.last_time, found.is_whole


def test_after_a_clean_end_the_footer_knows(path: Path) -> None:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert state_values(path) == (digest, COUNTS, 4, 0.4, True)


def test_after_a_clean_end_without_entries_the_ones_before_it_count(path: Path) -> None:
    RecordingWriter(path, HEADER, mode="append").close()
    RecordingWriter(path, HEADER, mode="append").close()
    assert state_values(path)[1:] == (COUNTS, 4, 0.4, True)


@pytest.mark.parametrize("cut", [1, 5, 100])
def test_after_a_sudden_end_every_line_is_looked_at(path: Path, cut: int) -> None:
    """One byte of the footer is missing, or all of it and the end of the last frame."""
    content = path.read_bytes()
    footer = content.rfind(b'{"end"')
    path.write_bytes(content[:footer] if cut == 100 else content[:-cut])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert state_values(path) == (digest, COUNTS, 4, 0.4, cut == 100)


def test_a_last_line_that_was_cut_off_does_not_count(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"n":5,"t":9.000000,"from":"agent","msg":{"a":{}')
    assert state_values(path)[1:] == (COUNTS, 4, 0.4, False)


def test_a_footer_that_does_not_fit_is_not_believed(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"frames":2', b'"frames":9').replace(b"3,", b"5,"))
    assert state_values(path)[1:4] == (COUNTS, 5, 0.4)


def test_a_recording_without_entries_begins_at_one(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    RecordingWriter(path, HEADER).close()
    assert state_values(path)[1:] == ({}, 0, 0.0, True)


@pytest.mark.parametrize("content", [b"", b"notes\n", b"\x1f\x8b\x08"])
def test_what_is_no_recording_cannot_be_gone_on_with(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    assert append_state(path) is None


def test_a_line_that_is_too_long_is_hashed_and_counts_for_nothing(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x" * (5 * BLOCK) + b"\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert state_values(path) == (digest, COUNTS, 4, 0.4, True)
