"""Frames that let others go first, and for how long."""

from __future__ import annotations

from acp_inspector.intercept.channel import ReorderBuffer
from acp_inspector.intercept.passage import InterceptedFrame
from acp_inspector.journal import Frame


def passage(n: int) -> InterceptedFrame:
    return InterceptedFrame.of(Frame(n, 0.0, "agent", b"x", b"\n"))


def buffer_of(*limits: tuple[int, float]) -> ReorderBuffer:
    buffer = ReorderBuffer()
    for n, (frames, seconds) in enumerate(limits, 1):
        buffer.put(passage(n), frames, 100.0 + seconds)
    return buffer


def test_a_frame_is_due_when_enough_have_passed() -> None:
    buffer = buffer_of((2, 5.0))
    buffer.count_sent()
    assert buffer.take_due(100.0, is_flushing=False) is None
    buffer.count_sent()
    due = buffer.take_due(100.0, is_flushing=False)
    assert due is not None
    assert due.frame.n == 1
    assert not buffer


def test_a_frame_is_due_when_it_has_waited_long_enough() -> None:
    buffer = buffer_of((9, 5.0), (9, 3.0))
    assert buffer.next_until == 103.0
    assert buffer.take_due(102.9, is_flushing=False) is None
    due = buffer.take_due(103.0, is_flushing=False)
    assert due is not None
    assert due.frame.n == 2
    assert buffer.next_until == 105.0


def test_when_nobody_else_comes_they_leave_oldest_first() -> None:
    buffer = buffer_of((9, 5.0), (9, 3.0))
    left = [buffer.take_due(100.0, is_flushing=True), buffer.take_due(100.0, is_flushing=True)]
    assert [one.frame.n for one in left if one] == [1, 2]
    assert buffer.take_due(100.0, is_flushing=True) is None
    assert buffer.next_until is None


def test_all_can_be_taken_at_once() -> None:
    buffer = buffer_of((9, 5.0), (9, 3.0))
    assert [one.frame.n for one in buffer.take_all()] == [1, 2]
    assert not buffer
