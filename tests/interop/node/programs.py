"""How the tests of this folder run programs to their end."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final

from tests.warm import WARM

LIMIT: Final = 60.0
"""Seconds after which a program counts as hung."""
CONSOLE: Final = (*WARM, "-m", "acp_console")
MODE_NOTE: Final = (
    "note: running in mode ask, the most restrictive; --allow edits lets it change files\n"
)
"""What `exec` writes to stderr first about an agent with modes."""
AGENT: Final = (*WARM, "-m", "acp_agent")


def run(cwd: Path, *command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in `cwd`, with more variables than we have."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def console(cwd: Path, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `acp-console` in `cwd`."""
    return run(cwd, *CONSOLE, *words, **environment)


def lines(done: subprocess.CompletedProcess[str]) -> list[Any]:
    """Return what a program said on stdout, one JSON value a line."""
    return [json.loads(line) for line in done.stdout.splitlines()]


def updates_of(done: subprocess.CompletedProcess[str]) -> list[Any]:
    """Return the updates among what `exec --format json` wrote."""
    return [line["update"] for line in lines(done) if "update" in line]
