"""`acp-agent --login` on a real terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from acp_agent.models.factory import keyring
from tests.warm import WARM

LIMIT = 20
"""Seconds after which a program counts as hung."""
KEY = "sk-canary-0123456789"


def typed(tmp_path: Path, answer: str) -> tuple[int, str]:
    """Log in with `answer`; return the exit code, and what stood on the terminal."""
    ours, theirs = pty.openpty()
    command = [*WARM, "-m", "acp_agent", "--model", "openai:m", "--login", "openai"]
    process = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | {"XDG_CONFIG_HOME": str(tmp_path)},
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    try:
        while b": " not in shown:
            shown += os.read(ours, 1024)
        os.write(ours, answer.encode())
        while True:
            shown += os.read(ours, 1024)
    except OSError:
        # So a terminal says that nobody is at its other end any more.
        return process.wait(LIMIT), shown.decode()
    finally:
        os.close(ours)
        process.kill()
        process.wait(LIMIT)


def test_typed_key_is_stored_and_not_shown(tmp_path: Path) -> None:
    code, shown = typed(tmp_path, f"{KEY}\n")
    ring = keyring({"XDG_CONFIG_HOME": str(tmp_path)})
    assert (code, ring.get("openai")) == (0, KEY)
    assert "Key of OpenAI: " in shown
    assert str(ring.path) in shown
    assert KEY not in shown


@pytest.mark.parametrize(("answer", "code"), [("\n", 2), ("two words\n", 2), ("\x04", 130)])
def test_invalid_key_changes_nothing(tmp_path: Path, answer: str, code: int) -> None:
    assert typed(tmp_path, answer)[0] == code
    assert keyring({"XDG_CONFIG_HOME": str(tmp_path)}).get("openai") is None


def test_login_needs_a_terminal(tmp_path: Path) -> None:
    done = subprocess.run(
        [*WARM, "-m", "acp_agent", "--login", "anthropic"],
        input=b"sk-x\n",
        capture_output=True,
        check=False,
        timeout=LIMIT,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (b"error: to log in, type a key in a terminal; stdin is not a terminal\n")
