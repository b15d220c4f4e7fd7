"""Commands that run for an agent, each until the agent releases it.

A terminal is a command in a process group of its own, with nothing to read on stdin, and the last
part of its output. The command has ended when its own process has; processes that it left running
go on until the terminal is killed or released. All end with the owner.

Source: ACP, Terminals.
"""

from __future__ import annotations

import codecs
import os
import shutil
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import AcpError, AgentStartError
from acp_protocol.host.process import IDLE_POLL_INTERVAL_S, ChildProcess, spawn
from acp_protocol.host.sandbox import FileForbiddenError, FileRefusedError, SandboxedFiles

_SHELL: Final = "/bin/sh"


class CommandRefusedError(AcpError):
    """A command is not run; the message has the reason."""

    def __init__(self, reason: str, *, is_forbidden: bool = False) -> None:
        super().__init__(reason)
        self.is_forbidden = is_forbidden
        """Whether it may not be run where it should."""


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """What an agent wants to run."""

    program: str
    """A program; without `args` it may be a line for the shell."""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """Names and values that override our own environment; the last of a name counts."""
    cwd: str | None = None
    """An absolute path inside the roots; None for the session's own directory."""
    output_limit: int | None = None
    """Bytes of output to keep; None for as much as a terminal keeps at most."""


@dataclass(frozen=True, slots=True)
class PreparedCommand:
    """A command as it is started on this machine."""

    words: tuple[str, ...]
    """The program and its arguments."""
    cwd: Path
    env: Mapping[str, str]
    """The whole environment."""
    columns: int | None = None
    """The width of the terminal that it runs on; None: its output is a pipe, and stdin is empty."""


def prepare_command(command: CommandSpec, cwd: Path, roots: SandboxedFiles) -> PreparedCommand:
    """Return what to start for `command`; this looks at the disk.

    `cwd` is the session's directory, `roots` are those that a command may start in.

    Raises:
        CommandRefusedError: it names no program, a directory outside, or invalid variables.
    """
    try:
        place = cwd if command.cwd is None else roots.directory(command.cwd)
    except FileRefusedError as problem:
        is_forbidden = isinstance(problem, FileForbiddenError)
        reason = f"cannot start in {problem}"
        raise CommandRefusedError(reason, is_forbidden=is_forbidden) from None
    env = _environment(command.env)
    program = command.program
    if not program.strip():
        raise CommandRefusedError("no command was given to start")
    if not command.args and len(program.split()) > 1:
        path = str(place / program) if os.sep in program else program
        is_program = False
        with suppress(ValueError):
            is_program = shutil.which(path, path=env.get("PATH")) is not None
        if not is_program:
            return PreparedCommand((_SHELL, "-c", program), place, env)
    return PreparedCommand((program, *command.args), place, env)


def _environment(added: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return our own environment with `added` over it."""
    for name, value in added:
        if not name or "=" in name or "\0" in name + value:
            raise CommandRefusedError(f"{name!r} is not an environment variable with a value")
        try:
            os.fsencode(name + value)
        except UnicodeEncodeError:
            raise CommandRefusedError(f"{name!r} has no form in an environment") from None
    return {**os.environ, **dict(added)}


_SPARE: Final = 6
"""Bytes kept beyond the limit: one character may be cut at the front, one unfinished at the end."""


class OutputTail:
    """Keeps the last `limit` bytes that were written, cut at a character boundary."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._is_cut = False
        self._has_ended = False

    def feed(self, chunk: bytes) -> None:
        self._kept += chunk
        excess = len(self._kept) - self._limit - _SPARE
        if excess > 0:
            del self._kept[:excess]
            self._is_cut = True

    def end(self) -> None:
        """Treat an unfinished character as invalid: no more bytes will come."""
        self._has_ended = True

    def text(self) -> tuple[str, bool]:
        """Return the newest output, at most `limit` bytes of UTF-8, and whether it was cut.

        A character whose last bytes have not come yet is left out until they have.
        """
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        text = decoder.decode(self._kept, final=self._has_ended)
        encoded = text.encode()
        if not self._is_cut and len(encoded) <= self._limit:
            return text, False
        start = max(len(encoded) - self._limit, 0)
        return encoded[start:].decode(errors="ignore"), True


OUTPUT_LIMIT: Final = 4 * 2**20
"""Bytes of output that one terminal keeps, at most and by default."""
BURST_BYTES: Final = 2**20
"""Bytes of output after which reading rests."""
REST_S: Final = 0.05
"""Seconds of such a rest."""
TERMINAL_LIMIT: Final = 32
"""Terminals of one session, at most, ended ones included; releasing one makes room."""
GRACE: Final = 0.5
"""Seconds that a command has to end by itself after SIGTERM."""
DRAIN: Final = 0.5
"""Seconds for the rest of the output after the end; other processes may hold the pipe open."""


class TerminalMissingError(AcpError):
    """The session has no terminal of that id: released, another session's, or never made."""

    def __init__(self) -> None:
        super().__init__("this session has no such terminal")


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How a command ended; both are None if the kernel has not ended it yet."""

    code: int | None
    """None when a signal ended it."""
    signal: str | None
    """The name of the signal, such as `SIGKILL`; None when the command ended by itself."""


@dataclass(frozen=True, slots=True)
class TerminalOutput:
    """A terminal at one moment."""

    output: str
    is_cut: bool
    """Older output was dropped."""
    status: ExitStatus | None
    """None while the command runs."""


class TerminalPool:
    """The terminals of one peer's sessions, alive inside `async with`.

    On leaving, every command is ended together with what it started, all at once, within about
    3 × `grace` seconds.
    """

    def __init__(
        self,
        *,
        grace: float = GRACE,
        on_output: Callable[[str, str], object] = lambda session, id_: None,
    ) -> None:
        """`on_output`: called with session and terminal after output or an end; must be quick."""
        self._grace = grace
        self._on_output = on_output
        self._owned = BackgroundTasks()
        self._tasks: TaskGroup
        self._sessions: dict[str, dict[str, RunningCommand]] = {}

    async def __aenter__(self) -> Self:
        self._tasks = await self._owned.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._owned.__aexit__()
        self._sessions.clear()

    async def create(
        self, session: str, command: CommandSpec, *, cwd: Path, roots: SandboxedFiles
    ) -> str:
        """Start a command for a session and return the id of its terminal, which cannot be guessed.

        `cwd` is the session's directory, `roots` are those that the command may start in.

        Raises:
            CommandRefusedError: it cannot be started, or the session has too many terminals.
        """
        start = await anyio.to_thread.run_sync(prepare_command, command, cwd, roots)
        held = self._sessions.setdefault(session, {})
        if len(held) >= TERMINAL_LIMIT:
            raise CommandRefusedError(
                f"a session has at most {TERMINAL_LIMIT} terminals; release one"
            )
        id_ = f"terminal-{os.urandom(16).hex()}"
        wanted = OUTPUT_LIMIT if command.output_limit is None else command.output_limit
        terminal = held[id_] = RunningCommand(
            OutputTail(min(wanted, OUTPUT_LIMIT)),
            self._grace,
            on_output=lambda: self._on_output(session, id_),
        )
        try:
            await self._tasks.start(terminal.run, start)
        except BaseException as problem:
            del held[id_]
            if isinstance(problem, AgentStartError):
                raise CommandRefusedError(str(problem)) from None
            raise
        return id_

    def find(self, session: str, id: str) -> RunningCommand:  # noqa: A002
        """Return a terminal of the session, or raise `TerminalMissingError`."""
        try:
            return self._sessions[session][id]
        except KeyError:
            raise TerminalMissingError from None

    async def release(self, session: str, id: str) -> None:  # noqa: A002
        """End the command and what it started, and forget the terminal: its id at once."""
        terminal = self.find(session, id)
        del self._sessions[session][id]
        await terminal.close()


class RunningCommand:
    """One command, from its start until its terminal is closed."""

    def __init__(
        self, output: OutputTail, grace: float, on_output: Callable[[], object] = lambda: None
    ) -> None:
        self._output = output
        self._grace = grace
        self._on_output = on_output
        self._scope = anyio.CancelScope()
        self._has_all = anyio.Event()
        self._ended = anyio.Event()
        self._closed = anyio.Event()
        self._status: ExitStatus | None = None
        self._child: ChildProcess

    async def run(self, start: PreparedCommand, *, task_status: TaskStatus) -> None:
        """Start the command and hold it until the terminal is closed; raises `AgentStartError`."""
        child = spawn(
            start.words,
            cwd=start.cwd,
            env=start.env,
            grace=self._grace,
            is_joined=True,
            columns=start.columns,
        )
        try:
            with self._scope:
                async with child as self._child:
                    if start.columns is None:
                        with suppress(anyio.BrokenResourceError):
                            await self._child.stdin.aclose()
                    await self._hold(task_status)
        finally:
            self._closed.set()

    async def _hold(self, task_status: TaskStatus) -> None:
        try:
            async with anyio.create_task_group() as tasks:
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
        burst = 0
        try:
            async for chunk in self._child.stdout:
                self._output.feed(chunk)
                self._on_output()
                burst += len(chunk)
                if burst >= BURST_BYTES:
                    # One that floods waits, and what else we do goes on.
                    burst = 0
                    await anyio.sleep(REST_S)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            self._output.end()
            self._has_all.set()

    def _end(self, code: int | None) -> None:
        if self._status is None:
            number = -code if code is not None and code < 0 else None
            name = f"signal {number}" if number else None
            with suppress(ValueError):
                name = signal.Signals(number).name if number else None
            self._status = ExitStatus(None if number else code, name)
            self._ended.set()
            self._on_output()

    def output(self) -> TerminalOutput:
        """Return what the command has written so far, and how it ended if it has."""
        return TerminalOutput(*self._output.text(), self._status)

    async def wait(self) -> ExitStatus:
        """Return how the command ended, once it has; also when it is released meanwhile."""
        await self._ended.wait()
        assert self._status is not None
        return self._status

    async def write(self, data: bytes) -> None:
        """Write to the terminal that the command runs on; what it does not read is dropped."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            with anyio.move_on_after(self._grace):
                await self._child.stdin.send(data)

    def interrupt(self) -> None:
        """Do what ^C does."""
        self._child.signal_group(signal.SIGINT)

    async def wait_all(self) -> None:
        """Return once the command and what it started in its group have ended."""
        await self.wait()
        await self._child.wait_group(IDLE_POLL_INTERVAL_S)

    async def kill(self) -> None:
        """End the command and what it started, and keep what it wrote; twice is no error."""
        # Shielded: a command that only got SIGTERM may go on for ever.
        with anyio.CancelScope(shield=True):
            await self._child.terminate(self._grace)
            with anyio.move_on_after(self._grace + DRAIN):
                await self._ended.wait()

    async def close(self) -> None:
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._closed.wait()
