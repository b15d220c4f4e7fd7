"""Running programs: output, limits, and their end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup

from acp_agent.tools import run
from acp_agent.tools.call import Content, Outcome, Tool, ToolFailedError
from acp_agent.tools.run import HEAD_LIMIT, TAIL_LIMIT, run_tool
from acp_agent.world.terminals import ClientTerminals
from acp_agent.world.workspace import Workspace
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.errors import RequestFailedError
from acp_protocol.host.process import ChildProcess, spawn
from acp_protocol.jsonrpc import Json
from tests.agent.client import SILENCE, DirectClient

LIMIT = 20.0
"""Seconds after which a program counts as hung."""


async def ran(
    workspace: Workspace,
    *command: str,
    tool: Tool | None = None,
    told: Callable[[Content], None] = lambda _: None,
) -> Outcome:
    async def report(content: Content) -> None:
        told(content)

    call = await (tool or run_tool(report_interval_s=0.01)).prepare(
        {"command": list(command)}, workspace
    )
    with anyio.fail_after(LIMIT):
        return await call.run(report)


async def ignore(content: Content) -> None:
    del content


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


async def test_another_directory_is_named_in_title_and_subject(workspace: Workspace) -> None:
    (workspace.cwd / "fx").mkdir()
    call = await run_tool().prepare({"command": ["./prog"], "cwd": "fx"}, workspace)
    assert (call.title, call.subjects[0].directory) == ("Run ./prog (in fx)", "fx")
    assert call.locations == [{"path": str(workspace.cwd / "fx")}]
    own = await run_tool().prepare({"command": ["./prog"], "cwd": "."}, workspace)
    assert (own.title, own.subjects[0].directory, own.locations) == ("Run ./prog", "", [])


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


async def test_output_is_shown_as_it_grows(
    workspace: Workspace,
) -> None:
    """Also while the program that wrote it says nothing more."""
    shown = anyio.Event()
    seen: list[Content] = []

    def told(content: Content) -> None:
        seen.append(content)
        if content[0]["text"]:
            (workspace.cwd / "go").touch()
            shown.set()

    wait = "echo first; while [ ! -e go ]; do sleep 0.01; done; echo second"
    outcome = await ran(workspace, "sh", "-c", wait, told=told)
    assert shown.is_set()
    assert [content[0]["text"] for content in seen[:2]] == ["", "first\n"]
    assert {**seen[1][0], "text": ""} == seen[0][0]
    assert seen[0][0]["cwd"] == str(workspace.cwd)
    assert outcome.text == "first\nsecond\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_flood_is_cut_and_counted(workspace: Workspace, stream: str) -> None:
    outcome = await ran(workspace, *python(f"import sys; sys.{stream}.write('x' * 1000000)"))
    left_out = 1_000_000 - HEAD_LIMIT - TAIL_LIMIT
    text = f"{'x' * HEAD_LIMIT}\n… {left_out} bytes are left out …\n{'x' * TAIL_LIMIT}"
    assert outcome.text == text


async def test_both_streams_keep_their_order(workspace: Workspace) -> None:
    outcome = await ran(workspace, "sh", "-c", "echo a; echo b >&2; echo c; exit 1")
    assert outcome.text == "sh exited with code 1\na\nb\nc"


async def test_a_program_runs_where_it_is_wanted(workspace: Workspace) -> None:
    call = await run_tool().prepare({"command": ["pwd"], "cwd": "src"}, workspace)
    assert call.locations == [{"path": str(workspace.cwd / "src")}]
    assert (await call.run(ignore)).text == f"{workspace.cwd / 'src'}\n"
    for place in ("..", "gone", "notes.md"):
        with pytest.raises(ToolFailedError):
            await run_tool().prepare({"command": ["pwd"], "cwd": place}, workspace)


@pytest.mark.parametrize("seconds", [0, -1, 1e9, "1", True, [], float("nan")])
async def test_a_time_that_is_none_fails_the_tool(workspace: Workspace, seconds: Json) -> None:
    with pytest.raises(ToolFailedError, match="seconds"):
        await run_tool().prepare({"command": ["ls"], "seconds": seconds}, workspace)


def terminals(**answers: Any) -> DirectClient:
    """Return a client with terminals that answers so."""
    usual: dict[str, Json] = {
        "create": {"terminalId": "t1"},
        "wait_for_exit": {"exitCode": 0},
        "output": {"output": "hi\n", "truncated": False},
        "kill": {},
        "release": None,
    }
    every = (usual | answers).items()
    return DirectClient(answers={f"terminal/{name}": answer for name, answer in every})


def slow_terminals(makes: anyio.Event) -> DirectClient:
    """Return a client that makes a terminal when it may."""

    async def create(params: Json) -> Json:
        del params
        await makes.wait()
        return {"terminalId": "t1"}

    return terminals(create=create)


def used(client: DirectClient) -> list[str]:
    """Return what a client was asked to do with its terminals."""
    return [method.removeprefix("terminal/") for method in client.requested]


@pytest.fixture
async def tasks() -> AsyncGenerator[TaskGroup]:
    """What outlives the turns of a session."""
    async with BackgroundTasks() as group:
        yield group


def watched(client: DirectClient, cwd: Path, tasks: TaskGroup) -> Workspace:
    return Workspace("s", cwd, client=client, terminal_tasks=tasks)


@pytest.mark.parametrize("code", [2**70, -1, True, "0", 1.5])
async def test_a_code_that_no_program_ends_with_is_none(
    cwd: Path, tasks: TaskGroup, code: Json
) -> None:
    untold = await ran(watched(terminals(wait_for_exit={}), cwd, tasks), "echo")
    assert (
        await ran(watched(terminals(wait_for_exit={"exitCode": code}), cwd, tasks), "echo")
        == untold
    )


async def test_the_clients_terminal_is_used_where_it_has_some(cwd: Path, tasks: TaskGroup) -> None:
    client = terminals()
    seen: list[Content] = []
    outcome = await ran(watched(client, cwd, tasks), "echo", "hi", told=seen.append)
    shown = {"type": "output", "terminalId": "t1", "command": "echo hi", "cwd": str(cwd)}
    assert seen == [[{**shown, "text": "", "ending": None}]]
    assert outcome.content == [{**shown, "text": "hi\n", "ending": {"exitCode": 0}}]
    assert (outcome.text, outcome.raw) == ("hi\n", {"exitCode": 0})
    assert used(client) == ["create", "wait_for_exit", "output", "release"]
    made = {"command": "echo", "args": ["hi"], "cwd": str(cwd), "outputByteLimit": 65536}
    assert client.requests[0].params == {"sessionId": "s", **made}


@pytest.mark.parametrize(
    ("answers", "text", "raw"),
    [
        ({"wait_for_exit": {"exitCode": 2}}, "make exited with code 2\nhi", {"exitCode": 2}),
        (
            {"wait_for_exit": {"exitCode": None, "signal": "SIGKILL"}},
            "make was ended by SIGKILL\nhi",
            {"exitCode": None, "signal": "SIGKILL"},
        ),
        ({"wait_for_exit": {}}, "make ended\nhi", {"exitCode": None}),
        (
            {"output": {"output": "hi", "truncated": True}},
            "… older output is left out …\nhi",
            {"exitCode": 0},
        ),
    ],
)
async def test_a_program_in_a_terminal_says_how_it_ended(
    cwd: Path, tasks: TaskGroup, answers: dict[str, Json], text: str, raw: Json
) -> None:
    outcome = await ran(watched(terminals(**answers), cwd, tasks), "make")
    assert (outcome.text, outcome.raw) == (text, raw)


async def test_a_program_in_a_terminal_is_ended_when_its_time_is_up(
    cwd: Path, tasks: TaskGroup
) -> None:
    client = terminals(wait_for_exit=SILENCE)
    outcome = await ran(watched(client, cwd, tasks), "make", tool=run_tool(time_limit=0.01))
    assert outcome.text == "make ran longer than 0.01 s\nhi"
    assert used(client)[2:] == ["kill", "output", "release"]


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("create", RequestFailedError(-32603, "no \x1b such program")),
        ("create", {}),
        ("create", None),
        ("create", {"terminalId": 7}),
        ("output", {"output": None, "truncated": False}),
        ("output", RequestFailedError(-32603, "gone")),
        ("wait_for_exit", RequestFailedError(-32603, "gone")),
    ],
)
async def test_a_client_that_does_not_do_what_it_offered_fails_the_tool(
    cwd: Path, tasks: TaskGroup, name: str, answer: Json
) -> None:
    client = terminals(**{name: answer})
    with pytest.raises(ToolFailedError, match=r"cannot run make in a terminal: [^\x1b]*$"):
        await ran(watched(client, cwd, tasks), "make")
    assert (used(client)[-1] == "release") == (name != "create")


@pytest.mark.parametrize("name", ["create", "wait_for_exit", "output"])
async def test_a_terminal_is_released_whenever_the_turn_is_cancelled(
    cwd: Path, tasks: TaskGroup, name: str
) -> None:
    client = terminals(**{name: SILENCE})
    async with anyio.create_task_group() as turn:
        turn.start_soon(ran, watched(client, cwd, tasks), "make")
        await client.until(lambda: name in used(client))
        turn.cancel_scope.cancel()
    assert ("release" in used(client)) == (name != "create")


async def test_a_terminal_that_is_made_too_late_is_released_all_the_same(
    cwd: Path, tasks: TaskGroup
) -> None:
    client = slow_terminals(makes := anyio.Event())
    async with anyio.create_task_group() as outer, anyio.create_task_group() as turn:
        turn.start_soon(ran, watched(client, cwd, tasks), "make")
        await client.until(lambda: client.requests)
        turn.cancel_scope.cancel()
        outer.start_soon(_set_late, makes)
    assert used(client) == ["create", "kill", "release"]


async def test_a_terminal_that_is_made_after_the_turn_is_released_too(
    cwd: Path, tasks: TaskGroup
) -> None:
    client = slow_terminals(makes := anyio.Event())
    workspace = watched(client, cwd, tasks)
    workspace.terminals = ClientTerminals(client, "s", tasks, release_timeout_s=0.05)
    async with anyio.create_task_group() as turn:
        turn.start_soon(ran, workspace, "make")
        await client.until(lambda: client.requests)
        turn.cancel_scope.cancel()
    assert used(client) == ["create"]
    makes.set()
    with anyio.fail_after(LIMIT):
        await client.until(lambda: "release" in used(client))
    assert used(client) == ["create", "kill", "release"]


async def test_a_terminal_that_is_never_made_keeps_no_task_behind_the_connection(
    cwd: Path,
) -> None:
    client = terminals(create=SILENCE)
    before = {task.id for task in anyio.get_running_tasks()}
    async with BackgroundTasks() as connection:
        workspace = watched(client, cwd, connection)
        async with anyio.create_task_group() as turn:
            turn.start_soon(ran, workspace, "make")
            await client.until(lambda: client.requests)
            turn.cancel_scope.cancel()
    assert {task.id for task in anyio.get_running_tasks()} <= before


async def _set_late(made: anyio.Event) -> None:
    for _ in range(10):
        await anyio.lowlevel.checkpoint()
    made.set()


async def test_output_that_is_no_text_is_shown_as_far_as_it_is(workspace: Workspace) -> None:
    outcome = await ran(workspace, *python(r"import os; os.write(1, b'a\xff\xfeb')"))
    assert outcome.text == "a\ufffd\ufffdb"


async def test_a_program_that_takes_too_long_is_ended(workspace: Workspace) -> None:
    outcome = await ran(
        workspace, "sh", "-c", "echo begun; exec sleep 1000", tool=run_tool(time_limit=2)
    )
    assert outcome.is_failed
    assert outcome.text == "sh ran longer than 2 s\nbegun"
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
    workspace: Workspace,
) -> None:
    """Also one that does not want to end."""
    pids: list[int] = []
    runs = anyio.Event()

    def told(content: Content) -> None:
        if content[0]["text"]:
            pids.extend(map(int, content[0]["text"].split()))
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


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells environments")
async def test_what_leaves_the_group_of_a_program_ends_with_it_too(
    workspace: Workspace,
) -> None:
    pids: list[int] = []

    async with anyio.create_task_group() as tasks:

        def told(content: Content) -> None:
            if content[0]["text"].strip():
                pids.append(int(content[0]["text"]))
                tasks.cancel_scope.cancel()

        async def go() -> None:
            left = "setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000; sleep 1000'"
            await ran(workspace, "sh", "-c", f"trap '' TERM; {left} & sleep 1000", told=told)

        tasks.start_soon(go)
    await have_ended(*pids)
    assert pids


async def test_a_program_does_not_start_in_what_takes_the_place_of_its_directory(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap_and_start(*arguments: Any, **named: Any) -> Any:
        (workspace.cwd / "src").rename(workspace.cwd / "away")
        (workspace.cwd / "src").symlink_to("..")
        return spawn(*arguments, **named)

    call = await run_tool().prepare({"command": ["pwd", "-P"], "cwd": "src"}, workspace)
    monkeypatch.setattr(run, "spawn", swap_and_start)
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no path of this system leads to what a descriptor holds")
    assert (await call.run(ignore)).text == f"{workspace.cwd.resolve() / 'away'}\n"
