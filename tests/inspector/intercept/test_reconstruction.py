"""The recording tells what came and what left, whatever was done in between."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.intercept.actions import (
    Action,
    Answer,
    Corrupt,
    Cut,
    Delay,
    Discard,
    Drop,
    Duplicate,
    Hang,
    LetPass,
    Replace,
    Split,
    Throttle,
)
from acp_inspector.intercept.desk import LaneClosedError
from acp_inspector.intercept.reconstruction import what_came, what_left
from acp_inspector.intercept.rules import Aim, Rule
from acp_inspector.journal import Frame, JournalEvent
from acp_inspector.recording.format import decode_line, encode_entry
from acp_protocol.framing import Side
from tests.inspector.intercept.scene import ASK, TELL, Scene, everything

ACTIONS: list[Action] = [
    Replace(b"a", b"bb"),
    Delay(1, 1),
    Throttle(100),
    Discard(),
    Drop(),
    Duplicate(3),
    LetPass(2, 3),
    Corrupt(2, "flip"),
    Corrupt(1, "replace"),
    Cut(5),
    Split(3, 0.5),
    Hang(),
    Answer({}, None),
]
AIMS = st.builds(Aim, every=st.integers(1, 5), probability=st.floats(0, 1))
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
Step = tuple[Side, bytes] | str
SIDES: tuple[Side, ...] = ("client", "agent")


def play(chosen: list[tuple[Action, Aim]], steps: list[Step]) -> tuple[Scene, dict[Side, bytes]]:
    """Play the steps to rules with seed 7; return what left, too."""
    rules = [Rule(f"r{n}", everything, action, aim, 7) for n, (action, aim) in enumerate(chosen)]
    scene = Scene([*rules])
    left: dict[Side, bytes] = {"client": b"", "agent": b""}
    for step in steps:
        if not isinstance(step, str):
            scene.come(*step)
        else:
            interfere(scene, step, left)
    scene.interceptor.finish()
    for side in SIDES:
        scene.interceptor.lanes[side].end()
        left[side] += b"".join(scene.out(side))
    # An answer may have come into a lane that had been emptied before.
    for side in SIDES:
        left[side] += b"".join(scene.out(side))
    return scene, left


def interfere(scene: Scene, step: str, left: dict[Side, bytes]) -> None:
    it = scene.interceptor
    if step == "look":
        for side in SIDES:
            left[side] += b"".join(scene.out(side))
    elif step == "wait":
        scene.now += 1
    elif step == "inject" and not it.lanes["agent"].is_closed:
        # A lane that hangs takes nothing.
        with suppress(LaneClosedError):
            it.inject("agent", b"ours")
    elif step == "pause":
        it.pause()
    for hold in it.holds():
        if step in {"release", "discard", "duplicate"}:
            getattr(it, step)(hold.id)


@given(RULES, STEPS)
def test_what_left_can_be_told_from_the_recording(
    chosen: list[tuple[Action, Aim]], steps: list[Step]
) -> None:
    scene, left = play(chosen, steps)
    for side in SIDES:
        came = [step[1] + b"\n" for step in steps if not isinstance(step, str) and step[0] == side]
        assert what_came(scene.journal.entries, side) == came
        assert b"".join(what_left(scene.journal.entries, side)) == left[side]


@given(RULES, STEPS)
def test_the_same_seed_and_traffic_have_the_same_faults(
    chosen: list[tuple[Action, Aim]], steps: list[Step]
) -> None:
    (one, left), (other, left_again) = play(chosen, steps), play(chosen, steps)
    assert left == left_again
    assert one.journal.entries == other.journal.entries


@given(RULES, STEPS)
def test_what_was_told_survives_being_written_and_read(
    chosen: list[tuple[Action, Aim]], steps: list[Step]
) -> None:
    scene, left = play(chosen, steps)
    read = [decode_line(encode_entry(entry).rstrip(b"\n")) for entry in scene.journal.entries]
    entries = [entry for entry in read if isinstance(entry, Frame | JournalEvent)]
    assert len(entries) == len(scene.journal)
    for side in SIDES:
        assert b"".join(what_left(entries, side)) == left[side]
