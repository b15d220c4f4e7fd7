"""The measure of a round trip, run shortly: it has to work, however fast."""

from __future__ import annotations

import pytest

from benchmarks import round_trip

pytestmark = pytest.mark.long


def test_pump_and_proxy_are_compared_with_the_hop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_trip, "STARTS", 2)
    monkeypatch.setattr(round_trip, "ROUNDS", 20)
    monkeypatch.setattr(round_trip, "WARM_UP", 5)
    rows = round_trip.measure().rows
    assert ["what the hop adds" in row.against for row in rows] == [False, True, True, True, True]
