"""Encoding many entries at once gives what encoding one after the other gives."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_inspector.journal import Entry, Frame, JournalEvent, StderrText
from acp_inspector.recording.encoder import LARGE, Batch, Item, LongLine, Run
from acp_inspector.recording.format import DEPTH_LIMIT, decode_line, encode_entry

DEEP = b"[" * (DEPTH_LIMIT + 1) + b"1" + b"]" * (DEPTH_LIMIT + 1)
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
def _runs(draw: st.DrawFn) -> Run:
    said = [line + b"\n" for line in draw(st.lists(lines, min_size=1, max_size=8))]
    return Run(draw(st.integers(1, 1000)), 0.5, draw(st.sampled_from(["client", "agent"])), said)


others = st.sampled_from(
    [JournalEvent(1, 0.5, "x"), StderrText(1, 0.5, b"x"), Frame(1, 0.5, "client", b'"', b"")]
)


@given(st.lists(_runs() | others, max_size=4))
@example([Run(1, 0.5, "agent", [b"{}\n"] * 600)])
@example([Run(1, 0.5, "agent", [JUST_NOT_TOO_DEEP + b"\n"] * 3)])
@example([Run(1, 0.5, "agent", [b"[[[1]]]\n"] * 200 + [DEEP + b"\n"])])
def test_a_batch_is_encoded_as_its_entries_are_one_by_one(items: list[Item]) -> None:
    batch = Batch(items)
    assert b"".join(batch.encoded()) == b"".join(map(encode_entry, batch))


def test_many_frames_that_are_one_piece_each_are_encoded_as_one_by_one() -> None:
    runs = [Run(n, 0.5, "agent", [line + b"\n"]) for n in range(300) for line in (b"{}", DEEP)]
    encoded = b"".join(Batch(runs).encoded())
    assert encoded == b"".join(encode_entry(frame) for run in runs for frame in run)


@given(_runs())
def test_what_is_read_again_is_what_was_said(run: Run) -> None:
    read = [decode_line(line) for line in b"".join(Batch([run]).encoded()).splitlines()]
    assert read == list(run)
    assert b"".join(frame.raw + frame.end for frame in run) == b"".join(run.lines)


@given(st.lists(_runs() | others, min_size=1, max_size=4))
def test_a_batch_knows_what_its_entries_know(items: list[Item]) -> None:
    entries = list(Batch(items))
    assert Batch(items).counts() == Counter(map(type, entries))
    assert Batch(items).last() == (entries[-1].n, entries[-1].at)


def test_entries_become_a_batch_once() -> None:
    entries: list[Entry] = [Frame(1, 0.5, "client", b"{}")]
    batch = Batch.of(entries)
    assert list(batch) == entries
    assert Batch.of(batch) is batch
    assert not Batch.of([])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize(
    "raw",
    [b'{"a":"\\u00e4"}', "no JSON: é漢🙂".encode() * 9, b"\x00\t\\" * 9, bytes(range(128, 256))],
)
def test_a_large_frame_comes_in_parts(raw: bytes, end: bytes) -> None:
    raw = b"[" + raw + b"," * raw.startswith(b"{") + b" " * LARGE + b"1]"
    frame = Frame(7, 0.5, "agent", raw, end)
    assert b"".join(Batch([frame]).encoded()) == encode_entry(frame)
    long = LongLine(7, 0.5, "agent", bytearray(raw), end)
    assert b"".join(Batch([long]).encoded()) == encode_entry(frame)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("raw", [b"{}", b"no JSON", b"\xff", b"", b" " * 100])
def test_a_line_in_the_memory_in_which_it_was_gathered_is_a_frame(raw: bytes, end: bytes) -> None:
    frame = Frame(7, 0.5, "agent", raw, end)
    batch = Batch([LongLine.of(7, 0.5, "agent", bytearray(raw + end[:-1]))])
    assert list(batch) == [frame]
    assert batch.counts() == {Frame: 1}
    assert batch.last() == (7, 0.5)
    assert b"".join(batch.encoded()) == encode_entry(frame)
