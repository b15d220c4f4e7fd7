"""Commands that run for an agent: real ones, and hostile ones."""

from __future__ import annotations

import os
import shlex
import sys
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from acp_protocol.host.sandbox import SandboxedFiles
from acp_protocol.host.terminals import (
    GRACE,
    OUTPUT_LIMIT,
    TERMINAL_LIMIT,
    CommandRefusedError,
    CommandSpec,
    ExitStatus,
    TerminalMissingError,
    TerminalOutput,
    TerminalPool,
)
from tests.protocol.host.test_processes import is_running

LIMIT = 20.0
"""Seconds after which a command counts as hung."""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(1000)
"""
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
print(child.pid, flush=True)
"""
FLOOD = """
import sys
for number in range(800):
    sys.stdout.buffer.write(b"%08d" % number + b"x" * 65528)
sys.stdout.buffer.write(b"the end")
"""


def python(text: str, *args: str, **more: object) -> CommandSpec:
    return CommandSpec(sys.executable, ("-c", text, *args), **more)  # type: ignore[arg-type]


@dataclass
class Shop:
    """Terminals of one session whose directory is `cwd`."""

    terminals: TerminalPool
    cwd: Path

    async def run(self, command: CommandSpec, session: str = "s1") -> str:
        roots = SandboxedFiles([self.cwd])
        return await self.terminals.create(session, command, cwd=self.cwd, roots=roots)

    async def outcome(self, command: CommandSpec) -> TerminalOutput:
        """Return the terminal as it is when the command has ended."""
        id_ = await self.run(command)
        await self.terminals.find("s1", id_).wait()
        return self.terminals.find("s1", id_).output()

    async def end(self, id_: str, deed: str) -> None:
        if deed == "kill":
            await self.terminals.find("s1", id_).kill()
        else:
            await self.terminals.release("s1", id_)

    async def shown(self, id_: str, word: str) -> str:
        """Return the output as soon as `word` stands in it."""
        while word not in (output := self.terminals.find("s1", id_).output().output):
            await anyio.sleep(0.01)
        return output


@asynccontextmanager
async def shop(cwd: Path, grace: float = GRACE) -> AsyncGenerator[Shop]:
    with anyio.fail_after(LIMIT):
        async with TerminalPool(grace=grace) as terminals:
            yield Shop(terminals, cwd)


async def gone(pid: int) -> None:
    while is_running(pid):
        await anyio.sleep(0.01)


async def test_a_command_runs_and_its_output_is_kept(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        assert await at.outcome(python("print('hello')")) == TerminalOutput(
            "hello\n", is_cut=False, status=ExitStatus(0, None)
        )


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("", ExitStatus(0, None)),
        ("import sys; sys.exit(7)", ExitStatus(7, None)),
        ("import sys; sys.exit(255)", ExitStatus(255, None)),
        ("import os; os.kill(os.getpid(), 9)", ExitStatus(None, "SIGKILL")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", ExitStatus(None, "SIGTERM")),
    ],
)
async def test_how_a_command_ended_is_told(tmp_path: Path, script: str, status: ExitStatus) -> None:
    async with shop(tmp_path) as at:
        id_ = await at.run(python(script))
        assert await at.terminals.find("s1", id_).wait() == status
        assert at.terminals.find("s1", id_).output().status == status


async def test_a_running_command_has_output_and_no_status_yet(tmp_path: Path) -> None:
    async with shop(tmp_path, grace=0.1) as at:
        id_ = await at.run(python(STUBBORN))
        assert await at.shown(id_, "ready\n") == "ready\n"
        assert at.terminals.find("s1", id_).output().status is None


async def test_stdout_and_stderr_come_in_the_order_in_which_they_were_written(
    tmp_path: Path,
) -> None:
    script = "import os; [os.write(1 + number % 2, b'%d' % number) for number in range(10)]"
    async with shop(tmp_path) as at:
        assert (await at.outcome(python(script))).output == "0123456789"


async def test_a_command_finds_nothing_on_its_stdin_and_does_not_wait(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        ended = await at.outcome(python("import sys; print(repr(sys.stdin.read()))"))
        assert ended.output == "''\n"


async def test_arguments_are_passed_as_they_are(tmp_path: Path) -> None:
    args = ["a b", "$HOME", "; rm -rf x", "*", "", "'\"", "\n", "語"]
    async with shop(tmp_path) as at:
        ended = await at.outcome(python("import sys; print(sys.argv[1:])", *args))
        assert ended.output == f"{args}\n"


async def test_a_line_without_arguments_is_read_by_the_shell(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        assert (await at.outcome(CommandSpec("echo one && echo $0 | wc -c"))).output.split()[
            0
        ] == "one"


@pytest.mark.parametrize("name", ["my program", "./my program", "{cwd}/my program"])
async def test_a_program_with_a_blank_in_its_name_is_no_line(tmp_path: Path, name: str) -> None:
    program = tmp_path / "my program"
    program.write_text("#!/bin/sh\necho started with $#\n")
    program.chmod(0o755)
    env = (("PATH", f"{tmp_path}:{os.environ['PATH']}"),)
    async with shop(tmp_path) as at:
        ended = await at.outcome(CommandSpec(name.format(cwd=tmp_path), env=env))
        assert ended.output == "started with 0\n"


async def test_with_arguments_a_blank_in_the_command_is_no_line(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        with pytest.raises(CommandRefusedError, match="cannot start echo one: there is no such"):
            await at.run(CommandSpec("echo one", ("two",)))


async def test_the_environment_is_ours_with_what_was_given_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "kept")
    monkeypatch.setenv("THEIRS", "covered")
    env = (("THEIRS", "once"), ("THEIRS", "a=b ü"), ("EMPTY", ""))
    script = "import os; print([os.environ.get(name) for name in ('OURS', 'THEIRS', 'EMPTY')])"
    async with shop(tmp_path) as at:
        assert (await at.outcome(python(script, env=env))).output == "['kept', 'a=b ü', '']\n"
    assert os.environ["THEIRS"] == "covered"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (CommandSpec("no-such-command-anywhere"), "there is no such command"),
        (CommandSpec("/etc/passwd"), "it may not be executed"),
        (CommandSpec("/"), "it is a directory"),
        (CommandSpec(""), "no command was given"),
        (CommandSpec(" \t"), "no command was given"),
        (CommandSpec("a\0b"), "it is not a valid command"),
        (CommandSpec("a \0b"), "it is not a valid command"),
        (CommandSpec("echo", ("a\0b",)), "it is not a valid command"),
        (CommandSpec("echo", ("\ud800",)), "it is not a valid command"),
        (CommandSpec("echo", ("x" * 2**22,)), "argument list too long"),
    ],
)
async def test_a_command_that_cannot_start_is_refused_in_one_sentence(
    tmp_path: Path, command: CommandSpec, reason: str
) -> None:
    async with shop(tmp_path) as at:
        with pytest.raises(CommandRefusedError, match=reason) as refusal:
            await at.run(command)
        assert "\n" not in str(refusal.value)


async def test_what_could_not_start_takes_no_room(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        for _ in range(TERMINAL_LIMIT + 1):
            with pytest.raises(CommandRefusedError, match="there is no such command"):
                await at.run(CommandSpec("no-such-command-anywhere"))


@pytest.mark.parametrize(
    ("written", "limit", "output", "is_cut"),
    [
        (b"0123456789", 10, "0123456789", False),
        (b"0123456789", 4, "6789", True),
        (b"0123456789", 0, "", True),
        (b"0123456789", None, "0123456789", False),
        (b"0123456789", 2**64 - 1, "0123456789", False),
        ("語語語".encode(), 8, "語語", True),
        (b"ok \xff\xfe \x80", 100, "ok \ufffd\ufffd \ufffd", False),
        ("ends in 語".encode()[:-1], 100, "ends in \ufffd", False),
        (b"\x00\x1b[2J\r\n", 100, "\x00\x1b[2J\r\n", False),
    ],
)
async def test_the_newest_output_is_kept(
    tmp_path: Path, written: bytes, limit: int | None, output: str, is_cut: bool
) -> None:
    script = f"import os; os.write(1, {written!r})"
    async with shop(tmp_path) as at:
        ended = await at.outcome(python(script, output_limit=limit))
        assert (ended.output, ended.is_cut) == (output, is_cut)


async def test_a_flood_is_read_to_its_end_in_bounded_memory(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        tracemalloc.start()
        try:
            ended = await at.outcome(python(FLOOD, output_limit=2**64 - 1))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert ended.is_cut
    assert len(ended.output) == OUTPUT_LIMIT
    assert ended.output.endswith("xthe end")
    assert peak < 8 * OUTPUT_LIMIT


async def test_many_wait_for_one_command_at_once(tmp_path: Path) -> None:
    statuses: list[ExitStatus] = []
    async with shop(tmp_path) as at:
        id_ = await at.run(python("import time; time.sleep(1000)"))

        async def wait() -> None:
            statuses.append(await at.terminals.find("s1", id_).wait())

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            await at.terminals.find("s1", id_).kill()
    assert statuses == [ExitStatus(None, "SIGTERM")] * 5


async def test_killing_keeps_the_terminal_and_what_was_written(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        id_ = await at.run(python("import time; print('so far', flush=True); time.sleep(1000)"))
        await at.shown(id_, "so far\n")
        for _ in range(2):
            await at.terminals.find("s1", id_).kill()
            seen = at.terminals.find("s1", id_).output()
            assert seen == TerminalOutput(
                "so far\n", is_cut=False, status=ExitStatus(None, "SIGTERM")
            )


async def test_killing_what_has_ended_changes_nothing(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        id_ = await at.run(python(""))
        await at.terminals.find("s1", id_).wait()
        await at.terminals.find("s1", id_).kill()
        assert await at.terminals.find("s1", id_).wait() == ExitStatus(0, None)


async def test_two_kills_at_once_are_one(tmp_path: Path) -> None:
    async with shop(tmp_path, grace=0.1) as at:
        id_ = await at.run(python(STUBBORN))
        await at.shown(id_, "ready\n")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at.terminals.find("s1", id_).kill)
            tasks.start_soon(at.terminals.find("s1", id_).kill)
        assert await at.terminals.find("s1", id_).wait() == ExitStatus(None, "SIGKILL")


async def test_a_command_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    async with shop(tmp_path, grace=0.1) as at:
        id_ = await at.run(python(STUBBORN))
        await at.shown(id_, "ready\n")
        await at.terminals.find("s1", id_).kill()
        assert at.terminals.find("s1", id_).output().status == ExitStatus(None, "SIGKILL")


async def test_a_kill_that_was_begun_is_finished(tmp_path: Path) -> None:
    async with shop(tmp_path, grace=0.1) as at:
        id_ = await at.run(python(STUBBORN))
        await at.shown(id_, "ready\n")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await at.terminals.find("s1", id_).kill()
        assert at.terminals.find("s1", id_).output().status == ExitStatus(None, "SIGKILL")


@pytest.mark.parametrize("deed", ["kill", "release"])
async def test_what_a_command_started_ends_with_it(tmp_path: Path, deed: str) -> None:
    async with shop(tmp_path) as at:
        id_ = await at.run(python(PARENT + "child.wait()"))
        grandchild = int(await at.shown(id_, "\n"))
        assert is_running(grandchild)
        await at.end(id_, deed)
        await gone(grandchild)


@pytest.mark.parametrize("deed", ["kill", "release"])
async def test_what_holds_the_pipe_after_the_end_hides_no_end_and_is_ended_too(
    tmp_path: Path, deed: str
) -> None:
    async with shop(tmp_path) as at:
        id_ = await at.run(python(PARENT))
        assert await at.terminals.find("s1", id_).wait() == ExitStatus(0, None)
        grandchild = int(at.terminals.find("s1", id_).output().output)
        assert is_running(grandchild)
        await at.end(id_, deed)
        await gone(grandchild)


@pytest.mark.skipif(sys.platform != "linux", reason="found by its environment in /proc")
async def test_what_left_its_group_and_holds_the_pipe_is_ended_too(tmp_path: Path) -> None:
    script = PARENT.replace("])", "], start_new_session=True)")
    async with shop(tmp_path) as at:
        id_ = await at.run(python(script))
        assert await at.terminals.find("s1", id_).wait() == ExitStatus(0, None)
        grandchild = int(at.terminals.find("s1", id_).output().output)
        assert is_running(grandchild)
        await at.terminals.release("s1", id_)
        await gone(grandchild)


async def test_a_release_while_somebody_waits_wakes_who_waits(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        id_ = await at.run(python("import time; time.sleep(1000)"))
        statuses: list[ExitStatus] = []
        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                statuses.append(await at.terminals.find("s1", id_).wait())

            tasks.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            await at.terminals.release("s1", id_)
        assert statuses == [ExitStatus(None, "SIGTERM")]


async def test_a_released_terminal_is_unknown_to_everybody(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        id_ = await at.run(python(""))
        await at.terminals.release("s1", id_)
        await refuses_all(at.terminals, "s1", id_)


@pytest.mark.parametrize("id_", ["", "terminal-1", "../x", "\0", "語"])
async def test_an_unknown_id_is_refused(tmp_path: Path, id_: str) -> None:
    async with shop(tmp_path) as at:
        await at.run(python(""))
        await refuses_all(at.terminals, "s1", id_)


async def test_an_id_of_another_session_is_unknown(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        id_ = await at.run(python("import time; time.sleep(1000)"), session="s2")
        await at.run(python(""))
        await refuses_all(at.terminals, "s1", id_)
        assert at.terminals.find("s2", id_).output().status is None


async def refuses_all(terminals: TerminalPool, session: str, id_: str) -> None:
    with pytest.raises(TerminalMissingError):
        terminals.find(session, id_)
    with pytest.raises(TerminalMissingError, match="this session has no such terminal"):
        await terminals.release(session, id_)


async def test_no_id_is_given_twice_and_none_can_be_guessed(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        ids = [await at.run(CommandSpec("true")) for _ in range(5)]
    assert len(set(ids)) == 5
    assert all(len(bytes.fromhex(id_.removeprefix("terminal-"))) >= 16 for id_ in ids)


async def test_a_session_has_so_many_terminals_and_a_release_makes_room(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        ids = [await at.run(CommandSpec("true")) for _ in range(TERMINAL_LIMIT)]
        with pytest.raises(CommandRefusedError, match=f"at most {TERMINAL_LIMIT} terminals"):
            await at.run(CommandSpec("true"))
        await at.run(CommandSpec("true"), session="s2")
        await at.terminals.release("s1", ids[0])
        await at.run(CommandSpec("true"))


async def test_everything_ends_with_the_owner(tmp_path: Path) -> None:
    script = shlex.join([sys.executable, "-c", STUBBORN])
    pids: list[int] = []
    async with shop(tmp_path, grace=0.1) as at:
        for session in ("s1", "s2"):
            await at.run(CommandSpec(f"echo $$ >>pids; exec {script}"), session=session)
        while len(pids) < 2:
            await anyio.sleep(0.01)
            found = (tmp_path / "pids").read_text() if (tmp_path / "pids").exists() else ""
            pids = [int(line) for line in found.splitlines()]
    assert [pid for pid in pids if is_running(pid)] == []


async def test_a_creation_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    async with shop(tmp_path) as at:
        for _ in range(TERMINAL_LIMIT + 1):
            with anyio.CancelScope() as scope:
                scope.cancel()
                await at.run(CommandSpec("sleep", ("1000",)))
        await at.run(CommandSpec("true"))
