"""What becomes of a session that the store cannot keep: nothing is lost but what was refused."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import anyio
import pytest

from acp_agent.models.types import (
    AssistantMessage,
    PlanChange,
    PromptMessage,
    ProviderBlock,
    ReasoningDelta,
    TextDelta,
)
from acp_agent.sessions.restore import restore
from acp_agent.settings.types import DatabaseUrl
from acp_agent.store import events
from acp_agent.store.database import SessionStore
from acp_agent.store.errors import BusyError, StoreError
from acp_agent.store.log import History, SessionLog
from acp_agent.store.sqlite import SqliteDriver
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from tests.agent.client import PERMISSION, SILENCE, ClientSession, connected, items, selected
from tests.agent.sessions.test_busy_store import locked, tells_the_same

VERSIONS = pytest.mark.parametrize("version", [1, 2])
FULL = "there is no room left on the disk"


def connection_of(store: SessionStore) -> sqlite3.Connection:
    assert isinstance(store._driver, SqliteDriver)
    return store._driver.connection


def fill(store: SessionStore) -> None:
    """Leave no room in a store, not even for a few words."""
    (pages,) = connection_of(store).execute("PRAGMA page_count").fetchone()
    connection_of(store).execute(f"PRAGMA max_page_count = {pages}")
    filler = store.get("filler")
    assert filler is not None
    for size in (3000, 300, 30, 1):
        while True:
            try:
                store.append(filler.number, " " * size)
            except StoreError:
                break


def make_room(store: SessionStore) -> None:
    connection_of(store).execute("PRAGMA max_page_count = 1000000")


def fillable(directory: Path) -> SessionStore:
    store = SessionStore(directory)
    store.locks.release(store.create("filler", "/", [], {}).number)
    return store


def pieces(log: SessionLog) -> list[str]:
    return [event["text"] for event in log.events()]


def piece(text: str) -> events.Event:
    return events.text("agent_message_chunk", "m", text)


async def test_what_could_not_be_kept_at_once_is_kept_in_its_order(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    log = SessionLog(store, store.create("a", "/", [], {}))
    await log.append_now(piece("one"))
    with locked(tmp_path):
        log.append(piece("two"))
        log.update(title="it")
        assert not log.is_flushed()
        with pytest.raises(BusyError):
            await log.flush(0.0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(log.append_now, piece("given up"))
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert pieces(log) == ["one"]
        assert (await log.current()).title is None
    await log.append_now(piece("three"))
    assert pieces(log) == ["onetwothree"]
    assert (await log.current()).title == "it"
    assert log.is_flushed()


async def test_pieces_of_one_message_take_one_row(storage: Path | DatabaseUrl) -> None:
    store = SessionStore(storage)
    log = SessionLog(store, store.create("a", "/", [], {}))
    for text in ("one ", "two ", "three"):
        await log.append_now(piece(text))
        # Whatever was secured is in the store, in case the process is killed.
        assert pieces(SessionLog(store, log.record))[-1].endswith(text)
    assert pieces(log) == ["one two three"]
    await log.append_now(events.plan([]))
    await log.append_now(piece("four"))
    await log.append_now(events.text("agent_message_chunk", "other", "five"))
    await log.append_now(events.text("agent_thought_chunk", "other", "six"))
    told = [event.get("text") for event in log.events()]
    assert told == ["one two three", None, "four", "five", "six"]


async def test_a_long_message_takes_several_rows(storage: Path | DatabaseUrl) -> None:
    store = SessionStore(storage)
    log = SessionLog(store, store.create("a", "/", [], {}))
    for _ in range(30):
        await log.append_now(piece("x" * 1000))
    lengths = [len(each) for each in pieces(log)]
    assert sum(lengths) == 30_000
    assert max(lengths) <= events.ROW_LIMIT + 1000
    assert len(lengths) < 6


async def test_the_words_of_a_reply_are_stored_once(storage: Path | DatabaseUrl) -> None:
    store = SessionStore(storage)
    log = SessionLog(store, store.create("a", "/", [], {}))
    history = History([], log)
    await log.append_now(events.user("u", [{"type": "text", "text": "hello"}]))
    history.append(PromptMessage("hello"))
    await log.append_now(events.text("agent_thought_chunk", "t", "First I "))
    await log.append_now(events.text("agent_thought_chunk", "t", "think."))
    await log.append_now(piece("A "))
    await log.append_now(piece("reply."))
    await log.append_now(events.plan([]))
    await log.append_now(piece(" More."))
    seal = ProviderBlock("service", {"signature": "x"})
    said = (
        ReasoningDelta("First I "),
        ReasoningDelta("think."),
        seal,
        TextDelta("A "),
        TextDelta("reply."),
        PlanChange(()),
    )
    history.append(AssistantMessage((*said, TextDelta(" More."), TextDelta("unseen"))))
    await log.flush()
    bodies = "\n".join(store.events(log.record.number))
    for words in ("think.", "reply.", "More.", "unseen"):
        assert bodies.count(words) == 1
    joined = (ReasoningDelta("First I think."), seal, TextDelta("A reply."), PlanChange(()))
    # Words that were not shown are a part of the reply all the same.
    known = [PromptMessage("hello"), AssistantMessage((*joined, TextDelta(" More.unseen")))]
    assert restore(SessionLog(store, log.record)).history == known


async def test_what_was_refused_for_want_of_room_is_not_kept_later(tmp_path: Path) -> None:
    store = fillable(tmp_path)
    log = SessionLog(store, store.create("a", "/", [], {}))
    fill(store)
    log.append(piece("known " * 99))
    with pytest.raises(StoreError, match=FULL):
        await log.append_now(piece("refused " * 99))
    make_room(store)
    await log.flush()
    assert pieces(log) == ["known " * 99]


def calls(session: ClientSession) -> list[Any]:
    """Return status and content of the tool calls so far."""
    return [(item[2], str(item[3])) for item in items(session.conversation) if len(item) == 7]


async def fails(session: ClientSession, text: str) -> str:
    """Say something; return with what error its turn ends."""
    if session.client.version == 1:
        refused = await session.refusal("session/prompt", prompt=[{"type": "text", "text": text}])
        assert refused.code == jsonrpc.INTERNAL_ERROR
        return refused.message
    assert await session.turn(text) == "error"
    error = session.idles()[-1]["error"]
    assert error["code"] == jsonrpc.INTERNAL_ERROR
    return error["message"]


@VERSIONS
@pytest.mark.parametrize(
    "text", ["write a.txt: x", 'run sh -c "while sleep 0.02; do echo $((21 * 2))x; done"']
)
async def test_a_disk_that_fills_up_amid_a_turn_ends_its_calls_and_the_turn(
    cwd: Path, version: int, text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = fillable(tmp_path / "kept")
    async with connected(cwd, version, store=store, lints=False) as it:
        session = await it.new()

        def allowed(_: object) -> object:
            if text.startswith("write"):
                fill(store)
            return selected("allow")

        it.answers["session/request_permission"] = allowed
        async with anyio.create_task_group() as tasks:

            async def fill_amid() -> None:
                # In version 2 it is told in base64.
                await it.until(lambda: re.search("42x|NDJ4", str(it.updates)))
                fill(store)

            if text.startswith("run"):
                tasks.start_soon(fill_amid)
            assert FULL in await fails(session, text)
        ((status, content),) = calls(session)
        assert status == "failed"
        assert f"broken off: {FULL}" in content
        assert "Traceback" not in caplog.text
        make_room(store)
        assert await session.turn("hello") == "end_turn"
        known = [type(entry).__name__ for entry in history_of(session)]
    assert known[:3] == ["PromptMessage", "AssistantMessage", "ToolResult"]
    store.delete(1)
    await tells_the_same(it, store, tmp_path / "kept")


@VERSIONS
async def test_a_prompt_that_cannot_be_kept_is_refused_and_leaves_nothing(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    store = fillable(tmp_path / "kept")
    async with connected(cwd, version, store=store) as it:
        session = await it.new()
        await it.ask("session/list")
        before = len(it.updates)
        fill(store)
        with pytest.raises(RequestFailedError, match=FULL) as caught:
            await session.prompt("hello " * 99)
        assert caught.value.code == jsonrpc.INTERNAL_ERROR
        assert len(it.updates) == before
        assert history_of(session) == []
        make_room(store)
        assert await session.turn("hello") == "end_turn"
        record = store.get(session.id)
        assert record is not None
        told = [event["what"] async for event in SessionLog(store, record).replayable()]
        assert told.count("user") == 1


@VERSIONS
async def test_a_turn_that_is_cancelled_on_a_full_disk_was_cancelled(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    store = fillable(tmp_path / "kept")
    async with connected(cwd, version, store=store) as it, anyio.create_task_group() as tasks:
        session = await it.new()
        it.answers[PERMISSION] = SILENCE

        async def turn() -> None:
            assert await session.turn("write a.txt: x") == "cancelled"

        tasks.start_soon(turn)
        await it.until(lambda: it.requested)
        fill(store)
        await session.cancel()
        await it.until(lambda: calls(session)[0][0] in {"failed", "cancelled"})


def history_of(session: ClientSession) -> list[Any]:
    sessions = session.client.server.sessions
    assert sessions is not None
    return list(sessions.awake[session.id]._context.history)
