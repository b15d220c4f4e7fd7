"""What a recorder has noted is numbered again as the recorder numbers it."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.proxy.recorder import Recorder
from acp_inspector.recording.encoder import EntryBatch
from acp_inspector.recording.format import Header, encode_header
from acp_inspector.recording.numbering import Numbering, Stream
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.recovery import recover
from acp_inspector.recording.rotation import RotatingWriter, RotationLimits
from acp_inspector.recording.spool import Spool, read_entries, spool_files, spool_path
from acp_protocol.framing import WireFrame

HEADER = encode_header(Header("", "", ""))
NOTES = st.lists(
    st.tuples(
        st.sampled_from(["client", "agent", "stderr", "line", "blank", "framed", "event"]),
        st.binary(max_size=30)
        | st.sampled_from([b"\n", b"{}\n", b'{"n":1}\r\n{', b"}\n\n"])
        | st.sampled_from(
            [b"Content-Length: 2\r\n", b"\r\n{}", b"Content-Length: 1\n\n1\n", b"{}"]
        ),
    ),
    max_size=40,
)


class Stopped:
    """A sink that can be stopped in a write, as a killed process is."""

    def __init__(self) -> None:
        self.first_number = 1
        self.time_offset = 0.0
        self.entries: list[Entry] = []
        self.writing = threading.Lock()

    def write(self, entries: Iterable[Entry]) -> None:
        with self.writing:
            self.entries += entries

    def close(self) -> None:
        pass


def note(recorder: Recorder, kind: str, data: bytes) -> None:
    streams: dict[str, Stream] = {"client": "client", "agent": "agent", "stderr": "stderr"}
    if kind == "line":
        recorder.frame("agent", WireFrame(b"", data, b"\r\n"))
    elif kind == "blank":
        recorder.frame("agent", WireFrame(b"", data, b"\n" * 300))
    elif kind == "framed":
        recorder.frame("agent", WireFrame(b"\nContent-Length: 9\n\n", data, b""))
    elif kind == "event":
        recorder.event("mark", text=data.hex())
    else:
        recorder.note(streams[kind], data)


def content(entries: Iterable[Entry]) -> list[object]:
    """Return the entries without their times: an unfinished line is as old as its last note."""
    found: list[object] = []
    for entry in entries:
        match entry:
            case Frame():
                found.append((entry.seq, entry.side, entry.wire))
            case StderrChunk():
                found.append((entry.seq, entry.data))
            case JournalEvent():
                found.append((entry.seq, entry.name, dict(entry.data)))
    return found


@settings(max_examples=60, deadline=None)
@given(NOTES, st.integers(0, 40), st.sampled_from([1, 100, 1000]))
def test_what_was_written_and_what_the_spool_has_is_everything(
    notes: list[tuple[str, bytes]], stop_at: int, turn_bytes: int
) -> None:
    warnings: list[str] = []
    sink = Stopped()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "it.acp.ndjson")
        spool = Spool(
            path, HEADER, 0, has_begun=lambda: True, warn=warnings.append, turn_bytes=turn_bytes
        )
        recorder = Recorder(sink, spool=spool)
        for at, (kind, data) in enumerate(notes):
            if at == stop_at:
                sink.writing.acquire()
            note(recorder, kind, data)
        if stop_at >= len(notes):
            sink.writing.acquire()
        written = list(sink.entries)
        descriptor = os.open(spool_path(path), os.O_RDONLY)
        with spool_files(descriptor) as files:
            kept = list(read_entries(files))
        os.close(descriptor)
        sink.writing.release()
        recorder.close()
        assert not spool_path(path).exists()
    last = written[-1].seq if written else 0
    assert content([*written, *(each for each in kept if each.seq > last)]) == content(sink.entries)
    assert not warnings


@settings(deadline=None)
@given(NOTES, st.integers(0, 40))
def test_a_numbering_goes_on_where_another_one_stands(
    notes: list[tuple[str, bytes]], stop_at: int
) -> None:
    """As the notes of a second file of a spool do."""
    alone, first = Numbering(0), Numbering(0)
    number(alone, notes)
    number(first, notes[:stop_at])
    second = Numbering(first.number, first.unfinished)
    number(second, notes[stop_at:])
    found = [*EntryBatch(first.take()), *EntryBatch(second.finish(0))]
    assert content(found) == content(EntryBatch(alone.finish(0)))


@pytest.mark.parametrize(
    ("rest", "data", "is_cut"),
    [(b"\r\n\n", b"", False), (b"\r", b"\r", True), (b"\nContent", b"\nContent", True)],
)
def test_blank_lines_at_the_end_of_a_stream_are_no_cut_frame(
    rest: bytes, data: bytes, is_cut: bool
) -> None:
    numbering = Numbering(0)
    numbering.chunk(0, "agent", b"Content-Length: 2\r\n\r\n{}" + rest)
    *_, last = EntryBatch(numbering.finish(0))
    assert isinstance(last, Frame)
    assert (last.data, last.wire, last.is_cut) == (data, rest, is_cut)


def number(numbering: Numbering, notes: list[tuple[str, bytes]]) -> None:
    for kind, data in notes:
        if kind == "client":
            numbering.chunk(0, "client", data)
        elif kind == "framed":
            numbering.frame(0, "agent", WireFrame(b"\nContent-Length: 9\n\n", data, b""))
        elif kind == "event":
            numbering.event(0, "mark", {})
        else:
            numbering.chunk(0, "agent", data)


def test_a_spool_without_room_warns_once_and_goes_on_in_the_next_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    path = tmp_path / "it.acp.ndjson"
    spool = Spool(path, HEADER, 0, has_begun=lambda: True, warn=warnings.append, turn_bytes=10)

    def partly(descriptor: int, parts: list[bytes]) -> int:
        return os.write(descriptor, parts[0][:3])

    with monkeypatch.context() as patched:
        patched.setattr(os, "writev", partly)
        spool.append(b"a", 0.5, b"lost\n")
        spool.append(b"a", 0.5, b"lost too\n")
    assert spool.is_long(0)
    spool.turn(2, {})
    spool.free()
    spool.append(b"a", 0.5, b"{}\n")
    folder = os.open(spool_path(path), os.O_RDONLY)
    with spool_files(folder) as files:
        assert content(read_entries(files)) == [(3, "agent", b"{}\n")]
    os.close(folder)
    spool.close()
    assert len(warnings) == 1


@pytest.mark.parametrize("is_written", [False, True])
def test_frames_that_replace_a_rotated_recording_are_recovered_at_any_moment(
    tmp_path: Path, is_written: bool
) -> None:
    warnings: list[str] = []
    folder, copy = tmp_path / "running", tmp_path / "killed"
    folder.mkdir()
    path, limits = folder / "it.acp.ndjson", RotationLimits(size=1000)
    old = RotatingWriter(path, Header("", "", "old"), limits)
    old.write([Frame(1, 0.5, "agent", b'{"old":1}')])
    old.close()
    writer = RotatingWriter(path, Header("", "", "new"), limits, mode="overwrite")
    spool = Spool(path, writer.first_line, 0, has_begun=writer.has_begun, warn=warnings.append)
    spool.append(b"a", 0.5, b'{"new":1}\n')
    if is_written:
        writer.write([Frame(1, 0.5, "agent", b'{"new":1}')])
    # What a kill would leave at this moment.
    shutil.copytree(folder, copy)
    shown = read_recording(copy / path.name).entries
    assert recover(copy / path.name) == (0 if is_written else 1)
    assert read_recording(copy / path.name).entries == shown
    assert [each.data for each in shown if isinstance(each, Frame)] == [b'{"new":1}']
    assert not spool_path(copy / path.name).exists()
    writer.close()
    spool.close()
    assert not warnings
