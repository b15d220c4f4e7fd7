"""Files that the tests of the agent work with."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.settings.types import DatabaseUrl
from acp_agent.world.workspace import Workspace
from tests.postgres import PostgresServer


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """A directory with something in it, and a secret beside it."""
    cwd = tmp_path / "work"
    (cwd / "src").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (cwd / "notes.md").write_text("# Notes\n\nBuy milk.\nTODO: call Ada.\n")
    (cwd / "src" / "main.py").write_text("print('hi')  # todo later\n")
    return cwd


@pytest.fixture(params=["a directory", "PostgreSQL"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Path | DatabaseUrl:
    """Where a store keeps its sessions; there are none yet."""
    if request.param == "a directory":
        return tmp_path / "kept"
    postgres: PostgresServer = request.getfixturevalue("postgres")
    return postgres.url(postgres.new_schema())


@pytest.fixture
def workspace(cwd: Path) -> Workspace:
    """The files of a session whose client offers none."""
    return Workspace("s", cwd)
