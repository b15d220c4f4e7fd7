"""The measure of linting, run with few messages: it has to work, however fast."""

from __future__ import annotations

import pytest

from benchmarks import lint

pytestmark = pytest.mark.long


def test_all_three_judge_the_same_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint, "TURNS", 2)
    monkeypatch.setattr(lint, "ROUNDS", 1)
    section = lint.measure()
    assert section.title == "holding 100 messages against the rules"
    assert [row.against for row in section.rows].count("1.0 × jsonschema-rs") >= 1
    assert section.rows[-1].goal
