"""How big this process is."""

from __future__ import annotations

import sys

import pytest

from acp_inspector.intercept.footprint import resident

MEGABYTE = 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_what_is_kept_counts() -> None:
    before = resident()
    kept = b"x" * (50 * MEGABYTE)
    assert resident() - before > 40 * MEGABYTE
    assert kept
