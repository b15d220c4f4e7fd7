"""`bridge`: a stdio agent over the network, as a process that a person starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from acp_console.cli import exit_codes
from tests.console.conftest import Agent, Call
from tests.warm import WARM

LIMIT_S = 30.0
"""Seconds after which a process counts as hung."""
ENVIRONMENT = """
import os
initialize = hear("initialize")
told = {"protocolVersion": 1, "secret": os.environ.get("ACP_CONSOLE_TOKEN"), "cwd": os.getcwd()}
tell(id=initialize["id"], result=told)
sys.stderr.write("ready\\n")
hear("never")
"""
TOKEN = "0123456789abcdef-token"
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

    def initialize(self, token: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.post(
            self.url, json=INITIALIZE, headers=headers, trust_env=False, timeout=LIMIT_S
        )


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


def test_an_agent_is_served_with_a_token_that_it_does_not_get(agent: Agent) -> None:
    words = ("bridge", "--listen", "127.0.0.1:0", "--", *agent(ENVIRONMENT))
    with serving(*words, env={"ACP_CONSOLE_TOKEN": TOKEN}) as server:
        assert server.initialize("wrong-token-0123456789").status_code == 401
        opened: Any = server.initialize(TOKEN).json()["result"]
        assert opened == {"protocolVersion": 1, "secret": None, "cwd": str(Path.cwd())}
        assert server.wait_for(" | ") == "ready"
    assert not any("token" in line for line in server.lines)


def test_a_new_token_is_printed_and_a_signal_ends_the_agents(agent: Agent) -> None:
    with serving("bridge", "--listen", "127.0.0.1:0", "--", *agent(ENVIRONMENT)) as server:
        assert server.initialize(server.wait_for("acp-console: token ")).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(LIMIT_S) == exit_codes.DONE
        assert server.wait_for("exited with code ") == "0"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "missing --listen"),
        (("--listen", "127.0.0.1:0"), "missing the agent's command"),
        (("--listen", "example.com", "--", "x"), "is not ADDRESS:PORT"),
        (("--listen", "0.0.0.0:0", "--", "x"), "would get the token unencrypted"),
        (("--listen", "127.0.0.1:0", "--tls-key", "k", "--", "x"), "a certificate needs its key"),
        (("--listen", "127.0.0.1:0", "--allow-origin", "page", "--", "x"), "is not an origin"),
        (("--listen", "127.0.0.1:0", "--allow-host", "A/b", "--", "x"), "is not a name"),
    ],
)
def test_wrong_options_are_refused(words: tuple[str, ...], problem: str, call: Call) -> None:
    done = call("bridge", *words)
    assert done.code == exit_codes.USAGE
    assert problem in done.err


def test_a_token_that_is_too_short_is_refused(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_CONSOLE_TOKEN", "short")
    done = call("bridge", "--listen", "127.0.0.1:0", "--", sys.executable)
    assert done.code == exit_codes.USAGE
    assert "ACP_CONSOLE_TOKEN must hold at least" in done.err


def test_an_address_in_use_is_an_error(agent: Agent, call: Call) -> None:
    with serving("bridge", "--listen", "127.0.0.1:0", "--", *agent(ENVIRONMENT)) as server:
        address = server.url.removeprefix("http://").removesuffix("/acp")
        done = call("bridge", "--listen", address, "--", sys.executable)
    assert done.code == exit_codes.USAGE
    assert f"{address} cannot be used: address already in use" in done.err
