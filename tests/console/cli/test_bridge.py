"""`bridge`: a stdio agent over the network, as a process that a person starts."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_console.cli import exit_codes
from acp_inspector.recording.reader import read_recording
from acp_protocol.jsonrpc import encode_request
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
        ((), "missing --listen or --url"),
        (("--token-env", "X"), "--token-env has no effect without --url"),
        (("--url", "http://127.0.0.1:1", "--plain"), "--plain has no effect without --listen"),
        (("--url", "http://127.0.0.1:1", "--", "x"), "there is no command to start"),
        (("--url", "ftp://127.0.0.1"), "is not the URL of an agent"),
        (("--url", "http://127.0.0.1:1", "--token-env", "UNSET_"), "UNSET_ is not set"),
        (("--listen", "127.0.0.1:0", "--header", "a:b", "--", "sh"), "no effect with --listen"),
        (("--listen", "127.0.0.1:0", "--token-env", "UNSET_", "--", "sh"), "UNSET_ is not set"),
        (("--listen", "127.0.0.1:0"), "missing the agent's command"),
        (("--listen", "example.com", "--", "sh"), "is not ADDRESS:PORT"),
        (("--listen", "0.0.0.0:0", "--", "sh"), "would get the token unencrypted"),
        (("--listen", "127.0.0.1:0", "--tls-key", "k", "--", "sh"), "a certificate needs its key"),
        (("--listen", "127.0.0.1:0", "--allow-origin", "page", "--", "sh"), "is not an origin"),
        (("--listen", "127.0.0.1:0", "--allow-host", "A/b", "--", "sh"), "is not a name"),
    ],
)
def test_wrong_options_are_refused(words: tuple[str, ...], problem: str, call: Call) -> None:
    done = call("bridge", *words)
    assert done.code == exit_codes.USAGE
    assert problem in done.err


def test_a_command_that_cannot_be_started_is_an_error_at_once(call: Call, tmp_path: Path) -> None:
    """Its user would else learn nothing until a client comes."""
    (tmp_path / "script").write_text("#!/bin/sh\n")
    for program, reason in (
        ("no-such-agent", "there is no such command"),
        (str(tmp_path / "script"), "it may not be executed"),
        (str(tmp_path), "it is a directory"),
    ):
        done = call("bridge", "--listen", "127.0.0.1:0", "--", program)
        assert done.code == exit_codes.AGENT
        assert f"cannot start {program}: {reason}" in done.err


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


URL_SCHEMES = ("http", "ws")
TALK = 'prompt = hear_prompt(); say("one, "); say("two"); end(prompt); hear("never")'


def bridged(url: str, scheme: str) -> list[str]:
    """Return the command of an agent that is elsewhere."""
    return [
        *(*WARM, "-m", "acp_console", "bridge", "--token-env", "ACP_CONSOLE_TOKEN", "--url"),
        scheme + url.removeprefix("http"),
    ]


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_CONSOLE_TOKEN", TOKEN)


@pytest.mark.parametrize("scheme", URL_SCHEMES)
@pytest.mark.usefixtures("token")
def test_a_client_on_stdio_has_a_turn_with_an_agent_elsewhere(
    scheme: str, agent: Agent, call: Call, tmp_path: Path
) -> None:
    recording = tmp_path / "talk.acp.ndjson"
    with serving("bridge", "--listen", "127.0.0.1:0", "--", *agent(TALK)) as server:
        proxy = [*WARM, "-m", "acp_console", "proxy", "--record", str(recording), "--no-control"]
        done = call("exec", "count", "--", *proxy, "--", *bridged(server.url, scheme))
        assert (done.code, done.out.strip()) == (exit_codes.DONE, "one, two")
        assert server.wait_for("exited with code ") == "0"
    assert len(read_recording(recording).frames) == 8


@pytest.mark.usefixtures("token")
def test_the_end_of_the_server_ends_the_bridge_and_says_what_is_not_known(agent: Agent) -> None:
    script = 'greet(); hear("session/new"); sys.stderr.write("ready\\n"); hear("never")'
    words = ("bridge", "--listen", "127.0.0.1:0", "--drain", "1ms", "--", *agent(script))
    with (
        serving(*words) as server,
        subprocess.Popen(
            bridged(server.url, "ws"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(encode_request(1, "initialize", {}) + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdin.write(encode_request(2, "session/new", {}) + b"\n")
        process.stdin.flush()
        server.wait_for(" | ready")
        server.process.send_signal(signal.SIGTERM)
        assert process.wait(2 * LIMIT_S) == exit_codes.AGENT
        errors = process.stderr.read()
    assert errors.startswith(b"error: ")
    assert b"it is not known whether the agent has done what these ask: session/new" in errors


@pytest.mark.parametrize("scheme", URL_SCHEMES)
def test_a_wrong_token_is_an_error_with_a_hint(
    scheme: str, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("bridge", "--listen", "127.0.0.1:0", "--", *agent(TALK)) as server:
        monkeypatch.setenv("ACP_CONSOLE_TOKEN", "another-token-0123456789")
        done = subprocess.run(
            bridged(server.url, scheme),
            input=encode_request(1, "initialize", {}) + b"\n",
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    assert done.returncode == exit_codes.AGENT
    assert b"401" in done.stderr
    assert b"hint: name the variable that holds the token" in done.stderr
