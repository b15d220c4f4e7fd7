"""The agent's processes: none is left behind, however it was started and however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from acp_inspector.proxy.process import AgentProcess
from acp_protocol.errors import AgentStartError

LIMIT = 30
PROXY = [
    sys.executable,
    "-c",
    # The grace that stubborn processes get is waited for in full, so here it is short.
    (
        "import sys; from acp_inspector.proxy.session import run_proxy; "
        "sys.exit(run_proxy(sys.argv[1:], grace=0.2, drain_timeout=0.2))"
    ),
]
AGENT = "import os, sys; print(os.getpid(), flush=True); {before}; sys.stdin.read()"
STUBBORN = (
    "import signal, threading; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; "
    "print('ready', flush=True); threading.Event().wait()"
)
WRAPPER = (
    "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {agent!r}]); {end}"
)
"""Starts the agent with its own stdin, stdout and stderr, as npx and uvx do."""


def wrapped(before: str = "pass", end: str = "sys.exit(child.wait())") -> list[str]:
    agent = AGENT.format(before=before)
    return [*PROXY, sys.executable, "-c", WRAPPER.format(agent=agent, end=end)]


def started(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def is_gone(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    try:
        return state.read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until_gone(pid: int) -> None:
    """Idle for a process that is not our child, and that was sent a signal."""
    limit = time.monotonic() + LIMIT
    while not is_gone(pid):
        assert time.monotonic() < limit


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_wrapper_and_what_it_runs(number: signal.Signals) -> None:
    with started(wrapped()) as process:
        agent = int(line(process))
        process.send_signal(number)
        assert process.wait(LIMIT) == 128 + number
    wait_until_gone(agent)


def test_what_the_agent_started_ends_with_it_when_stdin_ends() -> None:
    silent = "import threading; threading.Event().wait()"
    wrapper = (
        f"import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {silent!r}]); "
        "print(child.pid, flush=True); sys.stdin.read()"
    )
    with started([*PROXY, sys.executable, "-c", wrapper]) as process:
        child = int(line(process))
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(LIMIT) == 0
    wait_until_gone(child)


def test_a_wrapper_that_reads_the_end_of_stdin_exits_with_its_agents_code() -> None:
    with started(wrapped("sys.exit(7)")) as process:
        assert int(line(process))
        assert process.wait(LIMIT) == 7


def test_an_agent_that_ignores_the_signals_is_killed_with_its_wrapper() -> None:
    with started(wrapped(STUBBORN)) as process:
        agent = int(line(process))
        assert line(process) == b"ready"
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 128 + signal.SIGTERM
    wait_until_gone(agent)


def test_a_stubborn_agent_without_a_wrapper_is_killed_after_a_grace() -> None:
    with started([*PROXY, sys.executable, "-c", STUBBORN]) as process:
        assert line(process) == b"ready"
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 128 + signal.SIGKILL


def test_what_a_wrapper_left_behind_ends_with_the_proxy() -> None:
    with started(wrapped(end="child.stdout")) as process:
        agent = int(line(process))
        # The wrapper has ended well; the agent still holds the pipes.
        assert process.wait(LIMIT) == 0
    wait_until_gone(agent)


@pytest.mark.parametrize("command", [["/no/such/agent"], ["a\0b"], ["/"]])
def test_a_failed_start_is_reported_in_one_sentence(command: list[str]) -> None:
    with pytest.raises(AgentStartError) as error:
        AgentProcess(command)
    assert "\n" not in str(error.value)
