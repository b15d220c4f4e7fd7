"""Bytes and the frames in them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol.errors import FrameTooLongError
from acp_protocol.framing import (
    MAX_HEADER_BYTES,
    AutoFramer,
    Framing,
    HeaderFramer,
    LineFramer,
    encode_frame,
    with_length,
)
from acp_protocol.jsonrpc import InvalidMessage, read_message


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


def framed(*bodies: bytes) -> bytes:
    return b"".join(encode_frame(body, "headers") for body in bodies)


def test_a_body_may_hold_anything_and_its_length_counts_bytes() -> None:
    bodies = ["ünï".encode(), b"a\r\n\r\nContent-Length: 1\r\n\r\nb", b"", b"\x00\xff"]
    assert HeaderFramer().feed(framed(*bodies)) == bodies


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\n\n",
        b"CONTENT-LENGTH :\t2 \r\n\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\nX: \r\n\r\n",
        b"\r\n\n\xef\xbb\xbfContent-Length: 2\r\n\r\n",
    ],
)
def test_a_header_may_be_written_in_many_ways(header: bytes) -> None:
    assert HeaderFramer().feed(header + b"{}") == [b"{}"]


@pytest.mark.parametrize(
    ("broken", "frame"),
    [
        (b"Listening on stdio\n", b"Listening on stdio"),
        (b"Content-Length: two\r\n\r\n", b"Content-Length: two"),
        (b"Content-Length: -2\r\n\r\n", b"Content-Length: -2"),
        (b"Content-Type: x\r\n\r\n", b"Content-Type: x"),
        (b"Content-Length: 2\r\nnonsense\r\n", b"Content-Length: 2\r\nnonsense"),
        (
            b"Content-Length: 2\nContent-Length: 3\n\n",
            b"Content-Length: 2\nContent-Length: 3",
        ),
        (b"\xff\xfe\n", b"\xff\xfe"),
    ],
)
def test_a_broken_header_is_one_malformed_frame_and_the_next_is_read(
    broken: bytes, frame: bytes
) -> None:
    assert HeaderFramer().feed(broken + framed(b"{}")) == [frame, b"{}"]
    assert isinstance(read_message(frame), InvalidMessage)


@pytest.mark.parametrize(
    "stream",
    [b"Content-Length: 6\r\n\r\n", b"Content-Length: %b\r\n\r\n" % (b"9" * 5000)],
)
def test_a_length_beyond_the_limit_is_refused_before_the_body_comes(stream: bytes) -> None:
    with pytest.raises(FrameTooLongError, match="limit of 5 bytes"):
        HeaderFramer(limit=5).feed(stream)
    assert HeaderFramer(limit=5).feed(framed(b"12345")) == [b"12345"]


@pytest.mark.parametrize("sizes", [[MAX_HEADER_BYTES + 1], [1] * (MAX_HEADER_BYTES + 1)])
def test_a_header_without_end_is_refused(sizes: list[int]) -> None:
    framer = HeaderFramer()
    with pytest.raises(FrameTooLongError, match=f"limit of {MAX_HEADER_BYTES} bytes"):
        for size in sizes:
            framer.feed(b"x" * size)


def test_a_body_that_was_cut_off_is_taken_out_once() -> None:
    framer = HeaderFramer()
    assert framer.feed(framed(b"1234")[:-1]) == []
    assert [framer.rest(), framer.rest()] == [framed(b"1234")[:-1], b""]
    assert framer.feed(framed(b"next")) == [b"next"]


@given(st.lists(st.binary()), st.lists(st.integers(min_value=0)))
def test_any_chunking_gives_the_same_bodies(bodies: list[bytes], places: list[int]) -> None:
    framer = HeaderFramer()
    chunks = cut(framed(*bodies), places)
    assert [body for chunk in chunks for body in framer.feed(chunk)] == bodies
    assert framer.rest() == b""


ALPHABET = [b"Content-Length: ", b"content-type", b":", b"1", b"3", b"\r", b"\n", b"\n\n", b"{}"]
AWKWARD = st.lists(st.sampled_from(ALPHABET) | st.binary(max_size=3)).map(b"".join)


@pytest.mark.parametrize("make", [HeaderFramer, AutoFramer])
@given(stream=AWKWARD, places=st.lists(st.integers(min_value=0)))
def test_any_chunking_of_whatever_comes_gives_the_same_frames(
    make: type[HeaderFramer | AutoFramer], stream: bytes, places: list[int]
) -> None:
    whole, pieces = make(), make()
    frames = whole.feed(stream)
    assert [frame for chunk in cut(stream, places) for frame in pieces.feed(chunk)] == frames
    assert pieces.framing == whole.framing
    assert pieces.rest() == whole.rest()


@pytest.mark.parametrize("make", [LineFramer, HeaderFramer, AutoFramer])
@given(
    stream=AWKWARD | st.lists(st.binary()).map(lambda bodies: framed(*bodies)),
    places=st.lists(st.integers(min_value=0)),
    limit=st.sampled_from([16, 2000]),
)
def test_frames_and_the_bytes_around_them_are_the_stream(
    make: type[LineFramer | HeaderFramer | AutoFramer], stream: bytes, places: list[int], limit: int
) -> None:
    framer, bodies = make(limit), make(limit)
    frames = [frame for chunk in cut(stream, places) for frame in framer.split(chunk)]
    assert b"".join(map(b"".join, frames)) + framer.rest() == stream
    if framer.problem is None:
        whole = [body for chunk in cut(stream, places) for body in bodies.feed(chunk)]
        assert [frame.data for frame in frames] == [body.removesuffix(b"\r") for body in whole] or (
            framer.framing == "headers" and [frame.data for frame in frames] == whole
        )


@pytest.mark.parametrize("make", [LineFramer, HeaderFramer, AutoFramer])
@given(stream=AWKWARD, places=st.lists(st.integers(min_value=0)))
def test_what_is_held_is_what_came_in_no_frame(
    make: type[LineFramer | HeaderFramer | AutoFramer], stream: bytes, places: list[int]
) -> None:
    framer, missing = make(), 0
    for chunk in cut(stream, places):
        missing += len(chunk) - sum(len(part) for frame in framer.split(chunk) for part in frame)
        assert framer.held == missing
    assert len(framer.rest()) == missing
    assert framer.held == 0


@pytest.mark.parametrize("start", [b"\n\r\n", b""])
def test_a_frame_is_finished_with_the_blank_lines_before_it(start: bytes) -> None:
    stream = start + framed(b"{}")
    framer = HeaderFramer()
    assert framer.finish(stream + framed(b"[]")) == len(stream)


@pytest.mark.parametrize("make", [HeaderFramer, AutoFramer])
@given(bodies=st.lists(st.binary(min_size=1), min_size=1, max_size=3), place=st.integers(0))
def test_only_the_rest_of_a_frame_is_added_where_it_is_finished(
    make: type[HeaderFramer | AutoFramer], bodies: list[bytes], place: int
) -> None:
    stream, first = framed(*bodies), len(framed(bodies[0]))
    place = place % (first - 1) + 1
    framer = make()
    assert framer.split(stream[:place]) == []
    assert not framer.is_between
    assert place + framer.finish(stream[place:]) == first
    assert framer.is_between
    assert [frame.data for frame in framer.split(stream[first:])] == bodies[1:]


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: %d\r\n\r\n",
        b"X: Content-Length: 7\r\ncontent-length:%d\n\n",
        b"\n\xef\xbb\xbfContent-Length : %d\nContent-Length: %d\n\n",
        b" \r \xef\xbb\xbfContent-Length\r:\r %d\r\r\n\n",
    ],
)
def test_a_header_gets_another_length_and_keeps_all_else(header: bytes) -> None:
    times = header.count(b"%d")
    assert HeaderFramer().feed(header % ((2,) * times) + b"{}") == [b"{}"]
    assert with_length(header % ((2,) * times), 345) == header % ((345,) * times)


@pytest.mark.parametrize(
    ("start", "framing"),
    [
        (b"", None),
        (b"\r\n", None),
        (b"Content-Len", None),
        (b"Contents follow\n", None),
        (b"{", "lines"),
        (b'\xef\xbb\xbf [{"jsonrpc"', "lines"),
        (b"content-length:", "headers"),
        (b"A greeting\nContent-Type: x", "headers"),
        (b"x" * (MAX_HEADER_BYTES + 1), "lines"),
    ],
)
def test_the_first_bytes_tell_how_the_peer_frames(start: bytes, framing: Framing | None) -> None:
    framer = AutoFramer()
    assert framer.framing is None
    framer.feed(start)
    assert framer.framing == framing


@pytest.mark.parametrize("framing", ["lines", "headers"])
def test_a_greeting_is_a_frame_and_decides_nothing(framing: Framing) -> None:
    framer = AutoFramer()
    assert framer.feed(b"Starting\n" + encode_frame(b"{}", framing)) == [b"Starting", b"{}"]
    assert framer.framing == framing


@given(st.binary().filter(lambda stream: b"content-" not in stream.lower()))
def test_what_begins_with_no_header_is_lines(stream: bytes) -> None:
    lines, either = LineFramer(), AutoFramer()
    assert either.feed(stream) == lines.feed(stream)
    assert either.rest() == lines.rest()


def test_the_limit_holds_while_the_framing_is_not_known() -> None:
    with pytest.raises(FrameTooLongError, match="limit of 5 bytes"):
        AutoFramer(limit=5).feed(b"123456")
    with pytest.raises(FrameTooLongError, match="limit of 5 bytes"):
        AutoFramer(limit=5).feed(b"Content-Length: 6\r\n\r\n")
