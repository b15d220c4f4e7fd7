"""Who waits for room, and who does not."""

from __future__ import annotations

import threading

import pytest

from acp_inspector.proxy import room as module
from acp_inspector.proxy.room import Load, Room

LIMIT = 30
FOREVER = 10**6


def load(*sizes: int) -> Load:
    found = Load()
    for size in sizes:
        found.add(size)
    return found


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large is what has 50 bytes."""
    monkeypatch.setattr(module, "LARGE", 50)


def test_what_is_larger_than_the_room_finds_it_alone() -> None:
    room = Room(10, 0.01)
    assert room.take(30)
    assert not room.take(1)


def test_who_found_no_room_does_not_wait_again_before_there_was_some() -> None:
    room = Room(10, 0.01)
    assert room.take(10)
    assert not room.take(1)
    # Nothing ends while it waits, so whoever waited now would never come back.
    room._patience = FOREVER  # pyright: ignore[reportPrivateUsage] - no other way to see it
    assert not room.take(1)
    room.free(load(10))
    assert room.take(10)


def test_who_waits_goes_on_when_there_is_room() -> None:
    room = Room(10, FOREVER)
    assert room.take(10)
    found: list[bool] = []
    waiting = threading.Thread(target=lambda: found.append(room.take(10)))
    waiting.start()
    room.free(load(10))
    waiting.join(LIMIT)
    assert found == [True]


def test_a_large_line_takes_no_room_from_those_behind_it() -> None:
    room = Room(10, 0.01)
    assert room.take(1000)
    assert room.take(5)
    assert room.take(5)
    assert not room.take(1)
    room.free(load(5, 5))
    assert room.take(1)


def test_two_large_lines_do_not_wait_together() -> None:
    room = Room(10, 0.01)
    assert room.take(1000)
    assert not room.take(50)
    room.free(load(1000))
    assert room.take(50)


@pytest.mark.parametrize("held", [False, True])
def test_who_waits_behind_a_large_line_has_as_many_times_the_patience(
    monkeypatch: pytest.MonkeyPatch, *, held: bool
) -> None:
    waits: list[float] = []

    def wait_for(self: threading.Condition, check: object, timeout: float) -> bool:
        waits.append(timeout)
        return False

    monkeypatch.setattr(threading.Condition, "wait_for", wait_for)
    room = Room(10, 2.0)
    assert room.take(10)
    assert not room.take(1)
    room.free(load(10))
    if held:
        room.hold(90)
    else:
        assert room.take(90)
    assert room.take(10)
    assert not room.take(1)
    assert waits == [2.0, 20.0]


def test_who_does_not_wait_finds_room_until_others_have_waited_in_vain() -> None:
    room = Room(10, 0.01)
    assert room.take_at_once(30)
    assert room.take_at_once(30)
    assert not room.take(1)
    assert not room.take_at_once(1)
    room.free(load(30, 30))
    assert room.take_at_once(1)
