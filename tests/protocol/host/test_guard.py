"""Who is watched ends with a process that is killed, and nobody is ended that should not be."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import uuid
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import pytest

from acp_protocol.host import orphan_guard
from acp_protocol.host.orphan_guard import OrphanGuard
from tests.protocol.host.test_processes import is_running

LIMIT = 30
PIPE = subprocess.PIPE
DEAF = (
    "import signal, sys, threading; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; "
    "sys.stdout.write('ready\\n'); sys.stdout.flush(); threading.Event().wait()"
)
COUNTING = (
    "import os, signal, sys, threading; signal.signal(15, lambda *_: os.write(2, b'SIGTERM '))\n"
    "sys.stdout.write('ready\\n'); sys.stdout.flush()\nwhile True: signal.pause()"
)
POLITE = (
    "import os, signal, sys\n"
    "signal.signal(15, lambda *_: os.write(2, b'SIGTERM'))\n"
    "sys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.read(); os.write(2, b'by itself')"
)
LONG = "[sys.executable, '-c', 'import signal; signal.pause()']"
"""The words of a program that nothing but a signal ends."""
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of others")


def holding(watched: str, *how: str) -> str:
    """Return a program that starts another, has it watched, and goes on until it is killed."""
    return (
        "import os, subprocess, sys; from acp_protocol.host.orphan_guard import OrphanGuard\n"
        f"child = subprocess.Popen([sys.executable, '-c', {watched!r}], stdin=subprocess.PIPE,\n"
        "                         start_new_session=True)\n"
        f"guard = OrphanGuard({', '.join(how)})\nguard.watch(child.pid)\n"
        "sys.stdout.write('watched\\n'); sys.stdout.flush()\nsys.stdin.read()"
    )


def killed(program: str, env: dict[str, str] | None = None) -> bytes:
    """Kill the group of a program; return what those that it started say on stderr until their end.

    One of them says that it is ready, and `holding` when it is watched.
    """
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
        env=env,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        steps = [b"ready\n"] + [b"watched\n"] * ("watched" in program)
        assert sorted(process.stdout.readline() for _ in steps) == steps
        os.killpg(process.pid, signal.SIGKILL)
        # Nobody but the others hold it any more.
        assert select.select([process.stdout], [], [], LIMIT)[0]
        assert process.stdout.read() == b""
        return process.stderr.read()


class Shell:
    """A shell of whose life the test hears: each one says its process id, and holds a pipe."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "shell"
        life, name = folder / "life", folder / "name"
        os.mkfifo(life)
        os.mkfifo(name)
        self.path.write_text(f'#!/bin/sh\nexec 9>{life}\necho $$ >{name}\nexec /bin/sh "$@"\n')
        self.path.chmod(0o700)
        self._life = os.open(life, os.O_RDONLY | os.O_NONBLOCK)
        # Its end never comes, as this holds both.
        self._name = os.open(name, os.O_RDWR)

    def has_begun(self, within: float = LIMIT) -> bool:
        return bool(select.select([self._name], [], [], within)[0])

    def pid(self) -> int:
        assert self.has_begun()
        return int(os.read(self._name, 100))

    def has_ended(self) -> bool:
        """Wait until the last one whose process id was asked for is gone."""
        return bool(select.select([self._life], [], [], LIMIT)[0]) and not os.read(self._life, 100)

    def close(self) -> None:
        os.close(self._life)
        os.close(self._name)


@pytest.fixture
def shell(tmp_path: Path) -> Generator[Shell]:
    it = Shell(tmp_path)
    yield it
    it.close()


@contextmanager
def program(shell: Shell, text: str) -> Generator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """Run a program that knows `OrphanGuard`, `LONG` and `start`; its guards run that shell."""
    preface = (
        "import os, signal, subprocess, sys; from acp_protocol.host import orphan_guard\n"
        "from functools import partial\nNULL = subprocess.DEVNULL\n"
        "OrphanGuard = partial(orphan_guard.OrphanGuard, shell=sys.argv[1])\n"
        "def start(**how):\n"
        f"    return subprocess.Popen({LONG}, start_new_session=True, stdin=NULL,\n"
        "                            **{'stdout': NULL, 'stderr': NULL, **how}).pid\n"
    )
    command = [sys.executable, "-c", preface + text, str(shell.path)]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE) as process:
        assert process.stdout is not None
        yield process, process.stdout


@contextmanager
def group() -> Generator[subprocess.Popen[bytes]]:
    """Run a group that ends with its stdin and says what it hears there."""
    with subprocess.Popen(["cat"], stdin=PIPE, stdout=PIPE, start_new_session=True) as process:
        yield process


def is_alive(process: subprocess.Popen[bytes]) -> bool:
    said, _ = process.communicate(b"still here", LIMIT)
    return (said, process.returncode) == (b"still here", 0)


def test_who_hears_nothing_is_killed_after_its_parent() -> None:
    assert killed(holding(DEAF, "0", "1")) == b""


def test_who_hears_the_end_of_its_stdin_ends_by_itself() -> None:
    assert killed(holding(POLITE, "20")) == b"by itself"


def test_who_goes_on_is_first_asked_to_end() -> None:
    assert killed(holding(COUNTING, "0", "1")) == b"SIGTERM "


@ON_LINUX
def test_who_is_known_by_two_signs_is_asked_once() -> None:
    mark = uuid.uuid4().hex
    asked = killed(holding(COUNTING, "0", "1", repr(mark)), {**os.environ, "MARK": mark})
    assert asked == b"SIGTERM "


@ON_LINUX
@pytest.mark.parametrize("stray", [COUNTING, DEAF])
def test_who_has_left_the_group_is_known_by_its_mark(stray: str) -> None:
    mark = uuid.uuid4().hex
    leaving = (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {stray!r}], start_new_session=True)"
    )
    text = holding(leaving, "0", "1", repr(mark)).replace(
        "stdin=", f"env={{'M': {mark!r}}}, stdin="
    )
    assert killed(text) == (b"SIGTERM " if stray is COUNTING else b"")


def test_a_guard_ends_as_soon_as_nobody_is_left(shell: Shell) -> None:
    """A later group may get the same number."""
    text = (
        "gone = subprocess.Popen(['true'], start_new_session=True)\ngone.wait()\n"
        "it = OrphanGuard(1000)\nit.watch(gone.pid)\nprint(flush=True)\nsys.stdin.read()"
    )
    with program(shell, text) as (process, said):
        assert said.readline()
        assert shell.pid()
        process.kill()
        assert shell.has_ended()


def test_many_groups_end_and_those_that_were_dismissed_do_not(shell: Shell) -> None:
    text = (
        "it = OrphanGuard(0)\npids = [start(stdout=None if n % 3 else NULL) for n in range(60)]\n"
        "for pid in pids: it.watch(pid)\nfor pid in pids[::3]: it.unwatch(pid)\n"
        "print(*pids, flush=True)\nsys.stdin.read()"
    )
    with program(shell, text) as (process, said):
        pids = [int(word) for word in said.readline().split()]
        assert shell.pid()
        process.kill()
        # Those that are watched hold it.
        assert select.select([said], [], [], LIMIT)[0]
        assert said.read() == b""
        assert shell.has_ended()
        for pid in pids[::3]:
            os.kill(pid, signal.SIGKILL)


def test_a_process_that_ends_leaves_no_guard(shell: Shell) -> None:
    text = "it = OrphanGuard(1000)\npid = start()\nit.watch(pid)\nos.kill(pid, 9)\nit.unwatch(pid)"
    with program(shell, text) as (process, _):
        waiting = shell.pid()
        assert process.wait(LIMIT) == 0
        # It has waited for the shell, which is not even a zombie.
        with pytest.raises(ProcessLookupError):
            os.kill(waiting, 0)


def test_who_is_watched_when_a_process_ends_is_ended_too(shell: Shell) -> None:
    with program(shell, "OrphanGuard(0).watch(start(stdout=None))") as (process, said):
        assert process.wait(LIMIT) == 0
        assert select.select([said], [], [], LIMIT)[0]
        assert said.read() == b""


def test_a_guard_holds_none_of_our_pipes(shell: Shell) -> None:
    """A client that waits for the end of stdout must not wait for the guard."""
    text = "pid = start()\nprint(pid, flush=True)\nOrphanGuard(1000).watch(pid)\nsys.stdin.read()"
    with program(shell, text) as (process, said):
        watched = int(said.readline())
        waiting = shell.pid()
        process.kill()
        assert select.select([said], [], [], LIMIT)[0]
        assert said.read() == b""
        os.kill(waiting, 0)
        os.kill(watched, signal.SIGKILL)
        assert shell.has_ended()


@pytest.mark.parametrize(
    "heir",
    [
        f"heir = subprocess.Popen({LONG}, close_fds=False, stdin=NULL, stdout=NULL).pid",
        "heir = os.fork()\nif not heir: it.watch(1); it.unwatch(watched); signal.pause()",
    ],
)
def test_who_is_started_or_forked_later_does_not_hold_the_pipe(shell: Shell, heir: str) -> None:
    text = (
        "it = OrphanGuard(0)\nwatched = start(stdout=sys.stderr.fileno())\nit.watch(watched)\n"
        f"{heir}\nprint(watched, heir, flush=True)\nsys.stdin.read()"
    )
    with program(shell, text) as (process, said):
        watched, pid = (int(word) for word in said.readline().split())
        assert shell.pid()
        process.kill()
        assert shell.has_ended()
        assert not is_running(watched)
        os.kill(pid, signal.SIGKILL)


def test_a_guard_that_is_dismissed_ends_nobody(shell: Shell) -> None:
    with group() as mine:
        it = OrphanGuard(0, 0, shell=str(shell.path))
        it.unwatch(mine.pid)
        it.watch(mine.pid)
        it.unwatch(mine.pid)
        it.unwatch(mine.pid)
        it.close()
        it.close()
        it.watch(mine.pid)
        assert shell.pid()
        assert shell.has_ended()
        assert is_alive(mine)


@ON_LINUX
def test_a_group_with_the_number_of_one_that_ended_is_left_alone(
    shell: Shell, tmp_path: Path
) -> None:
    """What the system tells of its leader is made up here: it began before, and began later."""
    script = orphan_guard.SCRIPT.replace("/proc/", f"{tmp_path}/proc/")
    with group() as mine, group() as other:
        stats = [tmp_path / "proc" / str(each.pid) / "stat" for each in (mine, other)]
        for stat in stats:
            stat.parent.mkdir(parents=True)
        stats[0].write_text(f"{mine.pid} (a) b) {'0 ' * 19}100 0 0\n")
        os.mkfifo(stats[1])
        it = OrphanGuard(0, 0, shell=str(shell.path), script=script)
        it.watch(mine.pid)
        it.watch(other.pid)
        # Whoever opens it has looked at the first one.
        stats[1].write_text("\n")
        it.unwatch(other.pid)
        stats[0].write_text(f"{mine.pid} (a) b) {'0 ' * 19}200 0 0\n")
        assert shell.pid()
        it.close()
        assert shell.has_ended()
        assert is_alive(mine)


@pytest.mark.parametrize("shell", ["/no/such/shell", sys.executable])
def test_where_no_shell_can_wait_nobody_does(shell: str) -> None:
    it = OrphanGuard(shell=shell)
    it.watch(os.getpid())
    it.unwatch(os.getpid())
    it.close()


def test_another_shell_takes_the_place_of_one_that_has_ended(shell: Shell) -> None:
    with ExitStack() as stack:
        first, second = (stack.enter_context(group()) for _ in range(2))
        it = OrphanGuard(0, 0, shell=str(shell.path))
        it.watch(first.pid)
        old = shell.pid()
        os.kill(old, signal.SIGKILL)
        os.waitid(os.P_PID, old, os.WEXITED | os.WNOWAIT)
        it.watch(second.pid)
        assert shell.pid() != old
        with pytest.raises(ChildProcessError):
            os.waitpid(old, 0)
        it.close()
        assert shell.has_ended()
        assert {first.wait(LIMIT), second.wait(LIMIT)} == {-signal.SIGTERM}


def test_a_shell_that_is_stopped_stops_nobody(shell: Shell) -> None:
    with group() as mine:
        it = OrphanGuard(shell=str(shell.path))
        it.watch(mine.pid)
        os.kill(shell.pid(), signal.SIGSTOP)
        while not shell.has_begun(0):
            it.unwatch(mine.pid)
            it.watch(mine.pid)
        it.unwatch(mine.pid)
        it.close()
        assert is_alive(mine)
