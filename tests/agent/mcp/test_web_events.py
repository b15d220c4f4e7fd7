"""Bodies of responses, in bounds and mended, however they are cut."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import anyio
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.mcp.web import _Events

ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"text":"%b"}}'
MENDED = ANSWER % "\ufffd".encode()
ENDS = (b"\n", b"\r\n")


def message_event(message: bytes) -> bytes:
    return b"event: message\ndata: %b\n\n" % message


class Pieces(httpx2.AsyncByteStream):
    """A body that comes in these pieces."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield them."""
        for piece in self._pieces:
            yield piece


async def told(*pieces: bytes, limit: int = 1000) -> bytes:
    return b"".join([each async for each in _Events(Pieces(pieces), limit, lambda: b"!")])


async def test_a_stream_that_always_has_more_can_be_cancelled() -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await told(*[b": hi\n"] * 100)
    assert scope.cancelled_caught


async def test_a_message_is_mended_and_all_else_stays() -> None:
    raw = b": hi\nid: 7\nevent: message\ndata:" + ANSWER % rb"\ud800" + b"\nretry: 5\n\n"
    mended = b": hi\nid: 7\nevent: message\ndata: " + MENDED + b"\nretry: 5\n\n"
    assert await told(raw) == mended


async def test_a_message_on_several_lines_stays_as_it_is() -> None:
    raw = b'data: {"jsonrpc":"2.0",\ndata: "method":"a"}\n\n'
    assert await told(raw) == raw


@pytest.mark.parametrize("end", ENDS)
async def test_lines_may_end_in_two_ways_and_be_cut_anywhere(end: bytes) -> None:
    raw = (message_event(ANSWER % b"a") + b": x\n\n" + message_event(ANSWER % b"b")).replace(
        b"\n", end
    )
    plain = raw.replace(end, b"\n")
    for size in range(1, len(raw)):
        pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
        assert await told(*pieces) == plain


@pytest.mark.parametrize("raw", [b"data: " + b"x" * 99, b"data: x\n" * 20, b": \n" * 99])
async def test_an_event_without_an_end_is_the_last(raw: bytes) -> None:
    assert await told(b"data: a\n\n", raw, b"\n\ndata: b\n\n", limit=50) == b"data: a\n\n!"


async def test_many_events_are_no_flood() -> None:
    raw = b"data: a\n\n" * 100
    assert await told(raw, limit=50) == raw


@given(pieces=st.lists(st.binary(max_size=30), max_size=8))
async def test_anything_is_a_stream_of_events_or_too_much(pieces: list[bytes]) -> None:
    await told(*pieces, limit=40)
