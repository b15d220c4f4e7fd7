"""Reading what others write meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_inspector.journal import Entry, Frame
from acp_inspector.recording.format import Footer, Header, RecordingError, encode_entry
from acp_inspector.recording.reader import LINE_TOO_LONG, BadLine, Row
from acp_inspector.recording.rotation import RotatingWriter, RotationLimits
from acp_inspector.recording.tail import OVERWRITTEN, RecordingTail
from acp_inspector.recording.writer import RecordingWriter

HEADER = Header("2026-01-01T00:00:00.000Z", "test", "v1")


def frames(first: int, last: int) -> list[Entry]:
    return [Frame(n, n / 10, "client", b'{"n":%d}' % n) for n in range(first, last + 1)]


def entries(rows: Iterator[Row]) -> list[Row]:
    return [row for row in rows if not isinstance(row, Header | Footer)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.acp.ndjson"


def test_each_read_gives_what_is_new(path: Path) -> None:
    writer = RecordingWriter(path, HEADER)
    with RecordingTail(path) as follower:
        assert list(follower.read()) == [HEADER]
        assert list(follower.read()) == []
        writer.write(frames(1, 3))
        assert list(follower.read()) == frames(1, 3)
        writer.write(frames(4, 4))
        writer.close()
        assert [type(row) for row in follower.read()] == [Frame, Footer]
        second = RecordingWriter(path, HEADER, mode="append")
        second.write(frames(5, 5))
        assert list(follower.read()) == frames(5, 5)
        second.close()


def test_frames_that_were_recorded_as_lines_are_joined(path: Path) -> None:
    writer = RecordingWriter(path, HEADER)
    header = b"Content-Length: 2\r\n\r\n"
    with RecordingTail(path) as follower:
        writer.write(
            [
                Frame(1, 0.5, "client", b"Content-Length: 2", b"\r\n"),
                Frame(2, 0.5, "client", b"", b"\r\n"),
            ]
        )
        assert list(follower.read()) == [HEADER]
        writer.write([Frame(3, 0.5, "client", b"{}Content-Length: 2", b"\r\n")])
        assert list(follower.read()) == [Frame(1, 0.5, "client", b"{}", b"", header)]
        writer.close()
        assert [type(row) for row in follower.read()] == [Frame, Footer]


def test_half_a_line_waits_for_the_other_half(path: Path) -> None:
    RecordingWriter(path, HEADER).close()
    line = encode_entry(Frame(1, 0.5, "client", b"{}"))
    with RecordingTail(path) as follower, path.open("ab", buffering=0) as file:
        list(follower.read())
        file.write(line[:9])
        assert list(follower.read()) == []
        file.write(line[9:] + line[:3])
        assert list(follower.read()) == [Frame(1, 0.5, "client", b"{}")]


def test_it_goes_on_from_part_to_part(path: Path) -> None:
    writer = RotatingWriter(path, HEADER, RotationLimits(size=1))
    with RecordingTail(path) as follower:
        writer.write(frames(1, 2))
        assert entries(follower.read()) == frames(1, 2)
        for n in range(3, 8):
            writer.write(frames(n, n))
        assert entries(follower.read()) == frames(3, 7)
        assert follower.path == writer.path
        writer.close()
        assert entries(follower.read()) == []


def test_another_recording_is_no_next_part(path: Path) -> None:
    RecordingWriter(path, HEADER).close()
    RecordingWriter(path.with_name("a.2.acp.ndjson"), HEADER).close()
    with RecordingTail(path) as follower:
        assert [type(row) for row in follower.read()] == [Header, Footer]
        assert follower.path == path


def test_a_corrupt_line_is_reported_and_skipped(path: Path) -> None:
    writer = RecordingWriter(path, HEADER)
    with RecordingTail(path) as follower, path.open("ab") as file:
        file.write(b"{corrupt\n")
        file.flush()
        writer.write(frames(1, 1))
        size = len(path.read_bytes().splitlines(keepends=True)[0])
        assert list(follower.read()) == [
            HEADER,
            BadLine(2, "no JSON object", size),
            *frames(1, 1),
        ]
    writer.close()


def test_a_file_that_was_overwritten_is_read_anew(path: Path) -> None:
    writer = RecordingWriter(path, HEADER)
    writer.write(frames(1, 9))
    writer.close()
    with RecordingTail(path) as follower:
        list(follower.read())
        RecordingWriter(path, HEADER, mode="overwrite").close()
        bad_line, *rows = follower.read()
        assert isinstance(bad_line, BadLine)
        assert bad_line.reason == OVERWRITTEN
        assert [type(row) for row in rows] == [Header, Footer]


def test_a_file_without_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such file"):
        RecordingTail(tmp_path / "gone")
    (tmp_path / "notes").write_text("notes\n")
    with (
        RecordingTail(tmp_path / "notes") as follower,
        pytest.raises(RecordingError, match="its first line is not a header"),
    ):
        list(follower.read())


def test_a_line_that_is_too_long_is_reported_at_its_end(path: Path) -> None:
    writer = RecordingWriter(path, HEADER)
    with RecordingTail(path, max_line=1000) as follower, path.open("ab", buffering=0) as file:
        file.write(b"x" * 3000)
        assert list(follower.read()) == [HEADER]
        size = len(path.read_bytes().splitlines(keepends=True)[0])
        file.write(b"\n")
        writer.write(frames(1, 1))
        assert list(follower.read()) == [BadLine(2, LINE_TOO_LONG, size), *frames(1, 1)]
    writer.close()
