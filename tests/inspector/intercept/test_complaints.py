"""Each kind of failure is said once."""

from __future__ import annotations

from acp_inspector.intercept.channel import ChannelClosedError
from acp_inspector.intercept.controller import MAX_WARNING_CHARS, MAX_WARNINGS, WarnOnce


def test_each_sort_of_problem_is_told_once_for_each_who_has_it() -> None:
    said: list[str] = []
    warnings = WarnOnce(said.append)
    for who in ("a", "b"):
        for problem in (ValueError(1), ValueError(2), TypeError(3)):
            warnings.failure(who, problem)
    assert said == [
        "a failed and is skipped: ValueError: 1",
        "a failed and is skipped: TypeError: 3",
        "b failed and is skipped: ValueError: 1",
        "b failed and is skipped: TypeError: 3",
    ]


def test_a_sentence_of_ours_is_told_without_the_name_of_its_class() -> None:
    said: list[str] = []
    WarnOnce(said.append).failure("a", ChannelClosedError("nothing more goes out"))
    assert said == ["a failed and is skipped: nothing more goes out"]


def test_what_is_said_is_short_and_safe_to_show() -> None:
    said: list[str] = []
    WarnOnce(said.append).warn("\x1b[2J" + "x" * 10 * MAX_WARNING_CHARS)
    assert len(said[0]) <= MAX_WARNING_CHARS
    assert "\x1b" not in said[0]


def test_there_is_an_end_to_it_and_a_broken_ear_stops_nothing() -> None:
    said: list[str] = []

    def warn(text: str) -> None:
        said.append(text)
        raise OSError(text)

    warnings = WarnOnce(warn)
    for number in range(MAX_WARNINGS + 10):
        warnings.once(str(number), "x")
    assert len(said) == MAX_WARNINGS


def test_a_problem_that_cannot_say_what_it_is_is_told_too() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError

    said: list[str] = []
    WarnOnce(said.append).failure("a", MuteError())
    assert said == ["a failed and is skipped: MuteError: without a message"]
