"""Reading a recording as far as it goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.format import Header, RecordingError
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter

ENTRIES: list[Entry] = [
    Frame(1, 0.1, "client", b'{"a":1}'),
    Frame(2, 0.2, "agent", b"\xff", b""),
    JournalEvent(3, 0.3, "exit", {"code": 0}),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.acp.ndjson"
    writer = RecordingWriter(path, Header("2026-01-01T00:00:00.000Z", "test", "v1"))
    writer.write(ENTRIES)
    writer.close()
    return path


def test_frames_can_be_had_alone(path: Path) -> None:
    assert [frame.n for frame in read_recording(path).frames] == [1, 2]


def test_a_corrupt_line_is_one_fault_with_its_number(path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[2] = b"{corrupt"
    path.write_bytes(b"\n".join(lines))
    recording = read_recording(path)
    assert [entry.n for entry in recording.entries] == [1, 3]
    assert [(fault.line, fault.reason) for fault in recording.faults] == [
        (3, "no JSON object"),
        (5, "the digest does not fit: lines before this one were changed"),
    ]


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_cut_file_is_read_up_to_the_cut(path: Path, cut: int) -> None:
    path.write_bytes(path.read_bytes()[:-cut])
    recording = read_recording(path)
    assert list(recording.entries) == ENTRIES
    if cut > 1:
        assert recording.footer is None
        assert recording.faults[0].reason == "the file ends in the middle of this line"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"hello\n", "its first line is no header"),
        (b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n', "its first line is no header"),
        (b"\x00\xff" * 100, "its first line is no header"),
    ],
)
def test_a_foreign_file_is_told_from_a_recording(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=said):
        read_recording(path)


def test_what_cannot_be_opened_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such file or directory"):
        read_recording(tmp_path / "gone")
    with pytest.raises(RecordingError, match="is a directory"):
        read_recording(tmp_path)
