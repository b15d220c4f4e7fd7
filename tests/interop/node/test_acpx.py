"""A recording in the agent's place, for acpx."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.interop.test_mock import LIMIT, player, recorder, verdict


@pytest.mark.skipif(shutil.which("acpx") is None, reason="acpx is not on the PATH")
def test_acpx_cannot_tell_the_recording_from_the_agent(tmp_path: Path) -> None:
    path, report = tmp_path / "it.acp.ndjson", tmp_path / "verdict.json"
    notes = tmp_path / "notes.md"
    outputs: list[str] = []
    for command in (recorder(path), player(path, report)):
        notes.write_text("Buy milk.\n")
        options = ("--agent", " ".join(command), "--cwd", str(tmp_path), "--approve-all")
        done = subprocess.run(
            ["acpx", *options, "exec", "edit notes.md: milk => bread"],
            env=os.environ | {"HOME": str(tmp_path)},
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
