"""What an agent may ask of terminals, in the words of the protocol, and with real commands."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest

from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PolicyDecider
from acp_protocol.client_duties import TERMINAL_METHODS
from acp_protocol.connection import Connection
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from acp_protocol.schema.methods import find_method
from acp_protocol.schema.validate import validate_result
from acp_protocol.transport.memory import memory_pair
from tests.protocol.connected_peers import Script
from tests.protocol.host.test_processes import is_running

LIMIT = 20.0
"""Seconds after which a talk counts as hung."""
SLEEP = ["-c", "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"]
Ask: TypeAlias = Callable[..., Awaitable[Any]]


def make_host(*, runs: bool = False) -> ClientHandlers:
    return ClientHandlers(PolicyDecider("none", lambda _ask, _is_allowed: None), runs=runs)


@asynccontextmanager
async def asking(
    cwd: Path, host: ClientHandlers | None = None
) -> AsyncGenerator[tuple[Ask, Connection]]:
    """Yield what an agent asks with, and its connection to a client with the session `s1`.

    Every answer is held against its published shape.
    """
    host = host or make_host(runs=True)
    host.open_session("s1", cwd)
    ours, theirs = memory_pair()
    with anyio.fail_after(LIMIT):
        async with host, Connection(ours, host), Connection(theirs, Script()) as agent:

            async def ask(deed: str, **params: Any) -> Any:
                method = f"terminal/{deed}"
                answer = await agent.request(method, {"sessionId": "s1", **params})
                assert validate_result(method, answer) == ()
                return answer

            yield ask, agent


async def create(ask: Ask, *args: str, **params: Any) -> dict[str, str]:
    """Run Python, and return the params that name its terminal."""
    answer = await ask("create", command=sys.executable, args=args, **params)
    return {"terminalId": answer["terminalId"]}


async def first_line(ask: Ask, which: dict[str, str]) -> str:
    while "\n" not in (output := (await ask("output", **which))["output"]):
        await anyio.sleep(0.01)
    return output.partition("\n")[0]


def test_all_five_methods_of_the_protocol_are_served() -> None:
    rows = {method: find_method(method, 1, kind="request") for method in TERMINAL_METHODS}
    assert len(rows) == 5
    assert [method for method, row in rows.items() if row is None or row.params is None] == []


async def test_a_command_from_its_start_to_its_release(tmp_path: Path) -> None:
    script = "import os, sys; print(os.environ['WHO'], os.getcwd(), sys.argv[1:]); sys.exit(3)"
    (tmp_path / "sub").mkdir()
    async with asking(tmp_path) as (ask, _):
        place, env = str(tmp_path / "sub"), [{"name": "WHO", "value": "agent"}]
        which = await create(ask, "-c", script, "a b", env=env, cwd=place)
        status = {"exitCode": 3, "signal": None}
        assert await ask("wait_for_exit", **which) == status
        assert await ask("output", **which) == {
            "output": f"agent {Path(place).resolve()} ['a b']\n",
            "truncated": False,
            "exitStatus": status,
        }
        assert await ask("release", **which) == {}


async def test_a_running_command_has_no_status_and_can_be_killed(tmp_path: Path) -> None:
    async with asking(tmp_path) as (ask, _):
        which = await create(ask, *SLEEP)
        pid = int(await first_line(ask, which))
        assert await ask("output", **which) == {"output": f"{pid}\n", "truncated": False}
        assert await ask("kill", **which) == {}
        seen = await ask("output", **which)
        assert seen["exitStatus"] == {"exitCode": None, "signal": "SIGTERM"}
        assert not is_running(pid)


async def test_waiting_keeps_nothing_else_of_the_session_waiting(tmp_path: Path) -> None:
    """ACP, Terminals: a time limit is built from `terminal/kill` while somebody waits."""
    async with asking(tmp_path) as (ask, _):
        which = await create(ask, *SLEEP)
        ended: list[Any] = []

        async def wait() -> None:
            ended.append(await ask("wait_for_exit", **which))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            tasks.start_soon(wait)
            await first_line(ask, which)
            await ask("kill", **which)
        assert ended == [{"exitCode": None, "signal": "SIGTERM"}] * 2


@pytest.mark.parametrize("absent", [{}, {"cwd": None, "outputByteLimit": None}, {"env": None}])
async def test_what_may_be_left_out_may_be_left_out(tmp_path: Path, absent: dict[str, Any]) -> None:
    async with asking(tmp_path) as (ask, _):
        which = await ask("create", command="echo one two", **absent)
        await ask("wait_for_exit", **which)
        assert (await ask("output", **which))["output"] == "one two\n"


async def test_the_output_is_cut_where_the_agent_wants_it(tmp_path: Path) -> None:
    async with asking(tmp_path) as (ask, _):
        which = await create(ask, "-c", "print('語' * 9, end='')", outputByteLimit=7)
        await ask("wait_for_exit", **which)
        seen = await ask("output", **which)
        assert (seen["output"], seen["truncated"]) == ("語語", True)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({}, r"command is missing"),
        ({"command": 7}, r"command is not a string"),
        ({"command": "true", "args": "x"}, r"args is not an array"),
        ({"command": "true", "args": [7]}, r"args\.0 is not a string"),
        ({"command": "true", "env": {"A": "b"}}, r"env is not an array"),
        ({"command": "true", "env": [{"name": "A"}]}, r"env\.0\.value is missing"),
        ({"command": "true", "env": [{"name": "A=", "value": ""}]}, "not an environment variable"),
        ({"command": "true", "cwd": 7}, r"cwd is not a string"),
        ({"command": "true", "cwd": "sub"}, "not absolute"),
        ({"command": "true", "cwd": "/"}, "outside"),
        ({"command": "true", "outputByteLimit": -1}, r"outputByteLimit is too small"),
        ({"command": "true", "outputByteLimit": "9"}, r"outputByteLimit is not an integer"),
        ({"command": "no-such-command-anywhere"}, "there is no such command"),
    ],
)
async def test_a_command_that_is_not_run_is_refused_with_the_reason(
    tmp_path: Path, params: dict[str, Any], reason: str
) -> None:
    async with asking(tmp_path) as (ask, _):
        with pytest.raises(RequestFailedError, match=reason) as refusal:
            await ask("create", **params)
        assert refusal.value.code == INVALID_PARAMS


@pytest.mark.parametrize("deed", ["output", "wait_for_exit", "kill", "release"])
async def test_only_a_terminal_of_the_session_is_served(tmp_path: Path, deed: str) -> None:
    host = make_host(runs=True)
    host.open_session("s2", tmp_path)
    async with asking(tmp_path, host) as (ask, _):
        which = await create(ask, *SLEEP, sessionId="s2")
        for params in (which, {"terminalId": "terminal-1"}):
            with pytest.raises(RequestFailedError, match="no such terminal") as refusal:
                await ask(deed, **params)
            assert refusal.value.code == RESOURCE_NOT_FOUND
        with pytest.raises(RequestFailedError, match="terminalId is missing"):
            await ask(deed)
        await ask("release", **which, sessionId="s2")
        with pytest.raises(RequestFailedError, match="no such terminal"):
            await ask(deed, **which, sessionId="s2")


async def test_a_session_that_was_never_opened_runs_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path) as (ask, _):
        with pytest.raises(RequestFailedError, match="No such session"):
            await ask("create", command="true", sessionId="s3")


async def test_terminals_are_offered_where_commands_are_run(tmp_path: Path) -> None:
    host = make_host(runs=True)
    assert host.capabilities["terminal"] is False
    async with asking(tmp_path, host):
        assert host.capabilities["terminal"] is True
    assert host.capabilities["terminal"] is False


@pytest.mark.parametrize("method", sorted(TERMINAL_METHODS))
async def test_what_is_not_offered_is_not_served(tmp_path: Path, method: str) -> None:
    """Neither without the wish for it, nor in version 2, which has no terminals of clients."""
    modern = make_host(runs=True)
    modern.version = 2
    for host in (make_host(), modern):
        async with asking(tmp_path, host) as (_, agent):
            with pytest.raises(RequestFailedError) as refusal:
                await agent.request(method, {"sessionId": "s1", "command": "true"})
            assert refusal.value.code == METHOD_NOT_FOUND


async def test_every_command_ends_with_the_connection(tmp_path: Path) -> None:
    async with asking(tmp_path) as (ask, _):
        pids = [int(await first_line(ask, await create(ask, *SLEEP))) for _ in range(2)]
        assert all(map(is_running, pids))
    assert not any(map(is_running, pids))


async def test_a_connection_that_ends_while_somebody_waits_ends_the_wait(tmp_path: Path) -> None:
    failed: list[Exception] = []
    pids: list[int] = []
    async with anyio.create_task_group() as tasks, asking(tmp_path) as (ask, _):
        which = await create(ask, *SLEEP)
        pids.append(int(await first_line(ask, which)))

        async def wait() -> None:
            try:
                await ask("wait_for_exit", **which)
            except (ConnectionClosedError, RequestFailedError) as problem:
                failed.append(problem)

        tasks.start_soon(wait)
        await anyio.lowlevel.checkpoint()
    assert len(failed) == 1
    assert not is_running(pids[0])
