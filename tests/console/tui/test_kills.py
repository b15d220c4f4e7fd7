"""A killed console loses nothing that was on its screen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_console.state.session_store import SessionStore, read_conversations
from acp_inspector.analysis.items import AgentMessage, UserMessage
from tests.console.conftest import Agent, agent

__all__ = ["agent"]

LIMIT = 30.0
"""Seconds after which something counts as hung."""
STREAM = """
prompt = hear_prompt()
number = 0
while True:
    number += 1
    say(f"<{number}>" + "\\n\\n" * (number % 7 == 0))
    time.sleep(0.0005)
"""


def test_every_word_on_screen_is_kept_when_the_console_is_killed(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    screen = bytearray()

    def until(holds: Callable[[], object]) -> None:
        limit = time.monotonic() + LIMIT
        while not holds():
            assert time.monotonic() < limit, bytes(screen)
            if select.select([ours], [], [], 0.1)[0]:
                screen.extend(os.read(ours, 65536))

    def shown() -> list[int]:
        return [int(number) for number in re.findall(rb"<(\d+)>", screen)]

    with subprocess.Popen(
        [sys.executable, "-m", "acp_console", "chat", "--", *agent(STREAM)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        start_new_session=True,
    ) as console:
        try:
            until(lambda: b"ready" in screen)
            os.write(ours, b"count")
            os.write(ours, b"\r")
            until(lambda: len(shown()) > 200)
        finally:
            console.send_signal(signal.SIGKILL)
            console.wait()
    while select.select([ours], [], [], 0)[0]:
        screen += os.read(ours, 65536)
    os.close(ours)
    os.close(theirs)
    [session] = SessionStore().sessions()
    assert session.state == "interrupted"
    [talk] = read_conversations(session)
    assert [item.text for item in talk.items if isinstance(item, UserMessage)] == ["count"]
    said = "".join(item.text for item in talk.items if isinstance(item, AgentMessage))
    kept = [int(number) for number in re.findall(r"<(\d+)>", said)]
    assert kept == [*range(1, len(kept) + 1)]
    assert max(shown()) <= len(kept)
