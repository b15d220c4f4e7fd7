"""A child process that is measured, and the commands of such children."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

WAIT: Final = 30.0
"""Seconds after which a child that says nothing is given up."""
CHUNK: Final = 1 << 16
"""Bytes asked for in one read, which is what a pipe holds."""
SCRIPTS: Final = Path(sysconfig.get_path("scripts"))
EMITTER: Final = (sys.executable, str(Path(__file__).with_name("emitter.py")))
"""Stands before a size and a count: an agent that says so many messages, and nothing else."""
AGENT: Final = (str(SCRIPTS / "acp-agent"),)
CONSOLE: Final = (str(SCRIPTS / "acp-console"),)
CAT: Final = ("cat",)
PUMP: Final = (sys.executable, str(Path(__file__).with_name("pump.py")), "--")
"""Stands before a command: the same place in the middle, with nothing but reads and writes."""


def proxy(record: Path | None, command: Sequence[str], *options: str) -> tuple[str, ...]:
    """Return the command that runs `command` behind the proxy, which records if there is where."""
    recording = () if record is None else ("--record", str(record))
    return (*CONSOLE, "proxy", *recording, *options, "--", *command)


def tee(copy: Path, command: Sequence[str]) -> tuple[str, ...]:
    """Return the command that runs `command` and keeps what it says, as people do without us."""
    return ("sh", "-c", f"{shlex.join(command)} | tee {shlex.quote(str(copy))}")


def envelope() -> tuple[bytes, bytes]:
    """Return what stands before and behind the text of what an agent sends most often."""
    params = {
        "sessionId": "sess_0123456789abcdef",
        "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}},
    }
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    start, end = json.dumps(frame, separators=(",", ":")).split('"text":""')
    return f'{start}"text":"'.encode(), f'"{end}\n'.encode()


def message(size: int) -> bytes:
    """Return a line of exactly `size` bytes, newline included, as an agent sends it most often."""
    start, end = envelope()
    return start + b"x" * (size - len(start) - len(end)) + end


def environment() -> dict[str, str]:
    """Return the environment of a user: with compiled modules kept, and no profile written."""
    unwanted = ("PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME", "PYTHONUNBUFFERED")
    return {name: value for name, value in os.environ.items() if name not in unwanted}


class SilentPeerError(Exception):
    """A child did not say what was waited for."""


class Peer:
    """A running child with raw pipes; leaving the block ends it and all that it started."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=environment(),
            start_new_session=True,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._stdin = self._child.stdin
        self._stdout = self._child.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stdin.close()
        try:
            self._child.wait(WAIT)
        except subprocess.TimeoutExpired:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
        self._stdout.close()

    def write(self, data: bytes) -> None:
        """Write `data` whole."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._stdin.fileno(), rest) :]

    def read(self) -> bytes:
        """Return what there is, at least a byte.

        Raises:
            SilentPeerError: nothing came in time, or the child closed its stdout.
        """
        descriptor = self._stdout.fileno()
        if not select.select([descriptor], [], [], WAIT)[0]:
            raise self._problem(f"said nothing for {WAIT:.0f} seconds")
        if chunk := os.read(descriptor, CHUNK):
            return chunk
        raise self._problem("ended too early")

    def read_bytes(self, count: int) -> None:
        """Read until `count` bytes have come.

        Raises:
            SilentPeerError: they did not come.
        """
        while count > 0:
            count -= len(self.read())

    def end(self) -> None:
        """Close the child's stdin and wait until it has ended.

        Raises:
            SilentPeerError: it did not end, or not well.
        """
        self._stdin.close()
        try:
            code = self._child.wait(WAIT)
        except subprocess.TimeoutExpired:
            raise self._problem("does not end") from None
        if code:
            raise self._problem(f"ended with {code}")

    def _problem(self, what: str) -> SilentPeerError:
        return SilentPeerError(f"{shlex.join(self._command)} {what}")
