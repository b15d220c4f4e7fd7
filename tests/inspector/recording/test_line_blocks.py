"""Lines of a stream and of a file, the longest of which are not held."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.recording.lines import (
    SkippedLine,
    line_begin,
    line_blocks,
    line_end,
    pieces_between,
    stream_lines,
)

LIMIT = 10
texts = st.lists(st.sampled_from([b"", b"a", b"\r", b"word" * 9, b"\xe2\x80\xa8"])).map(b"\n".join)
long_texts = st.lists(st.integers(0, 30).map(lambda size: b"x" * size)).map(b"\n".join)


@given(texts, st.integers(0, 20), st.integers(1, 12))
def test_blocks_are_whole_lines_and_lose_nothing(text: bytes, begin: int, size: int) -> None:
    def read(at: int, size: int) -> bytes:
        return text[at : at + size]

    blocks = list(line_blocks(pieces_between(read, begin, len(text), size)))
    assert b"".join(block for block in blocks if isinstance(block, bytes)) == text[begin:]
    assert all(isinstance(block, bytes) and block.endswith(b"\n") for block in blocks[:-1])


@given(long_texts)
def test_every_line_is_read_and_only_what_is_too_long_is_skipped(text: bytes) -> None:
    found: list[bytes] = []
    skipped = bytearray()
    for line in stream_lines(io.BytesIO(text), LIMIT, skipped.extend):
        if isinstance(line, SkippedLine):
            assert line.size == len(skipped) > LIMIT
            assert line.has_end == skipped.endswith(b"\n")
            found.append(bytes(skipped))
            skipped.clear()
        else:
            assert len(line) <= LIMIT
            found.append(line)
    assert found == text.splitlines(keepends=True)


@given(texts)
def test_lines_are_found_both_ways(text: bytes) -> None:
    def read(at: int, size: int) -> bytes:
        return text[at : at + size]

    forward: list[bytes] = []
    at = 0
    while at < len(text):
        end = line_end(read, at, len(text))
        forward.append(text[at:end])
        at = end
    backward: list[bytes] = []
    while at:
        begin = line_begin(read, at)
        backward.insert(0, text[begin:at])
        at = begin
    assert forward == backward == list(io.BytesIO(text))
