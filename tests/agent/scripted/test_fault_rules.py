"""Which frames go wrong."""

from __future__ import annotations

from random import Random

import pytest

from acp_agent.scripted.faults import (
    DropFault,
    FaultRule,
    FrameKind,
    OutgoingFrame,
    RunningFaultRule,
    frame_kind,
)
from acp_protocol.jsonrpc import Json

FRAME = b"{}"
DROP = DropFault()
UPDATE: Json = {
    "jsonrpc": "2.0",
    "method": "session/update",
    "params": {"update": {"sessionUpdate": "plan"}},
}


@pytest.mark.parametrize(
    ("aim", "is_meant"),
    [
        (FaultRule(drop=DROP), True),
        (FaultRule(drop=DROP, method="session/update"), True),
        (FaultRule(drop=DROP, method="session/prompt"), False),
        (FaultRule(drop=DROP, update="plan"), True),
        (FaultRule(drop=DROP, update="tool_call"), False),
        (FaultRule(drop=DROP, of="notification"), True),
        (FaultRule(drop=DROP, of="request"), False),
        (FaultRule(drop=DROP, of="answer"), False),
    ],
)
def test_frames_are_told_apart(aim: FaultRule, is_meant: bool) -> None:
    assert aim.means(UPDATE, "session/update") is is_meant


def test_an_answer_has_the_method_of_its_question() -> None:
    assert FaultRule(drop=DROP, method="session/prompt", of="answer").means(
        {"id": 1}, "session/prompt"
    )


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
    assert FaultRule(drop=DROP).means([1], None)
    assert not FaultRule(drop=DROP, update="plan").means([1], None)


def test_the_first_are_spared_and_of_the_others_each_nth_is_struck() -> None:
    fault_rule = RunningFaultRule(FaultRule(drop=DROP, after=2, every=2, first=4), Random(1))
    lost: list[bool] = []
    for _ in range(10):
        outgoing = OutgoingFrame(FRAME)
        fault_rule.apply(outgoing, UPDATE, "session/update")
        lost.append(outgoing.is_dropped)
    assert [number for number, is_dropped in enumerate(lost, 1) if is_dropped] == [4, 6]


def test_chance_is_kept_by_the_seed() -> None:
    def courses(seed: int) -> list[bool]:
        fault_rule = RunningFaultRule(FaultRule(drop=DROP, probability=0.5), Random(seed))
        lost: list[bool] = []
        for _ in range(50):
            outgoing = OutgoingFrame(FRAME)
            fault_rule.apply(outgoing, UPDATE, "session/update")
            lost.append(outgoing.is_dropped)
        return lost

    assert courses(1) == courses(1)
    assert courses(1) != courses(2)
    assert set(courses(1)) == {True, False}
