"""Signals reach the agent and mean to it what they would mean without a proxy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

LIMIT = 30
PROXY = [
    sys.executable,
    "-c",
    "import sys; from acp_inspector.proxy import pump; sys.exit(pump.run_proxy(sys.argv[1:]))",
]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_agent(number: signal.Signals) -> None:
    agent = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: (print('got it', flush=True), sys.exit(9)))\n"
        "print('ready', flush=True); time.sleep(100)"
    )
    process = subprocess.Popen(
        [*PROXY, sys.executable, "-c", agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == b"got it\n"
        assert process.wait(LIMIT) == 9


@pytest.mark.parametrize("name", ["USR1", "USR2", "QUIT", "ALRM", "WINCH", "CONT", "RTMIN"])
def test_a_signal_that_an_agent_may_use_means_the_agent_alone_and_no_end(name: str) -> None:
    """What the agent started has no handler, and would end."""
    number = int(getattr(signal, f"SIG{name}"))
    agent = (
        "import signal, subprocess, sys\n"
        "child = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        f"signal.signal({number}, lambda *_: print('got it', flush=True))\n"
        "print('ready', flush=True); sys.stdin.read()\n"
        "said, _ = child.communicate(b'whole')\n"
        "sys.exit(9 if said == b'whole' else 1)"
    )
    process = subprocess.Popen(
        [*PROXY, sys.executable, "-c", agent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        for _ in range(2):
            process.send_signal(number)
            assert process.stdout.readline() == b"got it\n"
        process.stdin.close()
        assert process.wait(LIMIT) == 9


def test_an_agent_without_a_handler_ends_by_the_signal_and_the_code_says_so() -> None:
    agent = "import time\nprint('ready', flush=True)\ntime.sleep(100)"
    process = subprocess.Popen(
        [*PROXY, sys.executable, "-c", agent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGUSR1)
        assert process.wait(LIMIT) == 128 + signal.SIGUSR1


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGUSR1"])
def test_what_was_ignored_at_the_start_stays_ignored_by_proxy_and_agent(name: str) -> None:
    """As below nohup: the agent still answers after the grace that others get."""
    ignoring = (
        "import os, signal, sys\n"
        f"signal.signal(signal.{name}, signal.SIG_IGN)\nos.execv(sys.argv[1], sys.argv[1:])"
    )
    proxy = (
        "import sys; from acp_inspector.proxy import pump, signals; signals.GRACE = 0.1\n"
        "sys.exit(pump.run_proxy(sys.argv[1:]))"
    )
    agent = (
        "import signal, sys, time\n"
        f"print(signal.getsignal(signal.{name}) is signal.SIG_IGN, flush=True)\n"
        "sys.stdin.readline(); time.sleep(0.5); print('still here', flush=True)"
    )
    command = [sys.executable, "-c", ignoring, sys.executable, "-c", proxy]
    process = subprocess.Popen(
        [*command, sys.executable, "-c", agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        process.send_signal(getattr(signal, name))
        process.stdin.write(b"go on\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"still here\n"
        assert process.wait(LIMIT) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_signal_while_the_agent_is_started_reaches_it(
    number: signal.Signals, moment: str
) -> None:
    """The signal comes from within, at the worst moments that there are."""
    hit = f"os.kill(os.getpid(), {int(number)})"
    proxy = (
        "import os, subprocess, sys; from acp_inspector.proxy import pump\n"
        "class Struck(subprocess.Popen):\n"
        "  def __init__(self, *args, **kwargs):\n"
        f"    {hit if moment == 'before' else 'pass'}\n"
        "    super().__init__(*args, **kwargs)\n"
        "    os.write(2, b'%d ' % self.pid)\n"
        f"    {hit if moment == 'after' else 'pass'}\n"
        "subprocess.Popen = Struck\n"
        "sys.exit(pump.run_proxy(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", proxy, "sleep", "100"], stderr=subprocess.PIPE, stdin=subprocess.PIPE
    )
    with process:
        assert process.stderr is not None
        assert process.wait(LIMIT) == 128 + number
        agent = int(process.stderr.read().split()[0])
        with pytest.raises(ProcessLookupError):
            os.killpg(agent, signal.SIGKILL)
