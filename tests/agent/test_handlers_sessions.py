"""Lists, archives, titles and ends of sessions that need not be open."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from acp_agent.store.database import SessionStore
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.linted_client import Visit, visit
from tests.agent.test_suspended_sessions import handlers_of

VERSIONS = pytest.mark.parametrize("version", [1, 2])


async def listed(it: Visit, **params: Json) -> list[str]:
    """Return the ids of all listed sessions, page by page."""
    ids: list[str] = []
    while True:
        page = await it.ask("session/list", **params)
        ids += [session["sessionId"] for session in page["sessions"]]
        if page.get("nextCursor") is None:
            return ids
        params["cursor"] = page["nextCursor"]


@VERSIONS
async def test_all_sessions_are_listed_page_by_page(cwd: Path, version: int) -> None:
    async with visit(cwd, version) as it:
        handlers_of(it).page_size = 3
        here = [await it.new() for _ in range(7)]
        there = [await it.new(cwd=str(cwd / "src")) for _ in range(3)]
        await it.turn(here[0], "hello")
        found = await listed(it)
        assert sorted(found) == sorted(here + there)
        assert found[0] == here[0]
        assert await listed(it, cwd=str(cwd / "src")) == there[::-1]
        assert await listed(it, cwd="/nowhere") == []


@VERSIONS
async def test_a_cursor_belongs_to_its_filter(cwd: Path, version: int) -> None:
    async with visit(cwd, version, lints=False) as it:
        handlers_of(it).page_size = 1
        await it.new()
        await it.new()
        cursor = (await it.ask("session/list"))["nextCursor"]
        for params in ({"cursor": cursor, "cwd": str(cwd)}, {"cursor": "x"}, {"cursor": ""}):
            with pytest.raises(RequestFailedError, match="not given for this list"):
                await it.ask("session/list", **params)


@VERSIONS
async def test_what_was_deleted_is_gone_and_may_be_deleted_again(cwd: Path, version: int) -> None:
    async with visit(cwd, version) as it:
        gone, kept = await it.new(), await it.new()
        await it.turn(gone, "hello")
        for _ in range(2):
            await it.ask("session/delete", sessionId=gone)
        assert await listed(it) == [kept]
        with pytest.raises(RequestFailedError) as caught:
            await it.reopen(gone)
        assert caught.value.code == jsonrpc.RESOURCE_NOT_FOUND
        assert caught.value.data == {"sessionId": gone}


@VERSIONS
async def test_deleting_ends_what_runs(cwd: Path, version: int) -> None:
    async with visit(cwd, version) as it, anyio.create_task_group() as tasks:
        it.visitor.is_silent = True
        session_id = await it.new()
        tasks.start_soon(it.turn, session_id, "write a.txt: x")
        await it.visitor.until(lambda: it.visitor.asked)
        await it.ask("session/delete", sessionId=session_id)
        assert await listed(it) == []
    assert not (cwd / "a.txt").exists()


@VERSIONS
async def test_archived_sessions_are_listed_for_who_asks_for_them(cwd: Path, version: int) -> None:
    async with visit(cwd, version, unstable=True) as it:
        away, here = await it.new(), await it.new()
        await it.turn(away, "hello")
        for _ in range(2):
            await it.ask("session/archive", sessionId=away)
        assert await listed(it) == [here]
        assert await listed(it, archived="exclude") == [here]
        assert await listed(it, archived="only") == [away]
        assert sorted(await listed(it, archived="include")) == sorted([away, here])
        flags = (await it.ask("session/list", archived="only"))["sessions"]
        assert [session["archived"] for session in flags] == [True]
        assert (await it.ask("session/status", sessionId=away))["status"] == "saved"
        for _ in range(2):
            await it.ask("session/unarchive", sessionId=away)
        assert sorted(await listed(it)) == sorted([away, here])
        await it.reopen(away)
        assert await it.turn(away, "hello") == "end_turn"


@VERSIONS
async def test_a_filter_that_nobody_knows_is_refused(cwd: Path, version: int) -> None:
    async with visit(cwd, version, unstable=True, lints=False) as it:
        with pytest.raises(RequestFailedError) as caught:
            await it.ask("session/list", archived="sometimes")
        assert caught.value.code == jsonrpc.INVALID_PARAMS


@VERSIONS
async def test_the_title_of_the_user_stays(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with visit(cwd, version, store=store, unstable=True) as it:
        session_id, other = await it.new(), await it.new()
        answer = await it.ask(
            "session/set_title", sessionId=session_id, title="  My\n\x1b[1m talk "
        )
        assert answer == {"title": "My ␛[1m talk"}
        await it.turn(session_id, "hello")
        await it.turn(other, "hello there")
        sessions: list[Json] = (await it.ask("session/list"))["sessions"]
        titles = {each["sessionId"]: each["title"] for each in sessions}
        assert titles == {session_id: answer["title"], other: "hello there"}
        assert it.conversation(session_id).info.title == answer["title"]
        await it.ask("session/close", sessionId=other)
        await it.ask("session/set_title", sessionId=other, title="Else")
        await it.reopen(other)
        assert it.conversation(other).info.title == "Else"


@VERSIONS
async def test_the_list_says_of_times_what_the_updates_have_said(cwd: Path, version: int) -> None:
    async with visit(cwd, version, unstable=True) as it:
        session_id = await it.new()

        async def told() -> list[str]:
            """Return all times that were told; the last one has to be that of the list."""
            (listed,) = (await it.ask("session/list"))["sessions"]
            updates = [params["update"] for params in it.visitor.updates]
            times = [each["updatedAt"] for each in updates if "updatedAt" in each]
            assert times[-1:] in ([], [listed["updatedAt"]])
            return times

        assert await told() == []
        await it.turn(session_id, "hello")
        await it.turn(session_id, "/tour")
        first, second = await told()
        assert first < second
        await it.ask("session/set_title", sessionId=session_id, title="Else")
        await it.reopen(session_id)
        assert await told() == [first, second, second, second]


@VERSIONS
async def test_a_title_of_nothing_is_refused(cwd: Path, version: int) -> None:
    async with visit(cwd, version, unstable=True, lints=False) as it:
        session_id = await it.new()
        with pytest.raises(RequestFailedError) as caught:
            await it.ask("session/set_title", sessionId=session_id, title=" \n ")
        assert caught.value.code == jsonrpc.INVALID_PARAMS


@VERSIONS
async def test_the_status_of_a_session_changes_nothing(cwd: Path, version: int) -> None:
    async with visit(cwd, version, unstable=True) as it, anyio.create_task_group() as tasks:
        it.visitor.is_silent = True
        session_id = await it.new()
        status = await it.ask("session/status", sessionId=session_id)
        assert status == {"status": "open"} | ({"state": {"state": "idle"}} if version == 2 else {})
        tasks.start_soon(it.turn, session_id, "write a.txt: x")
        await it.visitor.until(lambda: it.visitor.asked)
        status = await it.ask("session/status", sessionId=session_id)
        if version == 2:
            assert status["state"] == {"state": "requires_action"}
        await it.ask("session/close", sessionId=session_id)
        assert await it.ask("session/status", sessionId=session_id) == {"status": "saved"}


@VERSIONS
@pytest.mark.parametrize("method", ["archive", "unarchive", "status", "set_title"])
async def test_a_session_that_is_not_there_is_named(cwd: Path, version: int, method: str) -> None:
    async with visit(cwd, version, unstable=True, lints=False) as it:
        title = {"title": "x"} if method == "set_title" else {}
        with pytest.raises(RequestFailedError) as caught:
            await it.ask(f"session/{method}", sessionId="none", **title)
        assert caught.value.code == jsonrpc.RESOURCE_NOT_FOUND
        assert caught.value.data == {"sessionId": "none"}


@VERSIONS
async def test_half_a_sign_is_said_again_and_names_nothing(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with visit(cwd, version, store=store) as it:
        session_id = await it.new()
        assert await it.turn(session_id, "think \ud800") == "end_turn"
        assert await listed(it, cwd="/tmp/\ud800") == []
        with pytest.raises(RequestFailedError, match="no such session") as refusal:
            await it.reopen("\ud800")
        assert refusal.value.code == jsonrpc.RESOURCE_NOT_FOUND
        [session] = (await it.ask("session/list"))["sessions"]
        assert session["title"] == "think \ud800"
        before = len(it.visitor.updates)
        await it.reopen(session_id)
        told = [each["update"] for each in it.visitor.updates[before:]]
        assert "think \ud800" in json.dumps(told, ensure_ascii=False)


@VERSIONS
async def test_a_list_of_a_relative_directory_is_refused(cwd: Path, version: int) -> None:
    async with visit(cwd, version, lints=False) as it:
        with pytest.raises(RequestFailedError, match="cwd is no absolute path") as refusal:
            await it.ask("session/list", cwd="src")
        assert refusal.value.code == jsonrpc.INVALID_PARAMS
