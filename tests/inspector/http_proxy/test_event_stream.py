"""Streams of events are split as they say, and no byte of them is lost."""

from __future__ import annotations

import httpx
from httpx_sse import EventSource
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.http_proxy.event_stream import EventSplitter, new_event, read_event

ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
LINES = st.sampled_from(
    [b"data: a", b"data:b", b"data", b"data:  c: d", b": note", b"id: 7", b"event: x", b"junk", b""]
)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Return a stream in which each event ends."""
    parts: list[bytes] = []
    for _ in range(draw(st.integers(0, 5))):
        end = draw(ENDS)
        lines = draw(st.lists(LINES, max_size=5))
        parts += [each + end for each in lines] + [end]
    return b"".join(parts)


def cut(raw: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({place % (len(raw) + 1) for place in places})
    return [raw[a:b] for a, b in zip([0, *marks], [*marks, len(raw)], strict=True)]


@given(streams(), st.lists(st.integers(0, 1000), max_size=6))
def test_however_it_is_cut_the_events_are_the_same_and_all_bytes_are_there(
    raw: bytes, places: list[int]
) -> None:
    splitter = EventSplitter()
    events = [event for chunk in cut(raw, places) for event in splitter.feed(chunk)]
    assert b"".join(event.raw for event in events) + splitter.rest() == raw
    stream = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=raw)
    # A decoder leaves out what has no data; ours tells it from an empty message.
    theirs = [each.data.encode() for each in EventSource(stream).iter_sse() if each.data]
    assert [event.data for event in events if event.data] == theirs


@given(st.binary(min_size=1, max_size=40), st.integers(1, 7))
def test_any_bytes_pass_in_any_pieces(raw: bytes, size: int) -> None:
    splitter = EventSplitter()
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
    out = b"".join(event.raw for piece in pieces for event in splitter.feed(piece))
    assert out + splitter.rest() == raw


def test_an_event_that_is_too_long_has_no_data_and_the_next_one_has() -> None:
    splitter = EventSplitter(limit=100)
    sizes: list[int] = []
    for _ in range(50):
        assert splitter.feed(b"data: 0123456789") == []
        sizes.append(len(splitter.rest()))
    assert max(sizes) <= 116
    [long, short] = splitter.feed(b"\n\ndata: x\n\n")
    assert (long.data, long.size) == (None, 802)
    assert (short.data, short.size) == (b"x", 9)


def test_other_data_leave_the_other_lines() -> None:
    event = read_event(b"id: 7\r\ndata: a\r\n: note\r\ndata: b\r\nretry: 3\r\n\r\n")
    assert (event.data, event.id, event.name) == (b"a\nb", "7", "")
    assert event.with_data(b"c") == b"id: 7\r\ndata: c\r\n: note\r\nretry: 3\r\n\r\n"
    assert new_event(b"x\ny") == b"data: x\ndata: y\n\n"
