"""Commands that run for an agent, each until the agent lets go of it.

A terminal is a command in a process group of its own, with nothing to read on stdin, and the newest
of what it wrote. The command counts as ended when its own process has; what it left running goes on
until the terminal is killed or released. Whatever still runs ends with the owner.

Source: ACP, Terminals.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from acp_protocol.errors import AcpError, AgentStartError
from acp_protocol.host.commands import Command, CommandRefusedError, Start, prepare
from acp_protocol.host.files import Roots
from acp_protocol.host.output import OutputTail
from acp_protocol.host.processes import ChildProcess, spawn
from acp_protocol.tasks import OwnedTasks

OUTPUT_LIMIT: Final = 4 * 2**20
"""Bytes of output that one terminal keeps, also where an agent asks for more or names no limit."""
TERMINAL_LIMIT: Final = 32
"""Terminals that one session has at once, ended ones included: a release makes room."""
GRACE: Final = 0.5
"""Seconds that a command has to end by itself after SIGTERM."""
DRAIN: Final = 0.5
"""Seconds for the rest of the output of a command that has ended; what it started may hold on."""


class TerminalMissingError(AcpError):
    """The session has no terminal of that id: released, another session's, or never made."""

    def __init__(self) -> None:
        super().__init__("this session has no such terminal")


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How a command ended; neither is known of one that the kernel does not let go."""

    code: int | None
    """None when a signal ended it."""
    signal: str | None
    """The name of the signal, such as `SIGKILL`; None when the command ended by itself."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A terminal at one moment."""

    output: str
    is_cut: bool
    """Older output was dropped."""
    status: ExitStatus | None
    """None while the command runs."""


class Terminals:
    """The terminals of one peer's sessions, alive inside `async with`.

    On leaving, every command is ended together with what it started, all at once, within about
    3 × `grace` seconds.
    """

    def __init__(self, *, grace: float = GRACE) -> None:
        self._grace = grace
        self._owned = OwnedTasks()
        self._tasks: TaskGroup
        self._sessions: dict[str, dict[str, _Terminal]] = {}

    async def __aenter__(self) -> Self:
        """Get ready to run commands."""
        self._tasks = await self._owned.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every command."""
        await self._owned.__aexit__(kind, error, trace)
        self._sessions.clear()

    async def create(self, session: str, command: Command, *, cwd: Path, roots: Roots) -> str:
        """Start a command for a session and return the id of its terminal; nobody can guess it.

        `cwd` is the session's directory, `roots` are those that the command may start in.

        Raises:
            CommandRefusedError: it cannot be started, or the session has too many terminals.
        """
        start = await anyio.to_thread.run_sync(prepare, command, cwd, roots)
        held = self._sessions.setdefault(session, {})
        if len(held) >= TERMINAL_LIMIT:
            raise CommandRefusedError(
                f"a session has at most {TERMINAL_LIMIT} terminals; release one"
            )
        id_ = f"terminal-{os.urandom(16).hex()}"
        wanted = OUTPUT_LIMIT if command.output_limit is None else command.output_limit
        terminal = held[id_] = _Terminal(OutputTail(min(wanted, OUTPUT_LIMIT)), self._grace)
        is_running = False
        try:
            await self._tasks.start(terminal.run, start)
            is_running = True
        except AgentStartError as problem:
            raise CommandRefusedError(str(problem)) from None
        finally:
            if not is_running:
                del held[id_]
        return id_

    def look(self, session: str, id: str) -> Snapshot:  # noqa: A002
        """Return what the command has written so far, and how it ended if it has.

        Raises:
            TerminalMissingError: the session has no such terminal.
        """
        return self._terminal(session, id).look()

    async def wait(self, session: str, id: str) -> ExitStatus:  # noqa: A002
        """Return how the command ended, once it has; also when it is released meanwhile.

        Raises:
            TerminalMissingError: the session has no such terminal.
        """
        return await self._terminal(session, id).wait()

    async def kill(self, session: str, id: str) -> None:  # noqa: A002
        """End the command and what it started, and keep what it wrote; twice is no error.

        Raises:
            TerminalMissingError: the session has no such terminal.
        """
        await self._terminal(session, id).kill()

    async def release(self, session: str, id: str) -> None:  # noqa: A002
        """End the command and what it started, and forget the terminal: its id at once.

        Raises:
            TerminalMissingError: the session has no such terminal.
        """
        terminal = self._terminal(session, id)
        del self._sessions[session][id]
        await terminal.close()

    def _terminal(self, session: str, id_: str) -> _Terminal:
        try:
            return self._sessions[session][id_]
        except KeyError:
            raise TerminalMissingError from None


class _Terminal:
    """One command, from its start until its terminal is closed."""

    def __init__(self, output: OutputTail, grace: float) -> None:
        self._output = output
        self._grace = grace
        self._scope = anyio.CancelScope()
        self._has_all = anyio.Event()
        self._ended = anyio.Event()
        self._closed = anyio.Event()
        self._status: ExitStatus | None = None
        self._child: ChildProcess

    async def run(self, start: Start, *, task_status: TaskStatus) -> None:
        """Start the command and hold it until the terminal is closed.

        Raises:
            AgentStartError: it could not be started.
        """
        grace = self._grace
        try:
            with self._scope:
                async with spawn(
                    start.words, cwd=start.cwd, env=start.env, grace=grace, is_joined=True
                ) as child:
                    self._child = child
                    await self._hold(task_status)
        finally:
            self._closed.set()

    async def _hold(self, task_status: TaskStatus) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                with suppress(anyio.BrokenResourceError):
                    await self._child.stdin.aclose()
                task_status.started()
                tasks.start_soon(self._read)
                code = await self._child.wait()
                with anyio.move_on_after(DRAIN):
                    await self._has_all.wait()
                self._end(code)
                await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await self._child.terminate(self._grace)
            self._end(self._child.exit_code)

    async def _read(self) -> None:
        try:
            async for chunk in self._child.stdout:
                self._output.feed(chunk)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            self._output.end()
            self._has_all.set()

    def _end(self, code: int | None) -> None:
        if self._status is None:
            self._status = _exit_status(code)
            self._ended.set()

    def look(self) -> Snapshot:
        return Snapshot(*self._output.text(), self._status)

    async def wait(self) -> ExitStatus:
        await self._ended.wait()
        assert self._status is not None
        return self._status

    async def kill(self) -> None:
        # What was begun is finished: a command that has only got SIGTERM may go on for ever.
        with anyio.CancelScope(shield=True):
            await self._child.terminate(self._grace)
            with anyio.move_on_after(self._grace + DRAIN):
                await self._ended.wait()

    async def close(self) -> None:
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._closed.wait()


def _exit_status(code: int | None) -> ExitStatus:
    if code is None or code >= 0:
        return ExitStatus(code, None)
    try:
        return ExitStatus(None, signal.Signals(-code).name)
    except ValueError:
        return ExitStatus(None, f"signal {-code}")
