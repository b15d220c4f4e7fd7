"""Terminals, in version 1."""

from __future__ import annotations

from functools import partial

import anyio

from acp_inspector.conformance.client.checks import WELL
from acp_inspector.conformance.client.stage import Stage
from acp_inspector.conformance.model import CLIENT, V1, CaseFailedError
from acp_inspector.conformance.wire import Reply, error_of, result_of
from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json

case = partial(CLIENT.case, persona=WELL)


class _Terminal:
    """A terminal of the client."""

    def __init__(self, stage: Stage, id_: str) -> None:
        self.stage, self.id = stage, id_

    async def call(self, method: str) -> Reply:
        params: Json = {"sessionId": self.stage.session, "terminalId": self.id}
        return await self.stage.request(f"terminal/{method}", params)

    async def result(self, method: str) -> dict[str, Json]:
        return dict(result_of(await self.call(method), f"terminal/{method}"))


async def _terminal(stage: Stage, *command: str, **more: Json) -> _Terminal:
    stage.require("terminal")
    params: Json = {
        "sessionId": stage.session,
        "command": command[0],
        "args": list(command[1:]),
        **more,
    }
    result = result_of(await stage.request("terminal/create", params), "terminal/create")
    id_ = get_text(dict(result), "terminalId")
    if not id_:
        raise CaseFailedError("the result of terminal/create has no terminalId")
    return _Terminal(stage, id_)


@case(
    "terminal.runs",
    "Terminals, Getting output",
    profiles=V1,
    rules=("incomplete-terminal-output", "invalid-exit-code"),
)
async def runs(stage: Stage) -> None:
    """A command runs, and its output and exit status can be read."""
    terminal = await _terminal(stage, "echo", "conformance")
    status = await terminal.result("wait_for_exit")
    output = await terminal.result("output")
    await terminal.result("release")
    if status.get("exitCode") != 0:
        raise CaseFailedError(f"echo ended with {status.get('exitCode')!r}")
    if "conformance" not in str(output.get("output")):
        raise CaseFailedError("the output of echo is missing")


@case("terminal.exit-code", "Terminals, Waiting for exit", profiles=V1)
async def exit_code(stage: Stage) -> None:
    """The exit code of a command that fails is passed on."""
    terminal = await _terminal(stage, "sh", "-c", "exit 3")
    status = await terminal.result("wait_for_exit")
    await terminal.result("release")
    if status.get("exitCode") != 3:
        raise CaseFailedError(f"the exit code was 3, and came as {status.get('exitCode')!r}")


@case("terminal.at-once", profiles=V1, rules=("slow-terminal-create",))
async def at_once(stage: Stage) -> None:
    terminal = await _terminal(stage, "sleep", "30")
    output = await terminal.result("output")
    await terminal.result("release")
    if output.get("exitStatus") is not None:
        raise CaseFailedError("a command that runs has an exit status")


@case("terminal.kill", "Terminals, Killing commands", profiles=V1)
async def kill(stage: Stage) -> None:
    """terminal/kill ends the command, and the terminal stays."""
    terminal = await _terminal(stage, "sleep", "30")
    await terminal.result("kill")
    await terminal.result("wait_for_exit")
    await terminal.result("output")
    await terminal.result("release")


@case("terminal.released", "Terminals, Releasing terminals", profiles=V1)
async def released(stage: Stage) -> None:
    """A terminal that was released is not known any more."""
    terminal = await _terminal(stage, "true")
    await terminal.result("release")
    error_of(await terminal.call("output"), "terminal/output")


@case("terminal.limit", profiles=V1, rules=("output-over-limit",))
async def limit(stage: Stage) -> None:
    script = "i=0; while [ $i -lt 100 ]; do echo line-$i; i=$((i+1)); done"
    terminal = await _terminal(stage, "sh", "-c", script, outputByteLimit=64)
    await terminal.result("wait_for_exit")
    output = await terminal.result("output")
    await terminal.result("release")
    text = str(output.get("output"))
    if len(text.encode()) > 64 or output.get("truncated") is not True:
        raise CaseFailedError("the output is longer than its limit, or not marked as truncated")
    if "line-99" not in text:
        raise CaseFailedError("the end of the output is missing; it is cut at its beginning")


@case("terminal.environment", "Terminals, Creating terminals", profiles=V1)
async def environment(stage: Stage) -> None:
    """A command gets the variables and the directory that the agent names."""
    variable: Json = [{"name": "ACP_CONFORM", "value": "given"}]
    script = 'echo "$ACP_CONFORM in $(pwd -P)"'
    terminal = await _terminal(stage, "sh", "-c", script, env=variable, cwd=stage.cwd)
    await terminal.result("wait_for_exit")
    output = await terminal.result("output")
    await terminal.result("release")
    directory = await anyio.Path(stage.cwd).resolve()
    if f"given in {directory}" not in str(output.get("output")):
        raise CaseFailedError("the variable or the directory is missing")


@case("terminal.own-ids", profiles=V1, rules=("duplicate-terminal-id",))
async def own_ids(stage: Stage) -> None:
    terminals = [await _terminal(stage, "sleep", "30") for _ in range(2)]
    for each in {each.id: each for each in terminals}.values():
        await each.result("release")
    if terminals[0].id == terminals[1].id:
        raise CaseFailedError("two terminals have the same id")


@case("terminal.unknown", "Terminals", profiles=V1)
async def unknown_terminal(stage: Stage) -> None:
    """A terminal that was never created is refused."""
    stage.require("terminal")
    error_of(await _Terminal(stage, "no-such-terminal").call("output"), "terminal/output")
