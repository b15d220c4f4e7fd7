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
from tests.agent.linted_client import Counting, Visit, items, surroundings, visit

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


async def code_of(it: Visit, method: str, **params: Json) -> tuple[int, str]:
    """Return code and message of the refusal of a question."""
    with pytest.raises(RequestFailedError) as caught:
        await it.connection.request(method, params)
    return caught.value.code, caught.value.message


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
        async with visit(cwd, version, store=store) as it:
            session_id = await it.new()
            for saying in said:
                await it.turn(session_id, saying)
            live = it.conversation(session_id)
            await it.ask("session/close", sessionId=session_id)
        async with visit(cwd, later, store=store) as again:
            await again.reopen(session_id)
            await again.connection.request("session/list", {})
            replayed = again.conversation(session_id)
            assert live.info.title == replayed.info.title
            assert spoken(items(live)) == spoken(items(replayed))
            if version == later:
                assert items(live) == items(replayed)
                assert surroundings(live) == surroundings(replayed)
            await again.turn(session_id, "hello")

    anyio.run(hold)


@VERSIONS
async def test_a_cancelled_turn_is_told_again_as_it_was(cwd: Path, version: int) -> None:
    store = SessionStore()
    session_id = ""
    async with visit(cwd, version, store=store) as it, anyio.create_task_group() as tasks:
        it.visitor.is_silent = True
        session_id = await it.new()
        tasks.start_soon(it.turn, session_id, "write a.txt: x")
        shown = {"tool_call", "tool_call_update"}
        await it.visitor.until(lambda: shown & set(it.visitor.kinds()))
        await it.cancel(session_id)
    async with visit(cwd, version, store=store) as again:
        await again.reopen(session_id)
    assert items(again.conversation(session_id)) == items(it.conversation(session_id))


@VERSIONS
async def test_a_session_that_is_still_open_can_be_opened_again(cwd: Path, version: int) -> None:
    async with visit(cwd, version) as it:
        session_id = await it.new()
        await it.turn(session_id, "/plan")
        live = items(it.conversation(session_id))
        await it.reopen(session_id)
        assert items(it.conversation(session_id)) == live


@VERSIONS
async def test_a_session_is_resumed_without_what_was_said(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with visit(cwd, version, store=store) as it:
        session_id = await it.new()
        await it.turn(session_id, "hello")
    async with visit(cwd, version, store=store) as again:
        await again.ask("session/resume", sessionId=session_id, cwd=str(cwd))
        assert await again.turn(session_id, "hello") == "end_turn"
        said = [text for _, text, *_ in items(again.conversation(session_id))]
        assert said[0] == "hello"
        assert len(said) == 2


@VERSIONS
async def test_the_model_knows_what_was_said_before_the_session_was_closed(
    cwd: Path, version: int
) -> None:
    store = SessionStore()
    async with visit(cwd, version, store=store) as it:
        session_id = await it.new()
        await it.turn(session_id, "read notes.md")
        known = list(it.server._handlers.sessions.awake[session_id]._context.history)  # type: ignore[union-attr]
    async with visit(cwd, version, store=store) as again:
        await again.reopen(session_id)
        revived = again.server._handlers.sessions.awake[session_id]._context.history  # type: ignore[union-attr]
        assert list(revived) == known


@VERSIONS
async def test_what_cannot_be_opened_is_refused(cwd: Path, version: int) -> None:
    async with visit(cwd, version, lints=False) as it:
        session_id = await it.new()
        method = "session/load" if version == 1 else "session/resume"
        servers: dict[str, Json] = {"mcpServers": []} if version == 1 else {}
        for members, code in [
            ({"sessionId": "none"}, jsonrpc.RESOURCE_NOT_FOUND),
            ({"cwd": str(cwd / "src")}, jsonrpc.INVALID_PARAMS),
            ({"cwd": str(cwd / "gone")}, jsonrpc.INVALID_PARAMS),
            ({"additionalDirectories": [str(cwd / "gone")]}, jsonrpc.INVALID_PARAMS),
        ]:
            params = {"sessionId": session_id, "cwd": str(cwd), **servers, **members}
            assert (await code_of(it, method, **params))[0] == code
        await it.ask("session/close", sessionId=session_id)
        prompt = [{"type": "text", "text": "x"}]
        code, message = await code_of(it, "session/prompt", sessionId=session_id, prompt=prompt)
        assert (code, "not open" in message) == (jsonrpc.RESOURCE_NOT_FOUND, True)


async def test_nothing_is_loaded_while_a_turn_runs(cwd: Path) -> None:
    async with visit(cwd, lints=False) as it, anyio.create_task_group() as tasks:
        it.visitor.is_silent = True
        session_id = await it.new()
        tasks.start_soon(it.turn, session_id, "run ls")
        await it.visitor.until(lambda: "tool_call" in it.visitor.kinds())
        params: dict[str, Json] = {"sessionId": session_id, "cwd": str(cwd), "mcpServers": []}
        code, message = await code_of(it, "session/load", **params)
        assert (code, "cancel it first" in message) == (jsonrpc.INVALID_REQUEST, True)
        await it.cancel(session_id)


@VERSIONS
async def test_a_fork_goes_on_from_a_copy(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with visit(cwd, version, store=store, unstable=True) as it:
        source = await it.new()
        await it.turn(source, "/plan")
        await it.choose(source, "mode", "architect")
        before = items(it.conversation(source))
        answer = await it.ask("session/fork", sessionId=source, cwd=str(cwd / "src"))
        fork = answer["sessionId"]
        assert fork != source
        assert answer["configOptions"][0]["currentValue"] == "architect"
        await it.turn(fork, "hello")
        assert items(it.conversation(source)) == before
        await it.ask("session/close", sessionId=fork)
        await it.reopen(fork, cwd=str(cwd / "src"))
        shown = items(it.conversation(fork))
        assert shown[: len(before)] == before
        assert len(shown) == len(before) + 2


@VERSIONS
async def test_a_running_session_can_be_forked(cwd: Path, version: int) -> None:
    async with (
        visit(cwd, version, unstable=True) as it,
        anyio.create_task_group() as tasks,
    ):
        it.visitor.is_silent = True
        source = await it.new()
        tasks.start_soon(it.turn, source, "write a.txt: x")
        shown = {"tool_call", "tool_call_update"}
        await it.visitor.until(lambda: shown & set(it.visitor.kinds()))
        fork = (await it.ask("session/fork", sessionId=source, cwd=str(cwd)))["sessionId"]
        await it.reopen(fork)
        (call,) = [item for item in items(it.conversation(fork)) if item[0] == "Write a.txt"]
        assert call[2] == "failed"
        await it.cancel(source)


@VERSIONS
async def test_additional_directories_hold_until_the_session_is_opened_without_them(
    cwd: Path, version: int, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "far.txt").write_text("far away")
    saying = f"read {other / 'far.txt'}"
    async with visit(cwd, version) as it:
        session_id = await it.new(additionalDirectories=[str(other)])
        await it.turn(session_id, saying)
        (listed,) = (await it.ask("session/list"))["sessions"]
        assert listed["additionalDirectories"] == [str(other)]
        await it.reopen(session_id)
        (listed,) = (await it.ask("session/list"))["sessions"]
        assert "additionalDirectories" not in listed
        await it.turn(session_id, saying)
        calls = [item for item in items(it.conversation(session_id)) if len(item) == 7]
        assert [call[2] for call in calls] == ["completed", "failed"]


@VERSIONS
@pytest.mark.parametrize("unstable", [False, True])
async def test_what_is_claimed_is_there_and_the_rest_is_not(
    cwd: Path, version: int, unstable: bool
) -> None:
    async with visit(cwd, version, unstable=unstable, lints=False) as it:
        if version == 1:
            capabilities = it.hello["agentCapabilities"]
            claimed = set(capabilities["sessionCapabilities"])
            assert claimed >= {"list", "close", "resume", "delete", "additionalDirectories"}
            assert capabilities["loadSession"] is True
        else:
            claimed = set(it.hello["capabilities"]["session"])
            assert claimed >= {"delete", "additionalDirectories", "prompt"}
        assert (claimed >= {"fork", "archive", "status", "title"}) == unstable
        for method in ("fork", "archive", "unarchive", "status", "set_title"):
            code, _ = await code_of(it, f"session/{method}")
            assert (code == jsonrpc.METHOD_NOT_FOUND) == (not unstable)


@VERSIONS
@pytest.mark.parametrize("unstable", [False, True])
async def test_all_that_is_said_about_every_method_lints(
    cwd: Path, version: int, unstable: bool
) -> None:
    """A visit lints what was said in it; this one leaves no method of the handlers out."""
    async with visit(cwd, version, unstable=unstable) as it, anyio.create_task_group() as tasks:
        session_id = await it.new()
        await it.turn(session_id, "/tour")
        await it.choose(session_id, "policy", "allow_all")
        await it.ask("session/list")
        if version == 1:
            await it.ask("session/set_mode", sessionId=session_id, modeId="ask")
            await it.ask("session/resume", sessionId=session_id, cwd=str(cwd))
        if unstable:
            title = {"title": "A title"}
            await it.ask("session/set_title", sessionId=session_id, **title)
            await it.ask("session/status", sessionId=session_id)
            fork = await it.ask("session/fork", sessionId=session_id, cwd=str(cwd))
            await it.turn(fork["sessionId"], "hello")
            await it.ask("session/archive", sessionId=fork["sessionId"])
            await it.ask("session/unarchive", sessionId=fork["sessionId"])
            await it.ask("providers/list")
            await it.ask("auth/status")
        await it.ask("session/close", sessionId=session_id)
        await it.reopen(session_id)
        it.visitor.is_silent = True
        await it.choose(session_id, "policy", "ask_always")
        asked = len(it.visitor.asked)
        tasks.start_soon(it.turn, session_id, "read notes.md")
        await it.visitor.until(lambda: len(it.visitor.asked) > asked)
        await it.cancel(session_id)
        await it.ask("session/delete", sessionId=session_id)
        handlers = it.server._handlers
        assert handlers is not None
        # Nobody has to log in, and nothing was told to be endable by itself: these are refused.
        refused = {"authenticate", "tool_call/cancel", "terminal/cancel"}
        refused |= {"providers/set", "providers/disable"}
        assert it.methods() == set(handlers.handlers) - refused | {"initialize"}


@VERSIONS
async def test_what_was_used_is_told_again_and_counted_on(cwd: Path, version: int) -> None:
    store = SessionStore()
    async with visit(cwd, version, store=store, model=Counting()) as it:
        session_id = await it.new()
        await it.turn(session_id, "hello")
        live = it.conversation(session_id)
        assert live.info.usage["cost"] == {"amount": 0.5, "currency": "USD"}
        await it.ask("session/close", sessionId=session_id)
    async with visit(cwd, version, store=store, model=Counting()) as again:
        await again.reopen(session_id)
        assert again.conversation(session_id).info.usage == live.info.usage
        await again.turn(session_id, "hello")
        assert again.conversation(session_id).info.usage["cost"]["amount"] == 1.0


@VERSIONS
async def test_a_store_that_breaks_meanwhile_is_told_in_a_sentence(
    cwd: Path, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    store = SessionStore()
    async with visit(cwd, version, store=store, lints=False) as it:
        session_id = await it.new()
        store.close()
        with pytest.raises(RequestFailedError, match="sessions cannot be kept"):
            await it.new()
        with pytest.raises(RequestFailedError, match="sessions cannot be kept"):
            await it.say(session_id, "hello")
        assert it.visitor.idles(session_id) == []
    assert "Traceback" not in caplog.text


@VERSIONS
@pytest.mark.parametrize("unstable", [False, True])
async def test_what_a_turn_has_used_stands_at_its_end(
    cwd: Path, version: int, unstable: bool
) -> None:
    async with visit(cwd, version, model=Counting(), unstable=unstable) as it:
        session_id = await it.new()
        await it.turn(session_id, "hello")
        if version == 1:
            end = await it.say(session_id, "again")
        else:
            await it.turn(session_id, "again")
            end = it.visitor.idles(session_id)[-1]
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
    async with visit(cwd, version, model=Failing(), unstable=True, store=store) as it:
        session_id = await it.new()
        if version == 1:
            with pytest.raises(RequestFailedError, match=r"Nobody answers\."):
                await it.say(session_id, "hello")
        else:
            assert await it.turn(session_id, "hello") == "error"
            assert it.visitor.idles(session_id)[-1]["usage"]["outputTokens"] == 2
    record = store.get(session_id)
    assert record is not None
    assert record.spent is not None
    assert record.spent["written"] == 2
