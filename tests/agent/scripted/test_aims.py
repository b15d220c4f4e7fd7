"""Which frames go wrong."""

from __future__ import annotations

from random import Random

import pytest

from acp_agent.scripted import faults
from acp_agent.scripted.faults import FaultRule, FaultTarget, frame_kind
from acp_agent.scripted.wire import FrameKind, OutgoingFrame
from acp_protocol.jsonrpc import Json

FRAME = b"{}"
UPDATE: Json = {
    "jsonrpc": "2.0",
    "method": "session/update",
    "params": {"update": {"sessionUpdate": "plan"}},
}


@pytest.mark.parametrize(
    ("aim", "is_meant"),
    [
        (FaultTarget(), True),
        (FaultTarget(method="session/update"), True),
        (FaultTarget(method="session/prompt"), False),
        (FaultTarget(update="plan"), True),
        (FaultTarget(update="tool_call"), False),
        (FaultTarget(of="notification"), True),
        (FaultTarget(of="request"), False),
        (FaultTarget(of="answer"), False),
    ],
)
def test_frames_are_told_apart(aim: FaultTarget, is_meant: bool) -> None:
    assert aim.means(UPDATE, "session/update") is is_meant


def test_an_answer_has_the_method_of_its_question() -> None:
    assert FaultTarget(method="session/prompt", of="answer").means({"id": 1}, "session/prompt")


@pytest.mark.parametrize(
    ("message", "sort"),
    [
        (UPDATE, "notification"),
        ({"method": "m", "id": None}, "request"),
        ({}, "answer"),
        ([], None),
    ],
)
def test_messages_are_told_apart(message: Json, sort: FrameKind | None) -> None:
    assert frame_kind(message) == sort


def test_what_is_no_object_is_meant_by_no_method() -> None:
    assert FaultTarget().means([1], None)
    assert not FaultTarget(update="plan").means([1], None)


def test_the_first_are_spared_and_of_the_others_each_nth_is_struck() -> None:
    fault_rule = FaultRule(FaultTarget(after=2, every=2, first=4), [faults.DropFault()], Random(1))
    lost: list[bool] = []
    for _ in range(10):
        outgoing = OutgoingFrame(FRAME)
        fault_rule.apply(outgoing, UPDATE, "session/update")
        lost.append(outgoing.is_dropped)
    assert [number for number, is_dropped in enumerate(lost, 1) if is_dropped] == [4, 6]


def test_chance_is_kept_by_the_seed() -> None:
    def courses(seed: int) -> list[bool]:
        fault_rule = FaultRule(FaultTarget(probability=0.5), [faults.DropFault()], Random(seed))
        lost: list[bool] = []
        for _ in range(50):
            outgoing = OutgoingFrame(FRAME)
            fault_rule.apply(outgoing, UPDATE, "session/update")
            lost.append(outgoing.is_dropped)
        return lost

    assert courses(1) == courses(1)
    assert courses(1) != courses(2)
    assert set(courses(1)) == {True, False}
