"""The loop of model and tools, with models that a test writes down."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Literal

import anyio
import pytest

from acp_agent.models.types import (
    AssistantMessage,
    Continue,
    HistoryEntry,
    ModelEvent,
    ModelFailedError,
    PlanChange,
    PlannedStep,
    PromptMessage,
    ProviderBlock,
    ReasoningDelta,
    Retrying,
    SlashCommand,
    Stop,
    TextDelta,
    TokenUsage,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from acp_agent.permissions.decide import SessionPermissions
from acp_agent.settings.keys import LimitSettings
from acp_agent.tools.registry import builtin_tools
from acp_agent.turn.context import TurnContext
from acp_agent.turn.loop import run_turn
from acp_agent.updates.v1 import SessionUpdates
from acp_agent.world.workspace import Workspace
from acp_protocol import jsonrpc
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json
from tests.agent.client import PERMISSION, SILENCE, DirectClient

TOOLS = builtin_tools()


class ListedModel:
    """Says what is listed for each time that it is asked; the last entry again and again."""

    name = "listed"
    commands: Sequence[SlashCommand] = ()

    def __init__(self, *replies: Sequence[ModelEvent]) -> None:
        self._replies = list(replies)
        self.seen: list[list[HistoryEntry]] = []
        self.offered: Sequence[ToolSpec] = ()

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        self.seen.append(list(history))
        self.offered = tools
        events = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        for event in events:
            yield event


def context(cwd: Path, model: ListedModel, client: DirectClient | None = None) -> TurnContext:
    client = client or DirectClient()
    return TurnContext(
        session_id="s",
        client=client,
        updates=SessionUpdates(client, "s"),
        workspace=Workspace("s", cwd),
        permissions=SessionPermissions(),
        tools=TOOLS,
        model=model,
        history=[PromptMessage("go")],
    )


async def test_a_model_without_calls_ends_the_turn(cwd: Path) -> None:
    client = DirectClient()
    plan = PlanChange((PlannedStep("look", "pending"),))
    turn = context(cwd, ListedModel([ReasoningDelta("hm"), TextDelta("a"), plan]), client)
    assert await run_turn(turn) == "end_turn"
    assert turn.history[1:] == [AssistantMessage((ReasoningDelta("hm"), TextDelta("a"), plan))]
    assert client.kinds() == [
        "agent_thought_chunk",
        "agent_message_chunk",
        "plan",
    ]
    entry = {"content": "look", "priority": "medium", "status": "pending"}
    assert client.updates[2]["entries"] == [entry]


async def test_a_model_sees_what_came_of_its_calls_and_which_tools_there_are(cwd: Path) -> None:
    read = ToolUse("read", {"path": "notes.md"})
    model = ListedModel([read, ToolUse("nothing", {})], [TextDelta("done")])
    turn = context(cwd, model)
    assert await run_turn(turn) == "end_turn"
    assert model.seen[1][2:] == [
        ToolResult("read", (cwd / "notes.md").read_text()),
        ToolResult("nothing", "there is no tool nothing", is_failed=True),
    ]
    assert [offer.name for offer in model.offered] == list(TOOLS)


async def test_a_model_that_never_stops_is_stopped(cwd: Path) -> None:
    model = ListedModel([ToolUse("read", {"path": "notes.md"})])
    assert await run_turn(context(cwd, model)) == "max_turn_requests"
    assert len(model.seen) == LimitSettings().requests


@pytest.mark.parametrize(
    ("limits", "stop", "asked", "said"),
    [
        (LimitSettings(requests=3), "max_turn_requests", 3, "3 requests in one turn"),
        (LimitSettings(tokens=200), "max_tokens", 2, "200 tokens in one turn"),
        (LimitSettings(tokens=1), "max_tokens", 1, "1 tokens in one turn"),
    ],
)
async def test_a_turn_ends_at_its_limits_and_says_so(
    cwd: Path, limits: LimitSettings, stop: str, asked: int, said: str
) -> None:
    client = DirectClient()
    model = ListedModel([ToolUse("read", {"path": "notes.md"}), TokenUsage(90, 10)])
    turn = context(cwd, model, client)
    turn.usage, turn.limits = TokenUsage(1000, 1000), limits
    assert await run_turn(turn) == stop
    assert len(model.seen) == asked
    sentence = f"\n\nI'm stopping here: {said} is the limit."
    assert client.updates[-1]["content"]["text"] == sentence
    assert turn.history[-1] == AssistantMessage((TextDelta(sentence),))


async def test_a_last_reply_over_the_limit_ends_the_turn_by_itself(cwd: Path) -> None:
    turn = context(cwd, ListedModel([TextDelta("a"), TokenUsage(90, 10)]))
    turn.limits = LimitSettings(tokens=1)
    assert await run_turn(turn) == "end_turn"


async def test_a_turn_that_takes_too_long_ends_with_all_that_runs(cwd: Path) -> None:
    client = DirectClient()
    sleep = ToolUse("run", {"command": ["sleep", "1000"]})
    turn = context(cwd, ListedModel([sleep]), client)
    turn.limits = LimitSettings(seconds=0.3)
    with anyio.fail_after(10):
        assert await run_turn(turn) == "max_turn_requests"
    assert turn.history[2] == ToolResult("run", "cancelled", is_failed=True)
    ends = [update["status"] for update in client.updates if "status" in update]
    assert ends == ["pending", "in_progress", "failed"]
    assert "0.3 s in one turn" in client.updates[-1]["content"]["text"]


async def test_every_call_in_the_history_has_its_answer_after_a_refusal_to_go_on(
    cwd: Path,
) -> None:
    write = ToolUse("write", {"path": "x", "text": "x"})
    client = DirectClient(answers={PERMISSION: {"outcome": {"outcome": "cancelled"}}})
    search = ToolUse("search", {"pattern": "nowhere"})
    turn = context(cwd, ListedModel([search, write, write]), client)
    assert await run_turn(turn) == "cancelled"
    cancelled = ToolResult("write", "cancelled", is_failed=True)
    assert turn.history[2:] == [ToolResult("search", "nothing found"), cancelled, cancelled]
    assert len([update for update in client.updates if update["sessionUpdate"] == "tool_call"]) == 2


async def test_every_call_in_the_history_has_its_answer_after_a_cancellation(cwd: Path) -> None:
    client = DirectClient(answers={PERMISSION: SILENCE})
    turn = context(cwd, ListedModel([ToolUse("write", {"path": "x", "text": "x"})]), client)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_turn, turn)
        await client.until(lambda: client.requests)
        tasks.cancel_scope.cancel()
    assert turn.history[2:] == [ToolResult("write", "cancelled", is_failed=True)]
    assert client.updates[-1]["status"] == "failed"


async def test_a_reply_that_was_cut_short_keeps_its_words_and_none_of_its_calls(cwd: Path) -> None:
    class HangingModel(ListedModel):
        async def reply(
            self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
        ) -> AsyncIterator[ModelEvent]:
            del history, tools
            yield TextDelta("first")
            yield ToolUse("read", {"path": "notes.md"})
            hangs.set()
            await anyio.sleep_forever()

    hangs = anyio.Event()
    turn = context(cwd, HangingModel([]))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_turn, turn)
        await hangs.wait()
        tasks.cancel_scope.cancel()
    assert turn.history[1:] == [AssistantMessage((TextDelta("first"),))]


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
async def test_a_reply_that_was_stopped_ends_the_turn_and_none_of_its_calls_is_run(
    cwd: Path, reason: Literal["max_tokens", "refusal"]
) -> None:
    client = DirectClient()
    read = ToolUse("read", {"path": "notes.md"})
    turn = context(cwd, ListedModel([TextDelta("a"), read, Stop(reason)]), client)
    assert await run_turn(turn) == reason
    kept = (Stop("refusal"),) if reason == "refusal" else ()
    assert turn.history[1:] == [AssistantMessage((TextDelta("a"), *kept))]
    assert client.kinds() == ["agent_message_chunk"]


async def test_why_a_reply_was_stopped_is_told_behind_it(cwd: Path) -> None:
    client = DirectClient()
    turn = context(cwd, ListedModel([TextDelta("a"), Stop("max_tokens", "it is long")]), client)
    assert await run_turn(turn) == "max_tokens"
    told = "".join(update["content"]["text"] for update in client.updates)
    assert told == "a\n\nI'm stopping here: it is long."


async def test_a_paused_reply_goes_on_behind_what_it_has_said(cwd: Path) -> None:
    client = DirectClient()
    model = ListedModel([TextDelta("a"), Continue()], [TextDelta("b")])
    turn = context(cwd, model, client)
    assert await run_turn(turn) == "end_turn"
    assert model.seen[1] == [PromptMessage("go"), AssistantMessage((TextDelta("a"),))]
    assert "".join(update["content"]["text"] for update in client.updates) == "ab"


async def test_a_reply_that_pauses_again_and_again_reaches_the_limit(cwd: Path) -> None:
    turn = context(cwd, model := ListedModel([TextDelta("a"), Continue()]))
    turn.limits = LimitSettings(requests=3)
    assert await run_turn(turn) == "max_turn_requests"
    assert len(model.seen) == 3


async def test_a_refused_prompt_and_all_behind_it_is_no_part_of_the_next(cwd: Path) -> None:
    read = ToolUse("read", {"path": "notes.md"})
    model = ListedModel([TextDelta("a")], [read], [Stop("refusal")], [TextDelta("b")])
    turn = context(cwd, model)
    assert await run_turn(turn) == "end_turn"
    turn.history.append(PromptMessage("evil"))
    assert await run_turn(turn) == "refusal"
    turn.history.append(PromptMessage("good"))
    assert await run_turn(turn) == "end_turn"
    assert model.seen[3] == [
        PromptMessage("go"),
        AssistantMessage((TextDelta("a"),)),
        PromptMessage("good"),
    ]


@pytest.mark.parametrize("reply", [[], [ReasoningDelta("hm")]])
async def test_a_turn_without_a_word_is_told_as_that(
    cwd: Path, reply: Sequence[ModelEvent]
) -> None:
    client = DirectClient()
    assert await run_turn(context(cwd, ListedModel(reply), client)) == "end_turn"
    assert client.updates[-1]["content"]["text"] == "The model has ended its turn without a word."


async def test_what_only_the_model_reads_stays_in_the_history_and_is_not_shown(cwd: Path) -> None:
    client = DirectClient()
    sealed = ProviderBlock("listed", {"signature": "x"})
    turn = context(cwd, ListedModel([sealed, TextDelta("a")]), client)
    assert await run_turn(turn) == "end_turn"
    assert turn.history[1:] == [AssistantMessage((sealed, TextDelta("a")))]
    assert len(client.updates) == 1


async def test_what_replies_have_taken_adds_up_and_is_told(cwd: Path) -> None:
    client = DirectClient()
    used = TokenUsage(100, 10, cost=0.25, window=1000)
    read = ToolUse("read", {"path": "notes.md"})
    turn = context(cwd, ListedModel([read, used], [TextDelta("a"), used]), client)
    assert await run_turn(turn) == "end_turn"
    assert turn.usage == TokenUsage(200, 20, cost=0.5)
    told = [update for update in client.updates if update["sessionUpdate"] == "usage_update"]
    full = {"sessionUpdate": "usage_update", "used": 110, "size": 1000}
    assert told == [full | {"cost": {"amount": cost, "currency": "USD"}} for cost in (0.25, 0.5)]


async def test_why_nothing_comes_is_told_and_is_no_part_of_the_reply(cwd: Path) -> None:
    client = DirectClient()
    delayed = Retrying("X has too much to do.", 3.2)
    turn = context(cwd, ListedModel([delayed, TextDelta("a")]), client)
    assert await run_turn(turn) == "end_turn"
    thought, said = client.updates
    assert thought["sessionUpdate"] == "agent_thought_chunk"
    why = "X has too much to do. It is asked again in 4 s.\n\n"
    assert thought["content"] == {"type": "text", "text": why}
    assert said["content"]["text"] == "a"
    assert turn.history[1:] == [AssistantMessage((TextDelta("a"),))]


async def test_without_a_known_window_nothing_is_told_of_it(cwd: Path) -> None:
    client = DirectClient()
    turn = context(cwd, ListedModel([TextDelta("a"), TokenUsage(100, 10)]), client)
    assert await run_turn(turn) == "end_turn"
    assert client.kinds() == ["agent_message_chunk"]
    assert turn.usage.total == 110


async def test_a_call_that_cannot_be_carried_out_is_told_to_the_model_alone(cwd: Path) -> None:
    client = DirectClient()
    odd = ToolUse("write", {}, "a", "the arguments are no JSON")
    turn = context(cwd, ListedModel([odd], [TextDelta("sorry")]), client)
    assert await run_turn(turn) == "end_turn"
    assert turn.history[2] == ToolResult("write", "the arguments are no JSON", is_failed=True)
    assert client.kinds() == ["agent_message_chunk"]


@pytest.mark.parametrize(
    ("needs_key", "code"), [(True, jsonrpc.AUTH_REQUIRED), (False, jsonrpc.INTERNAL_ERROR)]
)
async def test_a_model_that_fails_is_the_answer_to_the_prompt(
    cwd: Path, needs_key: bool, code: int
) -> None:
    class FailingModel(ListedModel):
        async def reply(
            self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
        ) -> AsyncIterator[ModelEvent]:
            del history, tools
            yield TextDelta("a")
            raise ModelFailedError("It is not there.", needs_key=needs_key)

    turn = context(cwd, FailingModel([]))
    with pytest.raises(RequestFailedError) as caught:
        await run_turn(turn)
    assert (caught.value.code, caught.value.message) == (code, "It is not there.")
    assert turn.history[1:] == [AssistantMessage((TextDelta("a"),))]


async def test_a_reply_that_nobody_hears_to_its_end_is_closed(cwd: Path) -> None:
    class OpenModel(ListedModel):
        async def reply(
            self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
        ) -> AsyncIterator[ModelEvent]:
            del history, tools
            try:
                yield TextDelta("a")
                yield TextDelta("b")
            finally:
                closed.set()

    class GoneClient(DirectClient):
        async def notify(self, method: str, params: Json = None) -> None:
            raise ConnectionResetError

    closed = anyio.Event()
    with pytest.raises(ConnectionResetError):
        await run_turn(context(cwd, OpenModel([]), GoneClient()))
    assert closed.is_set()
