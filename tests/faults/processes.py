"""Processes that play a part, and what is left of them.

A party whose talk hangs is killed after `LIMIT` seconds, so no test waits for it longer.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from acp_inspector.journal import Entry, JournalEvent
from acp_inspector.recording.reader import read_recording

LIMIT = 60.0
"""Seconds after which a process counts as hung."""
CONSOLE = (sys.executable, "-m", "acp_console")
PROXY = (*CONSOLE, "proxy")
AGENT = (sys.executable, "-m", "acp_agent")
MARK = "ACP_FAULTS_MARK"
"""A variable by whose value every process of a test is known, however deep it was started."""


class Party:
    """A process on the other end of three pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.stdin: IO[bytes] = process.stdin
        self.stdout: IO[bytes] = process.stdout
        self._stderr: list[bytes] = []
        self._listener = threading.Thread(target=self._listen, args=(process.stderr,), daemon=True)
        self._listener.start()

    def _listen(self, stderr: IO[bytes]) -> None:
        self._stderr += iter(lambda: stderr.read1(65536), b"")  # type: ignore[attr-defined] - a buffered reader

    def write(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def send(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def line(self) -> bytes:
        return self.stdout.readline()

    def hear(self, is_wanted: Callable[[Any], bool]) -> Any:
        """Return the next message that is wanted."""
        for line in self.stdout:
            message = json.loads(line)
            if is_wanted(message):
                return message
        raise AssertionError(f"it has ended: {self.stderr()!r}")

    def leave(self) -> None:
        """Close both pipes, as a client that is gone."""
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.stdout.close()

    def end(self) -> tuple[int, bytes]:
        """Close its stdin; return its exit code and what it still said."""
        with suppress(BrokenPipeError):
            self.stdin.close()
        rest = self.stdout.read()
        return self.code(), rest

    def code(self) -> int:
        return self.process.wait(LIMIT)

    def stderr(self) -> bytes:
        """Return what was said there until its end."""
        self._listener.join(LIMIT)
        return b"".join(self._stderr)


class Stage:
    """Starts parties, and knows what is left of them."""

    def __init__(self) -> None:
        self._mark = uuid.uuid4().hex
        self._timers: list[threading.Timer] = []

    @property
    def environment(self) -> Mapping[str, str]:
        return os.environ | {MARK: self._mark}

    @contextmanager
    def party(self, command: Sequence[str], cwd: Path | None = None) -> Generator[Party]:
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, env=self.environment, cwd=cwd
        ) as process:
            timer = threading.Timer(LIMIT, process.kill)
            timer.daemon = True
            timer.start()
            try:
                yield Party(process)
            except BaseException:
                # A process that is left may hold the pipes, and a failing test must not hang.
                self._clear()
                raise
            finally:
                timer.cancel()
                process.kill()

    def run(
        self, command: Sequence[str], stdin: bytes = b"", cwd: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            timeout=LIMIT,
            check=False,
            env=self.environment,
            cwd=cwd,
        )

    def processes(self) -> list[int]:
        """Return the processes that were started here and are running."""
        mark = f"{MARK}={self._mark}".encode()
        found: list[int] = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (place / "environ").read_bytes().split(b"\0"):
                    found.append(int(place.name))
        return found

    def _clear(self) -> None:
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def is_empty(self) -> bool:
        """Idle until no process is left; False if one stays."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                descriptor = os.pidfd_open(pid)
                try:
                    if not select.select([descriptor], [], [], LIMIT / 4)[0]:
                        return False
                finally:
                    os.close(descriptor)
        return self.processes() == []


def python(script: str) -> list[str]:
    """Return the command of a program."""
    return [sys.executable, "-I", "-S", "-c", script]


def entries(path: Path) -> Sequence[Entry]:
    return read_recording(path).entries


def events(path: Path) -> dict[str, Mapping[str, Any]]:
    """Return the events of a recording by name, the last of each."""
    return {entry.name: entry.data for entry in entries(path) if isinstance(entry, JournalEvent)}


def said(path: Path, side: str) -> bytes:
    """Return the bytes that a recording has of one side."""
    frames = read_recording(path).frames
    return b"".join(frame.wire for frame in frames if frame.side == side)
