"""The measure of opening, run with few frames: it has to work, however fast."""

from __future__ import annotations

import pytest

from benchmarks import opening

pytestmark = pytest.mark.long


def test_opening_is_measured_before_and_after_indexing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "FRAMES", 2500)
    monkeypatch.setattr(opening, "ROUNDS", 1)
    monkeypatch.setattr(opening, "JUMPS", 3)
    section = opening.measure()
    assert "2,500 frames" in section.title
    assert [row.against for row in section.rows].count("floor") == 1
    assert [row.what for row in section.rows][:2] == ["`wc -l`", "`grep -c`"]
    assert [row.goal for row in section.rows].count("< 50 ms") == 2
