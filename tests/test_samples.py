"""The sample projects of the docs, run as their readers run them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.warm import WARM

DOCS = Path(__file__).parent.parent / "docs"
SAMPLES = DOCS / "samples"
MODULE = "acp_inspector.testing.pytest_plugin"
IS_INSTALLED = any(each.value == MODULE for each in entry_points(group="pytest11"))
PLUGIN = () if IS_INSTALLED else ("-p", MODULE)


def run(folder: Path, *words: str) -> str:
    """Run a command with our programs on the path; return its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path}
    env.pop("PYTEST_ADDOPTS", None)
    command = [*WARM, "-m", *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_project_of_an_agent_passes_once_it_is_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    shutil.copytree(SAMPLES / "agent", folder)
    assert "4 passed" in run(folder, "pytest", *PLUGIN, "--acp-record", "once")
    # Its recording is a test, too.
    assert "5 passed" in run(folder, "pytest", *PLUGIN)
    words = ("test", "recordings", "--agent", "demo")
    assert run(folder, "acp_console", *words).endswith("\n1 passed\n")


def test_the_project_of_a_client_passes_once_it_is_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "client"
    shutil.copytree(SAMPLES / "client", folder)
    assert "3 passed" in run(folder, "pytest", *PLUGIN, "--acp-record", "once")
    assert (folder / "hello.acp.ndjson").exists()
    assert "3 passed" in run(folder, "pytest", *PLUGIN)


@pytest.mark.parametrize(
    "name", ["agent/pyproject.toml", "agent/tests/test_agent.py", "client/test_client.py"]
)
def test_the_page_shows_the_files_of_the_projects(name: str) -> None:
    blocks = re.findall(
        r"^```\w+\n(.*?)^```$", (DOCS / "testing.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert (SAMPLES / name).read_text() in blocks
