"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def anyio_backend() -> str:
    """The one event loop that is used; hence async tests run once."""
    return "asyncio"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published schemas and real traffic that may lie beside a checkout."""
    folder = ROOT.parent / "shared"
    if folder.is_dir():
        return folder
    reason = "the folder ../shared with the published schemas and real traffic is not there"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
