"""Who is started in a test is gone at its end, whatever becomes of the test."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.disks import Disk, small_disk
from tests.faults.processes import Stage


@pytest.fixture
def stage() -> Generator[Stage]:
    """A stage that leaves no process behind, checked in the process table."""
    if not sys.platform.startswith("linux"):
        pytest.skip("who is left behind is looked up in /proc")
    it = Stage()
    try:
        yield it
        assert it.is_empty(), f"left behind: {it.processes()}"
    finally:
        for pid in it.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    """A disk with hardly any room."""
    return small_disk(tmp_path)
