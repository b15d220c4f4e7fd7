"""What observers may read from the beginning on, in memory and on disk."""

from __future__ import annotations

import threading
import tracemalloc
from pathlib import Path
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.control.sinks import (
    BLOCK_BYTES,
    ChangeNotifier,
    FileLog,
    LogSource,
    MemoryLog,
    ObservedSink,
)
from acp_inspector.journal import Frame
from acp_inspector.recording.encoder import LARGE_FRAME, EntryBatch
from acp_inspector.recording.format import Header, encode_entry, encode_header
from acp_inspector.recording.writer import RecordingWriter

HEADER = Header(created="2026-11-21T00:00:00.000Z", tool="t", schema="s")


def frame(n: int, size: int = 10) -> Frame:
    return Frame(n, n / 10, "agent", b'"%b"' % (b"x" * size))


def everything(log: LogSource, at: int = 0) -> bytes:
    found = b""
    while True:
        data, at = log.read(at)
        if not data:
            return found
        found += data


def test_what_was_written_is_read_from_the_header_on() -> None:
    log = MemoryLog(HEADER)
    log.write([frame(1), frame(2)])
    log.write([])
    log.write([frame(3)])
    assert everything(log) == encode_header(HEADER) + b"".join(
        encode_entry(frame(n)) for n in (1, 2, 3)
    )


def fill_and_look(log: MemoryLog, sizes: list[int]) -> None:
    """Write lines of these sizes, and see that what is left is whole lines, and the last ones."""
    lines: list[bytes] = []
    for n, size in enumerate(sizes, start=1):
        log.write([frame(n, size)])
        lines.append(encode_entry(frame(n, size)))
    kept = everything(log).removeprefix(encode_header(HEADER))
    assert b"".join(lines).endswith(kept)
    assert log.dropped + len(kept) == sum(map(len, lines))
    # Only whole lines, and never fewer than the last.
    assert kept == b"" or kept in {b"".join(lines[n:]) for n in range(len(lines))}
    assert not lines or kept.endswith(lines[-1])


@given(st.lists(st.integers(0, 300), max_size=30), st.integers(0, 2000))
def test_beyond_its_bound_the_oldest_lines_are_dropped_and_the_rest_is_whole(
    sizes: list[int], limit: int
) -> None:
    fill_and_look(MemoryLog(HEADER, limit), sizes)


def test_of_many_lines_that_were_written_at_once_the_oldest_are_dropped_too() -> None:
    log = MemoryLog(HEADER, 3 * BLOCK_BYTES)
    size = BLOCK_BYTES // 4
    log.write([frame(n, size) for n in range(1, 101)])
    kept = everything(log).removeprefix(encode_header(HEADER))
    lines = b"".join(encode_entry(frame(n, size)) for n in range(1, 101))
    assert lines.endswith(kept)
    assert kept.startswith(b'{"n":')
    assert 2 * BLOCK_BYTES < len(kept) <= 3 * BLOCK_BYTES


@settings(deadline=None)
@given(st.lists(st.integers(0, 300), max_size=30), st.integers(0, 2000))
def test_large_lines_are_kept_and_dropped_as_others_are(sizes: list[int], limit: int) -> None:
    fill_and_look(MemoryLog(HEADER, limit, large_frame=200, max_read=50), sizes)


def test_a_large_line_is_kept_where_it_was_gathered() -> None:
    raw = bytearray(b'"%b"' % (b"x" * (8 * LARGE_FRAME)))
    log = MemoryLog(HEADER)
    tracemalloc.start()
    try:
        log.write(EntryBatch([Frame(1, 0.5, "agent", cast("bytes", raw))]))
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < LARGE_FRAME
    # Parsing it takes as much once more.
    assert peak < len(raw) + LARGE_FRAME
    line = everything(log).removeprefix(encode_header(HEADER))
    assert line == encode_entry(Frame(1, 0.5, "agent", bytes(raw)))


def test_reading_dropped_bytes_continues_with_the_oldest_left() -> None:
    log = MemoryLog(HEADER, 1)
    header_length = len(encode_header(HEADER))
    for n in range(1, 5):
        log.write([frame(n)])
    data, _ = log.read(header_length)
    assert data == encode_entry(frame(4))


def test_a_file_is_read_while_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    growth = ChangeNotifier()
    sink = ObservedSink([RecordingWriter(path, HEADER)], growth)
    log = FileLog(path)
    data, at = log.read(0)
    assert data == encode_header(HEADER)
    assert log.read(at) == (b"", at)
    mark = growth.version()
    sink.write([frame(1)])
    growth.wait(mark, 10)
    assert log.read(at)[0] == encode_entry(frame(1))
    sink.close()
    assert growth.is_over
    log.close()


def test_what_an_overwritten_file_held_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.acp.ndjson"
    path.write_text("of yesterday\n" * 99)
    writer = RecordingWriter(path, HEADER, mode="overwrite")
    log = FileLog(path, writer.has_begun)
    assert log.read(0) == (b"", 0)
    writer.write([frame(1)])
    assert everything(log) == encode_header(HEADER) + encode_entry(frame(1))
    writer.close()
    log.close()


def test_the_end_wakes_waiting_observers() -> None:
    growth = ChangeNotifier()
    waiting = threading.Thread(target=growth.wait, args=(growth.version(), 60))
    waiting.start()
    growth.end()
    waiting.join(10)
    assert not waiting.is_alive()
