"""`bridge`: a stdio agent over the network, as a process that a person starts."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_console.cli import exit_codes
from tests.console.cli.servers import LIMIT_S, initialize, serving
from tests.console.conftest import Agent, Call
from tests.warm import WARM

ENVIRONMENT = """
import os
initialize = hear("initialize")
told = {"protocolVersion": 1, "secret": os.environ.get("ACP_CONSOLE_TOKEN"), "cwd": os.getcwd()}
tell(id=initialize["id"], result=told)
sys.stderr.write("ready\\n")
hear("never")
"""
TOKEN = "0123456789abcdef-token"


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
        assert server.initialize(server.token).status_code == 200
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


def test_a_reader_of_stderr_that_leaves_does_not_end_the_server(agent: Agent) -> None:
    command = agent('tell(id=hear("initialize")["id"], result={})\nsys.stderr.write("x\\n" * 9)')
    words = [*WARM, "-m", "acp_console", "bridge", "--listen", "127.0.0.1:0", "--", *command]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = [process.stderr.readline() for _ in range(2)]
        url, token = (line.split()[-1] for line in lines)
        process.stderr.close()
        try:
            for _ in range(2):
                assert initialize(url, token).status_code == 200
        finally:
            process.terminate()
        assert process.wait(LIMIT_S) == exit_codes.DONE
