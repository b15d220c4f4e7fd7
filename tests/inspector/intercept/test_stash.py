"""Who lets others pass, and for how long."""

from __future__ import annotations

from acp_inspector.intercept.passage import Passage, Reorder
from acp_inspector.intercept.stash import Stash
from acp_inspector.journal import Frame


def passage(n: int) -> Passage:
    return Passage.of(Frame(n, 0.0, "agent", b"x", b"\n"))


def stash_of(*wishes: tuple[int, float]) -> Stash:
    stash = Stash()
    for n, (frames, seconds) in enumerate(wishes, 1):
        stash.put(passage(n), Reorder(frames, seconds, "r"), 100.0)
    return stash


def test_a_frame_is_ripe_when_enough_have_passed() -> None:
    stash = stash_of((2, 5.0))
    stash.let_one_pass()
    assert stash.take_ripe(100.0, is_late=False) is None
    stash.let_one_pass()
    ripe = stash.take_ripe(100.0, is_late=False)
    assert ripe is not None
    assert ripe.frame.n == 1
    assert not stash


def test_a_frame_is_ripe_when_it_has_waited_long_enough() -> None:
    stash = stash_of((9, 5.0), (9, 3.0))
    assert stash.next_until() == 103.0
    assert stash.take_ripe(102.9, is_late=False) is None
    ripe = stash.take_ripe(103.0, is_late=False)
    assert ripe is not None
    assert ripe.frame.n == 2
    assert stash.next_until() == 105.0


def test_when_nobody_else_comes_they_leave_oldest_first() -> None:
    stash = stash_of((9, 5.0), (9, 3.0))
    left = [stash.take_ripe(100.0, is_late=True), stash.take_ripe(100.0, is_late=True)]
    assert [one.frame.n for one in left if one] == [1, 2]
    assert stash.take_ripe(100.0, is_late=True) is None
    assert stash.next_until() is None


def test_all_can_be_taken_at_once() -> None:
    stash = stash_of((9, 5.0), (9, 3.0))
    assert [one.frame.n for one in stash.take_all()] == [1, 2]
    assert not stash
