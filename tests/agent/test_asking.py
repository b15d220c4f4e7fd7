"""How full a model's mind is, and when room is to be made."""

from __future__ import annotations

import pytest

from acp_agent.asking import NEARLY, Fill, asked_again
from acp_agent.models.model import Delayed, Used

HIGH = Used(int(1000 * NEARLY), 10, window=1000)
LOW = Used(100, 10, window=1000)


def test_nothing_is_high_where_nobody_says_how_much_there_is() -> None:
    fill = Fill()
    fill.take(Used(10**9, 10))
    assert not fill.is_high


def test_room_is_to_be_made_where_the_window_is_nearly_full() -> None:
    fill = Fill()
    fill.take(LOW)
    assert not fill.is_high
    fill.take(HIGH)
    assert fill.is_high
    fill.empty()
    assert not fill.is_high


def test_room_is_not_made_again_and_again_where_it_does_not_help() -> None:
    fill = Fill()
    fill.take(HIGH)
    fill.empty()
    for _ in range(3):
        fill.take(HIGH)
        assert not fill.is_high
    fill.take(LOW)
    fill.take(HIGH)
    assert fill.is_high


def test_room_is_not_made_again_where_it_could_not_be_until_the_window_has_emptied() -> None:
    fill = Fill()
    fill.take(HIGH)
    fill.is_hopeless = True
    fill.take(HIGH)
    assert not fill.is_high
    fill.take(LOW)
    fill.take(HIGH)
    assert fill.is_high


@pytest.mark.parametrize(("seconds", "shown"), [(0.2, "1 s"), (3.0, "3 s"), (3.1, "4 s")])
def test_a_rest_is_told_in_whole_seconds(seconds: float, shown: str) -> None:
    assert asked_again(Delayed("", seconds)) == f"It is asked again in {shown}."
