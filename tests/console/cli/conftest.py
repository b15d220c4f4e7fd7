"""A home of its own with programs that are agents, and the command line on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.console.conftest import Agent, Outcome
from tests.warm import WARM

LIMIT_S = 30.0
"""Seconds after which a command counts as hung."""

Install: TypeAlias = Callable[[str, str], Path]
Configure: TypeAlias = Callable[[str], Path]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with directories of its own, and a PATH with nothing but agents of the test."""
    for kind in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    (tmp_path / "bin").mkdir()
    (tmp_path / "config/acp-console").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


@pytest.fixture
def install(home: Path, agent: Agent) -> Install:
    """Install a program that does what the script of an agent says."""

    def install_now(name: str, script: str) -> Path:
        path = agent(script)[-1]
        program = home / "bin" / name
        program.write_text(f"#!{sys.executable} -IS\n{Path(path).read_text()}")
        program.chmod(0o755)
        return program

    return install_now


@pytest.fixture
def configure(home: Path) -> Configure:
    def write(text: str) -> Path:
        path = home / "config/acp-console/config.toml"
        path.write_text(text)
        return path

    return write


def on_terminal(
    *words: str, prompt: str = "\0", reply: str = "", size: tuple[int, int] = (120, 40)
) -> Outcome:
    """Call the command line on a terminal; type `reply` when it shows `prompt`."""
    ours, theirs = pty.openpty()
    columns, lines = size
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    command = [*WARM, "-m", "acp_console", *words]
    # readline, which pytest imports, has put the size of another terminal into ours.
    env = dict(os.environ)
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        screen = ""
        has_replied = False
        try:
            while select.select([ours], [], [], LIMIT_S)[0]:
                try:
                    screen += os.read(ours, 65536).decode(errors="replace")
                except OSError:
                    break
                if prompt in screen and not has_replied:
                    os.write(ours, reply.encode())
                    has_replied = True
            return Outcome(process.wait(LIMIT_S), screen, "")
        finally:
            process.kill()
            os.close(ours)
