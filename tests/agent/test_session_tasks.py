"""What is told of a session beside its turns, in both versions: it ends before the session does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_agent.sessions.session import SessionTasks
from acp_protocol import jsonrpc
from acp_protocol.connection import Connection
from acp_protocol.errors import RequestFailedError
from tests.agent.client import Client, connected, items
from tests.agent.test_suspended_sessions import handlers_of, lulled

VERSIONS = pytest.mark.parametrize("version", [1, 2])
ENDS = pytest.mark.parametrize("end", ["session/close", "session/delete", "session/archive"])


@dataclass
class Bar:
    """Holds up what the agent tells, from some update on, as a client does that does not read."""

    passing: int
    is_reached: anyio.Event = field(default_factory=anyio.Event)
    is_open: anyio.Event = field(default_factory=anyio.Event)


@asynccontextmanager
async def barred(
    it: Client, monkeypatch: pytest.MonkeyPatch, passing: int = 3
) -> AsyncGenerator[Bar]:
    """Let only so many more updates leave until the bar is opened."""
    bar = Bar(passing)
    notify = Connection.notify

    async def held(connection: Connection, method: str, params: Any = None) -> None:
        if connection is it.server.connection and not bar.is_open.is_set():
            if bar.passing == 0:
                bar.is_reached.set()
                await bar.is_open.wait()
            bar.passing -= 1
        await notify(connection, method, params)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "notify", held)
        yield bar


async def refused(
    asked: Callable[[], Awaitable[object]], refusals: list[RequestFailedError]
) -> None:
    """Ask what is to be refused."""
    with pytest.raises(RequestFailedError) as caught:
        await asked()
    refusals.append(caught.value)


async def told(it: Client) -> str:
    """Return the id of a session in which something was said."""
    session = await it.new()
    for number in range(4):
        await session.turn(f"think of {number}")
    return session.id


@VERSIONS
@ENDS
@pytest.mark.parametrize("was", ["open", "asleep", "closed"])
async def test_a_session_that_ends_while_it_is_told_again_is_refused_and_told_no_more(
    cwd: Path, version: int, end: str, was: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(cwd, version, unstable=True, lints=False) as it:
        session_id = await told(it)
        if was == "asleep":
            await lulled(it.session(session_id))
        elif was == "closed":
            await it.ask("session/close", sessionId=session_id)
        refusals: list[RequestFailedError] = []
        before = 0
        async with barred(it, monkeypatch) as bar, anyio.create_task_group() as tasks:
            tasks.start_soon(refused, lambda: it.session(session_id).reopen(), refusals)
            await bar.is_reached.wait()
            await it.ask(end, sessionId=session_id)
            assert [(each.code, each.message) for each in refusals] == [
                (jsonrpc.RESOURCE_NOT_FOUND, "The session was closed meanwhile")
            ]
            before = len(it.updates)
            bar.is_open.set()
        await it.ask("session/list")
        assert len(it.updates) == before
        assert session_id not in handlers_of(it).sessions.awake
        if end != "session/delete":
            await it.session(session_id).reopen()
            assert await it.session(session_id).turn("hello") == "end_turn"


@VERSIONS
@pytest.mark.parametrize("is_open", [True, False])
async def test_a_replay_that_is_given_up_leaves_the_session_as_it_was(
    cwd: Path, version: int, monkeypatch: pytest.MonkeyPatch, *, is_open: bool
) -> None:
    async with connected(cwd, version, lints=False) as it:
        session_id = await told(it)
        live = items(it.session(session_id).conversation)
        if not is_open:
            await it.ask("session/close", sessionId=session_id)
        async with barred(it, monkeypatch) as bar, anyio.create_task_group() as tasks:
            tasks.start_soon(it.session(session_id).reopen)
            await bar.is_reached.wait()
            # The question is given up, and the agent is told so.
            tasks.cancel_scope.cancel()
        await it.ask("session/list")
        assert (session_id in handlers_of(it).sessions.awake) is is_open
        await it.session(session_id).reopen()
        assert items(it.session(session_id).conversation) == live


@VERSIONS
async def test_two_replays_of_a_session_come_one_behind_the_other(
    cwd: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(cwd, version, lints=False) as it:
        session_id = await told(it)
        before = len(it.updates)
        await it.session(session_id).reopen()
        once = it.kinds()[before:]
        async with barred(it, monkeypatch) as bar, anyio.create_task_group() as tasks:
            before = len(it.updates)
            tasks.start_soon(it.session(session_id).reopen)
            tasks.start_soon(it.session(session_id).reopen)
            await bar.is_reached.wait()
            bar.is_open.set()
        await it.ask("session/list")
        replayed = [kind for kind in it.kinds()[before:] if "available" not in kind]
        assert replayed == [kind for kind in once if "available" not in kind] * 2


@VERSIONS
async def test_a_prompt_waits_for_the_end_of_a_replay_and_is_no_part_of_it(
    cwd: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(cwd, version, lints=False) as it, anyio.create_task_group() as tasks:
        session_id = await told(it)
        before = len(it.updates)
        async with barred(it, monkeypatch) as bar:
            tasks.start_soon(it.session(session_id).reopen)
            await bar.is_reached.wait()
            async with anyio.create_task_group() as inner:
                inner.start_soon(it.session(session_id).turn, "think of rain")
                await it.ask("session/list")
                bar.is_open.set()
        said = [
            update
            for update in it.updates[before:]
            if update["sessionUpdate"].startswith("user_message")
        ]
        # In version 1 the client knows its prompt; in version 2 it is told it once.
        assert len(said) == (4 if version == 1 else 5)


async def test_what_follows_on_an_answer_is_not_told_of_a_session_that_was_closed(
    cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(cwd, lints=False) as it:
        session_id = await told(it)
        async with barred(it, monkeypatch, 0) as bar:
            await it.ask("session/resume", sessionId=session_id, cwd=str(cwd), mcpServers=[])
            await bar.is_reached.wait()
            await it.ask("session/close", sessionId=session_id)
            before = len(it.updates)
            bar.is_open.set()
        await it.ask("session/list")
        assert len(it.updates) == before


@VERSIONS
@pytest.mark.parametrize("was", ["open", "asleep", "closed"])
async def test_what_is_asked_behind_a_reopening_comes_behind_it(
    cwd: Path, version: int, was: str
) -> None:
    async with connected(cwd, version) as it:
        session_id = await told(it)

        async def close() -> None:
            await it.ask("session/close", sessionId=session_id)

        async def resume() -> None:
            servers: dict[str, Any] = {"mcpServers": []} if version == 1 else {}
            # Where it is closed before all was told, that is how it is answered.
            with suppress(RequestFailedError) if then is close else nullcontext():
                await it.ask("session/resume", sessionId=session_id, cwd=str(cwd), **servers)

        async def prompt() -> None:
            await it.session(session_id).prompt("hello")

        for then in (prompt, close):
            if was == "asleep":
                await lulled(it.session(session_id))
            elif was == "closed" and session_id in handlers_of(it).sessions.awake:
                await close()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(resume)
                tasks.start_soon(then)
            if version == 2:
                await it.until(lambda: it.session(session_id).idles())
            await it.server.connection.wait_settled()
            assert (session_id in handlers_of(it).sessions.awake) is (then is prompt)


async def test_nothing_begins_in_what_is_over() -> None:
    tasks = SessionTasks("s")
    with tasks.running():
        pass
    await tasks.end()
    with pytest.raises(RequestFailedError, match="closed meanwhile"), tasks.running():
        pass
