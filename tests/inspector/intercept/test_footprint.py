"""How big this process is."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIMIT = 60
"""Seconds."""
GROWS = """
from acp_inspector.intercept.footprint import resident
before, megabyte = resident(), 2**20
kept = b"x" * (50 * megabyte)
while resident() - before <= 40 * megabyte:
    pass  # Some kernels tell late: they count in each thread first.
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_what_is_kept_counts() -> None:
    """In a process of its own: here other tests have left what may go meanwhile."""
    subprocess.run([sys.executable, "-c", GROWS], check=True, timeout=LIMIT)
