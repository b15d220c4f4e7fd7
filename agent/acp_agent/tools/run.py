"""Running a program in the directory of a session.

It runs on this machine, also where the client offers terminals: one way that is always there comes
before a second one that shows better.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Final, cast

import anyio

from acp_agent.models.model import ToolOffer
from acp_agent.tools.subject import command_subject
from acp_agent.tools.tool import (
    Call,
    Kind,
    Outcome,
    Report,
    ToolFailedError,
    fenced,
    parameters,
    text_content,
)
from acp_agent.workspace import Workspace
from acp_protocol.errors import AgentStartError, describe_exit
from acp_protocol.host.processes import ChildProcess, spawn
from acp_protocol.jsonrpc import Json
from acp_protocol.tasks import OwnedTasks

TIME_LIMIT: Final = 120.0
"""Seconds that a program may run."""
OUTPUT_LIMIT: Final = 64 * 1024
"""Bytes of output that are kept: the first ones."""
REPORT_EVERY: Final = 0.25
"""Seconds between two looks at growing output."""
DRAIN: Final = 0.5
"""Seconds for the rest of the output of a program that has ended; what it started may hold on."""
GRACE: Final = 0.5
"""Seconds that a program has after each sign to end."""


class RunTool:
    """Runs a program, without a shell, and returns what it wrote."""

    offer = ToolOffer(
        "run",
        "Run a program in the session's directory, without a shell, and return its output.",
        parameters(
            {
                "command": {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 1,
                    "description": "The program and its arguments.",
                }
            }
        ),
    )
    kind: Kind = "execute"

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self._time_limit = time_limit

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Take the command apart; "always" holds for the same program."""
        words: Json = arguments.get("command")
        if not isinstance(words, list) or not words:
            raise ToolFailedError("the argument command is no list of words")
        command = [str(word) for word in cast("list[Json]", words)]

        async def run(report: Report) -> Outcome:
            return await _run(command, workspace, report, self._time_limit)

        return Call(f"Run {' '.join(command)}", self.kind, run, subjects=[command_subject(command)])


class _Output:
    """What a program has written, as far as it is kept."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._left_out = 0
        self.has_grown = False

    def add(self, chunk: bytes) -> None:
        room = OUTPUT_LIMIT - len(self._kept)
        self._kept += chunk[:room]
        self._left_out += max(len(chunk) - room, 0)
        self.has_grown = True

    def text(self) -> str:
        self.has_grown = False
        more = f"\n… {self._left_out} more bytes" if self._left_out else ""
        return self._kept.decode(errors="replace") + more


async def _run(
    command: list[str], workspace: Workspace, report: Report, time_limit: float
) -> Outcome:
    output = _Output()
    try:
        async with spawn(
            command, cwd=workspace.cwd, env=os.environ, on_stderr=output.add, grace=GRACE
        ) as child:
            code = await _watch(child, output, report, time_limit)
    except AgentStartError as problem:
        raise ToolFailedError(str(problem)) from None
    text = output.text()
    if code == 0:
        return Outcome(text, fenced(text), {"exitCode": code})
    ending = f"ran longer than {time_limit:g} s" if code is None else describe_exit(code)
    reason = f"{command[0]} {ending}"
    return Outcome(
        f"{reason}\n{text}".rstrip(),
        [*fenced(text), text_content(reason)],
        {"exitCode": code},
        is_failed=True,
    )


async def _watch(
    child: ChildProcess, output: _Output, report: Report, time_limit: float
) -> int | None:
    """Show what the child writes as it grows; return its exit code, None when its time is up."""
    ended = anyio.Event()
    try:
        await child.stdin.aclose()
        with anyio.move_on_after(time_limit):
            async with OwnedTasks() as tasks:
                tasks.start_soon(_collect, child, output, ended)
                while not ended.is_set():
                    with anyio.move_on_after(REPORT_EVERY):
                        await ended.wait()
                    if output.has_grown and not ended.is_set():
                        await report(fenced(output.text()))
    finally:
        if not ended.is_set():
            child.signal_group(signal.SIGTERM)
    return child.exit_code if ended.is_set() else None


async def _collect(child: ChildProcess, output: _Output, ended: anyio.Event) -> None:
    """Read what the child writes until it has ended; its end counts, not that of its pipes."""
    async with OwnedTasks() as tasks:
        has_all = anyio.Event()
        tasks.start_soon(_read_stdout, child, output, has_all)
        await child.wait()
        with anyio.move_on_after(DRAIN):
            await has_all.wait()
    ended.set()


async def _read_stdout(child: ChildProcess, output: _Output, has_all: anyio.Event) -> None:
    try:
        while True:
            output.add(await child.stdout.receive())
    except anyio.EndOfStream:
        has_all.set()
