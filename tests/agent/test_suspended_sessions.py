"""Sessions that sleep, in both versions: what the client sees of it, which is nothing."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from acp_agent.handlers.base import Handlers
from acp_agent.mcp.servers import McpServers
from acp_agent.settings.types import DatabaseUrl
from acp_agent.store.database import SessionQuery, SessionStore
from acp_protocol import jsonrpc
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


def handlers_of(it: Client) -> Handlers:
    handlers = it.server._handlers
    assert handlers is not None
    return handlers


async def lulled(session: ClientSession) -> None:
    """Put a session away."""
    handlers = handlers_of(session.client)
    await handlers.sessions.suspend(handlers.sessions.awake[session.id])


@VERSIONS
async def test_no_more_sessions_are_awake_than_may_be_and_the_client_sees_nothing_of_it(
    cwd: Path, version: int
) -> None:
    async with connected(cwd, version, settings={"sessions.max_concurrent": 2}) as it:
        first, second, third = await it.new(), await it.new(), await it.new()
        assert list(handlers_of(it).sessions.suspended) == [first.id]
        assert await first.turn("hello") == "end_turn"
        assert list(handlers_of(it).sessions.suspended) == [second.id]
        assert await third.turn("hello") == "end_turn"
        await second.choose("mode", "code")
        assert list(handlers_of(it).sessions.suspended) == [first.id]
        await first.reopen()
        assert list(handlers_of(it).sessions.suspended) == [third.id]


@pytest.mark.parametrize("sleeps", [True, False])
async def test_what_goes_wrong_again_after_it_went_well_is_told_again(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, *, sleeps: bool
) -> None:
    troubles = [("The MCP server w is down", "Its tools cannot be used.")]
    now: list[tuple[str, str]] = []
    monkeypatch.setattr(McpServers, "warnings", property(lambda _: now))
    async with open_session(cwd) as session:
        told: list[int] = []
        for is_down in (True, True, False, True):
            now[:] = troubles if is_down else []
            if sleeps:
                await lulled(session)
                # It wakes for something else first, which is no turn.
                await session.choose("mode", "ask")
                if not is_down:
                    continue
            await session.turn("hello")
            told.append(session.text.count("w is down"))
        assert told == ([1, 1, 2] if sleeps else [1, 1, 1, 2])


@VERSIONS
async def test_only_where_all_are_at_work_one_more_is_refused(cwd: Path, version: int) -> None:
    async with (
        connected(cwd, version, settings={"sessions.max_concurrent": 1}) as it,
        anyio.create_task_group() as tasks,
    ):
        first, second = await it.new(), await it.new()
        it.answers[PERMISSION] = SILENCE
        tasks.start_soon(second.turn, "write a.txt: x")
        await it.until(lambda: it.requested)
        for refused in (it.new(), first.reopen(), first.prompt("hello")):
            with pytest.raises(RequestFailedError, match="Too many sessions are at work: 1") as no:
                await refused
            assert no.value.code == jsonrpc.INVALID_REQUEST
        await first.ask("session/close")
        await second.cancel()


@VERSIONS
async def test_many_are_opened_at_once_and_none_is_refused(cwd: Path, version: int) -> None:
    async with connected(cwd, version, settings={"sessions.max_concurrent": 2}) as it:
        sessions: list[ClientSession] = []

        async def open_one() -> None:
            sessions.append(await it.new())

        async with anyio.create_task_group() as tasks:
            for _ in range(7):
                tasks.start_soon(open_one)
        handlers = handlers_of(it)
        assert (len(handlers.sessions.awake), len(handlers.sessions.suspended)) == (2, 5)
        async with anyio.create_task_group() as tasks:
            for session in sessions:
                tasks.start_soon(session.reopen)
        assert (len(handlers.sessions.awake), len(handlers.sessions.suspended)) == (2, 5)


@VERSIONS
async def test_a_new_one_waits_for_what_is_soon_over(cwd: Path, version: int) -> None:
    async with (
        connected(cwd, version, settings={"sessions.max_concurrent": 1}) as it,
        anyio.create_task_group() as tasks,
    ):
        first = await it.new()
        handlers = handlers_of(it)
        opened: list[str] = []

        async def open_one() -> None:
            opened.append((await it.new()).id)

        with handlers.sessions.in_use(handlers.sessions.awake[first.id]):
            tasks.start_soon(open_one)
            await it.ask("session/list")
            assert opened == []


async def test_nobody_waits_for_ever_for_a_place(cwd: Path) -> None:
    async with connected(cwd, settings={"sessions.max_concurrent": 1}) as it:
        handlers = handlers_of(it)
        handlers.sessions.slot_timeout_s = 0.01
        session = handlers.sessions.awake[(await it.new()).id]
        refusal = pytest.raises(RequestFailedError, match="Too many sessions are at work: 1")
        with handlers.sessions.in_use(session), refusal:
            await it.new()


@VERSIONS
async def test_a_session_without_use_falls_asleep_and_wakes(cwd: Path, version: int) -> None:
    async with connected(cwd, version, unstable=True) as it:
        session = await it.new()
        handlers = handlers_of(it)
        await handlers.sessions.suspend_idle(3600.0)
        await session.choose("mode", "ask")
        await session.turn("read notes.md")
        known = list(handlers.sessions.awake[session.id]._context.history)
        await handlers.sessions.suspend_idle(0.0)
        assert (list(handlers.sessions.awake), list(handlers.sessions.suspended)) == (
            [],
            [session.id],
        )
        (listed,) = (await it.ask("session/list"))["sessions"]
        assert listed["_meta"] == {"acp-agent": {"asleep": True}}
        status = await session.ask("session/status")
        assert (status["status"], status["_meta"]) == ("open", listed["_meta"])
        before = len(it.updates)
        assert await session.turn("hello") == "end_turn"
        kinds = set(it.kinds()[before:])
        expected = {"session_info_update", "agent_message_chunk"}
        assert kinds == expected | ({"state_update", "user_message"} if version == 2 else set())
        assert list(handlers.sessions.awake[session.id]._context.history)[: len(known)] == known
        assert "_meta" not in (await it.ask("session/list"))["sessions"][0]


@VERSIONS
async def test_what_was_allowed_always_is_known_after_sleep(cwd: Path, version: int) -> None:
    async with connected(cwd, version) as it:
        it.answers["session/request_permission"] = selected("allow-always")
        session = await it.new()
        await session.turn("write a.txt: one")
        assert it.requested == ["session/request_permission"]
        await lulled(session)
        await session.turn("write a.txt: two")
        await lulled(session)
        await session.reopen()
        await session.turn("write a.txt: three")
        assert it.requested == ["session/request_permission"]
        calls = [item for item in items(session.conversation) if len(item) == 7]
        assert [call[2] for call in calls] == ["completed"] * 3


@VERSIONS
async def test_a_session_that_sleeps_is_of_this_process_until_it_is_closed(
    cwd: Path, version: int, storage: Path | DatabaseUrl
) -> None:
    store, other = SessionStore(storage), SessionStore(storage)
    async with connected(cwd, version, store=store, unstable=True, lints=False) as it:
        session = await it.new()
        await session.turn("hello")
        await lulled(session)
        fork = (await session.ask("session/fork", cwd=str(cwd)))["sessionId"]
        async with connected(cwd, version, store=other, unstable=True, lints=False) as elsewhere:
            with pytest.raises(RequestFailedError, match="open in another process"):
                await elsewhere.session(session.id).reopen()
            with pytest.raises(RequestFailedError, match="open in another process"):
                await elsewhere.session(session.id).prompt("hello")
            if version == 1:
                with pytest.raises(RequestFailedError, match="open in another process"):
                    await elsewhere.ask("session/close", sessionId=session.id)
            status = await elsewhere.ask("session/status", sessionId=session.id)
            assert (status["status"], "_meta" in status) == ("open", False)
            await session.ask("session/close")
            with pytest.raises(RequestFailedError, match="not open"):
                await session.prompt("hello")
            await elsewhere.session(session.id).reopen()
            await lulled(it.session(fork))
            await it.ask("session/delete", sessionId=fork)
            assert [each.id for each in other.page(SessionQuery(), 9)] == [session.id]
        assert handlers_of(it).sessions.suspended == {}


@VERSIONS
async def test_a_title_is_told_of_a_session_that_sleeps_on(cwd: Path, version: int) -> None:
    async with open_session(cwd, version, unstable=True) as session:
        await lulled(session)
        await session.ask("session/set_title", title="Mine")
        assert session.conversation.info.title == "Mine"
        assert list(handlers_of(session.client).sessions.suspended) == [session.id]


async def test_several_requests_wake_a_session_once(cwd: Path) -> None:
    async with open_session(cwd, 2) as session, anyio.create_task_group() as tasks:
        await lulled(session)
        for number in range(3):
            tasks.start_soon(session.prompt, f"think of {number}")
        tasks.start_soon(session.choose, "policy", "allow_all")
        await session.client.until(lambda: len(session.idles()) == 3)
        assert [each["stopReason"] for each in session.idles()] == ["end_turn"] * 3


@VERSIONS
async def test_a_prompt_is_cancelled_while_its_session_wakes(
    cwd: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_session(cwd, version) as session:
        await lulled(session)
        with monkeypatch.context() as patch:
            has_begun = hanging(patch)
            async with anyio.create_task_group() as tasks:

                async def prompt() -> None:
                    if version == 1:
                        assert (await session.prompt("hello"))["stopReason"] == "cancelled"
                    else:
                        with pytest.raises(RequestFailedError, match="Request cancelled"):
                            await session.prompt("hello")

                tasks.start_soon(prompt)
                await has_begun.wait()
                await session.cancel()
        assert list(handlers_of(session.client).sessions.suspended) == [session.id]
        assert await session.turn("hello") == "end_turn"


def hanging(monkeypatch: pytest.MonkeyPatch) -> anyio.Event:
    """Let no server get ready; return what tells that one is to start."""
    has_begun = anyio.Event()

    async def hang(*_: object) -> None:
        has_begun.set()
        await anyio.sleep_forever()

    monkeypatch.setattr(McpServers, "open", hang)
    return has_begun


async def refused(asking: Awaitable[Json], code: int) -> None:
    """Hold that a question is refused."""
    with pytest.raises(RequestFailedError) as caught:
        await asking
    assert caught.value.code == code


@VERSIONS
@pytest.mark.parametrize("end", ["close", "delete"])
async def test_what_closes_a_session_that_wakes_does_not_wait_for_it(
    cwd: Path, version: int, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(cwd, version) as it:
        session = await it.new()
        await lulled(session)
        has_begun = hanging(monkeypatch)

        async def prompt() -> None:
            if version == 1:
                assert (await session.prompt("hello"))["stopReason"] == "cancelled"
            else:
                await refused(session.prompt("hello"), jsonrpc.REQUEST_CANCELLED)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(prompt)
            await has_begun.wait()
            if version == 2:
                tasks.start_soon(prompt)
            await it.ask("session/list")
            await session.ask(f"session/{end}")
        assert session.id not in {
            *handlers_of(it).sessions.awake,
            *handlers_of(it).sessions.suspended,
        }


@VERSIONS
async def test_a_session_is_closed_that_is_about_to_be_opened(
    cwd: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_session(cwd, version) as session:
        await session.ask("session/close")
        with monkeypatch.context() as patch:
            has_begun = hanging(patch)
            async with anyio.create_task_group() as tasks:
                missing = jsonrpc.RESOURCE_NOT_FOUND
                tasks.start_soon(refused, session.reopen(), missing)
                await has_begun.wait()
                tasks.start_soon(refused, session.choose("mode", "code"), missing)
                await session.client.ask("session/list")
                await session.ask("session/close")
        await session.reopen()
        assert await session.turn("hello") == "end_turn"


@VERSIONS
async def test_nothing_waits_for_servers_any_more_when_the_client_leaves(
    cwd: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = jsonrpc.REQUEST_CANCELLED
    async with connected(cwd, version) as it:
        session = await it.new()
        await lulled(session)
        has_begun = hanging(monkeypatch)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(refused, it.new(), cancelled)
            await has_begun.wait()
            if version == 2:
                tasks.start_soon(refused, session.prompt("hello"), cancelled)
            else:
                tasks.start_soon(session.prompt, "hello")
            await it.ask("session/list")
            it.server.cancel_all()
            await refused(it.new(), cancelled)


async def test_those_asleep_longest_are_closed_where_there_are_too_many(cwd: Path) -> None:
    async with connected(cwd, settings={"sessions.max_concurrent": 1}) as it:
        handlers_of(it).sessions.max_suspended = 2
        sessions = [(await it.new()).id for _ in range(4)]
        assert list(handlers_of(it).sessions.suspended) == sessions[1:3]
        with pytest.raises(RequestFailedError, match="not open"):
            await it.session(sessions[0]).prompt("hello")
        await it.session(sessions[0]).reopen()


async def test_idle_sessions_fall_asleep_by_and_by(cwd: Path) -> None:
    async with (
        connected(cwd, settings={"sessions.idle_timeout": 0.001}) as it,
        anyio.create_task_group() as tasks,
    ):
        await it.new()
        handlers = handlers_of(it)
        tasks.start_soon(it.server.suspend_idle)
        while handlers.sessions.awake:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
        assert len((await it.ask("session/list"))["sessions"]) == 1
