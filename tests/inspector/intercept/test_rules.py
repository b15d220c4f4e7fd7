"""Which frames a rule strikes, and that it strikes the same ones again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.intercept.passage import InterceptedFrame
from acp_inspector.intercept.rules import InterceptRule, Trigger
from acp_inspector.journal import Frame
from acp_protocol.framing import Side
from tests.inspector.intercept.scene import TELL, Scene, everything, holding


@pytest.mark.parametrize(
    ("aim", "struck"),
    [
        (Trigger(), [1, 2, 3, 4, 5, 6, 7, 8]),
        (Trigger(every=3), [3, 6]),
        (Trigger(first=2), [1, 2]),
        (Trigger(after=6), [7, 8]),
        (Trigger(after=2, first=4, every=2), [4, 6]),
        (Trigger(side="client"), []),
        (Trigger(probability=0), []),
    ],
)
def test_a_rule_counts_the_frames_that_it_means(aim: Trigger, struck: list[int]) -> None:
    scene = Scene([InterceptRule("r", holding(b"x"), "drop", {}, aim)])
    for number in range(1, 9):
        left = scene.passed("agent", b"other", b"x")
        assert left == [b"other\n"] + [b"x\n"] * (number not in struck)


@given(st.permutations(["client"] * 20 + ["agent"] * 20), st.permutations(["client", "agent"] * 20))
def test_what_is_struck_does_not_depend_on_the_other_direction(
    one: list[Side], other: list[Side]
) -> None:
    def struck(order: list[Side]) -> dict[Side, list[bool]]:
        rule = InterceptRule("r", everything, "drop", {}, Trigger(probability=0.5), 7)
        found: dict[Side, list[bool]] = {"client": [], "agent": []}
        for number, side in enumerate(order, 1):
            passage = InterceptedFrame.of(Frame(number, 0, side, TELL))
            found[side].append(rule.process(passage, print).is_dropped)
        return found

    assert struck(one) == struck(other)


def test_another_seed_strikes_others() -> None:
    def struck(seed: int) -> list[bytes]:
        scene = Scene([InterceptRule("r", everything, "drop", {}, Trigger(probability=0.5), seed)])
        return scene.passed("agent", *(b"%d" % number for number in range(64)))

    assert struck(1) == struck(1)
    assert struck(1) != struck(2)


def test_a_rule_that_fails_is_told_once_and_changes_nothing() -> None:
    scene = Scene(
        [InterceptRule("odd", everything, "answer", {"result": float("nan"), "error": None})]
    )
    ask = b'{"jsonrpc":"2.0","id":1,"method":"m"}'
    assert scene.passed("client", ask, ask) == [ask + b"\n", ask + b"\n"]
    assert scene.told() == []
    (warning,) = scene.warnings
    assert warning.startswith("odd failed and is skipped: not representable as JSON")
