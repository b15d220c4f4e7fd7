"""Child processes that leave nothing behind; real ones."""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path

import anyio
import pytest

from acp_protocol.errors import AgentStartError
from acp_protocol.host.orphan_guard import OrphanGuard
from acp_protocol.host.process import ChildProcess, StderrTail, spawn

LIMIT = 20.0
"""Seconds after which a process counts as hung."""


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def is_running(pid: int) -> bool:
    """Tell whether `pid` lives; one that ended and that nobody has reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def first_line(child: ChildProcess) -> bytes:
    got = b""
    while not got.endswith(b"\n"):
        got += await child.stdout.receive()
    return got.strip()


async def test_a_child_that_ends_with_its_stdin_is_not_signalled() -> None:
    with anyio.fail_after(LIMIT):
        async with spawn(script("import sys; sys.stdin.read(); sys.exit(7)")) as child:
            assert child.exit_code is None
        assert child.exit_code == 7


async def test_a_child_that_ignores_everything_is_killed() -> None:
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        "print('ready', flush=True); time.sleep(1000)"
    )
    with anyio.fail_after(LIMIT):
        async with spawn(script(stubborn), grace=0.2) as child:
            assert await first_line(child) == b"ready"
        assert child.exit_code == -signal.SIGKILL


async def test_a_wrappers_children_end_with_it() -> None:
    wrapper = (
        "import subprocess, sys; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)']); "
        "print(child.pid, flush=True); sys.stdin.read()"
    )
    with anyio.fail_after(LIMIT):
        async with spawn(script(wrapper), grace=5) as child:
            grandchild = int(await first_line(child))
            assert is_running(grandchild)
        while is_running(grandchild):
            await anyio.sleep(0.01)


async def test_a_child_that_still_writes_is_drained_while_it_ends() -> None:
    chatty = "import sys; sys.stdin.read(); sys.stdout.write('x' * 1_000_000); sys.exit(3)"
    with anyio.fail_after(LIMIT):
        async with spawn(script(chatty), grace=10) as child:
            pass
        assert child.exit_code == 3


async def test_being_cancelled_still_ends_the_child() -> None:
    children: list[ChildProcess] = []
    with anyio.fail_after(LIMIT), anyio.CancelScope() as scope:
        async with spawn(script("import sys; sys.stdin.read()")) as child:
            children.append(child)
            scope.cancel()
            await anyio.sleep_forever()
    assert children[0].exit_code is not None


async def test_the_last_lines_of_stderr_are_kept_and_told() -> None:
    told: list[bytes] = []
    noisy = "import sys; [print('line', n, file=sys.stderr) for n in range(50)]; sys.exit(1)"
    with anyio.fail_after(LIMIT):
        async with spawn(script(noisy), on_stderr=told.append) as child:
            assert await child.wait() == 1
            assert child.stderr_tail() == tuple(f"line {n}" for n in range(30, 50))
    assert b"".join(told).startswith(b"line 0\nline 1\n")


async def test_what_is_joined_comes_in_the_order_in_which_it_was_written() -> None:
    mixed = "import os; [os.write(1 + number % 2, b'%d' % number) for number in range(8)]"
    with anyio.fail_after(LIMIT):
        async with spawn(script(f"{mixed}; print()"), is_joined=True) as child:
            assert await first_line(child) == b"01234567"
            assert await child.wait() == 0
            assert child.stderr_tail() == ()


async def test_an_empty_group_is_never_signalled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its id may be another group's by then."""

    def refuse(group: int, number: int) -> None:
        pytest.fail(f"the group {group} got signal {number}")

    with anyio.fail_after(LIMIT):
        async with spawn(script("")) as child:
            await child.wait()
            await child.wait_group()
            monkeypatch.setattr(os, "killpg", refuse)
            assert not child.is_group_alive()
            child.signal_group(signal.SIGKILL)


class Told(OrphanGuard):
    """A guard that remembers what it was told, and starts no shell."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[int] = []
        self.has_none = anyio.Event()

    def watch(self, group: int) -> None:
        self.groups.append(group)

    def unwatch(self, group: int) -> None:
        if group in self.groups:
            self.groups.remove(group)
            self.has_none.set()


async def test_a_group_is_watched_until_nobody_is_left() -> None:
    """Nobody asks for that here, but its number is free for others then."""
    told = Told()
    leaving = (
        "import subprocess, sys; "
        "subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'])"
    )
    with anyio.fail_after(LIMIT):
        async with spawn(script(leaving), guard=told) as child:
            assert await child.wait() == 0
            assert told.groups == [child.pid]
            await child.stdin.aclose()
            await told.has_none.wait()
        assert told.groups == []


async def test_who_cannot_be_noticed_any_more_is_watched_no_more() -> None:
    told, sleeping = Told(), script("import time; time.sleep(1000)")
    with anyio.fail_after(LIMIT):
        async with spawn(sleeping, grace=0.2, guard=told) as child:
            assert told.groups == [child.pid]
        assert told.groups == []


async def test_the_child_leads_a_process_group_of_its_own() -> None:
    with anyio.fail_after(LIMIT):
        async with spawn(script("import sys; sys.stdin.read()")) as child:
            assert os.getpgid(child.pid) == child.pid != os.getpgrp()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["no-such-command-anywhere"], "cannot start no-such-command-anywhere: there is no such"),
        ([str(Path(__file__))], "it may not be executed"),
        (["a\0b"], "it is not a valid command"),
        ([], "no command was given"),
    ],
)
async def test_a_command_that_cannot_start_is_told_in_one_sentence(
    command: list[str], said: str
) -> None:
    with pytest.raises(AgentStartError, match=said) as raised:
        async with spawn(command):
            pass
    assert "\n" not in str(raised.value)


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentStartError, match="gone is not a directory"):
        async with spawn(["true"], cwd=tmp_path / "gone"):
            pass


def test_the_tail_holds_bounded_memory() -> None:
    tail = StderrTail(lines=2)
    for _ in range(100):
        tail.feed(b"y" * 1000)
    tail.feed(b"\nlast\n\nunfinished")
    assert tail.lines() == ("last", "unfinished")


async def test_no_descriptor_stays_open_behind_a_start_that_has_too_few_of_them() -> None:
    async with spawn(["true"]):
        pass
    before = [int(each.name) for each in Path("/proc/self/fd").iterdir()]
    free = sorted({*range(len(before) + 7)} - {*before})
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    reasons: list[str] = []
    for limit in free[:7]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
        try:
            async with spawn(["true"]):
                pass
        except AgentStartError as problem:
            reasons.append(str(problem))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))
        assert len(list(Path("/proc/self/fd").iterdir())) == len(before)
    assert {*reasons} == {"cannot start true: too many open files"}


async def test_no_descriptor_stays_open_behind_a_child_or_a_failed_start() -> None:
    with anyio.fail_after(LIMIT):
        async with spawn(script("pass")):
            pass
        before = list(Path("/proc/self/fd").iterdir())
        async with spawn(script("print('unread')")):
            pass
        with pytest.raises(AgentStartError):
            async with spawn(["no-such-command-at-all"]):
                pass
        assert len(list(Path("/proc/self/fd").iterdir())) == len(before)
