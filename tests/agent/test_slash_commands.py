"""Slash commands: which there are, what the agent answers, and what the model gets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.markdown import code
from acp_agent.mcp.servers import McpServers
from acp_agent.models.demo import DemoModel
from acp_agent.models.types import (
    AssistantMessage,
    HistoryEntry,
    ModelEvent,
    PromptMessage,
    SlashCommand,
    TextDelta,
    TokenUsage,
    ToolSpec,
)
from acp_agent.permissions.decide import SessionPermissions
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.store import events
from acp_agent.store.database import SessionStore
from acp_agent.store.log import SessionLog
from acp_agent.tools.call import Outcome, PreparedCall
from acp_agent.tools.registry import builtin_tools
from acp_agent.turn.context import ContextWindow
from acp_agent.turn.slash_commands import (
    COMPACT,
    HELP,
    INIT,
    INIT_PROMPT,
    LOCAL_COMMANDS,
    PERMISSIONS,
    TOOLS,
    USAGE,
    available_commands,
    help_text,
    parse_command,
    permissions_text,
    tools_text,
    usage_text,
)
from acp_protocol.call_rules.rules import PolicyRule
from acp_protocol.call_rules.subjects import Subject
from acp_protocol.jsonrpc import Json
from tests.agent.client import Counting, connected, items, open_session, selected


def test_a_model_that_understands_words_can_be_given_every_command() -> None:
    assert available_commands(Counting()) == [HELP, TOOLS, USAGE, PERMISSIONS, COMPACT, INIT]


def test_a_scripted_model_keeps_its_own_and_gets_no_tasks() -> None:
    demo = DemoModel()
    assert available_commands(demo) == [*demo.commands, USAGE, PERMISSIONS]
    for text in ("/help", "/tools", "/tour", "/init", "/compact"):
        assert parse_command(text, demo) is None


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("/init", ""),
        ("/init  the tests\nare slow ", "the tests\nare slow"),
        ("/init\tx", "x"),
    ],
)
def test_what_stands_behind_a_command_is_its_rest(text: str, rest: str) -> None:
    order = parse_command(text, Counting())
    assert order is not None
    assert (order.command, order.rest) == (INIT, rest)


@pytest.mark.parametrize("text", ["", "/", "/ help", "/helping", "/Help", " /help", "/etc/hosts"])
def test_all_else_is_said_to_the_model(text: str) -> None:
    assert parse_command(text, Counting()) is None


def command(*words: str) -> PreparedCall:
    async def run(*_: object) -> Outcome:
        raise AssertionError

    return PreparedCall("run", "execute", run, subjects=[Subject("command", words)])


@given(st.text(max_size=50))
def test_a_name_stays_code_whatever_backticks_are_in_it(name: str) -> None:
    shown = code(name)
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    assert shown.endswith(fence)
    assert fence not in shown[len(fence) : -len(fence)].split(" ")
    assert "\n" not in shown


def test_help_names_commands_and_instructions() -> None:
    told = help_text("m", LOCAL_COMMANDS, ["AGENTS.md"], is_cut=False)
    assert [f"`/{each.name}" in told for each in LOCAL_COMMANDS] == [True] * len(LOCAL_COMMANDS)
    assert told.endswith("The model also gets the project's instructions from `AGENTS.md`.")
    cut = help_text("m", LOCAL_COMMANDS, ["AGENTS.md"], is_cut=True)
    assert cut.endswith("it gets only the first 32768 characters.")
    assert "instructions" not in help_text("m", LOCAL_COMMANDS, [], is_cut=False)


def test_tools_are_named_with_their_kinds() -> None:
    told = tools_text(McpServers(builtin_tools()))
    assert "- `read` (read): " in told
    assert told.endswith("There are no MCP servers in this session.")


def test_what_was_spent_is_told_as_far_as_it_is_known() -> None:
    assert usage_text("m", TokenUsage(0, 0), ContextWindow()).startswith("Nothing has been spent")
    spent = TokenUsage(1200, 80, reasoning_tokens=30, cache_read_tokens=1000, cost=0.01234)
    told = usage_text("m", spent, ContextWindow(640, 1000))
    assert told.splitlines()[2:] == [
        "- input: 1200 tokens, 1000 of them from a cache",
        "- output: 80 tokens, 30 of them for thinking",
        "- cost: $0.0123",
        "- context window: 640 of 1000 tokens, 64 %",
    ]
    unknown = usage_text("m", TokenUsage(1, 1), ContextWindow())
    assert "is not known" in unknown
    assert "`--window`" in unknown


def test_what_is_remembered_is_told_and_can_be_forgotten(tmp_path: Path) -> None:
    rules = PermissionPolicy(rules=(PolicyRule("deny", "delete"),))
    permissions = SessionPermissions(rules, tmp_path)
    assert permissions_text(permissions, "").endswith(
        "None of your answers are remembered in this session."
    )
    assert permissions_text(permissions, "forget").startswith("None of your answers")
    call = command("cargo", "te`st")
    permissions.record_choice(call, selected("allow-always"))
    told = permissions_text(permissions, "")
    assert "- `deny delete`" in told
    assert "- allow exactly ``cargo 'te`st'``" in told
    assert permissions.decide(call) is not None
    assert "forgets it" in permissions_text(permissions, "everything")
    assert (
        permissions_text(permissions, "forget")
        == "1 answer was forgotten; you will be asked again."
    )
    assert permissions.decide(call) is None


@pytest.mark.parametrize("usage", [{"used": "a", "size": 1}, {"used": 1, "size": 0}, {}, None])
def test_a_window_that_makes_no_sense_is_not_told(usage: dict[str, Json] | None) -> None:
    assert ContextWindow.from_update(usage) == ContextWindow()


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
    async with connected(cwd, version, store=store, model=model) as it:
        session = await it.new()
        for name in ("help", "tools", "usage", "permissions"):
            assert await session.turn(f"/{name}") == "end_turn"
        assert model.heard == []
        assert session.conversation.info.title is None
        await session.turn("hello")
        seen = items(session.conversation)
        await session.ask("session/close")
    again = Hearing()
    async with connected(cwd, version, store=store, model=again) as it:
        session = it.session(session.id)
        await session.reopen()
        assert items(session.conversation) == seen
        await session.turn("and on")
    said = [PromptMessage("hello"), AssistantMessage((TextDelta("well"),)), PromptMessage("and on")]
    assert again.heard == [said]


@VERSIONS
async def test_a_namespace_stands_before_the_names_and_may_be_left_out(
    cwd: Path, version: int
) -> None:
    model = Hearing()
    async with open_session(
        cwd, version, model=model, settings={"agent.namespace": "acp"}
    ) as session:
        await session.turn("/acp:help")
        await session.turn("/help")
        names = [command["name"] for command in session.conversation.info.commands]
        assert names[0] == "acp:help"
        assert session.text.count("`/acp:init [what matters]`") == 2
    assert model.heard == []


async def test_what_is_no_command_is_told_as_it_was_said_behind_the_namespace(cwd: Path) -> None:
    model = Hearing()
    model.commands = [SlashCommand("go", "Goes on")]
    async with open_session(cwd, model=model, settings={"agent.namespace": "acp"}) as session:
        for text in ("/acp:nope x", "/acp:", "/acp:go on", "/acp:go\non", "/go"):
            await session.turn(text)
        assert session.text.count("well") == 5
    said = [each.text for each in model.heard[-1] if isinstance(each, PromptMessage)]
    assert said == ["/acp:nope x", "/acp:", "/go on", "/go\non", "/go"]


async def test_an_answer_names_commands_as_the_client_knows_them(cwd: Path) -> None:
    async with open_session(cwd, model=Hearing(), settings={"agent.namespace": "acp"}) as session:
        await session.turn("/acp:permissions foo")
        assert "`/acp:permissions` shows" in session.text
        assert "`/acp:permissions forget` forgets" in session.text


@VERSIONS
@pytest.mark.parametrize(
    ("text", "heard"),
    [("/help", []), ("/acp:compact", []), ("hello", ["hello"]), ("/acp:init", [INIT_PROMPT])],
)
async def test_a_command_that_was_cut_off_before_it_began_is_one_still(
    cwd: Path, version: int, text: str, heard: list[str]
) -> None:
    store, model = SessionStore(), Hearing()
    async with connected(
        cwd, version, store=store, model=model, settings={"agent.namespace": "acp"}
    ) as it:
        session = await it.new()
        await session.ask("session/close")
        record = store.get(session.id)
        assert record is not None
        SessionLog(store, record).append(events.user("m", [{"type": "text", "text": text}]))
    for again in (1, 2):
        async with connected(
            cwd, version, store=store, model=model, settings={"agent.namespace": "acp"}
        ) as it:
            session = it.session(session.id)
            await session.reopen()
            await session.turn("and on")
        said = [each.text for each in model.heard[-1] if isinstance(each, PromptMessage)]
        assert said == [*heard, *["and on"] * again]


async def test_init_is_told_to_the_model_as_a_task(cwd: Path) -> None:
    model = Hearing()
    async with open_session(cwd, model=model) as session:
        await session.turn("/init the tests are slow")
        assert session.conversation.info.title == "/init the tests are slow"
    ((task,),) = model.heard
    assert isinstance(task, PromptMessage)
    assert "write an AGENTS.md" in task.text
    assert task.text.endswith("besides: the tests are slow\n")


async def test_another_command_is_a_text_for_the_model(cwd: Path) -> None:
    model = Hearing()
    async with connected(cwd, model=model) as it:
        await (await it.new()).turn("/etc/hosts is what?")
    assert model.heard == [[PromptMessage("/etc/hosts is what?")]]
