"""Processes that leave the group of the command that started them; real ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import anyio
import pytest

from acp_protocol.host.process import ProcessMarker, spawn
from acp_protocol.host.process_marks import VARIABLE, descendants
from tests.protocol.host.test_processes import LIMIT, first_line, is_running, script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells environments")

LEAVING = """
import os, subprocess, sys
code = "import signal, time; signal.signal(signal.SIGTERM, signal.{}); print(1); time.sleep(1000)"
left = subprocess.Popen(
    [sys.executable, "-uc", code], start_new_session=True, stdout=subprocess.PIPE, env=ENV
)
left.stdout.readline()
print(left.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("env", ["os.environ", "{}"], ids=["marked", "cleared"])
@pytest.mark.parametrize("answer", ["SIG_DFL", "SIG_IGN"])
async def test_who_leaves_the_group_ends_with_the_child(answer: str, env: str) -> None:
    with anyio.fail_after(LIMIT):
        leaving = LEAVING.format(answer).replace("ENV", env)
        async with spawn(script(leaving), grace=0.2) as child:
            left = int(await first_line(child))
            assert is_running(left)
        while is_running(left):
            await anyio.sleep(0.01)


async def test_who_is_not_marked_is_left_alone() -> None:
    command = ["sleep", "1000"]
    others = {**os.environ, VARIABLE: "0123"}
    with subprocess.Popen(command, env=others) as other:
        assert not await ProcessMarker().signal(signal.SIGKILL)
        await ProcessMarker().end(0.0)
        assert other.poll() is None
        other.kill()


async def test_a_command_within_a_command_has_both_marks() -> None:
    outer, inner = ProcessMarker(), ProcessMarker()
    env = inner.added_to(outer.added_to({"PATH": os.environ["PATH"]}))
    with subprocess.Popen(["sleep", "1000"], env=env, stdout=subprocess.DEVNULL) as command:
        assert await outer.signal(0)
        await inner.end(0.0)
        assert command.wait() == -signal.SIGKILL
    assert not await outer.signal(0)


def test_every_generation_below_a_process_is_found() -> None:
    """Each child begins a session of its own and has an empty environment."""
    begin = """
import subprocess, sys
rest = int(sys.argv[1])
if rest:
    command = [sys.executable, "-c", sys.argv[2], str(rest - 1), sys.argv[2]]
    child = subprocess.Popen(command, env={}, start_new_session=True)
else:
    print(1, flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", begin, "2", begin]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as top:
        assert top.stdout is not None
        top.stdout.readline()
        below = descendants(top.pid)
        assert len(below) == 2
        top.communicate()
