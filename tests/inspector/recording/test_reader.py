"""Reading a recording as far as it goes."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.compression import TRUNCATED
from acp_inspector.recording.format import Header, RecordingError
from acp_inspector.recording.reader import (
    LINE_CUT_OFF,
    LINE_TOO_LONG,
    BadLine,
    read_header,
    read_recording,
)
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
    assert [frame.seq for frame in read_recording(path).frames] == [1, 2]


def test_a_corrupt_line_is_one_fault_with_its_number(path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[2] = b"{corrupt"
    path.write_bytes(b"\n".join(lines))
    recording = read_recording(path)
    assert [entry.seq for entry in recording.entries] == [1, 3]
    places = [len(b"\n".join(lines[:number])) + 1 for number in (2, 4)]
    assert recording.bad_lines == (
        BadLine(3, "no JSON object", places[0]),
        BadLine(5, "the digest does not fit: lines before this one were changed", places[1]),
    )


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_cut_file_is_read_up_to_the_cut(path: Path, cut: int) -> None:
    path.write_bytes(path.read_bytes()[:-cut])
    recording = read_recording(path)
    assert list(recording.entries) == ENTRIES
    if cut > 1:
        assert recording.footer is None
        assert recording.bad_lines[0].reason == "the file ends in the middle of this line"


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
def test_a_compressed_file_is_read_whatever_it_is_called(
    path: Path, compress: Callable[[bytes], bytes]
) -> None:
    content = path.read_bytes()
    path.write_bytes(compress(content))
    assert read_header(path).tool == "test"
    recording = read_recording(path)
    assert (list(recording.entries), recording.bad_lines) == (ENTRIES, ())


def test_compressed_data_without_a_block_is_an_error(path: Path) -> None:
    """What zstd holds comes out in blocks of up to 128 KB, or not at all."""
    path.write_bytes(zstd.compress(path.read_bytes())[:-2])
    with pytest.raises(RecordingError, match=TRUNCATED):
        read_recording(path)


def test_a_truncated_compressed_file_is_reported_between_lines(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(lines[:2]))[:-8])
    assert read_recording(path).bad_lines == (BadLine(3, TRUNCATED, len(lines[0] + lines[1])),)


@settings(deadline=None)
@given(data=st.data())
def test_a_cut_at_any_byte_loses_only_what_lies_behind(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        writer = RecordingWriter(path, Header("2026-01-01T00:00:00.000Z", "test", "v1"))
        writer.write(ENTRIES)
        writer.close()
        content = path.read_bytes()
        cut = data.draw(st.integers(content.index(b"\n"), len(content)))
        path.write_bytes(content[:cut])
        recording = read_recording(path)
    # A line that lacks its newline alone is whole.
    whole = content[: cut + 1].count(b"\n")
    assert list(recording.entries) == ENTRIES[: whole - 1]
    assert [bad_line.reason for bad_line in recording.bad_lines] == (
        [] if content[cut - 1 : cut] == b"\n" or content[cut : cut + 1] == b"\n" else [LINE_CUT_OFF]
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"hello\n", "its first line is not a header"),
        (b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n', "its first line is not a header"),
        (b"\x00\xff" * 100, "its first line is not a header"),
        (b'{"acp_recording":9,"created":"","tool":""}\n', "format version 9 is not known here"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=said):
        read_recording(path)


def test_a_file_that_cannot_be_opened_is_explained_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such file or directory"):
        read_recording(tmp_path / "gone")
    with pytest.raises(RecordingError, match="is a directory"):
        read_recording(tmp_path)


def test_a_line_that_is_too_long_is_a_fault_and_the_rest_is_read(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    text = b"".join((*lines[:2], b"\0" * 5000 + b"\n", *lines[2:]))
    path.write_bytes(gzip.compress(text))
    recording = read_recording(path, max_line=1000)
    assert list(recording.entries) == ENTRIES
    assert recording.bad_lines[0] == BadLine(3, LINE_TOO_LONG, len(lines[0] + lines[1]))
    # The digest covers what was passed over, and did so not when it was written.
    assert [bad_line.line for bad_line in recording.bad_lines] == [3, 6]
