"""Each kind of failure is said once."""

from __future__ import annotations

from acp_inspector.intercept.complaints import KINDS, WIDTH, Complaints
from acp_inspector.intercept.desk import LaneClosedError


def test_each_sort_of_problem_is_told_once_for_each_who_has_it() -> None:
    said: list[str] = []
    complaints = Complaints(said.append)
    for who in ("a", "b"):
        for problem in (ValueError(1), ValueError(2), TypeError(3)):
            complaints.failure(who, problem)
    assert said == [
        "a failed and is passed over: ValueError: 1",
        "a failed and is passed over: TypeError: 3",
        "b failed and is passed over: ValueError: 1",
        "b failed and is passed over: TypeError: 3",
    ]


def test_a_sentence_of_ours_is_told_without_the_name_of_its_class() -> None:
    said: list[str] = []
    Complaints(said.append).failure("a", LaneClosedError("nothing more goes out"))
    assert said == ["a failed and is passed over: nothing more goes out"]


def test_what_is_said_is_short_and_safe_to_show() -> None:
    said: list[str] = []
    Complaints(said.append).tell("\x1b[2J" + "x" * 10 * WIDTH)
    assert len(said[0]) <= WIDTH
    assert "\x1b" not in said[0]


def test_there_is_an_end_to_it_and_a_broken_ear_stops_nothing() -> None:
    said: list[str] = []

    def warn(text: str) -> None:
        said.append(text)
        raise OSError(text)

    complaints = Complaints(warn)
    for number in range(KINDS + 10):
        complaints.once(str(number), "x")
    assert len(said) == KINDS


def test_a_problem_that_cannot_say_what_it_is_is_told_too() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError

    said: list[str] = []
    Complaints(said.append).failure("a", MuteError())
    assert said == ["a failed and is passed over: MuteError: it does not say why"]
