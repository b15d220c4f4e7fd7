"""Sessions whose process was killed: what was seen is told again, and the talk goes on."""

from __future__ import annotations

import random
from pathlib import Path
from typing import cast

import pytest

from acp_agent.models.types import AssistantMessage, PromptMessage, TextDelta, ToolResult, ToolUse
from acp_agent.sessions.restore import REASON, restore
from acp_agent.settings.types import DatabaseUrl
from acp_agent.store import events
from acp_agent.store.database import SessionStore
from acp_agent.store.entries import LocalExchange, Summary
from acp_agent.store.log import SessionLog
from acp_protocol.jsonrpc import Json
from tests.agent.client import items, lint_errors
from tests.agent.sessions.programs import program

VERSIONS = pytest.mark.parametrize("version", [1, 2])


def begun() -> SessionLog:
    """Return the log of a new session."""
    store = SessionStore()
    return SessionLog(store, store.create("a", "/", [], {}))


def test_a_whole_session_is_left_as_it_is() -> None:
    log = begun()
    log.append(events.user("m", [{"type": "text", "text": "hello"}]))
    history = [
        PromptMessage("hello"),
        AssistantMessage((TextDelta("well"), ToolUse("read", {"path": "a"}))),
    ]
    history += [ToolResult("read", "text"), AssistantMessage((TextDelta("done"),))]
    for entry in history:
        log.append_entry(entry)
    before = list(log.events())
    assert restore(log).history == history
    assert list(log.events()) == before


def test_what_the_agent_answered_by_itself_is_nothing_that_the_model_knows() -> None:
    """Also where it was killed before, amid or behind its answer."""
    log = begun()
    log.append(events.user("m", [{"type": "text", "text": "/help"}]))
    log.append_entry(LocalExchange("/help"))
    assert restore(log).history == [LocalExchange("/help")]
    log.append(events.text("agent_message_chunk", "n", "Say what"))
    assert restore(log).history == [LocalExchange("/help")]
    log.append(events.user("o", [{"type": "text", "text": "hello"}]))
    log.append_entry(PromptMessage("hello"))
    log.append(events.text("agent_message_chunk", "p", "well"))
    said = [LocalExchange("/help"), PromptMessage("hello"), AssistantMessage((TextDelta("well"),))]
    assert restore(log).history == said


@pytest.mark.parametrize("is_done", [True, False])
def test_a_compaction_that_was_cut_off_has_ended_as_far_as_it_came(*, is_done: bool) -> None:
    log = begun()
    log.append_entry(PromptMessage("a"))
    log.append_entry(AssistantMessage((TextDelta("b"),)))
    log.append(events.compaction("c", {"status": "in_progress"}))
    if is_done:
        log.append_entry(Summary("so far"))
    before = len(list(log.events()))
    restore(log)
    (ending,) = list(log.events())[before:]
    assert (ending["what"], ending["id"]) == ("compaction", "c")
    assert ending["members"]["status"] == ("completed" if is_done else "cancelled")
    restore(log)
    assert len(list(log.events())) == before + 1


def test_no_two_calls_bear_one_name() -> None:
    """Also where a call was cancelled before anybody was told of it."""
    log = begun()
    for name in ("call_1", "call_7", "odd", "call_²"):
        log.append(events.call(name, {"status": "pending"}))
    assert restore(log).calls == 9


async def test_what_was_cut_off_is_mended_once() -> None:
    log = begun()
    blocks: list[Json] = [{"type": "text", "text": "write"}]
    log.append(events.user("m", blocks))
    log.append_entry(PromptMessage("write"))
    called = AssistantMessage((TextDelta("so"), ToolUse("write", {}), ToolUse("run", {})))
    log.append(events.text("agent_message_chunk", "n", "so"))
    log.append_entry(called)
    log.append(events.call("call_1", {"status": "pending"}))
    log.append(events.tool("call_1", {"status": "in_progress"}))
    revived = restore(log)
    assert revived.calls == 1
    assert revived.history[1:] == [
        called,
        ToolResult("write", REASON, is_failed=True),
        ToolResult("run", REASON, is_failed=True),
    ]
    last = [event async for event in log.replayable()][-1]
    assert (last["id"], last["members"]["status"]) == ("call_1", "failed")
    mended = list(log.events())
    again = restore(log)
    assert (again.history, again.calls) == (revived.history, revived.calls)
    assert again.pending_prompt is None
    assert not again.open_calls
    assert list(log.events()) == mended


def test_the_model_knows_what_it_had_said_of_an_unfinished_reply() -> None:
    log = begun()
    log.append(events.user("m", [{"type": "text", "text": "speak"}]))
    log.append_entry(PromptMessage("speak"))
    log.append(events.text("agent_message_chunk", "n", "one "))
    log.append(events.text("agent_message_chunk", "n", "two"))
    history = restore(log).history
    assert history == [PromptMessage("speak"), AssistantMessage((TextDelta("one two"),))]


def test_a_prompt_that_nobody_has_taken_up_is_left_to_the_session() -> None:
    log = begun()
    log.append(events.user("m", [{"type": "text", "text": "speak"}]))
    log.append(events.text("agent_message_chunk", "n", "beware"))
    for _ in range(2):
        revived = restore(log)
        assert revived.history == []
        assert (revived.pending_prompt, revived.partial_reply) == (
            PromptMessage("speak"),
            (TextDelta("beware"),),
        )


@pytest.mark.parametrize(("version", "seed"), [(1 + seed % 2, seed) for seed in range(4)])
def test_all_that_a_client_has_seen_outlives_the_death_of_the_agent(
    storage: Path | DatabaseUrl, cwd: Path, version: int, seed: int
) -> None:
    chance = random.Random(seed)
    prompt = [{"type": "text", "text": "/tour"}]
    # Slowly enough to be in the middle of the turn, and not to have said it all into the pipe.
    with program(storage, cwd, version, "--pace", "0.003") as first:
        session_id = first.new()
        asked = first.send("session/prompt", sessionId=session_id, prompt=prompt)
        for _ in range(chance.randrange(1, 40)):
            if has_ended(first.read(), asked, version):
                break
        first.kill()
    seen = items(first.conversation(session_id))
    with program(storage, cwd, version) as second:
        assert "result" in second.reopen(session_id)
        told = items(second.conversation(session_id))
        answer = second.ask(
            "session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "hello"}]
        )
        assert "result" in answer
    assert len(told) >= len(seen) > 0
    for before, after in zip(seen, told, strict=False):
        assert holds(before, after), (before, after)
    assert lint_errors(second.journal.entries, unstable=False) == []


def has_ended(message: Json, asked: int, version: int) -> bool:
    """Return whether a message ends the turn that was asked for."""
    if version == 1:
        return message.get("id") == asked
    return message.get("params", {}).get("update", {}).get("state") == "idle"


def holds(before: Json, after: Json) -> bool:
    """Return whether what was seen is in what was told again: the same, or more of it."""
    if before == after:
        return True
    if isinstance(before[1], str) and len(before) == 3:
        return before[0] == after[0] and cast("str", after[1]).startswith(before[1])
    if before[0] == "plan":
        return after[0] == "plan"
    is_open = before[2] in {"pending", "in_progress"}
    return is_open and before[:2] == after[:2]


@VERSIONS
def test_a_session_is_open_in_one_process_at_a_time(
    storage: Path | DatabaseUrl, cwd: Path, version: int
) -> None:
    with (
        program(storage, cwd, version, "--unstable") as first,
        program(storage, cwd, version, "--unstable") as second,
    ):
        session_id = first.new()
        listed = second.ask("session/list")["result"]["sessions"]
        assert [session["sessionId"] for session in listed] == [session_id]
        assert second.ask("session/status", sessionId=session_id)["result"]["status"] == "open"
        for answer in (
            second.reopen(session_id),
            second.ask("session/delete", sessionId=session_id),
            second.ask("session/archive", sessionId=session_id),
        ):
            assert "open in another process" in answer["error"]["message"]
        title = second.ask("session/set_title", sessionId=session_id, title="Shared")
        assert title["result"] == {"title": "Shared"}
        fork = second.ask("session/fork", sessionId=session_id, cwd=str(cwd))
        assert fork["result"]["sessionId"] != session_id
        first.kill()
        # A server needs a moment to notice; opening a session waits for that.
        assert "result" in second.reopen(session_id)
        assert second.ask("session/close", sessionId=session_id)["result"] == {}
        assert second.ask("session/status", sessionId=session_id)["result"]["status"] == "saved"
        assert second.conversation(session_id).info.title == "Shared"


@VERSIONS
def test_two_agents_serve_from_one_store_at_once(
    storage: Path | DatabaseUrl, cwd: Path, version: int
) -> None:
    prompt = [{"type": "text", "text": "/tour"}]
    with (
        program(storage, cwd, version) as first,
        program(storage, cwd, version) as second,
    ):
        both = [(agent, agent.new()) for agent in (first, second)]
        asked = [
            (agent, agent.send("session/prompt", sessionId=session_id, prompt=prompt))
            for agent, session_id in both
        ]
        for agent, id_ in asked:
            while not has_ended(agent.read(), id_, version):
                pass
        seen = [items(agent.conversation(session_id)) for agent, session_id in both]
        for agent, session_id in both:
            agent.ask("session/close", sessionId=session_id)
        # Each now opens what the other had.
        for agent, session_id in ((second, both[0][1]), (first, both[1][1])):
            assert "result" in agent.reopen(session_id)
        assert items(second.conversation(both[0][1])) == seen[0]
        assert items(first.conversation(both[1][1])) == seen[1]
