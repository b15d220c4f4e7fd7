"""Findings as a person reads them."""

from __future__ import annotations

from typing import cast

import pytest

from acp_console.wording.findings import frame_numbers
from acp_inspector.lint.catalog import LintRule
from acp_inspector.lint.engine import Finding


@pytest.mark.parametrize(
    ("frames", "most", "text"),
    [
        ((), 2, ""),
        ((2, 13), 2, "#2, #13"),
        ((2, 12, 13), 2, "#2 … #13"),
        ((2, 5, 12, 13), 3, "#2 … #12, #13"),
    ],
)
def test_first_and_last_frame_of_a_finding_are_always_named(
    frames: tuple[int, ...], most: int, text: str
) -> None:
    rule = cast("LintRule", None)
    assert frame_numbers(Finding(rule, "error", "", frames, ""), most) == text
