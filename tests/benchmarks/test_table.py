"""The table of the benchmarks."""

from __future__ import annotations

import pytest

from benchmarks.table import Row, Section, Spread, machine, table

pytestmark = pytest.mark.long


def test_all_lines_of_the_table_are_equally_wide() -> None:
    section = Section("start", (Row("short", "1 ms"), Row("a longer one", "10 ms", goal="+ ≤ 60")))
    lines = table([section]).splitlines()
    assert len(lines) == 5
    assert len({len(line) for line in lines}) == 1


def test_few_durations_name_the_longest_as_the_slow_one() -> None:
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(median=2.0, slow=3.0)


def test_of_many_durations_one_in_a_hundred_exceeds_the_slow_one() -> None:
    assert Spread.of(range(1000)).slow == 990


def test_the_machine_is_named_with_its_cores_and_its_python() -> None:
    assert " cores, " in machine()
    assert "Python 3." in machine()
