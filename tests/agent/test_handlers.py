"""Opening and closing sessions, in both versions, and all that is said while that is done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_agent.models.types import HistoryEntry, ModelEvent, ModelFailedError, ToolSpec
from acp_agent.store.database import SessionStore
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import (
    PERMISSION,
    SILENCE,
    Counting,
    connected,
    items,
    open_session,
    surroundings,
)

VERSIONS = pytest.mark.parametrize("version", [1, 2])
SAYINGS = (
    "hello",
    "/tour",
    "/plan",
    "/think of the sea",
    "read notes.md then search TODO",
    "write a.txt: one then write a.txt: two",
    "run echo hi",
    "read nothing.txt",
    "edit notes.md: milk => tea",
)


def spoken(shown: list[Json]) -> list[Json]:
    """Return what was said and thought: the same in the words of either version.

    Where a plan stands within a message, version 1 has two of it.
    """
    told = [item for item in shown if item[0] in {"UserMessage", "AgentMessage", "Thought"}]
    return [
        (kind, "".join(text for _, text, _ in said))
        for kind, said in groupby(told, lambda item: item[0])
    ]


@VERSIONS
@pytest.mark.parametrize("later", [1, 2])
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(said=st.lists(st.sampled_from(SAYINGS), min_size=1, max_size=4))
def test_a_replay_folds_into_what_was_sent_live(
    cwd: Path, version: int, later: int, said: list[str]
) -> None:
    async def hold() -> None:
        store = SessionStore()
        async with connected(cwd, version, store=store) as it:
            session = await it.new()
            for saying in said:
                await session.turn(saying)
            live = session.conversation
            await session.ask("session/close")
        async with connected(cwd, later, store=store) as again:
            await again.session(session.id).reopen()
            await again.connection.request("session/list", {})
            replayed = again.session(session.id).conversation
            assert live.info.title == replayed.info.title
            assert spoken(items(live)) == spoken(items(replayed))
            if version == later:
                assert items(live) == items(replayed)
                assert surroundings(live) == surroundings(replayed)
            await again.session(session.id).turn("hello")

    anyio.run(hold)


@VERSIONS
async def test_a_cancelled_turn_is_told_again_as_it_was(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with connected(cwd, version, store=store) as it:
        it.answers[PERMISSION] = SILENCE
        session = await it.new()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.turn, "write a.txt: x")
            shown = {"tool_call", "tool_call_update"}
            await it.until(lambda: shown & set(it.kinds()))
            await session.cancel()
    async with connected(cwd, version, store=store) as again:
        reopened = again.session(session.id)
        await reopened.reopen()
    assert items(reopened.conversation) == items(session.conversation)


@VERSIONS
async def test_a_session_that_is_still_open_can_be_opened_again(cwd: Path, version: int) -> None:
    async with open_session(cwd, version) as session:
        await session.turn("/plan")
        live = items(session.conversation)
        await session.reopen()
        assert items(session.conversation) == live


@VERSIONS
async def test_a_session_is_resumed_without_what_was_said(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with open_session(cwd, version, store=store) as session:
        await session.turn("hello")
    async with connected(cwd, version, store=store) as again:
        await again.ask("session/resume", sessionId=session.id, cwd=str(cwd))
        assert await again.session(session.id).turn("hello") == "end_turn"
        said = [text for _, text, *_ in items(again.session(session.id).conversation)]
        assert said[0] == "hello"
        assert len(said) == 2


@VERSIONS
async def test_the_model_knows_what_was_said_before_the_session_was_closed(
    cwd: Path, version: int
) -> None:
    store = SessionStore()
    async with open_session(cwd, version, store=store) as session:
        await session.turn("read notes.md")
        known = list(session.client.server._handlers.sessions.awake[session.id]._context.history)  # type: ignore[union-attr]
    async with connected(cwd, version, store=store) as again:
        await again.session(session.id).reopen()
        revived = again.server._handlers.sessions.awake[session.id]._context.history  # type: ignore[union-attr]
        assert list(revived) == known


@VERSIONS
async def test_what_cannot_be_opened_is_refused(cwd: Path, version: int) -> None:
    async with open_session(cwd, version, lints=False) as session:
        method = "session/load" if version == 1 else "session/resume"
        servers: dict[str, Json] = {"mcpServers": []} if version == 1 else {}
        for members, code in [
            ({"sessionId": "none"}, jsonrpc.RESOURCE_NOT_FOUND),
            ({"cwd": str(cwd / "src")}, jsonrpc.INVALID_PARAMS),
            ({"cwd": str(cwd / "gone")}, jsonrpc.INVALID_PARAMS),
            ({"additionalDirectories": [str(cwd / "gone")]}, jsonrpc.INVALID_PARAMS),
        ]:
            params = {"sessionId": session.id, "cwd": str(cwd), **servers, **members}
            assert (await session.client.refusal(method, **params)).code == code
        await session.ask("session/close")
        prompt = [{"type": "text", "text": "x"}]
        refused = await session.refusal("session/prompt", prompt=prompt)
        assert (refused.code, "not open" in refused.message) == (jsonrpc.RESOURCE_NOT_FOUND, True)


async def test_nothing_is_loaded_while_a_turn_runs(cwd: Path) -> None:
    async with connected(cwd, lints=False) as it, anyio.create_task_group() as tasks:
        it.answers[PERMISSION] = SILENCE
        session = await it.new()
        tasks.start_soon(session.turn, "run ls")
        await it.until(lambda: "tool_call" in it.kinds())
        params: dict[str, Json] = {"sessionId": session.id, "cwd": str(cwd), "mcpServers": []}
        refused = await it.refusal("session/load", **params)
        assert (refused.code, "cancel it first" in refused.message) == (
            jsonrpc.INVALID_REQUEST,
            True,
        )
        await session.cancel()


@VERSIONS
async def test_a_fork_goes_on_from_a_copy(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with connected(cwd, version, store=store, unstable=True) as it:
        source = await it.new()
        await source.turn("/plan")
        await source.choose("mode", "architect")
        before = items(source.conversation)
        answer = await source.ask("session/fork", cwd=str(cwd / "src"))
        fork = answer["sessionId"]
        assert fork != source.id
        assert answer["configOptions"][0]["currentValue"] == "architect"
        await it.session(fork).turn("hello")
        assert items(source.conversation) == before
        await it.ask("session/close", sessionId=fork)
        await it.session(fork).reopen(cwd=str(cwd / "src"))
        shown = items(it.session(fork).conversation)
        assert shown[: len(before)] == before
        assert len(shown) == len(before) + 2


@VERSIONS
async def test_a_running_session_can_be_forked(cwd: Path, version: int) -> None:
    async with (
        connected(cwd, version, unstable=True) as it,
        anyio.create_task_group() as tasks,
    ):
        it.answers[PERMISSION] = SILENCE
        source = await it.new()
        tasks.start_soon(source.turn, "write a.txt: x")
        shown = {"tool_call", "tool_call_update"}
        await it.until(lambda: shown & set(it.kinds()))
        fork = (await source.ask("session/fork", cwd=str(cwd)))["sessionId"]
        await it.session(fork).reopen()
        (call,) = [
            item for item in items(it.session(fork).conversation) if item[0] == "Write a.txt"
        ]
        assert call[2] == "failed"
        await source.cancel()


@VERSIONS
async def test_additional_directories_hold_until_the_session_is_opened_without_them(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "far.txt").write_text("far away")
    saying = f"read {other / 'far.txt'}"
    async with connected(cwd, version) as it:
        session = await it.new(additionalDirectories=[str(other)])
        await session.turn(saying)
        (listed,) = (await it.ask("session/list"))["sessions"]
        assert listed["additionalDirectories"] == [str(other)]
        await session.reopen()
        (listed,) = (await it.ask("session/list"))["sessions"]
        assert "additionalDirectories" not in listed
        await session.turn(saying)
        calls = [item for item in items(session.conversation) if len(item) == 7]
        assert [call[2] for call in calls] == ["completed", "failed"]


@VERSIONS
@pytest.mark.parametrize("unstable", [False, True])
async def test_what_is_claimed_is_there_and_the_rest_is_not(
    cwd: Path, version: int, unstable: bool
) -> None:
    async with connected(cwd, version, unstable=unstable, lints=False) as it:
        if version == 1:
            capabilities = it.initialized["agentCapabilities"]
            claimed = set(capabilities["sessionCapabilities"])
            assert claimed >= {"list", "close", "resume", "delete", "additionalDirectories"}
            assert capabilities["loadSession"] is True
        else:
            claimed = set(it.initialized["capabilities"]["session"])
            assert claimed >= {"delete", "additionalDirectories", "prompt"}
        assert (claimed >= {"fork", "archive", "status", "title"}) == unstable
        for method in ("fork", "archive", "unarchive", "status", "set_title"):
            code = (await it.refusal(f"session/{method}")).code
            assert (code == jsonrpc.METHOD_NOT_FOUND) == (not unstable)


@VERSIONS
@pytest.mark.parametrize("unstable", [False, True])
async def test_all_that_is_said_about_every_method_lints(
    cwd: Path, version: int, unstable: bool
) -> None:
    """A visit lints what was said in it; this one leaves no method of the handlers out."""
    async with connected(cwd, version, unstable=unstable) as it, anyio.create_task_group() as tasks:
        session = await it.new()
        await session.turn("/tour")
        await session.choose("policy", "allow_all")
        await it.ask("session/list")
        if version == 1:
            await session.ask("session/set_mode", modeId="ask")
            await session.ask("session/resume", cwd=str(cwd))
        if unstable:
            title = {"title": "A title"}
            await session.ask("session/set_title", **title)
            await session.ask("session/status")
            fork = await session.ask("session/fork", cwd=str(cwd))
            await it.session(fork["sessionId"]).turn("hello")
            await it.ask("session/archive", sessionId=fork["sessionId"])
            await it.ask("session/unarchive", sessionId=fork["sessionId"])
            await it.ask("providers/list")
            await it.ask("auth/status")
        await session.ask("session/close")
        await session.reopen()
        it.answers[PERMISSION] = SILENCE
        await session.choose("policy", "ask_always")
        asked = len(it.requested)
        tasks.start_soon(session.turn, "read notes.md")
        await it.until(lambda: len(it.requested) > asked)
        await session.cancel()
        await session.ask("session/delete")
        handlers = it.server._handlers
        assert handlers is not None
        # Nobody has to log in, and nothing was told to be endable by itself: these are refused.
        refused = {"authenticate", "tool_call/cancel", "terminal/cancel"}
        refused |= {"providers/set", "providers/disable"}
        assert it.methods() == set(handlers.handlers) - refused | {"initialize"}


@VERSIONS
async def test_what_was_used_is_told_again_and_counted_on(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with open_session(cwd, version, store=store, model=Counting()) as session:
        await session.turn("hello")
        live = session.conversation
        assert live.info.usage["cost"] == {"amount": 0.5, "currency": "USD"}
        await session.ask("session/close")
    async with connected(cwd, version, store=store, model=Counting()) as again:
        await again.session(session.id).reopen()
        assert again.session(session.id).conversation.info.usage == live.info.usage
        await again.session(session.id).turn("hello")
        assert again.session(session.id).conversation.info.usage["cost"]["amount"] == 1.0


@VERSIONS
async def test_a_store_that_breaks_meanwhile_is_told_in_a_sentence(
    cwd: Path, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    store = SessionStore()
    async with open_session(cwd, version, store=store, lints=False) as session:
        store.close()
        with pytest.raises(RequestFailedError, match="sessions cannot be kept"):
            await session.client.new()
        with pytest.raises(RequestFailedError, match="sessions cannot be kept"):
            await session.prompt("hello")
        assert session.idles() == []
    assert "Traceback" not in caplog.text


@VERSIONS
@pytest.mark.parametrize("unstable", [False, True])
async def test_what_a_turn_has_used_stands_at_its_end(
    cwd: Path, version: int, unstable: bool
) -> None:
    async with open_session(cwd, version, model=Counting(), unstable=unstable) as session:
        await session.turn("hello")
        if version == 1:
            end = await session.prompt("again")
        else:
            await session.turn("again")
            end = session.idles()[-1]
        assert ("usage" in end) == unstable
        if unstable:
            assert end["usage"]["totalTokens"] == 5
            assert end["usage"]["inputTokens"] == 3


class Failing(Counting):
    """A model that cannot go on."""

    name = "failing"

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        async for event in super().reply(history, tools):
            yield event
        raise ModelFailedError("Nobody answers.")


@VERSIONS
async def test_what_a_turn_has_used_before_it_failed_counts(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with open_session(cwd, version, model=Failing(), unstable=True, store=store) as session:
        if version == 1:
            with pytest.raises(RequestFailedError, match=r"Nobody answers\."):
                await session.prompt("hello")
        else:
            assert await session.turn("hello") == "error"
            assert session.idles()[-1]["usage"]["outputTokens"] == 2
    record = store.get(session.id)
    assert record is not None
    assert record.spent is not None
    assert record.spent["written"] == 2
