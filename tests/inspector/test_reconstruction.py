"""The recording tells what came and what left, whatever was done in between."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.intercept.channel import ChannelClosedError
from acp_inspector.intercept.rules import InterceptRule, Trigger
from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.recording.format import decode_line, encode_entry
from acp_protocol.framing import Side
from tests.inspector.intercept.scene import NOTIFICATION as TELL
from tests.inspector.intercept.scene import REQUEST as ASK
from tests.inspector.intercept.scene import Scene, everything
from tests.inspector.reconstruction import what_came, what_left

ACTIONS: list[tuple[str, dict[str, Any]]] = [
    ("replace", {"text": b"a", "with": b"bb"}),
    ("delay", {"seconds": 1, "jitter": 1}),
    ("throttle", {"rate": 100}),
    ("discard", {}),
    ("drop", {}),
    ("duplicate", {"times": 3}),
    ("reorder", {"frames": 2, "seconds": 3}),
    ("corrupt", {"bytes": 2, "mode": "flip"}),
    ("corrupt", {"bytes": 1, "mode": "replace"}),
    ("cut", {"bytes": 5}),
    ("split", {"bytes": 3, "pause": 0.5}),
    ("hang", {}),
    ("answer", {"result": {}, "error": None}),
]
AIMS = st.builds(Trigger, every=st.integers(1, 5), probability=st.floats(0, 1))
RULES = st.lists(st.tuples(st.sampled_from(ACTIONS), AIMS), max_size=4)
LINES = st.one_of(
    st.just(ASK), st.just(TELL), st.binary(max_size=12).filter(lambda line: b"\n" not in line)
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["client", "agent"]), LINES),
        st.sampled_from(["look", "wait", "inject", "pause", "release", "discard", "duplicate"]),
    ),
    max_size=40,
)
Chosen = tuple[tuple[str, dict[str, Any]], Trigger]
Step = tuple[Side, bytes] | str
SIDES: tuple[Side, ...] = ("client", "agent")


def play(chosen: list[Chosen], steps: list[Step]) -> tuple[Scene, dict[Side, bytes]]:
    """Play the steps to rules with seed 7; return what left, too."""
    rules = [
        InterceptRule(f"r{n}", everything, *action, aim, 7)
        for n, (action, aim) in enumerate(chosen)
    ]
    scene = Scene([*rules])
    left: dict[Side, bytes] = {"client": b"", "agent": b""}
    for step in steps:
        if not isinstance(step, str):
            scene.put(*step)
        else:
            interfere(scene, step, left)
    scene.controller.finish()
    for side in SIDES:
        scene.controller.channels[side].end()
        left[side] += b"".join(scene.out(side))
    # An answer may have come into a lane that had been emptied before.
    for side in SIDES:
        left[side] += b"".join(scene.out(side))
    return scene, left


def interfere(scene: Scene, step: str, left: dict[Side, bytes]) -> None:
    it = scene.controller
    if step == "look":
        for side in SIDES:
            left[side] += b"".join(scene.out(side))
    elif step == "wait":
        scene.now += 1
    elif step == "inject" and not it.channels["agent"].is_closed:
        # A lane that hangs takes nothing.
        with suppress(ChannelClosedError):
            it.inject("agent", b"ours")
    elif step == "pause":
        it.pause()
    for hold in it.holds():
        if step in {"release", "discard", "duplicate"}:
            getattr(it, step)(hold.id)


@given(RULES, STEPS)
def test_what_left_can_be_told_from_the_recording(chosen: list[Chosen], steps: list[Step]) -> None:
    scene, left = play(chosen, steps)
    for side in SIDES:
        came = [step[1] + b"\n" for step in steps if not isinstance(step, str) and step[0] == side]
        assert what_came(scene.journal.entries, side) == came
        assert b"".join(what_left(scene.journal.entries, side)) == left[side]


@given(RULES, STEPS)
def test_the_same_seed_and_traffic_have_the_same_faults(
    chosen: list[Chosen], steps: list[Step]
) -> None:
    (one, left), (other, left_again) = play(chosen, steps), play(chosen, steps)
    assert left == left_again
    assert list(one.journal.entries) == list(other.journal.entries)


@given(RULES, STEPS)
def test_what_was_told_survives_being_written_and_read(
    chosen: list[Chosen], steps: list[Step]
) -> None:
    scene, left = play(chosen, steps)
    read = [decode_line(encode_entry(entry).rstrip(b"\n")) for entry in scene.journal.entries]
    entries = [entry for entry in read if isinstance(entry, Frame | JournalEvent)]
    assert len(entries) == len(scene.journal)
    for side in SIDES:
        assert b"".join(what_left(entries, side)) == left[side]
