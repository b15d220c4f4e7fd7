"""The measure of start-up, run once: it has to work, however fast."""

from __future__ import annotations

import pytest

from benchmarks import start

pytestmark = pytest.mark.long


def test_each_command_gets_a_row_and_the_first_is_the_floor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(start, "ROUNDS", 1)
    rows = start.measure().rows
    assert [row.what for row in rows] == [subject.what for subject in start.SUBJECTS]
    assert [row.against for row in rows].count("floor") == 1
