"""How big this process is."""

from __future__ import annotations

import sys
import time

import pytest

from acp_inspector.intercept.footprint import resident

MEGABYTE = 2**20
LIMIT = 30
"""Seconds."""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_what_is_kept_counts() -> None:
    before = resident()
    kept = b"x" * (50 * MEGABYTE)
    # Some kernels tell late: they count in each thread first.
    deadline = time.monotonic() + LIMIT
    while resident() - before <= 40 * MEGABYTE:
        assert time.monotonic() < deadline
    assert kept
