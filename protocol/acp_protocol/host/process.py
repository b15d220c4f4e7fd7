"""Child processes that leave nothing behind.

A child gets a process group of its own, so that wrappers such as npx and uvx end together with what
they started, and a mark by which processes that have left the group are found (`process_marks`).
Its end is bounded: close stdin, wait, SIGTERM to the group, wait, SIGKILL, reap; its output is
drained meanwhile, because a child that cannot write does not end. If we are killed, a guard ends
the children (see `orphan_guard`).

Source: ACP, Transports, "stdio", "Shutdown".
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import STDOUT
from typing import Final, Self

import anyio
import anyio.to_thread

from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import AgentStartError
from acp_protocol.host.fd_streams import FdReceiveStream, FdSendStream
from acp_protocol.host.orphan_guard import OrphanGuard
from acp_protocol.host.process_marks import (
    OURS,
    ROUNDS,
    descendants,
    kill_marked,
    marked,
    new_mark,
    signal_marked,
)
from acp_protocol.host.start_error import agent_start_error
from acp_protocol.host.started_process import StartedProcess

STRAY_POLL_INTERVAL_S: Final = 0.02
"""Seconds between two checks for remaining processes."""


def raise_descriptor_limit() -> None:
    """Raise the soft limit of open files to the hard one: each session and command needs some."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems report more than they accept.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class ProcessMarker:
    """Marks a command and all that it starts by an environment variable, to find them again."""

    def __init__(self) -> None:
        self._value = new_mark()
        self._others: dict[int, bytes] = {}

    def added_to(self, env: Mapping[str, str] | None) -> dict[str, str]:
        """Return `env`, or our own environment, with the mark beside those of outer commands."""
        return marked(env, self._value)

    async def remember(self, pid: int) -> None:
        """Find also what is now below `pid` in the process tree, if it has lost the mark."""
        self._others |= await anyio.to_thread.run_sync(descendants, pid)

    async def signal(self, number: int, *, but: int = 0) -> bool:
        """Send a signal to the processes with the mark; return whether there were any.

        The signal 0 only tests. The process group `but` is left out.
        """
        return await anyio.to_thread.run_sync(signal_marked, self._value, number, but, self._others)

    async def end(self, deadline: float) -> None:
        """Wait until no process has the mark; after `deadline` (loop time) kill those left."""
        # The system does not report their end.
        while await self.signal(0) and anyio.current_time() < deadline:  # noqa: ASYNC110
            await anyio.sleep(STRAY_POLL_INTERVAL_S)
        for _ in range(ROUNDS):
            if not await self.signal(signal.SIGKILL):
                return
            await anyio.sleep(STRAY_POLL_INTERVAL_S)


def kill_children() -> None:
    """Kill all groups that this process has started; on Linux also what has left them."""
    GUARD.kill()
    kill_marked(OURS)


GRACE: Final = 2.0
"""Seconds that a child has to exit after stdin is closed, and again after SIGTERM."""
TAIL_LINES: Final = 20
"""Lines of stderr that are kept."""
TAIL_LINE_LENGTH: Final = 2000
"""Bytes of one such line that are kept."""
ORPHAN_GRACE: Final = 0.5
"""Seconds that the rest of a group has after its leader; unreaped orphans never end."""
POLL_INTERVAL_S: Final = 0.01
"""Seconds between two checks for an empty process group."""
IDLE_POLL_INTERVAL_S: Final = 0.25
"""Seconds between two such checks while no caller waits."""
PEER_QUIET: Final = 0.5
"""Seconds of silence after which the output of a peer that has failed ends."""
LEFT_QUIET: Final = 10
"""How many times longer that is for one that has ended without an error."""
ROWS: Final = 24
"""Rows of the terminal that a child runs on."""
DRAIN: Final = 0.5
"""Seconds for reading a dead child's stderr; a grandchild may hold it open for ever."""
GUARD: Final = OrphanGuard(mark=OURS)
"""Ends the children of this process after it; one for all, because each needs a shell."""


class StderrTail:
    """Keeps the last lines of a byte stream, in bounded memory."""

    def __init__(self, lines: int = TAIL_LINES) -> None:
        self._lines: deque[bytes] = deque(maxlen=lines)
        self._unfinished = b""

    def feed(self, chunk: bytes) -> None:
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = self._unfinished + lines[0]
            self._lines.extend(line[:TAIL_LINE_LENGTH] for line in lines)
            self._unfinished = b""
        self._unfinished = (self._unfinished + rest)[:TAIL_LINE_LENGTH]

    def lines(self) -> tuple[str, ...]:
        """Return the lines that are not blank, oldest first."""
        every = [*self._lines, self._unfinished]
        texts = (line.decode(errors="replace").rstrip() for line in every)
        return tuple(text for text in texts if text)


class ChildProcess:
    """A running child; made by `spawn`, which also ends it."""

    def __init__(
        self,
        process: StartedProcess,
        command: tuple[str, ...],
        stdin: FdSendStream,
        stdout: FdReceiveStream,
        stderr: FdReceiveStream | None,
        mark: ProcessMarker,
        guard: OrphanGuard,
    ) -> None:
        self._mark = mark
        self._guard = guard
        self._process = process
        self._stderr = stderr
        self._tail = StderrTail()
        self._stderr_done = anyio.Event()
        self._is_stopped = False
        self._is_killed = False
        self._is_group_empty = False
        self.command = command
        self.stdin = stdin
        self.stdout = stdout

    @property
    def pid(self) -> int:
        """The child's process id, which is its process group's id too."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for the number of the signal that ended it."""
        return self._process.returncode

    def stderr_tail(self) -> tuple[str, ...]:
        return self._tail.lines()

    async def wait(self) -> int:
        """Return the exit code once the child has ended and its stderr was read."""
        code = await self._process.wait()
        with anyio.move_on_after(DRAIN):
            await self._stderr_done.wait()
        return code

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the child and to all that it started and that stayed in its group."""
        if self.is_group_alive():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def is_group_alive(self) -> bool:
        """Return whether a process of the group is left, including one that was not reaped.

        Once there is none, this stays false, because another group may have the id by then.
        """
        if self._is_group_empty:
            return False
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            self._is_group_empty = True
            self._guard.unwatch(self.pid)
            return False
        except PermissionError:
            return False
        return True

    async def wait_group(self, every: float = POLL_INTERVAL_S) -> None:
        """Return when no process of the group is left; check each `every` seconds."""
        while self.is_group_alive():  # noqa: ASYNC110 - the system does not report it
            await anyio.sleep(every)

    async def terminate(self, grace: float = GRACE) -> None:
        """End the child and its group: SIGTERM, then SIGKILL within about `grace` seconds.

        On Linux, processes that have left its group are ended too. Its output has to be read
        meanwhile, or it may be unable to exit.
        """
        if not self._is_killed:
            # The leader may be gone while its children are still there.
            self.signal_group(signal.SIGTERM)
            deadline = anyio.current_time() + grace
            await self._mark.signal(signal.SIGTERM, but=self.pid)
            with anyio.move_on_after(grace):
                await self._process.wait()
            with anyio.move_on_after(ORPHAN_GRACE):
                await self.wait_group()
            self.signal_group(signal.SIGKILL)
            await self._mark.end(deadline)
            self._is_killed = True
        with anyio.move_on_after(grace):
            await self._process.wait()

    async def stop(self, grace: float = GRACE) -> int | None:
        """End the child and its group within about 3 × `grace` seconds; return the exit code.

        None if not even SIGKILL has ended it yet (the kernel holds it). Twice is no error.
        """
        if self._is_stopped:
            return self.exit_code
        self._is_stopped = True
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._drain)
                # Once those between have ended, the tree does not show where a process belongs.
                await self._mark.remember(self.pid)
                await self.stdin.aclose()
                with anyio.move_on_after(grace):
                    await self._process.wait()
                await self.terminate(grace)
                with anyio.move_on_after(DRAIN):
                    await self._stderr_done.wait()
                tasks.cancel_scope.cancel()
            await self.stdout.aclose()
            if self._stderr is not None:
                await self._stderr.aclose()
        with anyio.move_on_after(grace, shield=True):
            await self._process.wait()
        # From now on nothing notices when its id is reused.
        self._guard.unwatch(self.pid)
        return self.exit_code

    async def read_stderr(self, on_stderr: Callable[[bytes], object] | None) -> None:
        """Read stderr until its end; `spawn` runs this beside the child."""
        if self._stderr is None:
            self._stderr_done.set()
            return
        try:
            async for chunk in self._stderr:
                self._tail.feed(chunk)
                if on_stderr is not None:
                    on_stderr(chunk)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            self._stderr_done.set()

    async def end_output(self, quiet: float = PEER_QUIET) -> None:
        """End the output of a peer that has exited, though others may hold it open.

        What it started may have inherited its stdout, and its end would not be noticed before
        theirs. Some commands only start the peer and leave with 0: `setsid`, for one. Then their
        output goes on; so it does if anybody writes to it.

        Args:
            quiet: seconds of silence after a failure; longer without one, see `LEFT_QUIET`.
        """
        code = await self._process.wait()
        if code:
            await self.stdout.wait_quiet(quiet)
        elif not self.stdout.received or not await self.stdout.is_quiet(quiet * LEFT_QUIET):
            return
        self.stdout.end()

    async def close_when_exited(self) -> None:
        """Notice when the group is empty; `spawn` runs this beside the child.

        From then on another group may have the id, so this must not depend on a caller that waits.
        """
        await self._process.wait()
        await self.wait_group(IDLE_POLL_INTERVAL_S)

    async def _drain(self) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for _ in self.stdout:
                pass


@asynccontextmanager
async def spawn(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    on_stderr: Callable[[bytes], object] | None = None,
    grace: float = GRACE,
    is_joined: bool = False,
    is_peer: bool = False,
    columns: int | None = None,
    guard: OrphanGuard = GUARD,
) -> AsyncGenerator[ChildProcess]:
    """Start `command` (no shell) in a process group of its own; end it with the block.

    `on_stderr` gets stderr as it comes, in chunks. `grace` is in seconds, see `ChildProcess.stop`.
    `is_joined` makes the child write stderr into the pipe of stdout, so that their order is kept.
    `columns` runs it on a terminal of that width, which its stdin, stdout and stderr are.
    `is_peer` is for one that speaks a protocol: its output ends with it, see `end_output`.
    `guard` ends the group if this process dies first.

    Raises:
        AgentStartError: the command could not be started; the message says why, in one sentence.
    """
    command = tuple(command)
    if columns is None:
        open_ends = partial(_Ends.pipes, is_joined=is_joined)
    else:
        open_ends = partial(_Ends.terminal, columns)
    child = await _start(command, cwd, env, ProcessMarker(), guard, open_ends)
    async with BackgroundTasks() as tasks:
        tasks.start_soon(child.read_stderr, on_stderr)
        tasks.start_soon(child.close_when_exited)
        if is_peer:
            tasks.start_soon(child.end_output)
        try:
            yield child
        finally:
            await child.stop(grace)


@dataclass(frozen=True, slots=True)
class _Ends:
    """The descriptors between us and a child: pipes, or a terminal."""

    stdin: int
    stdout: int
    stderr: int
    """A descriptor of the child, or `STDOUT`."""
    outgoing: int
    incoming: int
    errors: int | None = None
    """What reads stderr, if that is apart from stdout."""
    prefix: tuple[str, ...] = ()
    """Words before the command."""

    @classmethod
    def pipes(cls, *, is_joined: bool) -> Self:
        if is_joined:
            (stdin, outgoing), (incoming, stdout) = _open_pipes(2)
            return cls(stdin, stdout, STDOUT, outgoing, incoming)
        (stdin, outgoing), (incoming, stdout), (errors, stderr) = _open_pipes(3)
        return cls(stdin, stdout, stderr, outgoing, incoming, errors)

    @classmethod
    def terminal(cls, columns: int) -> Self:
        ours, childs = os.openpty()
        fcntl.ioctl(childs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        # A session leader that opens a terminal gets it as its own: for job control, ^C and
        # /dev/tty.
        opened = ("/bin/sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(childs))
        return cls(childs, os.dup(childs), STDOUT, os.dup(ours), ours, prefix=opened)

    def close_childs(self) -> None:
        os.close(self.stdin)
        os.close(self.stdout)
        if self.stderr != STDOUT:
            os.close(self.stderr)

    def close_ours(self) -> None:
        os.close(self.outgoing)
        os.close(self.incoming)
        if self.errors is not None:
            os.close(self.errors)


def _open_pipes(count: int) -> list[tuple[int, int]]:
    """Return new pipes; none of them stays open if one cannot be made."""
    found: list[tuple[int, int]] = []
    with ExitStack() as opened:
        for _ in range(count):
            found.append(os.pipe())
            for end in found[-1]:
                opened.callback(os.close, end)
        opened.pop_all()
    return found


async def _start(
    command: tuple[str, ...],
    cwd: Path | None,
    env: Mapping[str, str] | None,
    mark: ProcessMarker,
    guard: OrphanGuard,
    open_ends: Callable[[], _Ends],
) -> ChildProcess:
    if not command:
        raise AgentStartError("no command was given to start")
    if cwd is not None and not await anyio.Path(cwd).is_dir():
        raise AgentStartError(f"cannot start {command[0]}: {cwd} is not a directory")
    with ExitStack() as childs, ExitStack() as ours:
        try:
            ends = open_ends()
            childs.callback(ends.close_childs)
            ours.callback(ends.close_ours)
            process = StartedProcess.start(
                (*ends.prefix, *command),
                stdin=ends.stdin,
                stdout=ends.stdout,
                stderr=ends.stderr,
                cwd=cwd,
                env=mark.added_to(env),
            )
        except (OSError, ValueError) as problem:
            raise agent_start_error(command[0], problem) from None
        guard.watch(process.pid)
        ours.pop_all()
    writer, reader = FdSendStream(ends.outgoing), FdReceiveStream(ends.incoming)
    errors = None if ends.errors is None else FdReceiveStream(ends.errors)
    return ChildProcess(process, command, writer, reader, errors, mark, guard)
