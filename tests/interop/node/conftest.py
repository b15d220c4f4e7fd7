"""Where the programs from npm are.

The ordinary suite needs neither Node.js nor a network, so nothing here is collected there:
`make interop` installs the packages, and says in ACP_INTEROP where they are.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

FOLDER = os.environ.get("ACP_INTEROP")

collect_ignore_glob = [] if FOLDER else ["test_*.py"]


@pytest.fixture(scope="session")
def npm() -> Path:
    """The folder with the packages; our own scripts lie beside them, where Node.js finds both."""
    assert FOLDER is not None
    folder = Path(FOLDER).resolve()
    for script in Path(__file__).parent.glob("*.mjs"):
        shutil.copy(script, folder)
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory to work in."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "notes.md").write_text("Buy milk.\n")
    return place
