"""Commands that serve agents, as processes."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.warm import WARM

LIMIT_S = 30.0
"""Seconds after which a process counts as hung."""
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}


@dataclass
class Server:
    """A server that runs, and what it has printed."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list[str])
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()

    def wait_for(self, text: str) -> str:
        """Return the rest of the first line with that text."""

        def found() -> str | None:
            return next((each.partition(text)[2] for each in self.lines if text in each), None)

        with self._changed:
            rest = self._changed.wait_for(lambda: found() is not None, LIMIT_S) and found()
        assert rest is not False, f"no {text!r} in {self.lines}"
        return rest or ""

    @property
    def url(self) -> str:
        return self.wait_for("serves ACP at ")

    @property
    def token(self) -> str:
        return self.wait_for("acp-console: token ")

    def initialize(self, token: str) -> httpx.Response:
        return initialize(self.url, token)


@contextmanager
def serving(*words: str, env: dict[str, str] | None = None) -> Generator[Server]:
    """Run a command that serves."""
    with subprocess.Popen(
        [*WARM, "-m", "acp_console", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    ) as process:
        server = Server(process)
        reader = threading.Thread(target=server.read, daemon=True)
        reader.start()
        try:
            yield server
        finally:
            process.terminate()
            try:
                process.wait(LIMIT_S)
            finally:
                process.kill()
            reader.join(LIMIT_S)


def initialize(url: str, token: str) -> httpx.Response:
    """Open a connection."""
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.post(url, json=INITIALIZE, headers=headers, trust_env=False, timeout=LIMIT_S)
