"""Deeds that are left to chance, within their bounds."""

from __future__ import annotations

from random import Random
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.intercept.passage import InterceptedFrame
from acp_inspector.intercept.rules import ACTIONS
from acp_inspector.journal import Frame


@given(
    st.binary().filter(lambda raw: not {10, 13} & {*raw}),
    st.integers(1, 9),
    st.sampled_from(["flip", "replace"]),
    st.integers(),
)
def test_so_many_bytes_are_damaged_and_the_line_stays_one(
    raw: bytes, count: int, mode: Literal["flip", "replace"], seed: int
) -> None:
    def corrupted() -> InterceptedFrame:
        it = InterceptedFrame.of(Frame(1, 0.0, "agent", raw))
        ACTIONS["corrupt"].run(it, {"bytes": count, "mode": mode}, "r", Random(seed))
        return it

    it = corrupted()
    different = [a ^ b for a, b in zip(raw, it.raw, strict=True) if a != b]
    assert len(different) == min(count, len(raw))
    assert mode == "replace" or all(bits.bit_count() == 1 for bits in different)
    assert not {10, 13} & {*it.raw}
    assert corrupted().raw == it.raw
    assert [name for name, _ in it.events] == ["corrupted"] * bool(raw)


@given(st.floats(0, 10), st.floats(0, 10), st.integers())
def test_a_delay_is_no_shorter_than_said_and_no_longer_than_its_jitter(
    seconds: float, jitter: float, seed: int
) -> None:
    it = InterceptedFrame.of(Frame(1, 0.0, "agent", b""))
    ACTIONS["delay"].run(it, {"seconds": seconds, "jitter": jitter}, "r", Random(seed))
    assert seconds - 1e-6 <= it.wait <= seconds + jitter + 1e-6
