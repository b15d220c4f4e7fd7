"""Actions on one frame, and their events for the recording."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.intercept.message import MAX_WAIT_S, InterceptedFrame, InterceptError
from acp_inspector.journal import Frame
from tests.inspector.intercept.scene import NOTIFICATION, REQUEST


def intercepted(raw: bytes = NOTIFICATION, end: bytes = b"\n") -> InterceptedFrame:
    return InterceptedFrame.of(Frame(3, 0.0, "agent", raw, end))


@given(st.binary(), st.sampled_from([b"\n", b"\r\n", b""]))
def test_without_actions_the_same_bytes_leave(raw: bytes, end: bytes) -> None:
    it = intercepted(raw, end)
    assert [*it.portions()] == ([raw + end] if raw + end else [])
    assert it.current is it.frame
    assert it.events == []


@given(st.binary(), st.integers(1, 9), st.floats(0, 9))
def test_pieces_are_the_frame(raw: bytes, size: int, pause: float) -> None:
    it = intercepted(raw)
    it.split(size, pause, "r")
    pieces = [piece for piece in it.portions() if isinstance(piece, bytes)]
    assert b"".join(pieces) == raw + b"\n"
    assert all(len(piece) <= size for piece in pieces)


def test_copies_of_a_line_without_an_ending_stay_apart() -> None:
    it = intercepted(b"x", b"")
    it.duplicate(3, "r")
    assert [*it.portions()] == [b"x\n", b"x\n", b"x"]


def test_a_cut_counts_the_ending_too() -> None:
    it = intercepted(b"abc", b"\r\n")
    it.cut(4, "r")
    assert [*it.portions()] == [b"abc\r"]
    it.cut(0, "r")
    assert [*it.portions()] == []


def test_actions_on_a_frame_with_a_header_keep_header_and_body_together() -> None:
    header, body = b"X: y\r\nContent-Length: 2\r\n\r\n", b"{}"
    it = InterceptedFrame.of(Frame(3, 0.0, "agent", body, b"", header))
    assert [*it.portions()] == [header + body]
    it.edit(b'{\n"a":1}', "r")
    edited = b'X: y\r\nContent-Length: 8\r\n\r\n{\n"a":1}'
    assert it.current.wire == edited
    it.duplicate(2, "r")
    assert [*it.portions()] == [edited, edited]
    it.end_line(b"\n", "r")
    assert [*it.portions()] == [edited.replace(b"\r", b"")] * 2
    it.cut(9, "r")
    assert [*it.portions()] == [b"X: y\nCont"]


def test_a_throttled_frame_takes_its_time() -> None:
    it = intercepted(b"x" * 99)
    it.throttle(100, "r")
    assert sum(wait for wait in it.portions() if isinstance(wait, float)) == pytest.approx(0.95)


def test_what_is_done_to_a_draft_is_not_done() -> None:
    it = intercepted()
    draft = it.copy()
    draft.edit(b"x", "r")
    draft.drop("r")
    assert (it.raw, it.is_dropped, it.events) == (NOTIFICATION, False, [])
    assert draft.events == [
        ("edited", {"of": 3, "by": "r", "was": NOTIFICATION.decode(), "now": "x"}),
        ("discarded", {"of": 3, "by": "r"}),
    ]


@pytest.mark.parametrize("seconds", [-0.1, MAX_WAIT_S + 1, float("nan"), float("inf")])
def test_a_wait_has_a_limit(seconds: float) -> None:
    with pytest.raises(InterceptError):
        intercepted().delay(seconds, "r")


@pytest.mark.parametrize("error", [[], "no", {"code": 1}, {"code": True, "message": "m"}])
def test_an_error_that_is_none_is_refused(error: object) -> None:
    with pytest.raises(InterceptError):
        intercepted(REQUEST).answer("r", error=error)
    with pytest.raises(InterceptError):
        intercepted(REQUEST).answer("r", result=object())
