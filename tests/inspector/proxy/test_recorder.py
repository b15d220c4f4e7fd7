"""Notes that several threads take, cut into frames and written by one."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import ANY

from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.proxy.dialect_watch import MAX_ENTRIES, MAX_FRAME_BYTES, DialectWatch
from acp_inspector.proxy.recorder import MAX_QUEUED_BYTES, Recorder
from acp_inspector.recording.format import Header
from acp_inspector.recording.numbering import TOO_LONG, TOO_SLOW, Stream
from acp_inspector.recording.reader import read_recording
from acp_inspector.recording.writer import RecordingWriter
from acp_protocol.framing import WireFrame

LIMIT = 30


class Sink:
    """Keeps the entries that it gets; writes only while it may."""

    def __init__(self) -> None:
        self.first_number = 1
        self.time_offset = 0.0
        self.batches: list[list[Entry]] = []
        self.may_write = threading.Event()
        self.may_write.set()
        self.writes = threading.Semaphore(0)

    @property
    def entries(self) -> list[Entry]:
        return [entry for batch in self.batches for entry in batch]

    def write(self, entries: Iterable[Entry]) -> None:
        self.writes.release()
        assert self.may_write.wait(LIMIT)
        self.batches.append(list(entries))

    def close(self) -> None:
        pass


def sent_by(sink: Sink, side: str) -> bytes:
    return b"".join(
        entry.wire for entry in sink.entries if isinstance(entry, Frame) and entry.side == side
    )


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["client", "agent"]),
            st.lists(st.sampled_from([b"\n", b"\r\n", b"{}", b"x", b"\xff\0"])).map(b"".join),
        )
    ),
    st.sampled_from([3, 1 << 20]),
)
def test_however_it_is_cut_into_chunks_every_byte_is_in_a_frame(
    chunks: list[tuple[Stream, bytes]], large: int
) -> None:
    sink = Sink()
    recorder = Recorder(sink, large_frame=large)
    for stream, data in chunks:
        recorder.note(stream, data)
    recorder.close()
    assert [entry.seq for entry in sink.entries] == list(range(1, len(sink.entries) + 1))
    for side in ("client", "agent"):
        data = b"".join(chunk for stream, chunk in chunks if stream == side)
        assert sent_by(sink, side) == data
        frames = [it for it in sink.entries if isinstance(it, Frame) and it.side == side]
        assert len(frames) == data.count(b"\n") + bool(data and not data.endswith(b"\n"))
        assert all(b"\n" not in frame.data for frame in frames)


def test_a_write_takes_all_that_was_noted_before_it_began() -> None:
    sink = Sink()
    sink.may_write.clear()
    recorder = Recorder(sink)
    recorder.note("agent", b"first\n")
    assert sink.writes.acquire(timeout=LIMIT)
    line = b"x" * 999 + b"\n"
    for _ in range(MAX_QUEUED_BYTES // len(line) - 1):
        recorder.note("agent", line)
    sink.may_write.set()
    assert sink.writes.acquire(timeout=LIMIT)
    recorder.close()
    # What could be killed away is what waits for the second write, which holds all of it.
    assert [len(batch) for batch in sink.batches[:2]] == [1, MAX_QUEUED_BYTES // len(line) - 1]


def test_entries_without_room_are_left_out_counted_and_reported() -> None:
    sink = Sink()
    sink.may_write.clear()
    recorder = Recorder(sink, max_queued_bytes=100, queue_timeout=0.01)
    recorder.note("agent", b"first\nbegun")
    assert sink.writes.acquire(timeout=LIMIT)
    recorder.note("stderr", b"!" * 45)
    recorder.note("stderr", b"!" * 24)
    recorder.note("agent", b"x" * 200)
    recorder.note("agent", b"still the same line\n")
    recorder.note("client", b"?" * 100 + b"\n")
    sink.may_write.set()
    assert sink.writes.acquire(timeout=LIMIT)
    recorder.note("agent", b"whole\n")
    recorder.close()
    frames = [(it.side, it.data) for it in sink.entries if isinstance(it, Frame)]
    gaps = [
        (it.data["from"], it.data["bytes"]) for it in sink.entries if isinstance(it, JournalEvent)
    ]
    assert frames == [("agent", b"first"), ("agent", b"whole")]
    assert gaps == [("agent", 200), ("client", 101)]


def test_frames_without_room_are_reported_in_one_event() -> None:
    sink = Sink()
    sink.may_write.clear()
    warnings: list[str] = []
    recorder = Recorder(sink, warn=warnings.append, max_queued_bytes=100, queue_timeout=0.01)
    recorder.frame("agent", WireFrame(b"", b"?" * 100, b"\n"))
    assert sink.writes.acquire(timeout=LIMIT)
    recorder.note("stderr", b"!" * 50)
    numbers = [
        recorder.frame(side, WireFrame(b"", b"{}", b"\n")).seq for side in ("client", "agent") * 500
    ]
    recorder.event("edited", of=numbers[0], was="{}")
    recorder.event("exit", code=0)
    sink.may_write.set()
    assert sink.writes.acquire(timeout=LIMIT)
    last = recorder.frame("agent", WireFrame(b"", b"last", b"\n"))
    recorder.close()
    assert numbers == list(range(3, 1003))
    why = TOO_SLOW
    assert sink.entries[2:-1] == [
        JournalEvent(
            1001, ANY, "dropped", {"count": 500, "bytes": 1000, "from": "client", "why": why}
        ),
        JournalEvent(
            1002, ANY, "dropped", {"count": 500, "bytes": 1000, "from": "agent", "why": why}
        ),
        JournalEvent(1003, ANY, "dropped", {"count": 1, "why": why}),
        JournalEvent(1004, ANY, "exit", {"code": 0}),
    ]
    assert sink.entries[-1] == last
    assert len(warnings) == 1
    assert why in warnings[0]


def test_drops_at_the_end_are_written_once_nothing_else_waits() -> None:
    sink = Sink()
    sink.may_write.clear()
    recorder = Recorder(sink, max_queued_bytes=100, queue_timeout=0.01)
    recorder.note("agent", b"?" * 99 + b"\n")
    assert sink.writes.acquire(timeout=LIMIT)
    recorder.note("stderr", b"!" * 50)
    for _ in range(3):
        recorder.note("agent", b"{}\n")
    sink.may_write.set()
    assert sink.writes.acquire(timeout=LIMIT)
    recorder.close()
    assert sink.entries[2:] == [
        JournalEvent(5, ANY, "dropped", {"bytes": 9, "from": "agent", "why": TOO_SLOW})
    ]


def test_a_large_line_that_takes_long_costs_nothing_that_comes_behind_it() -> None:
    sink = Sink()
    sink.may_write.clear()
    recorder = Recorder(sink, queue_timeout=0.01)
    recorder.frame("agent", WireFrame(b"", b"x" * (2 * MAX_QUEUED_BYTES), b"\n"))
    assert sink.writes.acquire(timeout=LIMIT)
    for _ in range(1000):
        recorder.frame("agent", WireFrame(b"", b"{}", b"\n"))
    sink.may_write.set()
    recorder.close()
    assert len([entry for entry in sink.entries if isinstance(entry, Frame)]) == 1001


def test_a_recorder_that_hangs_holds_little_of_what_it_leaves_out() -> None:
    sink = Sink()
    sink.may_write.clear()
    recorder = Recorder(sink, max_queued_bytes=100, queue_timeout=0.01)
    recorder.note("agent", b"?" * 99 + b"\n")
    assert sink.writes.acquire(timeout=LIMIT)
    recorder.note("stderr", b"!" * 45)
    recorder.note("agent", b"begun")
    tracemalloc.start()
    try:
        for n in range(2000):
            recorder.note("agent", bytes(999))
            recorder.frame("client", WireFrame(b"", bytes(999), b"\n"))
            recorder.event("edited", of=n, was="x" * 999)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    sink.may_write.set()
    recorder.close()
    assert held < 100_000


def test_a_line_that_is_longer_than_the_queue_is_recorded_whole() -> None:
    sink = Sink()
    recorder = Recorder(sink)
    chunk = b"x" * 2**20
    for _ in range(MAX_QUEUED_BYTES // len(chunk) + 2):
        recorder.note("agent", chunk)
    recorder.note("agent", b"\nnext\n")
    recorder.close()
    first, second = (entry for entry in sink.entries if isinstance(entry, Frame))
    assert len(first.data) == MAX_QUEUED_BYTES + 2 * len(chunk)
    assert second.data == b"next"


def test_a_large_line_is_held_once_from_its_first_chunk_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    recorder = Recorder(RecordingWriter(path, Header("2026-01-01T00:00:00.000Z", "test", "v1")))
    chunk = b" " * 2**16
    size = 24 * 2**20
    tracemalloc.start()
    try:
        recorder.note("agent", b"{")
        for _ in range(size // len(chunk)):
            recorder.note("agent", chunk)
        recorder.note("agent", b"}\n")
        recorder.close()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (frame,) = read_recording(path).frames
    assert frame.data == b"{" + b" " * size + b"}"
    assert peak < 1.5 * size


def test_a_line_without_end_is_given_up_and_the_next_one_is_whole() -> None:
    sink = Sink()
    recorder = Recorder(sink, max_line_bytes=100)
    recorder.note("agent", b"first\n" + b"x" * 60)
    recorder.note("agent", b"x" * 60)
    recorder.note("agent", b"x" * 60)
    recorder.note("agent", b"x\nnext\n")
    recorder.close()
    first, gap, last = sink.entries
    assert isinstance(gap, JournalEvent)
    assert gap.data == {"bytes": 120, "from": "agent", "why": TOO_LONG}
    assert [it.data for it in (first, last) if isinstance(it, Frame)] == [b"first", b"next"]


def test_a_frame_has_its_number_at_once_and_all_stand_in_the_order_of_their_notes() -> None:
    sink = Sink()
    recorder = Recorder(sink, clock=lambda: 5.0)
    recorder.event("spawn", pid=1)
    recorder.note("client", b"a\nb\n")
    recorder.note("stderr", b"oh")
    frame = recorder.frame("agent", WireFrame(b"", b"{}", b"\r\n"))
    recorder.close()
    assert frame == Frame(5, 0.0, "agent", b"{}", b"\r\n")
    assert sink.entries == [
        JournalEvent(1, 0.0, "spawn", {"pid": 1}),
        Frame(2, 0.0, "client", b"a"),
        Frame(3, 0.0, "client", b"b"),
        StderrChunk(4, 0.0, b"oh"),
        frame,
    ]


HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize",'
    b'"params":{"protocolVersion":1,"capabilities":{"fileSystem":{}}}}\n'
)


def test_the_dialect_that_the_first_frames_show_is_recorded_once() -> None:
    sink = Sink()
    recorder = Recorder(sink, clock=lambda: 5.0, dialects=DialectWatch())
    recorder.note("client", b'{"long":"' + b"x" * MAX_FRAME_BYTES + b'"}\n' + HELLO)
    assert sink.writes.acquire(timeout=LIMIT)
    recorder.note("client", HELLO)
    recorder.close()
    found = [each for each in sink.entries if isinstance(each, JournalEvent)]
    assert [(each.name, each.data) for each in found] == [("dialect", {"dialect": "acpex"})]
    assert [each.seq for each in sink.entries] == [1, 2, 3, 4]


def test_a_failure_to_recognise_a_dialect_loses_no_entry_and_is_said_once() -> None:
    class Faulty(DialectWatch):
        def look(self, entries: Iterable[Entry]) -> str | None:
            raise RuntimeError("ouch")

    sink, said = Sink(), list[str]()
    recorder = Recorder(sink, warn=said.append, dialects=Faulty())
    for _ in range(2):
        recorder.note("client", HELLO)
        assert sink.writes.acquire(timeout=LIMIT)
    recorder.close()
    assert sent_by(sink, "client") == HELLO * 2
    assert said == ["acp-console has a bug: no dialect is recognised (RuntimeError('ouch'))"]


def test_who_shows_no_dialect_for_long_is_not_looked_at_any_more() -> None:
    watch = DialectWatch()
    long = Frame(1, 0.0, "client", b"x" * (MAX_FRAME_BYTES + 1))
    assert watch.look([long] * MAX_ENTRIES) is None
    assert not watch.is_over
    assert watch.look([Frame(2, 0.0, "client", HELLO)]) is None
    assert watch.is_over
