"""Bytes and the frames in them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol.errors import FrameTooLongError
from acp_protocol.framing import LineFramer


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(bounds)]


def test_a_chunk_may_complete_several_lines_and_begin_one() -> None:
    framer = LineFramer()
    assert framer.feed(b"one\ntwo\nthr") == [b"one", b"two"]
    assert framer.feed(b"ee\n") == [b"three"]
    assert framer.rest() == b""


def test_a_line_keeps_everything_but_its_newline() -> None:
    line = b"\xef\xbb\xbf\x00\xff{} \t\r"
    assert LineFramer().feed(line + b"\n") == [line]


def test_an_empty_line_is_a_frame_too() -> None:
    assert LineFramer().feed(b"\n\na\n") == [b"", b"", b"a"]


def test_the_unfinished_line_is_taken_out_once() -> None:
    framer = LineFramer()
    framer.feed(b"cut o")
    framer.feed(b"ff")
    assert framer.rest() == b"cut off"
    assert framer.rest() == b""


@pytest.mark.parametrize("chunks", [[b"12345", b"67"], [b"123456\n"], [b"1\n234567"]])
def test_a_line_beyond_the_limit_is_refused_and_the_limit_named(chunks: list[bytes]) -> None:
    framer = LineFramer(limit=5)
    with pytest.raises(FrameTooLongError, match="limit of 5 bytes"):
        for chunk in chunks:
            framer.feed(chunk)


def test_a_line_of_exactly_the_limit_passes() -> None:
    assert LineFramer(limit=5).feed(b"12345\n67890\n") == [b"12345", b"67890"]


@given(st.binary(), st.lists(st.integers(min_value=0)))
def test_any_chunking_gives_the_same_lines(stream: bytes, places: list[int]) -> None:
    framer = LineFramer()
    lines = [line for chunk in cut(stream, places) for line in framer.feed(chunk)]
    assert b"\n".join([*lines, framer.rest()]) == stream
