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
from tests.agent.client import PERMISSION, SILENCE, Client, connected, open_session
from tests.agent.test_suspended_sessions import handlers_of

VERSIONS = pytest.mark.parametrize("version", [1, 2])


async def listed(it: Client, **params: Json) -> list[str]:
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
    async with connected(cwd, version) as it:
        handlers_of(it).page_size = 3
        here = [(await it.new()).id for _ in range(7)]
        there = [(await it.new(cwd=str(cwd / "src"))).id for _ in range(3)]
        await it.session(here[0]).turn("hello")
        found = await listed(it)
        assert sorted(found) == sorted(here + there)
        assert found[0] == here[0]
        assert await listed(it, cwd=str(cwd / "src")) == there[::-1]
        assert await listed(it, cwd="/nowhere") == []


@VERSIONS
async def test_a_cursor_belongs_to_its_filter(cwd: Path, version: int) -> None:
    async with connected(cwd, version, lints=False) as it:
        handlers_of(it).page_size = 1
        await it.new()
        await it.new()
        cursor = (await it.ask("session/list"))["nextCursor"]
        for params in ({"cursor": cursor, "cwd": str(cwd)}, {"cursor": "x"}, {"cursor": ""}):
            with pytest.raises(RequestFailedError, match="not given for this list"):
                await it.ask("session/list", **params)


@VERSIONS
async def test_what_was_deleted_is_gone_and_may_be_deleted_again(cwd: Path, version: int) -> None:
    async with connected(cwd, version) as it:
        gone, kept = await it.new(), await it.new()
        await gone.turn("hello")
        for _ in range(2):
            await gone.ask("session/delete")
        assert await listed(it) == [kept.id]
        with pytest.raises(RequestFailedError) as caught:
            await gone.reopen()
        assert caught.value.code == jsonrpc.RESOURCE_NOT_FOUND
        assert caught.value.data == {"sessionId": gone.id}


@VERSIONS
async def test_deleting_ends_what_runs(cwd: Path, version: int) -> None:
    async with connected(cwd, version) as it, anyio.create_task_group() as tasks:
        it.answers[PERMISSION] = SILENCE
        session = await it.new()
        tasks.start_soon(session.turn, "write a.txt: x")
        await it.until(lambda: it.requested)
        await session.ask("session/delete")
        assert await listed(it) == []
    assert not (cwd / "a.txt").exists()


@VERSIONS
async def test_archived_sessions_are_listed_for_who_asks_for_them(cwd: Path, version: int) -> None:
    async with connected(cwd, version, unstable=True) as it:
        away, here = await it.new(), await it.new()
        await away.turn("hello")
        for _ in range(2):
            await away.ask("session/archive")
        assert await listed(it) == [here.id]
        assert await listed(it, archived="exclude") == [here.id]
        assert await listed(it, archived="only") == [away.id]
        assert sorted(await listed(it, archived="include")) == sorted([away.id, here.id])
        flags = (await it.ask("session/list", archived="only"))["sessions"]
        assert [session["archived"] for session in flags] == [True]
        assert (await away.ask("session/status"))["status"] == "saved"
        for _ in range(2):
            await away.ask("session/unarchive")
        assert sorted(await listed(it)) == sorted([away.id, here.id])
        await away.reopen()
        assert await away.turn("hello") == "end_turn"


@VERSIONS
async def test_a_filter_that_nobody_knows_is_refused(cwd: Path, version: int) -> None:
    async with connected(cwd, version, unstable=True, lints=False) as it:
        refused = await it.refusal("session/list", archived="sometimes")
        assert refused.code == jsonrpc.INVALID_PARAMS


@VERSIONS
async def test_the_title_of_the_user_stays(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with connected(cwd, version, store=store, unstable=True) as it:
        session, other = await it.new(), await it.new()
        answer = await session.ask("session/set_title", title="  My\n\x1b[1m talk ")
        assert answer == {"title": "My ␛[1m talk"}
        await session.turn("hello")
        await other.turn("hello there")
        sessions: list[Json] = (await it.ask("session/list"))["sessions"]
        titles = {each["sessionId"]: each["title"] for each in sessions}
        assert titles == {session.id: answer["title"], other.id: "hello there"}
        assert session.conversation.info.title == answer["title"]
        await other.ask("session/close")
        await other.ask("session/set_title", title="Else")
        await other.reopen()
        assert other.conversation.info.title == "Else"


@VERSIONS
async def test_the_list_says_of_times_what_the_updates_have_said(cwd: Path, version: int) -> None:
    async with open_session(cwd, version, unstable=True) as session:

        async def told() -> list[str]:
            """Return all times that were told; the last one has to be that of the list."""
            (listed,) = (await session.client.ask("session/list"))["sessions"]
            times = [each["updatedAt"] for each in session.client.updates if "updatedAt" in each]
            assert times[-1:] in ([], [listed["updatedAt"]])
            return times

        assert await told() == []
        await session.turn("hello")
        await session.turn("/tour")
        first, second = await told()
        assert first < second
        await session.ask("session/set_title", title="Else")
        await session.reopen()
        assert await told() == [first, second, second, second]


@VERSIONS
async def test_a_title_of_nothing_is_refused(cwd: Path, version: int) -> None:
    async with open_session(cwd, version, unstable=True, lints=False) as session:
        refused = await session.refusal("session/set_title", title=" \n ")
        assert refused.code == jsonrpc.INVALID_PARAMS


@VERSIONS
async def test_the_status_of_a_session_changes_nothing(cwd: Path, version: int) -> None:
    async with connected(cwd, version, unstable=True) as it, anyio.create_task_group() as tasks:
        it.answers[PERMISSION] = SILENCE
        session = await it.new()
        status = await session.ask("session/status")
        assert status == {"status": "open"} | ({"state": {"state": "idle"}} if version == 2 else {})
        tasks.start_soon(session.turn, "write a.txt: x")
        await it.until(lambda: it.requested)
        status = await session.ask("session/status")
        if version == 2:
            assert status["state"] == {"state": "requires_action"}
        await session.ask("session/close")
        assert await session.ask("session/status") == {"status": "saved"}


@VERSIONS
@pytest.mark.parametrize("method", ["archive", "unarchive", "status", "set_title"])
async def test_a_session_that_is_not_there_is_named(cwd: Path, version: int, method: str) -> None:
    async with connected(cwd, version, unstable=True, lints=False) as it:
        title = {"title": "x"} if method == "set_title" else {}
        refused = await it.refusal(f"session/{method}", sessionId="none", **title)
        assert refused.code == jsonrpc.RESOURCE_NOT_FOUND
        assert refused.data == {"sessionId": "none"}


@VERSIONS
async def test_half_a_sign_is_said_again_and_names_nothing(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with connected(cwd, version, store=store) as it:
        opened_session = await it.new()
        assert await opened_session.turn("think \ud800") == "end_turn"
        assert await listed(it, cwd="/tmp/\ud800") == []
        with pytest.raises(RequestFailedError, match="no such session") as refusal:
            await it.session("\ud800").reopen()
        assert refusal.value.code == jsonrpc.RESOURCE_NOT_FOUND
        [session] = (await it.ask("session/list"))["sessions"]
        assert session["title"] == "think \ud800"
        before = len(it.updates)
        await opened_session.reopen()
        told = it.updates[before:]
        assert "think \ud800" in json.dumps(told, ensure_ascii=False)


@VERSIONS
async def test_a_list_of_a_relative_directory_is_refused(cwd: Path, version: int) -> None:
    async with connected(cwd, version, lints=False) as it:
        with pytest.raises(RequestFailedError, match="cwd is not an absolute path") as refusal:
            await it.ask("session/list", cwd="src")
        assert refusal.value.code == jsonrpc.INVALID_PARAMS
