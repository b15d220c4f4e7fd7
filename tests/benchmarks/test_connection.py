"""The measure of round trips through a connection, run shortly: it has to work, however fast."""

from __future__ import annotations

import pytest

from benchmarks import connection

pytestmark = pytest.mark.long


def test_connection_and_sdk_are_measured_alone_and_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "ROUNDS", 1)
    monkeypatch.setattr(connection, "ALONE", 20)
    monkeypatch.setattr(connection, "TOGETHER", 3)
    monkeypatch.setattr(connection, "EACH", 5)
    rows = connection.measure().rows
    assert [row.against for row in rows].count("1.0 × the SDK's typed calls") >= 2
    assert len(rows) == 8
