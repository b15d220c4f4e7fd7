"""Which frames go wrong."""

from __future__ import annotations

from random import Random

import pytest

from acp_agent.scripted import faults
from acp_agent.scripted.aims import Aim, Mishap, sort_of
from acp_agent.scripted.wire import Departure, Sort
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
        (Aim(), True),
        (Aim(method="session/update"), True),
        (Aim(method="session/prompt"), False),
        (Aim(update="plan"), True),
        (Aim(update="tool_call"), False),
        (Aim(of="notification"), True),
        (Aim(of="request"), False),
        (Aim(of="answer"), False),
    ],
)
def test_frames_are_told_apart(aim: Aim, is_meant: bool) -> None:
    assert aim.means(UPDATE, "session/update") is is_meant


def test_an_answer_has_the_method_of_its_question() -> None:
    assert Aim(method="session/prompt", of="answer").means({"id": 1}, "session/prompt")


@pytest.mark.parametrize(
    ("message", "sort"),
    [
        (UPDATE, "notification"),
        ({"method": "m", "id": None}, "request"),
        ({}, "answer"),
        ([], None),
    ],
)
def test_messages_are_told_apart(message: Json, sort: Sort | None) -> None:
    assert sort_of(message) == sort


def test_what_is_no_object_is_meant_by_no_method() -> None:
    assert Aim().means([1], None)
    assert not Aim(update="plan").means([1], None)


def test_the_first_are_spared_and_of_the_others_each_nth_is_struck() -> None:
    mishap = Mishap(Aim(after=2, every=2, first=4), [faults.Drop()], Random(1))
    lost: list[bool] = []
    for _ in range(10):
        departure = Departure(FRAME)
        mishap.strike(departure, UPDATE, "session/update")
        lost.append(departure.is_lost)
    assert [number for number, is_lost in enumerate(lost, 1) if is_lost] == [4, 6]


def test_chance_is_kept_by_the_seed() -> None:
    def courses(seed: int) -> list[bool]:
        mishap = Mishap(Aim(probability=0.5), [faults.Drop()], Random(seed))
        lost: list[bool] = []
        for _ in range(50):
            departure = Departure(FRAME)
            mishap.strike(departure, UPDATE, "session/update")
            lost.append(departure.is_lost)
        return lost

    assert courses(1) == courses(1)
    assert courses(1) != courses(2)
    assert set(courses(1)) == {True, False}
