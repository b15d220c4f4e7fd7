"""The measure of memory, run with little: it has to work, whatever it takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import memory
from benchmarks.peer import EMITTER

pytestmark = pytest.mark.long


def test_each_place_is_told_against_itself_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    # More than the pipes hold, so that the proxy runs until the end of the measure.
    little = {"agent": (*EMITTER, "3000", "200"), "size": 600_000}
    monkeypatch.setattr(memory, "PAUSE", 0)
    monkeypatch.setattr(memory, "FLOODS", tuple(replace(it, **little) for it in memory.FLOODS))
    monkeypatch.setattr(memory, "OBSERVED", replace(memory.OBSERVED, **little))
    monkeypatch.setattr(memory, "LONG", replace(memory.LONG, **little))
    rows = memory.measure().rows
    assert len(rows) == 22
    assert [row.against for row in rows].count("idle") == 5
    assert sum("× the line" in row.against for row in rows) == 5
    assert sum(bool(row.goal) for row in rows) == 8
