"""Files that the tests of the agent work with."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.world.workspace import Workspace


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """A directory with something in it, and a secret beside it."""
    cwd = tmp_path / "work"
    (cwd / "src").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (cwd / "notes.md").write_text("# Notes\n\nBuy milk.\nTODO: call Ada.\n")
    (cwd / "src" / "main.py").write_text("print('hi')  # todo later\n")
    return cwd


@pytest.fixture
def workspace(cwd: Path) -> Workspace:
    """The files of a session whose client offers none."""
    return Workspace("s", cwd)
