"""Writing that never stops the traffic."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from acp_inspector.journal import Entry, Frame, JournalEvent
from acp_inspector.recording.encoder import LARGE_FRAME
from acp_inspector.recording.format import Header, RecordingError, RecordingExistsError
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter, WriteMode

HEADER = Header("2026-01-01T00:00:00.000Z", "test", "v1")


def frames(first: int, last: int) -> list[Entry]:
    return [Frame(n, n / 10, "client", b'{"n":%d}' % n) for n in range(first, last + 1)]


@contextmanager
def file_size_limit(size: int) -> Generator[None]:
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


def test_what_was_written_is_read_and_the_digest_fits(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    writer = RecordingWriter(path, HEADER)
    writer.write(frames(1, 3))
    writer.write([])
    writer.close()
    writer.close()
    recording = read_recording(path)
    assert list(recording.entries) == frames(1, 3)
    assert recording.bad_lines == ()
    assert recording.footer is not None
    assert recording.footer.counts == {"frames": 3}


def test_a_recording_is_private(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    RecordingWriter(path, HEADER).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_existing_file_is_refused_by_default(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    path.write_text("precious")
    with pytest.raises(RecordingExistsError, match="exists already"):
        RecordingWriter(path, HEADER)
    assert path.read_text() == "precious"
    RecordingWriter(path, HEADER, mode="overwrite").close()
    assert read_recording(path).entries == ()


@pytest.mark.parametrize("mode", ["new", "append", "overwrite"])
def test_a_symbolic_link_is_not_followed(tmp_path: Path, mode: str) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(RecordingError):
        RecordingWriter(link, HEADER, mode=mode)  # pyright: ignore[reportArgumentType] - a literal
    assert not target.exists()


def test_appending_goes_on_in_numbers_and_in_time(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    first = RecordingWriter(path, HEADER)
    first.write(frames(1, 3))
    first.close()
    second = RecordingWriter(path, HEADER, mode="append")
    assert (second.first_number, second.time_offset) == (4, 0.3)
    second.write(frames(4, 5))
    second.close()
    recording = read_recording(path)
    assert list(recording.entries) == frames(1, 5)
    assert recording.bad_lines == ()


def test_appending_behind_a_cut_line_loses_that_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    first = RecordingWriter(path, HEADER)
    first.write(frames(1, 2))
    path.write_bytes(path.read_bytes()[:-5])
    second = RecordingWriter(path, HEADER, mode="append")
    second.write(frames(3, 3))
    second.close()
    recording = read_recording(path)
    assert [entry.seq for entry in recording.entries] == [1, 3]
    assert [bad_line.line for bad_line in recording.bad_lines] == [3]


def test_what_is_no_recording_is_not_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(RecordingError, match="it is not a recording"):
        RecordingWriter(path, HEADER, mode="append")
    assert path.read_text() == "my notes\n"


def test_a_disk_that_fills_up_costs_frames_and_nothing_else(tmp_path: Path) -> None:
    """A file size limit stands in for the full disk: both fail in the middle of a write."""
    path = tmp_path / "a.acp.ndjson"
    warnings: list[str] = []
    writer = RecordingWriter(path, HEADER, warn=warnings.append)
    writer.write(frames(1, 2))
    with file_size_limit(path.stat().st_size + 10):
        writer.write(frames(3, 4))
        writer.write(frames(5, 5))
    writer.write(frames(6, 6))
    writer.close()
    assert len(warnings) == 1
    assert "the traffic goes on" in warnings[0]
    recording = read_recording(path)
    assert recording.bad_lines == ()
    assert [entry.seq for entry in recording.entries] == [1, 2, 5, 6]
    reported = recording.entries[2]
    assert isinstance(reported, JournalEvent)
    assert (reported.name, reported.data["count"]) == ("dropped", 3)


def test_entries_dropped_at_the_end_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    writer = RecordingWriter(path, HEADER)
    with file_size_limit(path.stat().st_size):
        writer.write(frames(1, 2))
        assert writer.has_dropped
    writer.close()
    recording = read_recording(path)
    assert recording.entries == (
        JournalEvent(2, 0.2, "dropped", {"count": 2, "why": "file too large"}),
    )
    assert recording.footer is not None
    assert recording.footer.counts == {"events": 1}


def test_a_disk_without_room_for_the_header_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    with (
        file_size_limit(5),
        pytest.raises(RecordingError, match="file too large"),
    ):
        RecordingWriter(path, HEADER)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_at_the_start_is_recorded_to_as_soon_as_there_is_room(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.acp.ndjson"
    warnings: list[str] = []
    with file_size_limit(5):
        writer = RecordingWriter(path, HEADER, warn=warnings.append, retry_when_full=True)
        writer.write(frames(1, 2))
        assert not writer.has_begun()
    writer.write(frames(3, 4))
    writer.close()
    recording = read_recording(path)
    assert (len(warnings), recording.bad_lines) == (1, ())
    assert recording.entries == (
        JournalEvent(2, 0.2, "dropped", {"count": 2, "why": "file too large"}),
        *frames(3, 4),
    )
    assert recording.footer is not None


def test_a_disk_that_stays_full_is_left_with_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    with file_size_limit(5):
        writer = RecordingWriter(path, HEADER, retry_when_full=True)
        writer.write(frames(1, 2))
        writer.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["new", "append", "overwrite"])
def test_a_recording_that_is_withdrawn_before_anything_stood_in_it_leaves_no_file(
    tmp_path: Path, mode: WriteMode
) -> None:
    writer = RecordingWriter(tmp_path / "a.acp.ndjson", HEADER, mode=mode)
    writer.discard_if_empty()
    writer.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize("cut", [0, 5])
def test_a_discarded_recording_leaves_the_file_unchanged(
    tmp_path: Path, mode: WriteMode, cut: int
) -> None:
    path = tmp_path / "a.acp.ndjson"
    first = RecordingWriter(path, HEADER)
    first.write(frames(1, 3))
    first.close()
    before = path.read_bytes()[: -cut or None]
    path.write_bytes(before)
    second = RecordingWriter(path, HEADER, mode=mode)
    second.discard_if_empty()
    second.close()
    assert path.read_bytes() == before


def test_a_recording_with_entries_is_not_discarded(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    writer = RecordingWriter(path, HEADER)
    writer.write(frames(1, 1))
    writer.discard_if_empty()
    writer.close()
    recording = read_recording(path)
    assert list(recording.entries) == frames(1, 1)
    assert recording.footer is not None


def test_who_is_withdrawn_removes_no_file_that_came_into_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    writer = RecordingWriter(path, HEADER)
    path.unlink()
    path.write_text("precious")
    writer.discard_if_empty()
    writer.close()
    assert path.read_text() == "precious"


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_pipe_is_refused_at_once(tmp_path: Path, mode: WriteMode) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(RecordingError, match="neither a file nor a device"):
        RecordingWriter(path, HEADER, mode=mode)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(RecordingError, match="neither a file nor a device"):
            RecordingWriter(path, HEADER, mode=mode)
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)
    assert path.is_fifo()


def test_a_device_is_written_to(tmp_path: Path) -> None:
    warnings: list[str] = []
    for device in ("/dev/null", "/dev/full"):
        writer = RecordingWriter(
            Path(device), HEADER, mode="overwrite", warn=warnings.append, retry_when_full=True
        )
        writer.write(frames(1, 2))
        writer.close()
    assert len(warnings) == 1
    assert "/dev/full" in warnings[0]


def test_a_large_part_is_not_joined_with_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Sequence[bytes | bytearray]] = []
    real = os.writev

    def write(descriptor: int, parts: Sequence[bytes | bytearray]) -> int:
        written.append(parts)
        return real(descriptor, parts)

    writer = RecordingWriter(tmp_path / "a.acp.ndjson", HEADER)
    monkeypatch.setattr(os, "writev", write)
    raw = b'"%b"' % (b"x" * LARGE_FRAME)
    writer.write([Frame(1, 0.1, "client", raw)])
    assert any(part is raw for parts in written for part in parts)


def test_memory_that_runs_out_costs_the_batch_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.acp.ndjson"
    warnings: list[str] = []
    writer = RecordingWriter(path, HEADER, warn=warnings.append)
    with monkeypatch.context() as patch:

        def fail(batch: object) -> Iterator[bytes]:
            yield b"half a line"
            raise MemoryError

        patch.setattr("acp_inspector.recording.encoder.EntryBatch.encoded", fail)
        writer.write(frames(1, 2))
    writer.write(frames(3, 3))
    writer.close()
    assert "out of memory" in warnings[0]
    recording = read_recording(path)
    assert recording.bad_lines == ()
    assert [entry.seq for entry in recording.entries] == [2, 3]


def test_a_killed_writer_has_lost_nothing_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    code = f"""
import os, signal
from pathlib import Path
from acp_inspector.journal import Frame
from acp_inspector.recording.format import Header
from acp_inspector.recording.writer import RecordingWriter
writer = RecordingWriter(Path({str(path)!r}), Header("", "", ""))
for n in range(1, 101):
    writer.write([Frame(n, 0.0, "client", b"{{}}")])
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(read_recording(path).entries) == 100


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such file or directory"):
        RecordingWriter(tmp_path / "gone" / "a", HEADER)
    assert list(tmp_path.iterdir()) == []
