"""Commands in a session: answered by the agent or handed to the model, and remembered rightly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from acp_agent.models.types import (
    AssistantMessage,
    HistoryEntry,
    ModelEvent,
    PromptMessage,
    SlashCommand,
    TextDelta,
    ToolSpec,
)
from acp_agent.store import events
from acp_agent.store.database import SessionStore
from acp_agent.store.log import SessionLog
from acp_agent.turn.slash_commands import INIT_PROMPT
from tests.agent.visits import items, visit

VERSIONS = pytest.mark.parametrize("version", [1, 2])


class Hearing:
    """Keeps what it is told."""

    name = "hearing"
    commands: Sequence[SlashCommand] = ()

    def __init__(self) -> None:
        self.heard: list[list[HistoryEntry]] = []

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del tools
        self.heard.append(list(history))
        yield TextDelta("well")


@VERSIONS
async def test_the_agent_answers_by_itself_and_the_model_learns_nothing_of_it(
    cwd: Path, version: int
) -> None:
    store, model = SessionStore(), Hearing()
    async with visit(cwd, version, store=store, model=model) as it:
        session_id = await it.new()
        for name in ("help", "tools", "usage", "permissions"):
            assert await it.turn(session_id, f"/{name}") == "end_turn"
        assert model.heard == []
        assert it.conversation(session_id).info.title is None
        await it.turn(session_id, "hello")
        seen = items(it.conversation(session_id))
        await it.ask("session/close", sessionId=session_id)
    again = Hearing()
    async with visit(cwd, version, store=store, model=again) as it:
        await it.reopen(session_id)
        assert items(it.conversation(session_id)) == seen
        await it.turn(session_id, "and on")
    said = [PromptMessage("hello"), AssistantMessage((TextDelta("well"),)), PromptMessage("and on")]
    assert again.heard == [said]


@VERSIONS
async def test_a_namespace_stands_before_the_names_and_may_be_left_out(
    cwd: Path, version: int
) -> None:
    model = Hearing()
    async with visit(cwd, version, model=model, namespace="acp") as it:
        session_id = await it.new()
        await it.turn(session_id, "/acp:help")
        await it.turn(session_id, "/help")
        names = [command["name"] for command in it.conversation(session_id).info.commands]
        assert names[0] == "acp:help"
        assert it.said(session_id).count("`/acp:init [what matters]`") == 2
    assert model.heard == []


async def test_what_is_no_command_is_told_as_it_was_said_behind_the_namespace(cwd: Path) -> None:
    model = Hearing()
    model.commands = [SlashCommand("go", "Goes on")]
    async with visit(cwd, model=model, namespace="acp") as it:
        session_id = await it.new()
        for text in ("/acp:nope x", "/acp:", "/acp:go on", "/acp:go\non", "/go"):
            await it.turn(session_id, text)
        assert it.said(session_id).count("well") == 5
    said = [each.text for each in model.heard[-1] if isinstance(each, PromptMessage)]
    assert said == ["/acp:nope x", "/acp:", "/go on", "/go\non", "/go"]


async def test_an_answer_names_commands_as_the_client_knows_them(cwd: Path) -> None:
    async with visit(cwd, model=Hearing(), namespace="acp") as it:
        session_id = await it.new()
        await it.turn(session_id, "/acp:permissions foo")
        assert "`/acp:permissions` shows" in it.said(session_id)
        assert "`/acp:permissions forget` forgets" in it.said(session_id)


@VERSIONS
@pytest.mark.parametrize(
    ("text", "heard"),
    [("/help", []), ("/acp:compact", []), ("hello", ["hello"]), ("/acp:init", [INIT_PROMPT])],
)
async def test_a_command_that_was_cut_off_before_it_began_is_one_still(
    cwd: Path, version: int, text: str, heard: list[str]
) -> None:
    store, model = SessionStore(), Hearing()
    async with visit(cwd, version, store=store, model=model, namespace="acp") as it:
        session_id = await it.new()
        await it.ask("session/close", sessionId=session_id)
        record = store.get(session_id)
        assert record is not None
        SessionLog(store, record).append(events.user("m", [{"type": "text", "text": text}]))
    for again in (1, 2):
        async with visit(cwd, version, store=store, model=model, namespace="acp") as it:
            await it.reopen(session_id)
            await it.turn(session_id, "and on")
        said = [each.text for each in model.heard[-1] if isinstance(each, PromptMessage)]
        assert said == [*heard, *["and on"] * again]


async def test_init_is_told_to_the_model_as_a_task(cwd: Path) -> None:
    model = Hearing()
    async with visit(cwd, model=model) as it:
        session_id = await it.new()
        await it.turn(session_id, "/init the tests are slow")
        assert it.conversation(session_id).info.title == "/init the tests are slow"
    ((task,),) = model.heard
    assert isinstance(task, PromptMessage)
    assert "write an AGENTS.md" in task.text
    assert task.text.endswith("besides: the tests are slow\n")


async def test_another_command_is_a_text_for_the_model(cwd: Path) -> None:
    model = Hearing()
    async with visit(cwd, model=model) as it:
        await it.turn(await it.new(), "/etc/hosts is what?")
    assert model.heard == [[PromptMessage("/etc/hosts is what?")]]
