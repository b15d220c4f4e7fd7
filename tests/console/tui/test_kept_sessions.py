"""The console on a terminal: what it keeps when it is killed, and how one goes on with it."""

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
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acp_console.kept.session_store import RecordedSessions, StoredSession, read_conversations
from acp_inspector.session.items import AgentMessage, UserMessage
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
LOADING = """
greet(agentCapabilities={"loadSession": True})
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if method == "session/load":
        update("user_message_chunk", content={"type": "text", "text": "remember"})
        update("agent_message_chunk", content={"type": "text", "text": "replayed"})
        tell(id=message["id"], result={})
    elif method == "session/new":
        tell(id=message["id"], result={"sessionId": "s1"})
    elif method == "session/prompt":
        say("heard-" + params["prompt"][0]["text"])
        if params["prompt"][0]["text"] == "remember":
            update("session_info_update", title="Words to recall")
        end(message)
"""


class Terminal:
    """The console on a terminal, and all that it has written there."""

    def __init__(self, descriptor: int, console: subprocess.Popen[bytes]) -> None:
        self._descriptor = descriptor
        self.console = console
        self.screen = bytearray()

    def until(self, holds: Callable[[], object]) -> None:
        limit = time.monotonic() + LIMIT
        while not holds():
            assert time.monotonic() < limit, bytes(self.screen)
            self.read(0.1)

    def read(self, seconds: float) -> bool:
        """Read what comes within that time; return whether anything did."""
        if not select.select([self._descriptor], [], [], seconds)[0]:
            return False
        self.screen += os.read(self._descriptor, 65536)
        return True

    def press(self, *keys: bytes) -> None:
        for key in keys:
            os.write(self._descriptor, key)


@contextmanager
def terminal(folder: Path, *words: str) -> Generator[Terminal]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", "acp_console", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        start_new_session=True,
    ) as console:
        found = Terminal(ours, console)
        try:
            yield found
        finally:
            console.send_signal(signal.SIGKILL)
            console.wait()
            while found.read(0):
                pass
            os.close(ours)
            os.close(theirs)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordedSessions:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return RecordedSessions()


def texts(session: StoredSession) -> list[str]:
    return [
        item.text
        for talk in read_conversations(session)
        for item in talk.items
        if isinstance(item, UserMessage | AgentMessage)
    ]


def test_every_word_on_screen_is_kept_when_the_console_is_killed(
    agent: Agent, tmp_path: Path, store: RecordedSessions
) -> None:
    with terminal(tmp_path, "chat", "--", *agent(STREAM)) as shown:

        def numbers() -> list[int]:
            return [int(number) for number in re.findall(rb"<(\d+)>", shown.screen)]

        shown.until(lambda: b"ready" in shown.screen)
        shown.press(b"count", b"\r")
        shown.until(lambda: len(numbers()) > 200)
    [session] = store.sessions()
    assert session.state == "interrupted"
    prompt, *said = texts(session)
    assert prompt == "count"
    kept = [int(number) for number in re.findall(r"<(\d+)>", "".join(said))]
    assert kept == [*range(1, len(kept) + 1)]
    assert max(numbers()) <= len(kept)


@pytest.mark.long
def test_an_interrupted_session_goes_on_with_the_same_agent(
    agent: Agent, tmp_path: Path, store: RecordedSessions
) -> None:
    with terminal(tmp_path, "chat", "--", *agent(LOADING)) as shown:
        shown.until(lambda: b"ready" in shown.screen)
        shown.press(b"remember", b"\r")
        shown.until(lambda: b"heard-remember" in shown.screen)
    with terminal(tmp_path, "sessions", "resume") as shown:
        shown.until(lambda: b"replayed" in shown.screen and b"ready" in shown.screen)
        assert b"Words to recall" in shown.screen
        shown.press(b"more", b"\r")
        shown.until(lambda: b"heard-more" in shown.screen)
        [session] = store.sessions()
        assert session.state == "running"
        outcome = subprocess.run(
            [sys.executable, "-m", "acp_console", "sessions", "resume"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert outcome.returncode == 2
        assert "open in a console already" in outcome.stderr
    [session] = store.sessions()
    assert texts(session) == ["remember", "replayed", "more", "heard-more"]
    assert len(session.earlier) == 1
    assert session.title == "Words to recall"
