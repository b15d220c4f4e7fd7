"""Notes that several threads take, cut into frames and written by one."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.proxy import recorder as module
from acp_inspector.proxy.recorder import Recorder

LIMIT = 30


class Sink:
    """Keeps what it is told to write, when it may."""

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


def said(sink: Sink, side: str) -> bytes:
    return b"".join(
        entry.raw + entry.end
        for entry in sink.entries
        if isinstance(entry, Frame) and entry.side == side
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
    chunks: list[tuple[module.Stream, bytes]], large: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGE", large)
        sink = Sink()
        recorder = Recorder(sink)
        for stream, data in chunks:
            recorder.note(stream, data)
        recorder.close()
    assert [entry.n for entry in sink.entries] == list(range(1, len(sink.entries) + 1))
    for side in ("client", "agent"):
        data = b"".join(chunk for stream, chunk in chunks if stream == side)
        assert said(sink, side) == data
        frames = [it for it in sink.entries if isinstance(it, Frame) and it.side == side]
        assert len(frames) == data.count(b"\n") + bool(data and not data.endswith(b"\n"))
        assert all(b"\n" not in frame.raw for frame in frames)


def test_a_write_takes_all_that_was_noted_before_it_began() -> None:
    sink = Sink()
    sink.may_write.clear()
    recorder = Recorder(sink)
    recorder.note("agent", b"first\n")
    assert sink.writes.acquire(timeout=LIMIT)
    line = b"x" * 999 + b"\n"
    for _ in range(module.QUEUE_LIMIT // len(line) - 1):
        recorder.note("agent", line)
    sink.may_write.set()
    assert sink.writes.acquire(timeout=LIMIT)
    recorder.close()
    # What could be killed away is what waits for the second write, which holds all of it.
    assert [len(batch) for batch in sink.batches[:2]] == [1, module.QUEUE_LIMIT // len(line) - 1]


def test_what_finds_no_room_is_left_out_counted_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUEUE_LIMIT", 100)
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    sink = Sink()
    sink.may_write.clear()
    recorder = Recorder(sink)
    recorder.note("agent", b"first\nbegun")
    assert sink.writes.acquire(timeout=LIMIT)
    recorder.note("agent", b"x" * 200)
    recorder.note("agent", b"still the same line\n")
    recorder.note("client", b"?" * 100 + b"\n")
    sink.may_write.set()
    assert sink.writes.acquire(timeout=LIMIT)
    recorder.note("agent", b"whole\n")
    recorder.close()
    frames = [(it.side, it.raw) for it in sink.entries if isinstance(it, Frame)]
    gaps = [
        (it.data["from"], it.data["bytes"]) for it in sink.entries if isinstance(it, JournalEvent)
    ]
    assert frames == [("agent", b"first"), ("agent", b"whole")]
    assert gaps == [("agent", 200), ("client", 101)]


def test_a_line_that_is_longer_than_the_queue_is_recorded_whole() -> None:
    sink = Sink()
    recorder = Recorder(sink)
    chunk = b"x" * 2**20
    for _ in range(module.QUEUE_LIMIT // len(chunk) + 2):
        recorder.note("agent", chunk)
    recorder.note("agent", b"\nnext\n")
    recorder.close()
    first, second = (entry for entry in sink.entries if isinstance(entry, Frame))
    assert len(first.raw) == module.QUEUE_LIMIT + 2 * len(chunk)
    assert second.raw == b"next"


def test_a_line_without_end_is_given_up_and_the_next_one_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LONGEST", 100)
    sink = Sink()
    recorder = Recorder(sink)
    recorder.note("agent", b"first\n" + b"x" * 60)
    recorder.note("agent", b"x" * 60)
    recorder.note("agent", b"x" * 60)
    recorder.note("agent", b"x\nnext\n")
    recorder.close()
    first, gap, last = sink.entries
    assert isinstance(gap, JournalEvent)
    assert gap.data == {"bytes": 120, "from": "agent", "why": module.ENDLESS}
    assert [it.raw for it in (first, last) if isinstance(it, Frame)] == [b"first", b"next"]


def test_a_frame_has_its_number_at_once_and_all_stand_in_the_order_of_their_notes() -> None:
    sink = Sink()
    recorder = Recorder(sink, clock=lambda: 5.0)
    recorder.event("spawn", pid=1)
    recorder.note("client", b"a\nb\n")
    recorder.note("stderr", b"oh")
    frame = recorder.line("agent", b"{}", b"\r\n")
    recorder.close()
    assert frame == Frame(5, 0.0, "agent", b"{}", b"\r\n")
    assert sink.entries == [
        JournalEvent(1, 0.0, "spawn", {"pid": 1}),
        Frame(2, 0.0, "client", b"a"),
        Frame(3, 0.0, "client", b"b"),
        StderrText(4, 0.0, b"oh"),
        frame,
    ]
