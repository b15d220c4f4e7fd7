"""The measure of throughput, run with few messages: it has to work, however fast."""

from __future__ import annotations

import pytest

from benchmarks import throughput

pytestmark = pytest.mark.long


def test_what_the_proxy_recorded_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "ROUNDS", 1)
    monkeypatch.setattr(throughput, "SIZES", {260: 5000, 65536: 20})
    rows = throughput.measure().rows
    assert len(rows) == 12
    assert [row.against.endswith("; 100% recorded") for row in rows].count(True) == 2
