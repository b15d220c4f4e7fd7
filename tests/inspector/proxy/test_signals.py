"""Signals reach the agent and mean to it what they would mean without a proxy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import pytest

LIMIT = 30
"""Seconds after which the proxy counts as hung, and is killed."""
PIPE = subprocess.PIPE


def proxy(before: str = "", options: str = "") -> list[str]:
    """Return the command of a proxy that has done something `before`."""
    script = (
        "import os, subprocess, sys; from acp_inspector.proxy.session import run_proxy\n"
        f"{before}\nsys.exit(run_proxy(sys.argv[1:]{options}))"
    )
    return [sys.executable, "-c", script]


def python(*arguments: str) -> list[str]:
    return [sys.executable, "-c", *arguments]


@contextmanager
def talking(command: Sequence[str]) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        timer = threading.Timer(LIMIT, process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()


BLOCK = "import signal, sys\nsignal.pthread_sigmask(signal.SIG_BLOCK, [{}])\n"
"""The agent waits for the signal: a handler does not run for one that comes right before a read."""


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline().removesuffix(b"\n")


def send_line(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line + b"\n")
    process.stdin.flush()


def code_at_the_end(process: subprocess.Popen[bytes]) -> int:
    """Let stdin end; return the exit code."""
    assert process.stdin is not None
    process.stdin.close()
    return process.wait(LIMIT)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_reach_the_agent(number: signal.Signals) -> None:
    agent = (
        f"{BLOCK.format(int(number))}print('ready', flush=True)\n"
        f"signal.sigwait([{int(number)}]); print('got it', flush=True); sys.exit(9)"
    )
    with talking([*proxy(), *python(agent)]) as process:
        assert read_line(process) == b"ready"
        process.send_signal(number)
        assert read_line(process) == b"got it"
        assert process.wait(LIMIT) == 9


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_what_means_the_end_or_a_pause_reaches_what_the_agent_started_too(
    number: signal.Signals,
) -> None:
    inner = (
        f"{BLOCK.format(int(number))}print('ready', flush=True)\n"
        f"signal.sigwait([{int(number)}]); print('inside', flush=True)\n"
        "sys.stdin.read(); sys.exit(7)"
    )
    outer = (
        f"import signal, subprocess, sys\nsignal.signal({int(number)}, lambda *_: None)\n"
        "sys.exit(subprocess.call([sys.executable, '-c', sys.argv[1]]))"
    )
    with talking([*proxy(), *python(outer, inner)]) as process:
        assert read_line(process) == b"ready"
        process.send_signal(number)
        assert read_line(process) == b"inside"
        assert code_at_the_end(process) == 7


def test_an_interrupt_that_the_agent_lives_through_is_not_its_end() -> None:
    """It may mean that the running turn shall stop. Who is given no grace would be dead at once."""
    agent = (
        f"{BLOCK.format(2)}print('ready', flush=True)\n"
        "signal.sigwait([2]); print('got it', flush=True)\n"
        "for line in sys.stdin: print(line, end='', flush=True)"
    )
    with talking([*proxy(options=", grace=0"), *python(agent)]) as process:
        assert read_line(process) == b"ready"
        process.send_signal(signal.SIGINT)
        assert read_line(process) == b"got it"
        for _ in range(50):
            send_line(process, b"still here")
            assert read_line(process) == b"still here"
        assert code_at_the_end(process) == 0


@pytest.mark.parametrize("name", ["USR1", "USR2", "QUIT", "ALRM", "WINCH", "CONT", "RTMIN"])
def test_a_signal_that_an_agent_may_use_means_the_agent_alone_and_no_end(name: str) -> None:
    """What the agent started has no handler, and would end."""
    number = int(getattr(signal, f"SIG{name}"))
    agent = (
        "import subprocess\n"
        "child = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        f"{BLOCK.format(number)}print('ready', flush=True)\n"
        f"for _ in range(2): signal.sigwait([{number}]); print('got it', flush=True)\n"
        "sys.stdin.read()\n"
        "data, _ = child.communicate(b'whole')\n"
        "sys.exit(9 if data == b'whole' else 1)"
    )
    with talking([*proxy(), *python(agent)]) as process:
        assert read_line(process) == b"ready"
        for _ in range(2):
            process.send_signal(number)
            assert read_line(process) == b"got it"
        assert code_at_the_end(process) == 9


def test_an_agent_without_a_handler_ends_by_the_signal_and_the_code_says_so() -> None:
    agent = "import time\nprint('ready', flush=True)\ntime.sleep(100)"
    with talking([*proxy(), *python(agent)]) as process:
        assert read_line(process) == b"ready"
        process.send_signal(signal.SIGUSR1)
        assert process.wait(LIMIT) == 128 + signal.SIGUSR1


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGUSR1"])
def test_what_was_ignored_at_the_start_stays_ignored_by_proxy_and_agent(name: str) -> None:
    """As below nohup: the agent still answers after the grace that others get."""
    ignoring = (
        "import os, signal, sys\n"
        f"signal.signal(signal.{name}, signal.SIG_IGN)\nos.execv(sys.argv[1], sys.argv[1:])"
    )
    agent = (
        "import signal, sys\n"
        f"print(signal.getsignal(signal.{name}) is signal.SIG_IGN, flush=True)\n"
        "for line in sys.stdin: print(line, end='', flush=True)"
    )
    command = [*python(ignoring), *proxy(options=", grace=0"), *python(agent)]
    with talking(command) as process:
        assert read_line(process) == b"True"
        process.send_signal(getattr(signal, name))
        for _ in range(50):
            send_line(process, b"still here")
            assert read_line(process) == b"still here"
        assert code_at_the_end(process) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_signal_while_the_agent_is_started_reaches_it(
    number: signal.Signals, moment: str
) -> None:
    """The signal comes from within, at the worst moments that there are."""
    hit = f"os.kill(os.getpid(), {int(number)})"
    struck = (
        "class Struck(subprocess.Popen):\n"
        "  def __init__(self, *args, **kwargs):\n"
        f"    {hit if moment == 'before' else 'pass'}\n"
        "    super().__init__(*args, **kwargs)\n"
        "    os.write(2, b'%d ' % self.pid)\n"
        f"    {hit if moment == 'after' else 'pass'}\n"
        "subprocess.Popen = Struck"
    )
    with talking([*proxy(struck), "sleep", "100"]) as process:
        assert process.stderr is not None
        assert process.wait(LIMIT) == 128 + number
        agent = int(process.stderr.read().split()[0])
        with pytest.raises(ProcessLookupError):
            os.killpg(agent, signal.SIGKILL)
