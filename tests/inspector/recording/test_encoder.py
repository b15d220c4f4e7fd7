"""Encoding many entries at once gives what encoding one after the other gives."""

from __future__ import annotations

import json
from collections import Counter
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrChunk
from acp_inspector.recording.encoder import (
    LARGE_FRAME,
    BatchItem,
    EntryBatch,
    FrameRun,
    gathered_frame,
)
from acp_inspector.recording.format import MAX_DEPTH, decode_line, encode_entry

DEEP = b"[" * (MAX_DEPTH + 1) + b"1" + b"]" * (MAX_DEPTH + 1)
JUST_NOT_TOO_DEEP = DEEP[1:-1]

lines = (
    st.recursive(st.integers() | st.text(max_size=3), st.lists, max_leaves=4).map(
        lambda value: json.dumps(value).encode()
    )
    | st.binary(max_size=6).map(lambda raw: raw.replace(b"\n", b""))
    | st.sampled_from(
        [
            *(b"", b" ", b"\r", b"{}\r", b"{}", b"{} {}", b"{},{}", b'{"a":1', b'"b":2}'),
            *(b"\xef\xbb\xbf{}", b"NaN", b"1e999", b"9" * 400, b'"\\ud800"', b'"\xff"', b"%d%b"),
            *(DEEP, JUST_NOT_TOO_DEEP, b'["' + b"[{" * 300 + b'"]'),
        ]
    )
)


@st.composite
def _runs(draw: st.DrawFn) -> FrameRun:
    actual = [line + b"\n" for line in draw(st.lists(lines, min_size=1, max_size=8))]
    return FrameRun(
        draw(st.integers(1, 1000)), 0.5, draw(st.sampled_from(["client", "agent"])), actual
    )


others = st.sampled_from(
    [JournalEvent(1, 0.5, "x"), StderrChunk(1, 0.5, b"x"), Frame(1, 0.5, "client", b'"', b"")]
)


@given(st.lists(_runs() | others, max_size=4))
@example([FrameRun(1, 0.5, "agent", [b"{}\n"] * 600)])
@example([FrameRun(1, 0.5, "agent", [JUST_NOT_TOO_DEEP + b"\n"] * 3)])
@example([FrameRun(1, 0.5, "agent", [b"[[[1]]]\n"] * 200 + [DEEP + b"\n"])])
def test_a_batch_is_encoded_as_its_entries_are_one_by_one(items: list[BatchItem]) -> None:
    batch = EntryBatch(items)
    assert b"".join(batch.encoded()) == b"".join(map(encode_entry, batch))


def test_many_frames_that_are_one_piece_each_are_encoded_as_one_by_one() -> None:
    runs = [FrameRun(n, 0.5, "agent", [line + b"\n"]) for n in range(300) for line in (b"{}", DEEP)]
    encoded = b"".join(EntryBatch(runs).encoded())
    assert encoded == b"".join(encode_entry(frame) for run in runs for frame in run)


@given(_runs())
def test_decoded_runs_equal_the_encoded_ones(run: FrameRun) -> None:
    read = [decode_line(line) for line in b"".join(EntryBatch([run]).encoded()).splitlines()]
    assert read == list(run)
    assert b"".join(frame.data + frame.line_ending for frame in run) == b"".join(run.lines)


@given(st.lists(_runs() | others, min_size=1, max_size=4))
def test_a_batch_knows_what_its_entries_know(items: list[BatchItem]) -> None:
    entries = list(EntryBatch(items))
    assert EntryBatch(items).counts() == Counter(map(type, entries))
    assert EntryBatch(items).last() == (entries[-1].seq, entries[-1].time)


def test_entries_become_a_batch_once() -> None:
    entries: list[Entry] = [Frame(1, 0.5, "client", b"{}")]
    batch = EntryBatch.of(entries)
    assert list(batch) == entries
    assert EntryBatch.of(batch) is batch
    assert not EntryBatch.of([])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize(
    "raw",
    [b'{"a":"\\u00e4"}', "no JSON: é漢🙂".encode() * 9, b"\x00\t\\" * 9, bytes(range(128, 256))],
)
def test_a_large_frame_comes_in_parts(raw: bytes, end: bytes) -> None:
    raw = b"[" + raw + b"," * raw.startswith(b"{") + b" " * LARGE_FRAME + b"1]"
    frame = Frame(7, 0.5, "agent", raw, end)
    assert b"".join(EntryBatch([frame]).encoded()) == encode_entry(frame)
    long = Frame(7, 0.5, "agent", cast("bytes", bytearray(raw)), end)
    assert b"".join(EntryBatch([long]).encoded()) == encode_entry(frame)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("raw", [b"{}", b"no JSON", b"\xff", b"", b" " * 100])
def test_a_line_in_the_memory_in_which_it_was_gathered_is_a_frame(raw: bytes, end: bytes) -> None:
    frame = Frame(7, 0.5, "agent", raw, end)
    batch = EntryBatch([gathered_frame(7, 0.5, "agent", bytearray(raw + end[:-1]))])
    assert list(batch) == [frame]
    assert batch.counts() == {Frame: 1}
    assert batch.last() == (7, 0.5)
    assert b"".join(batch.encoded()) == encode_entry(frame)
