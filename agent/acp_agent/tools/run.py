"""Running a program in the directory of a session."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Final, cast

import anyio

from acp_agent.tools.tool import Call, Outcome, Report, ToolFailedError, fenced
from acp_agent.workspace import Workspace
from acp_protocol.errors import AgentStartError, describe_exit
from acp_protocol.host.processes import ChildProcess, spawn
from acp_protocol.jsonrpc import Json

TIME_LIMIT: Final = 120.0
"""Seconds that a program may run."""
OUTPUT_LIMIT: Final = 64 * 1024
"""Bytes of output that are kept: the first ones."""
REPORT_EVERY: Final = 0.25
"""Seconds between two looks at growing output."""


class RunTool:
    """Runs a program, without a shell, and returns what it wrote."""

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Take the command apart; "always" holds for the same program."""
        words: Json = arguments.get("command")
        if not isinstance(words, list) or not words:
            raise ToolFailedError("the argument command is no list of words")
        command = [str(word) for word in cast("list[Json]", words)]

        async def run(report: Report) -> Outcome:
            return await _run(command, workspace, report)

        return Call(f"Run {' '.join(command)}", "execute", run, scope=command[0])


async def _run(command: list[str], workspace: Workspace, report: Report) -> Outcome:
    output = bytearray()
    try:
        with anyio.fail_after(TIME_LIMIT):
            async with spawn(
                command, cwd=workspace.cwd, env=os.environ, on_stderr=output.extend
            ) as child:
                await child.stdin.aclose()
                await _collect(child, output, report)
                code = await child.wait()
    except AgentStartError as problem:
        raise ToolFailedError(str(problem)) from None
    except TimeoutError:
        raise ToolFailedError(f"{command[0]} ran longer than {TIME_LIMIT:g} s") from None
    text = output[:OUTPUT_LIMIT].decode(errors="replace")
    if code:
        raise ToolFailedError(f"{command[0]} {describe_exit(code)}\n{text}".rstrip())
    return Outcome(text, [fenced(text)], {"exitCode": code})


async def _collect(child: ChildProcess, output: bytearray, report: Report) -> None:
    """Read what the child writes until it closes its output, and show it as it grows."""
    shown_at = anyio.current_time()
    try:
        while True:
            chunk = await child.stdout.receive()
            output += chunk[: max(OUTPUT_LIMIT - len(output), 0)]
            if math.floor((anyio.current_time() - shown_at) / REPORT_EVERY):
                shown_at = anyio.current_time()
                await report([fenced(output.decode(errors="replace"))])
    except anyio.EndOfStream:
        return
