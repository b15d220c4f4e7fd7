"""The agent of a proxy that is killed ends, and nobody is ended that should not be."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acp_inspector.proxy import guard
from acp_inspector.proxy.guard import Guard

LIMIT = 30
PIPE = subprocess.PIPE
DEAF = (
    "import signal, threading; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; "
    "print('ready', flush=True); threading.Event().wait()"
)
POLITE = (
    "import os, signal, sys\n"
    "signal.signal(15, lambda *_: os.write(2, b'SIGTERM'))\n"
    "print('ready', flush=True); sys.stdin.read(); os.write(2, b'by itself')"
)
HELD = (
    "import sys, subprocess; from acp_inspector.proxy.guard import Guard\n"
    "agent = subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdin=subprocess.PIPE,\n"
    "                         start_new_session=True)\n"
    "guard = Guard(agent.pid, 1)\nsys.stdin.read()"
)
"""Starts an agent and a guard, and waits to be killed."""


def killed(agent: str) -> bytes:
    """Kill the group of an agent's parent; return what the agent says on stderr until its end."""
    with subprocess.Popen(
        [sys.executable, "-c", HELD, agent],
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGKILL)
        # Nobody but the agent holds it any more.
        assert select.select([process.stdout], [], [], LIMIT)[0]
        assert process.stdout.read() == b""
        return process.stderr.read()


def test_who_hears_nothing_is_killed_after_its_parent() -> None:
    assert killed(DEAF) == b""


def test_who_hears_the_end_of_its_stdin_ends_by_itself() -> None:
    assert killed(POLITE) == b"by itself"


def test_a_guard_ends_as_soon_as_nobody_is_left(tmp_path: Path) -> None:
    """A later group may get the same number."""
    life, shell = tmp_path / "life", tmp_path / "shell"
    os.mkfifo(life)
    shell.write_text(f'#!/bin/sh\nexec /bin/sh "$@" 9>{life}\n')
    shell.chmod(0o700)
    script = (
        "import os, signal, subprocess, sys; from acp_inspector.proxy import guard\n"
        "guard.SHELL = sys.argv[1]\n"
        "gone = subprocess.Popen(['true'], start_new_session=True)\ngone.wait()\n"
        "it = guard.Guard(gone.pid, 1000)\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(shell)]), life.open("rb") as lived:
        assert select.select([lived], [], [], LIMIT)[0]
        assert lived.read() == b""


def test_a_guard_that_is_dismissed_ends_nobody() -> None:
    with subprocess.Popen(["cat"], stdin=PIPE, stdout=PIPE, start_new_session=True) as agent:
        it = Guard(agent.pid, 0)
        it.dismiss()
        it.dismiss()
        assert agent.communicate(b"still here", LIMIT) == (b"still here", None)
        assert agent.returncode == 0


@pytest.mark.parametrize("shell", ["/no/such/shell", sys.executable])
def test_where_no_shell_can_wait_nobody_does(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "SHELL", shell)
    Guard(os.getpid()).dismiss()


def test_a_guard_holds_none_of_our_pipes(tmp_path: Path) -> None:
    """A client that waits for the end of stdout or stderr must not wait for the guard."""
    script = (
        "import os, signal; from acp_inspector.proxy.guard import Guard\n"
        "Guard(os.getpgrp(), 100); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        timeout=LIMIT,
        check=False,
        cwd=tmp_path,
        start_new_session=True,
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")
