"""Running programs: output, limits, and their end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from acp_agent.tools import run
from acp_agent.tools.run import RunTool
from acp_agent.tools.tool import Content, Outcome, ToolFailedError
from acp_agent.workspace import Workspace
from acp_protocol.host.processes import ChildProcess
from acp_protocol.jsonrpc import Json

LIMIT = 20.0
"""Seconds after which a program counts as hung."""


async def ran(
    workspace: Workspace,
    *command: str,
    tool: RunTool | None = None,
    told: Callable[[Content], None] = lambda _: None,
) -> Outcome:
    async def report(content: Content) -> None:
        told(content)

    call = await (tool or RunTool()).prepare({"command": list(command)}, workspace)
    with anyio.fail_after(LIMIT):
        return await call.run(report)


def python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program)


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An orphan that has ended may wait for its new parent to reap it.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(") ")[2][0] != "Z"


async def have_ended(*pids: int) -> None:
    """Return when none of them lives: a signal takes its time, and nobody tells when it is over."""
    with anyio.fail_after(LIMIT):
        while any(lives(pid) for pid in pids):
            await anyio.sleep(0.01)


async def test_a_program_runs_in_the_directory_of_the_session(workspace: Workspace) -> None:
    outcome = await ran(workspace, "pwd")
    assert outcome.text == f"{workspace.cwd}\n"
    assert outcome.raw == {"exitCode": 0}
    assert not outcome.is_failed


async def test_no_shell_reads_the_words(workspace: Workspace) -> None:
    outcome = await ran(workspace, "echo", "$HOME", ";", "ls", "*")
    assert outcome.text == "$HOME ; ls *\n"


async def test_a_program_gets_no_input(workspace: Workspace) -> None:
    assert (await ran(workspace, "cat")).text == ""


async def test_a_program_that_fails_says_how_and_what_it_wrote(workspace: Workspace) -> None:
    outcome = await ran(workspace, "sh", "-c", "echo out; echo err >&2; exit 3")
    assert outcome.is_failed
    assert outcome.raw == {"exitCode": 3}
    assert outcome.text.startswith("sh exited with code 3\n")
    assert {"out", "err"} <= set(outcome.text.splitlines())
    assert outcome.content[-1]["content"]["text"] == "sh exited with code 3"


@pytest.mark.parametrize("command", [["no-such-program"], [""], ["a\0b"], ["/etc"]])
async def test_what_cannot_be_started_fails_the_tool(
    workspace: Workspace, command: list[str]
) -> None:
    with pytest.raises(ToolFailedError, match="cannot start"):
        await ran(workspace, *command)


@pytest.mark.parametrize("command", [None, [], "ls", {}])
async def test_a_command_is_a_list_of_words(workspace: Workspace, command: Json) -> None:
    with pytest.raises(ToolFailedError, match="list of words"):
        await RunTool().prepare({"command": command}, workspace)


async def test_output_is_shown_as_it_grows(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the program that wrote it says nothing more."""
    monkeypatch.setattr(run, "REPORT_EVERY", 0.01)
    shown = anyio.Event()
    seen: list[Content] = []

    def told(content: Content) -> None:
        seen.append(content)
        (workspace.cwd / "go").touch()
        shown.set()

    wait = "echo first; while [ ! -e go ]; do sleep 0.01; done; echo second"
    outcome = await ran(workspace, "sh", "-c", wait, told=told)
    assert shown.is_set()
    assert seen[0][0]["content"]["text"] == "```\nfirst\n```"
    assert outcome.text == "first\nsecond\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_flood_is_cut_and_counted(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    monkeypatch.setattr(run, "OUTPUT_LIMIT", 100)
    outcome = await ran(workspace, *python(f"import sys; sys.{stream}.write('x' * 1000000)"))
    assert outcome.text == "x" * 100 + "\n… 999900 more bytes"


async def test_output_that_is_no_text_is_shown_as_far_as_it_is(workspace: Workspace) -> None:
    outcome = await ran(workspace, *python(r"import os; os.write(1, b'a\xff\xfeb')"))
    assert outcome.text == "a\ufffd\ufffdb"


async def test_a_program_that_takes_too_long_is_ended(workspace: Workspace) -> None:
    outcome = await ran(
        workspace, "sh", "-c", "echo begun; exec sleep 1000", tool=RunTool(time_limit=0.5)
    )
    assert outcome.is_failed
    assert outcome.text == "sh ran longer than 0.5 s\nbegun"
    assert outcome.raw == {"exitCode": None}


async def test_what_a_program_leaves_behind_is_ended_and_not_waited_for(
    workspace: Workspace,
) -> None:
    outcome = await ran(workspace, "sh", "-c", "sleep 1000 & echo $!")
    assert outcome.raw == {"exitCode": 0}
    await have_ended(int(outcome.text))


async def test_a_program_that_is_no_longer_wanted_is_told_so_before_it_is_waited_for(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "REPORT_EVERY", 0.01)
    order: list[str] = []
    signal_group, stop = ChildProcess.signal_group, ChildProcess.stop

    def note_signal(child: ChildProcess, number: signal.Signals) -> None:
        order.append(number.name)
        signal_group(child, number)

    async def note_stop(child: ChildProcess, grace: float) -> int | None:
        order.append("stop")
        return await stop(child, grace)

    monkeypatch.setattr(ChildProcess, "signal_group", note_signal)
    monkeypatch.setattr(ChildProcess, "stop", note_stop)
    async with anyio.create_task_group() as tasks:

        async def go() -> None:
            program = "echo begun; exec sleep 1000"
            cancel = tasks.cancel_scope.cancel
            await ran(workspace, "sh", "-c", program, told=lambda _: cancel())

        tasks.start_soon(go)
    assert order[:2] == ["SIGTERM", "stop"]


async def test_a_program_that_is_no_longer_wanted_is_ended_with_all_it_started(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that does not want to end."""
    monkeypatch.setattr(run, "REPORT_EVERY", 0.01)
    pids: list[int] = []
    runs = anyio.Event()

    def told(content: Content) -> None:
        pids.extend(map(int, content[0]["content"]["text"].split()[1:-1]))
        runs.set()

    async with anyio.create_task_group() as tasks:

        async def go() -> None:
            program = "trap '' TERM; sleep 1000 & echo $$ $!; wait; wait"
            await ran(workspace, "sh", "-c", program, told=told)

        tasks.start_soon(go)
        await runs.wait()
        assert [lives(pid) for pid in pids] == [True, True]
        tasks.cancel_scope.cancel()
    await have_ended(*pids)
