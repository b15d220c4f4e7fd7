"""A recording in the agent's place, for acpx."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.interop.test_mock import LIMIT, player, recorder, verdict

NEEDED = (22, 13)
"""The oldest Node.js on which acpx runs; npm brings one for Linux."""


@pytest.fixture
def acpx(npm: Path, tmp_path: Path) -> dict[str, str]:
    """The environment in which acpx is found, with a Node.js that can run it."""
    programs = f"{npm}/node_modules/.bin{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"HOME": str(tmp_path), "PATH": programs}
    said = subprocess.check_output(["node", "--version"], env=environment, text=True)
    if tuple(map(int, re.findall(r"\d+", said)))[:2] < NEEDED:
        pytest.skip(f"acpx needs Node.js {'.'.join(map(str, NEEDED))}; here is {said.strip()}")
    return environment


def test_acpx_cannot_tell_the_recording_from_the_agent(
    acpx: dict[str, str], tmp_path: Path
) -> None:
    path, report = tmp_path / "it.acp.ndjson", tmp_path / "verdict.json"
    notes = tmp_path / "notes.md"
    outputs: list[str] = []
    for command in (recorder(path), player(path, report)):
        notes.write_text("Buy milk.\n")
        options = ("--agent", " ".join(command), "--cwd", str(tmp_path), "--approve-all")
        done = subprocess.run(
            ["acpx", *options, "exec", "edit notes.md: milk => bread"],
            env=acpx,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert notes.read_text() == "Buy bread.\n"
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert verdict(report)["passed"], verdict(report)
