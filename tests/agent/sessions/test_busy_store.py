"""A store in which another process is writing: the agent waits for it, and does all else."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from acp_agent.store.database import SessionQuery, SessionStore
from acp_agent.store.errors import BusyError
from acp_agent.store.sqlite import FILE
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import (
    PERMISSION,
    SILENCE,
    Client,
    ClientSession,
    connected,
    items,
    open_session,
    selected,
)

VERSIONS = pytest.mark.parametrize("version", [1, 2])


@contextmanager
def locked(directory: Path) -> Generator[None]:
    """Write in a store, and do not come to an end with it."""
    database = sqlite3.connect(directory / FILE, isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        database.execute("ROLLBACK")
        database.close()


async def test_what_finds_the_store_busy_is_tried_again() -> None:
    attempts = 0

    def work() -> str:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            raise BusyError("busy")
        return "done"

    assert await SessionStore().run(work) == "done"
    attempts = 0
    with pytest.raises(BusyError):
        await SessionStore().run(work, 0.0)
    assert attempts == 1


@VERSIONS
async def test_a_turn_is_cancelled_while_the_store_is_busy(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    store = SessionStore(tmp_path / "kept")
    async with connected(cwd, version, store=store) as it, anyio.create_task_group() as tasks:
        session = await it.new()
        it.answers[PERMISSION] = SILENCE
        has_ended = anyio.Event()

        async def turn() -> None:
            assert await session.turn("write a.txt: x") == "cancelled"
            has_ended.set()

        tasks.start_soon(turn)
        await it.until(lambda: it.requested)
        with locked(tmp_path / "kept"):
            assert len((await it.ask("session/list"))["sessions"]) == 1
            await session.cancel()
            await has_ended.wait()
            (call,) = [item for item in items(session.conversation) if len(item) == 7]
            assert call[2] in {"failed", "cancelled"}
        it.answers[PERMISSION] = selected("allow")
        assert await session.turn("hello") == "end_turn"
    await tells_the_same(it, store, tmp_path / "kept")


@VERSIONS
async def test_what_is_said_waits_for_a_busy_store_and_is_told_then(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    store = SessionStore(tmp_path / "kept")
    async with (
        open_session(cwd, version, store=store) as session,
        anyio.create_task_group() as tasks,
    ):
        with locked(tmp_path / "kept"):
            tasks.start_soon(session.turn, "hello")
            tasks.start_soon(session.choose, "mode", "code")
            for _ in range(3):
                await session.client.ask("session/list")
            assert {"available_commands_update"} >= set(session.client.kinds())
    await tells_the_same(session.client, store, tmp_path / "kept")


@VERSIONS
async def test_a_prompt_that_waits_for_a_busy_store_is_cancelled_and_leaves_nothing(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    async with connected(cwd, version, store=SessionStore(tmp_path / "kept")) as it:
        opened_session = await it.new()
        with locked(tmp_path / "kept"):
            async with anyio.create_task_group() as tasks:

                async def prompt() -> None:
                    if version == 1:
                        assert (await opened_session.prompt("hello"))["stopReason"] == "cancelled"
                    else:
                        with pytest.raises(RequestFailedError, match="Request cancelled"):
                            await opened_session.prompt("hello")

                tasks.start_soon(prompt)
                await it.ask("session/list")
                await opened_session.cancel()
        assert it.server.sessions is not None
        session = it.server.sessions.awake[opened_session.id]
        assert [event async for event in session.log.replayable()] == []


@VERSIONS
async def test_a_store_that_stays_busy_is_told_as_such(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    async with open_session(
        cwd, version, store=SessionStore(tmp_path / "kept"), unstable=True
    ) as session:
        session.client.server.services.store.busy_timeout_s = 0.02
        with locked(tmp_path / "kept"):
            for asked in (
                session.prompt("hello"),
                session.choose("mode", "code"),
                session.ask("session/set_title", title="it"),
                session.client.new(),
            ):
                with pytest.raises(RequestFailedError, match="another process keeps the store"):
                    await asked
        assert await session.turn("hello") == "end_turn"


@VERSIONS
@pytest.mark.parametrize("is_asleep", [True, False])
async def test_a_session_is_not_opened_while_its_deletion_waits_for_a_busy_store(
    cwd: Path, version: int, tmp_path: Path, *, is_asleep: bool
) -> None:
    store = SessionStore(tmp_path / "kept")
    async with open_session(cwd, version, store=store) as session:
        await session.turn("hello")
        handlers = session.client.server._handlers
        assert handlers is not None
        if is_asleep:
            await handlers.sessions.suspend(handlers.sessions.awake[session.id])
        async with anyio.create_task_group() as tasks:

            async def delete() -> None:
                await session.ask("session/delete")

            async def reopen() -> None:
                with pytest.raises(RequestFailedError, match="no such session"):
                    await session.reopen()

            with locked(tmp_path / "kept"):
                tasks.start_soon(delete)
                tasks.start_soon(reopen)
                for _ in range(3):
                    await session.client.ask("session/list")
        assert (await session.client.ask("session/list"))["sessions"] == []
        assert not handlers.sessions.awake
        assert not handlers.sessions.suspended
        assert not store.locks.is_taken(1)


@VERSIONS
async def test_a_session_sleeps_only_when_all_of_it_is_kept(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    store = SessionStore(tmp_path / "kept")
    async with connected(cwd, version, store=store) as it:
        opened_session = await it.new()
        await opened_session.turn("hello")
        handlers = it.server._handlers
        assert handlers is not None
        session = handlers.sessions.awake[opened_session.id]
        with locked(tmp_path / "kept"):
            session.log.update(title="it")
            await handlers.sessions.suspend_idle(0.0)
            assert opened_session.id in handlers.sessions.awake
        await handlers.sessions.suspend_idle(0.0)
        assert opened_session.id in handlers.sessions.suspended
        assert (await session.log.current()).title == "it"


@VERSIONS
async def test_a_place_is_free_as_soon_as_the_store_is(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    async with connected(
        cwd, version, store=SessionStore(tmp_path / "kept"), settings={"sessions.max_concurrent": 1}
    ) as it:
        first, second = await it.new(), await it.new()
        handlers = it.server._handlers
        assert handlers is not None
        async with anyio.create_task_group() as tasks:
            with locked(tmp_path / "kept"):
                handlers.sessions.awake[second.id].log.update(title="it")
                tasks.start_soon(first.choose, "mode", "code")
                await it.ask("session/list")
        assert (list(handlers.sessions.awake), list(handlers.sessions.suspended)) == (
            [first.id],
            [second.id],
        )


@VERSIONS
async def test_where_the_store_keeps_a_place_taken_that_is_told(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    store = SessionStore(tmp_path / "kept", busy_timeout_s=0.0)
    async with connected(cwd, version, store=store, settings={"sessions.max_concurrent": 1}) as it:
        first, second = await it.new(), await it.new()
        handlers = it.server._handlers
        assert handlers is not None
        with locked(tmp_path / "kept"):
            handlers.sessions.awake[second.id].log.update(title="it")
            with pytest.raises(RequestFailedError, match="sessions cannot be kept"):
                await first.prompt("hello")
        assert await first.turn("hello") == "end_turn"


async def tells_the_same(it: Client, store: SessionStore, directory: Path) -> None:
    """Hold what is told again in another process to what was told."""
    store.close()
    kept = SessionStore(directory)
    (record,) = kept.page(SessionQuery(), 2)
    session = it.session(record.id)
    async with connected(it.cwd, it.version, store=kept) as again:
        reopened = again.session(record.id)
        await reopened.reopen()
    assert session.text
    assert spoken(reopened) == spoken(session)


def spoken(session: ClientSession) -> list[Json]:
    """Return what a user sees; in version 1 a mode that changes meanwhile parts a message."""
    joined: list[Json] = []
    for item in items(session.conversation):
        if joined and len(item) == 3 and joined[-1][0] == item[0]:
            joined[-1] = (item[0], joined[-1][1] + item[1], joined[-1][2] + item[2])
        else:
            joined.append(item)
    return joined
