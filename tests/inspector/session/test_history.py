"""Values that remember."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_inspector.session.history import Versioned, VersionedList

STEPS = st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(), max_size=3), st.booleans()))


@given(STEPS, st.integers(0, 40))
def test_a_growth_is_what_it_was_had_it_ended_at_that_frame(steps: list[Any], n: int) -> None:
    number, everything, until = 0, VersionedList[int](), VersionedList[int]()
    for later, values, replaces in steps:
        number += later
        for growth in (everything, until) if number <= n else (everything,):
            if replaces:
                growth.replace(number, values)
            for value in () if replaces else values:
                growth.add(number, value)
    assert everything.at(n) == until.now() == until.at(n)
    assert everything.snapshot(n).now() == until.now()
    assert everything.snapshot(n).last == until.last
    assert len(until) == len(until.now())


@given(st.lists(st.tuples(st.integers(0, 3), st.integers())), st.integers(0, 40))
def test_a_value_is_what_it_was_had_it_ended_at_that_frame(steps: list[Any], n: int) -> None:
    number, everything, until = 0, Versioned(-1), Versioned(-1)
    for later, value in steps:
        number += later
        everything.set(number, value)
        if number <= n:
            until.set(number, value)
    assert everything.at(n) == until.now
    assert everything.until(n).versions() == until.versions()
    assert everything.snapshot(n).versions() == until.versions()[-1:]


def test_what_holds_at_first_holds_before_too() -> None:
    value = Versioned("a", 5)
    assert value.at(0) == value.until(0).now == "a"
