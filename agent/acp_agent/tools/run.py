"""Running a program in a directory of the session.

Where the client offers terminals, it runs in one of them, so that the user can watch it there;
otherwise on this machine, and what it writes is shown as it grows. There is no shell in
between: to use one, run it by name, and the user is asked about its whole command line.
"""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Final

import anyio
from pydantic import BeforeValidator, Field

from acp_agent.tools.base import Arguments, Text, tool
from acp_agent.tools.call import (
    CommandLine,
    Outcome,
    PreparedCall,
    ReportContent,
    Tool,
    ToolFailedError,
    output_content,
    terminal_content,
    text_content,
)
from acp_agent.world.terminals import ClientTerminals, ProgramExit, TerminalFailedError
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.subjects import command_subject, directory_label
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import AgentStartError, describe_exit
from acp_protocol.host.process import ChildProcess, spawn
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

HEAD_LIMIT: Final = 16 * 1024
"""Bytes that are kept of the beginning."""
TAIL_LIMIT: Final = 48 * 1024
"""Bytes that are kept of the end, where most programs say what went wrong."""


class Output:
    """What a program has written, as far as it is kept."""

    def __init__(self, head: int = HEAD_LIMIT, tail: int = TAIL_LIMIT) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._head_limit = head
        self._tail_limit = tail
        self._count = 0
        self.has_grown = False
        """Whether something came since the text was looked at."""

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._count += len(chunk)
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        # Cut seldom: what is cut off moves the rest.
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]
        self.has_grown = True

    def text(self) -> str:
        """Return it as text, and between the parts how many bytes are left out."""
        self.has_grown = False
        missing = self._count - len(self._head) - self._tail_limit
        if missing <= 0:
            return (self._head + self._tail).decode(errors="replace")
        # A character that was cut at the seam is left out, not shown as a broken one.
        head = self._head.decode(errors="ignore")
        tail = self._tail[-self._tail_limit :].decode(errors="replace").lstrip("\ufffd")
        return f"{head}\n… {missing} bytes are left out …\n{tail}"


DEFAULT_SECONDS: Final = 120.0
"""Seconds that a program may run, unless the model asks for another time."""
MAX_SECONDS: Final = 3600.0
"""Seconds that the model may ask for."""
OUTPUT_LIMIT: Final = 64 * 1024
"""Bytes of output that a terminal of the client keeps: the newest ones."""
REPORT_INTERVAL_S: Final = 0.25
"""Seconds between two looks at growing output."""
DRAIN_TIMEOUT_S: Final = 0.5
"""Seconds for the rest of the output of a program that has ended; what it started may hold on."""
GRACE_S: Final = 0.25
"""Seconds that a program has after each sign to end; a cancelled turn waits for no more than it."""
TITLE_WIDTH: Final = 200
"""Characters of a command that its title shows."""


def _as_text(value: Any) -> Any:
    """Turn a number into text: models write `["sleep", 5]`."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


class RunArguments(Arguments):
    command: list[Annotated[Text, BeforeValidator(_as_text)]] = Field(
        min_length=1, description="The program and its arguments."
    )
    cwd: Text | None = Field(
        None, description="The directory to run in; without it, the session's."
    )
    seconds: float | None = Field(
        None,
        gt=0,
        le=MAX_SECONDS,
        description=f"How long it may run (default: {DEFAULT_SECONDS:g}).",
    )


def run_tool(
    time_limit: float = DEFAULT_SECONDS, *, report_interval_s: float = REPORT_INTERVAL_S
) -> Tool:
    """Return the tool that runs a program; `time_limit` is in seconds."""

    @tool(
        "run",
        "execute",
        "Run a program in the session's directory and return its output. There is no shell: for "
        "pipes and the like run `sh` with `-c`. The program gets no input.",
        RunArguments,
    )
    async def run_program(wanted: RunArguments, workspace: Workspace) -> PreparedCall:
        command, cwd = wanted.command, workspace.cwd
        if wanted.cwd is not None:
            cwd = await workspace.directory(workspace.path(wanted.cwd))
        label = directory_label(workspace.cwd, cwd)
        shown = CommandLine(shlex.join(command), str(cwd))
        job = _Job(command, shown, wanted.seconds or time_limit, report_interval_s)

        async def run(report: ReportContent) -> Outcome:
            if workspace.terminals is None:
                return await _run_locally(job, workspace, report)
            return await _run_in_terminal(job, workspace.terminals, report)

        where = f" (in {single_line(label, TITLE_WIDTH)})" if label else ""
        return PreparedCall(
            f"Run {single_line(shown.line, TITLE_WIDTH)}{where}",
            "execute",
            run,
            [{"path": str(cwd)}] if label else [],
            subjects=[command_subject(command, label)],
        )

    return run_program


@dataclass(frozen=True, slots=True)
class _Job:
    """What is to be run."""

    command: Sequence[str]
    shown: CommandLine
    seconds: float
    report_interval_s: float

    def outcome(self, ending: ProgramExit | None, text: str, terminal: str = "") -> Outcome:
        """Return what came of it; `ending` None: its time was up.

        `terminal` is the terminal of the client that it ran in.
        """
        code = None if ending is None else ending.code
        raw: dict[str, Json] = {"exitCode": code}
        if ending is not None and ending.signal is not None:
            raw["signal"] = ending.signal
        # A session that is loaded later has the text instead of a terminal.
        output = {**output_content(text, self.shown, raw)}
        output |= {"terminalId": terminal} if terminal else {}
        if code == 0:
            return Outcome(text, [output], raw)
        reason = f"{self.command[0]} {self._end(ending)}"
        return Outcome(
            f"{reason}\n{text}".rstrip(), [output, text_content(reason)], raw, is_failed=True
        )

    def _end(self, ending: ProgramExit | None) -> str:
        if ending is None:
            return f"ran longer than {self.seconds:g} s"
        if ending.code is not None:
            return describe_exit(ending.code)
        return "ended" if ending.signal is None else f"was ended by {ending.signal}"


async def _run_in_terminal(job: _Job, terminals: ClientTerminals, report: ReportContent) -> Outcome:
    """Run a program in a terminal of the client, which shows what it writes."""
    try:
        opening = terminals.open(job.command, cwd=job.shown.cwd, limit=OUTPUT_LIMIT)
        async with opening as terminal:
            await report([terminal_content(terminal.id, job.shown)])
            ending: ProgramExit | None = None
            with anyio.move_on_after(job.seconds):
                ending = await terminal.wait()
            if ending is None:
                await terminal.kill()
            text, is_cut = await terminal.output()
    except TerminalFailedError as problem:
        reason = single_line(str(problem), TITLE_WIDTH)
        raise ToolFailedError(f"cannot run {job.command[0]} in a terminal: {reason}") from None
    if is_cut:
        text = f"… older output is left out …\n{text}"
    return job.outcome(ending, text, terminal.id)


async def _run_locally(job: _Job, workspace: Workspace, report: ReportContent) -> Outcome:
    output = Output()
    try:
        async with (
            workspace.enter_directory(job.shown.cwd) as cwd,
            spawn(
                job.command,
                cwd=cwd,
                env=os.environ,
                grace=GRACE_S,
                is_joined=True,
            ) as child,
        ):
            await report([output_content("", job.shown)])
            code = await _watch(child, output, report, job)
    except AgentStartError as problem:
        raise ToolFailedError(str(problem)) from None
    ending = None if code is None else ProgramExit(code, None)
    return job.outcome(ending, output.text())


async def _watch(
    child: ChildProcess, output: Output, report: ReportContent, job: _Job
) -> int | None:
    """Show what the child writes as it grows; return its exit code, None when its time is up."""
    ended = anyio.Event()
    has_all = anyio.Event()

    async def read() -> None:
        with suppress(anyio.EndOfStream):
            while True:
                output.add(await child.stdout.receive())
        has_all.set()

    async def wait() -> None:
        # Its end counts, not that of its pipes.
        await child.wait()
        with anyio.move_on_after(DRAIN_TIMEOUT_S):
            await has_all.wait()
        ended.set()

    try:
        await child.stdin.aclose()
        with anyio.move_on_after(job.seconds):
            async with BackgroundTasks() as tasks:
                tasks.start_soon(read)
                tasks.start_soon(wait)
                while not ended.is_set():
                    with anyio.move_on_after(job.report_interval_s):
                        await ended.wait()
                    if output.has_grown and not ended.is_set():
                        await report([output_content(output.text(), job.shown)])
    finally:
        if not ended.is_set():
            await _end(child)
    return child.exit_code if ended.is_set() else None


async def _end(child: ChildProcess) -> None:
    """End a program and what it started, those that do not want to as well."""
    child.signal_group(signal.SIGTERM)
    with anyio.move_on_after(GRACE_S, shield=True):
        await child.wait_group()
    if child.is_group_alive():
        child.signal_group(signal.SIGKILL)
