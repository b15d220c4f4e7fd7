"""Sessions that sleep, in both versions: what the client sees of it, which is nothing."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from acp_agent.handlers.base import Handlers
from acp_agent.mcp.servers import McpServers
from acp_agent.store.database import SessionQuery, SessionStore
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.conftest import selected
from tests.agent.linted_client import Visit, items, visit

VERSIONS = pytest.mark.parametrize("version", [1, 2])


def handlers_of(it: Visit) -> Handlers:
    handlers = it.server._handlers
    assert handlers is not None
    return handlers


async def lulled(it: Visit, session_id: str) -> None:
    """Put a session away."""
    handlers = handlers_of(it)
    await handlers.sessions.suspend(handlers.sessions.awake[session_id])


@VERSIONS
async def test_no_more_sessions_are_awake_than_may_be_and_the_client_sees_nothing_of_it(
    cwd: Path, version: int
) -> None:
    async with visit(cwd, version, limit=2) as it:
        first, second, third = await it.new(), await it.new(), await it.new()
        assert list(handlers_of(it).sessions.suspended) == [first]
        assert await it.turn(first, "hello") == "end_turn"
        assert list(handlers_of(it).sessions.suspended) == [second]
        assert await it.turn(third, "hello") == "end_turn"
        await it.choose(second, "mode", "code")
        assert list(handlers_of(it).sessions.suspended) == [first]
        await it.reopen(first)
        assert list(handlers_of(it).sessions.suspended) == [third]


@pytest.mark.parametrize("sleeps", [True, False])
async def test_what_goes_wrong_again_after_it_went_well_is_told_again(
    cwd: Path, monkeypatch: pytest.MonkeyPatch, *, sleeps: bool
) -> None:
    troubles = [("The MCP server w is down", "Its tools cannot be used.")]
    now: list[tuple[str, str]] = []
    monkeypatch.setattr(McpServers, "warnings", property(lambda _: now))
    async with visit(cwd) as it:
        session_id = await it.new()
        told: list[int] = []
        for is_down in (True, True, False, True):
            now[:] = troubles if is_down else []
            if sleeps:
                await lulled(it, session_id)
                # It wakes for something else first, which is no turn.
                await it.choose(session_id, "mode", "ask")
                if not is_down:
                    continue
            await it.turn(session_id, "hello")
            told.append(it.said(session_id).count("w is down"))
        assert told == ([1, 1, 2] if sleeps else [1, 1, 1, 2])


@VERSIONS
async def test_only_where_all_are_at_work_one_more_is_refused(cwd: Path, version: int) -> None:
    async with visit(cwd, version, limit=1) as it, anyio.create_task_group() as tasks:
        first, second = await it.new(), await it.new()
        it.visitor.is_silent = True
        tasks.start_soon(it.turn, second, "write a.txt: x")
        await it.visitor.until(lambda: it.visitor.asked)
        for refused in (it.new(), it.reopen(first), it.say(first, "hello")):
            with pytest.raises(RequestFailedError, match="Too many sessions are at work: 1") as no:
                await refused
            assert no.value.code == jsonrpc.INVALID_REQUEST
        await it.ask("session/close", sessionId=first)
        await it.cancel(second)


@VERSIONS
async def test_many_are_opened_at_once_and_none_is_refused(cwd: Path, version: int) -> None:
    async with visit(cwd, version, limit=2) as it:
        sessions: list[str] = []

        async def open_one() -> None:
            sessions.append(await it.new())

        async with anyio.create_task_group() as tasks:
            for _ in range(7):
                tasks.start_soon(open_one)
        handlers = handlers_of(it)
        assert (len(handlers.sessions.awake), len(handlers.sessions.suspended)) == (2, 5)
        async with anyio.create_task_group() as tasks:
            for session_id in sessions:
                tasks.start_soon(it.reopen, session_id)
        assert (len(handlers.sessions.awake), len(handlers.sessions.suspended)) == (2, 5)


@VERSIONS
async def test_a_new_one_waits_for_what_is_soon_over(cwd: Path, version: int) -> None:
    async with visit(cwd, version, limit=1) as it, anyio.create_task_group() as tasks:
        first = await it.new()
        handlers = handlers_of(it)
        opened: list[str] = []

        async def open_one() -> None:
            opened.append(await it.new())

        with handlers.sessions.in_use(handlers.sessions.awake[first]):
            tasks.start_soon(open_one)
            await it.ask("session/list")
            assert opened == []


async def test_nobody_waits_for_ever_for_a_place(cwd: Path) -> None:
    async with visit(cwd, limit=1) as it:
        handlers = handlers_of(it)
        handlers.sessions.slot_timeout_s = 0.01
        session = handlers.sessions.awake[await it.new()]
        refusal = pytest.raises(RequestFailedError, match="Too many sessions are at work: 1")
        with handlers.sessions.in_use(session), refusal:
            await it.new()


@VERSIONS
async def test_a_session_without_use_falls_asleep_and_wakes(cwd: Path, version: int) -> None:
    async with visit(cwd, version, unstable=True) as it:
        session_id = await it.new()
        handlers = handlers_of(it)
        await handlers.sessions.suspend_idle(3600.0)
        await it.choose(session_id, "mode", "ask")
        await it.turn(session_id, "read notes.md")
        known = list(handlers.sessions.awake[session_id]._context.history)
        await handlers.sessions.suspend_idle(0.0)
        assert (list(handlers.sessions.awake), list(handlers.sessions.suspended)) == (
            [],
            [session_id],
        )
        (listed,) = (await it.ask("session/list"))["sessions"]
        assert listed["_meta"] == {"acp-agent": {"asleep": True}}
        status = await it.ask("session/status", sessionId=session_id)
        assert (status["status"], status["_meta"]) == ("open", listed["_meta"])
        before = len(it.visitor.updates)
        assert await it.turn(session_id, "hello") == "end_turn"
        kinds = {params["update"]["sessionUpdate"] for params in it.visitor.updates[before:]}
        expected = {"session_info_update", "agent_message_chunk"}
        assert kinds == expected | ({"state_update", "user_message"} if version == 2 else set())
        assert list(handlers.sessions.awake[session_id]._context.history)[: len(known)] == known
        assert "_meta" not in (await it.ask("session/list"))["sessions"][0]


@VERSIONS
async def test_what_was_allowed_always_is_known_after_sleep(cwd: Path, version: int) -> None:
    async with visit(cwd, version) as it:
        it.visitor.answers["session/request_permission"] = selected("allow-always")
        session_id = await it.new()
        await it.turn(session_id, "write a.txt: one")
        assert it.visitor.asked == ["session/request_permission"]
        await lulled(it, session_id)
        await it.turn(session_id, "write a.txt: two")
        await lulled(it, session_id)
        await it.reopen(session_id)
        await it.turn(session_id, "write a.txt: three")
        assert it.visitor.asked == ["session/request_permission"]
        calls = [item for item in items(it.conversation(session_id)) if len(item) == 7]
        assert [call[2] for call in calls] == ["completed"] * 3


@VERSIONS
async def test_a_session_that_sleeps_is_of_this_process_until_it_is_closed(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    store, other = SessionStore(tmp_path / "store"), SessionStore(tmp_path / "store")
    async with visit(cwd, version, store=store, unstable=True, lints=False) as it:
        session_id = await it.new()
        await it.turn(session_id, "hello")
        await lulled(it, session_id)
        fork = (await it.ask("session/fork", sessionId=session_id, cwd=str(cwd)))["sessionId"]
        async with visit(cwd, version, store=other, unstable=True, lints=False) as elsewhere:
            with pytest.raises(RequestFailedError, match="open in another process"):
                await elsewhere.reopen(session_id)
            with pytest.raises(RequestFailedError, match="open in another process"):
                await elsewhere.say(session_id, "hello")
            if version == 1:
                with pytest.raises(RequestFailedError, match="open in another process"):
                    await elsewhere.ask("session/close", sessionId=session_id)
            status = await elsewhere.ask("session/status", sessionId=session_id)
            assert (status["status"], "_meta" in status) == ("open", False)
            await it.ask("session/close", sessionId=session_id)
            with pytest.raises(RequestFailedError, match="not open"):
                await it.say(session_id, "hello")
            await elsewhere.reopen(session_id)
            await lulled(it, fork)
            await it.ask("session/delete", sessionId=fork)
            assert [each.id for each in other.page(SessionQuery(), 9)] == [session_id]
        assert handlers_of(it).sessions.suspended == {}


@VERSIONS
async def test_a_title_is_told_of_a_session_that_sleeps_on(cwd: Path, version: int) -> None:
    async with visit(cwd, version, unstable=True) as it:
        session_id = await it.new()
        await lulled(it, session_id)
        await it.ask("session/set_title", sessionId=session_id, title="Mine")
        assert it.conversation(session_id).info.title == "Mine"
        assert list(handlers_of(it).sessions.suspended) == [session_id]


async def test_several_requests_wake_a_session_once(cwd: Path) -> None:
    async with visit(cwd, 2) as it, anyio.create_task_group() as tasks:
        session_id = await it.new()
        await lulled(it, session_id)
        for number in range(3):
            tasks.start_soon(it.say, session_id, f"think of {number}")
        tasks.start_soon(it.choose, session_id, "policy", "allow_all")
        await it.visitor.until(lambda: len(it.visitor.idles(session_id)) == 3)
        assert [each["stopReason"] for each in it.visitor.idles(session_id)] == ["end_turn"] * 3


@VERSIONS
async def test_a_prompt_is_cancelled_while_its_session_wakes(
    cwd: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with visit(cwd, version) as it:
        session_id = await it.new()
        await lulled(it, session_id)
        with monkeypatch.context() as patch:
            has_begun = hanging(patch)
            async with anyio.create_task_group() as tasks:

                async def prompt() -> None:
                    if version == 1:
                        assert (await it.say(session_id, "hello"))["stopReason"] == "cancelled"
                    else:
                        with pytest.raises(RequestFailedError, match="Request cancelled"):
                            await it.say(session_id, "hello")

                tasks.start_soon(prompt)
                await has_begun.wait()
                await it.cancel(session_id)
        assert list(handlers_of(it).sessions.suspended) == [session_id]
        assert await it.turn(session_id, "hello") == "end_turn"


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
    async with visit(cwd, version) as it:
        session_id = await it.new()
        await lulled(it, session_id)
        has_begun = hanging(monkeypatch)

        async def prompt() -> None:
            if version == 1:
                assert (await it.say(session_id, "hello"))["stopReason"] == "cancelled"
            else:
                await refused(it.say(session_id, "hello"), jsonrpc.REQUEST_CANCELLED)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(prompt)
            await has_begun.wait()
            if version == 2:
                tasks.start_soon(prompt)
            await it.ask("session/list")
            await it.ask(f"session/{end}", sessionId=session_id)
        assert session_id not in {
            *handlers_of(it).sessions.awake,
            *handlers_of(it).sessions.suspended,
        }


@VERSIONS
async def test_a_session_is_closed_that_is_about_to_be_opened(
    cwd: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with visit(cwd, version) as it:
        session_id = await it.new()
        await it.ask("session/close", sessionId=session_id)
        with monkeypatch.context() as patch:
            has_begun = hanging(patch)
            async with anyio.create_task_group() as tasks:
                missing = jsonrpc.RESOURCE_NOT_FOUND
                tasks.start_soon(refused, it.reopen(session_id), missing)
                await has_begun.wait()
                tasks.start_soon(refused, it.choose(session_id, "mode", "code"), missing)
                await it.ask("session/list")
                await it.ask("session/close", sessionId=session_id)
        await it.reopen(session_id)
        assert await it.turn(session_id, "hello") == "end_turn"


@VERSIONS
async def test_nothing_waits_for_servers_any_more_when_the_client_leaves(
    cwd: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = jsonrpc.REQUEST_CANCELLED
    async with visit(cwd, version) as it:
        session_id = await it.new()
        await lulled(it, session_id)
        has_begun = hanging(monkeypatch)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(refused, it.new(), cancelled)
            await has_begun.wait()
            if version == 2:
                tasks.start_soon(refused, it.say(session_id, "hello"), cancelled)
            else:
                tasks.start_soon(it.say, session_id, "hello")
            await it.ask("session/list")
            it.server.cancel_all()
            await refused(it.new(), cancelled)


async def test_those_asleep_longest_are_closed_where_there_are_too_many(cwd: Path) -> None:
    async with visit(cwd, limit=1) as it:
        handlers_of(it).sessions.max_suspended = 2
        sessions = [await it.new() for _ in range(4)]
        assert list(handlers_of(it).sessions.suspended) == sessions[1:3]
        with pytest.raises(RequestFailedError, match="not open"):
            await it.say(sessions[0], "hello")
        await it.reopen(sessions[0])


async def test_idle_sessions_fall_asleep_by_and_by(cwd: Path) -> None:
    async with visit(cwd, idle_timeout=0.001) as it, anyio.create_task_group() as tasks:
        await it.new()
        handlers = handlers_of(it)
        tasks.start_soon(it.server.suspend_idle)
        while handlers.sessions.awake:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
        assert len((await it.ask("session/list"))["sessions"]) == 1
