"""From bytes to messages: nothing that comes raises, and nothing gets lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_protocol import jsonrpc
from acp_protocol.errors import FrameTooLongError
from acp_protocol.framing import AutoFramer, HeaderFramer, LineFramer
from acp_protocol.jsonrpc import Batch, InvalidMessage, Json, encode, is_json, parse, read_message
from tests.fuzz.hostile import cut, frames, messages, spelled, streams

pytestmark = pytest.mark.long

Framer = LineFramer | HeaderFramer | AutoFramer
ANY_FRAMER = pytest.mark.parametrize("make", [LineFramer, HeaderFramer, AutoFramer])
SHORTEST = len(b"Content-Length:")
"""A limit below this would hide how a peer frames."""
places = st.lists(st.integers(min_value=0), max_size=20)


def fed(framer: Framer, chunks: list[bytes]) -> list[bytes] | None:
    """Return all frames, the unfinished one last; None where one of them was too long."""
    try:
        whole = [frame for chunk in chunks for frame in framer.feed(chunk)]
    except FrameTooLongError:
        return None
    return [*whole, framer.rest()]


@ANY_FRAMER
@given(stream=streams | st.binary(), places=places)
def test_any_chunking_gives_the_same_frames(
    make: type[Framer], stream: bytes, places: list[int]
) -> None:
    assert fed(make(), cut(stream, places)) == fed(make(), [stream])


@ANY_FRAMER
@given(stream=streams, places=places, limit=st.integers(SHORTEST, 60))
def test_any_chunking_meets_the_limit(
    make: type[Framer], stream: bytes, places: list[int], limit: int
) -> None:
    """How much had to come before it was met may differ; that it is met must not."""
    pieces, whole = fed(make(limit), cut(stream, places)), fed(make(limit), [stream])
    assert pieces == whole


@given(stream=streams | st.binary())
def test_lines_lose_nothing_but_their_newlines(stream: bytes) -> None:
    assert fed(LineFramer(), [stream]) == stream.split(b"\n")


@given(raw=frames)
def test_any_frame_is_a_message_that_keeps_its_bytes_or_malformed_with_a_reason(raw: bytes) -> None:
    message = read_message(raw)
    assert message.raw == raw
    if isinstance(message, InvalidMessage):
        assert message.reason
        assert message.code == (jsonrpc.INVALID_REQUEST if is_json(raw) else jsonrpc.PARSE_ERROR)
    if isinstance(message, Batch):
        assert not any(isinstance(entry, Batch) for entry in message.entries)


@given(raw=frames)
def test_what_was_decoded_means_the_same_when_it_is_encoded(raw: bytes) -> None:
    try:
        value = parse(raw)
    except ValueError:
        return
    try:
        again = encode(value)
    except ValueError:
        # A number beyond the doubles, such as 1e999: read as infinite, and that has no spelling.
        assert re.search(rb"\d[eE]\+?\d\d", raw)
        return
    assert b"\n" not in again
    assert parse(again) == value
    # By their spelling: 1, 1.0 and true are equal, and yet not the same.
    assert encode(parse(again)) == again


@given(value=messages, is_ascii=st.booleans())
def test_how_a_message_was_spelled_makes_no_difference(value: Json, is_ascii: bool) -> None:
    other = spelled(value, is_ascii=not is_ascii, indent=1)
    if not (is_json(raw := spelled(value, is_ascii, None)) and is_json(other)):
        # A lone surrogate has no spelling but the escaped one.
        return
    assert repr(parse(raw)) == repr(parse(other)) == repr(value)
    assert type(read_message(raw)) is type(read_message(other))
