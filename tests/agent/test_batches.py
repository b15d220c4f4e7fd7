"""Calls that run together: whatever they do, each is told in order and answered once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
import anyio.lowlevel
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_agent.models.demo import DemoModel
from acp_agent.models.types import ToolResult, ToolSpec, ToolUse
from acp_agent.permissions.decide import SessionPermissions
from acp_agent.tools.call import (
    Outcome,
    PreparedCall,
    ReportContent,
    Tool,
    ToolFailedError,
    text_content,
)
from acp_agent.turn import tool_calls as tool_calls
from acp_agent.turn.context import TurnContext
from acp_agent.updates.v1 import SessionUpdates
from acp_agent.world.workspace import Workspace
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind
from tests.agent.client import LIMIT, PERMISSION, DirectClient, selected

End: TypeAlias = Literal["well", "failed", "refused", "broken", "unfit"]
FINAL = {"completed", "failed"}


@dataclass(frozen=True)
class Wish:
    """What a call does, step by step."""

    tool: Literal["look", "change"]
    preparing: int = 0
    reports: tuple[int, ...] = ()
    """Steps before each report."""
    end: End = "well"

    def call(self, place: int) -> ToolUse:
        fault = "no JSON" if self.end == "unfit" else None
        return ToolUse(self.tool, {"place": place}, str(place), fault)


@dataclass
class Stage:
    """Where wishes come true, and who runs beside whom."""

    wishes: Sequence[Wish]
    running: set[int] = field(default_factory=set[int])
    most: int = 0

    def tools(self) -> dict[str, Tool]:
        return {"look": StagedTool("read", self), "change": StagedTool("edit", self)}

    async def step(self, times: int) -> None:
        for _ in range(times):
            await anyio.lowlevel.checkpoint()


class StagedTool:
    """Does what its wish says."""

    offer = ToolSpec("staged", "", {})

    def __init__(self, kind: ToolKind, stage: Stage) -> None:
        self.kind: ToolKind = kind
        self._stage = stage

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        del workspace
        place: int = arguments["place"]
        wish, stage = self._stage.wishes[place], self._stage
        await stage.step(wish.preparing)
        if wish.end == "refused":
            raise ToolFailedError("refused")

        async def run(report: ReportContent) -> Outcome:
            stage.running.add(place)
            stage.most = max(stage.most, len(stage.running))
            is_alone = wish.tool == "change"
            assert not is_alone or len(stage.running) == 1
            try:
                for count, steps in enumerate(wish.reports):
                    await stage.step(steps)
                    await report([text_content(f"{place}.{count}")])
                if wish.end == "broken":
                    raise ZeroDivisionError
                if wish.end == "failed":
                    raise ToolFailedError("failed")
                return Outcome(f"answer {place}")
            finally:
                stage.running.discard(place)

        return PreparedCall(f"Call {place}", self.kind, run)


def client_answering(answer: Json = None) -> DirectClient:
    """Return a client that answers requests for permission, of which only one waits at a time."""
    waiting: list[Json] = []

    async def answered(params: Json) -> Json:
        assert waiting == [], "two questions at once"
        waiting.append(params)
        await anyio.lowlevel.checkpoint()
        waiting.clear()
        return answer or selected("allow")

    return DirectClient(answers={PERMISSION: answered})


def context_for(
    stage: Stage, client: DirectClient, policy: Literal["allow_all", "ask_always"]
) -> TurnContext:
    permissions = SessionPermissions()
    permissions.policy = policy
    workspace = Workspace("s", Path("/"))
    return TurnContext(
        session_id="s",
        client=client,
        updates=SessionUpdates(client, "s"),
        workspace=workspace,
        permissions=permissions,
        tools=stage.tools(),
        model=DemoModel(),
        history=[],
    )


async def carried_out(context: TurnContext, calls: Sequence[ToolUse]) -> list[ToolResult | None]:
    answers: list[ToolResult | None] = []
    for batch in tool_calls.batches(context, calls):
        answers += await tool_calls.run_batch(context, batch)
    return answers


def check_told(told: list[Json], wishes: Sequence[Wish]) -> None:
    """Each call is told of in the order of the calls, and each one's updates in theirs."""
    shown: list[dict[str, Json]] = [
        update for update in told if update["sessionUpdate"] == "tool_call"
    ]
    places = [update["rawInput"]["place"] for update in shown]
    assert places == sorted(set(places))
    assert [update["toolCallId"] for update in shown] == [
        f"call_{n + 1}" for n in range(len(shown))
    ]
    for update in shown:
        mine = [each for each in told if each["toolCallId"] == update["toolCallId"]]
        assert mine[0] is update
        statuses = [each["status"] for each in mine if "status" in each]
        assert statuses[0] == "pending"
        assert set(statuses[1:-1]) <= {"in_progress"}
        assert statuses[-1] in FINAL
        assert mine[-1]["status"] == statuses[-1]
        place: int = update["rawInput"]["place"]
        reported: list[str] = [
            each["content"][0]["content"]["text"]
            for each in mine
            if each["sessionUpdate"] == "tool_call_update" and "status" not in each
        ]
        expected = [f"{place}.{count}" for count in range(len(wishes[place].reports))]
        assert reported == expected[: len(reported)]


STEPS = st.integers(0, 5)
WISHES = st.lists(
    st.builds(
        Wish,
        st.sampled_from(["look", "look", "change"]),
        STEPS,
        st.lists(STEPS, max_size=3).map(tuple),
        st.sampled_from(["well", "well", "failed", "refused", "unfit"]),
    ),
    max_size=14,
)


@settings(deadline=None, max_examples=60)
@given(WISHES, st.sampled_from(["allow_all", "ask_always"]))
def test_however_calls_run_each_is_told_in_order_and_answered_once(
    wishes: list[Wish], policy: Literal["allow_all", "ask_always"]
) -> None:
    stage, client = Stage(wishes), client_answering()

    async def go() -> None:
        context = context_for(stage, client, policy)
        calls = [wish.call(place) for place, wish in enumerate(wishes)]
        with anyio.fail_after(LIMIT):
            answers = await carried_out(context, calls)
        texts = {"well": "answer {}", "failed": "failed", "refused": "refused", "unfit": "no JSON"}
        assert [answer and answer.text for answer in answers] == [
            texts[wish.end].format(place) for place, wish in enumerate(wishes)
        ]

    anyio.run(go)
    check_told(client.updates, wishes)
    assert stage.most <= tool_calls.MAX_PARALLEL_CALLS
    told = {update["rawInput"]["place"] for update in client.updates if "rawInput" in update}
    assert told == {place for place, wish in enumerate(wishes) if wish.end != "unfit"}


@settings(deadline=None, max_examples=60)
@given(WISHES, st.integers(0, 60))
def test_whenever_it_is_cancelled_nothing_runs_on_and_each_call_that_was_told_has_ended(
    wishes: list[Wish], steps: int
) -> None:
    stage, client = Stage(wishes), client_answering()

    async def go() -> None:
        context = context_for(stage, client, "ask_always")
        calls = [wish.call(place) for place, wish in enumerate(wishes)]
        with anyio.fail_after(LIMIT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(carried_out, context, calls)
                await stage.step(steps)
                tasks.cancel_scope.cancel()
        count = len(client.updates)
        await stage.step(20)
        assert len(client.updates) == count

    anyio.run(go)
    check_told(client.updates, wishes)
    assert stage.running == set()


async def test_what_only_looks_runs_side_by_side_and_changes_wait() -> None:
    looks = [Wish("look", reports=(300,))] * 12
    stage, client = Stage([*looks, Wish("change"), *looks]), client_answering()
    context = context_for(stage, client, "allow_all")
    calls = [wish.call(place) for place, wish in enumerate(stage.wishes)]
    assert [len(batch) for batch in tool_calls.batches(context, calls)] == [12, 1, 12]
    await carried_out(context, calls)
    assert stage.most == tool_calls.MAX_PARALLEL_CALLS


async def test_a_mistake_of_ours_fails_its_call_and_lets_the_others_end() -> None:
    wishes = [Wish("look", reports=(50,)), Wish("look", end="broken"), Wish("look", reports=(50,))]
    stage, client = Stage(wishes), client_answering()
    context = context_for(stage, client, "allow_all")
    answers = await carried_out(context, [wish.call(place) for place, wish in enumerate(wishes)])
    check_told(client.updates, wishes)
    assert [answer and answer.text for answer in answers] == [
        "answer 0",
        "failed by a mistake of the agent's",
        "answer 2",
    ]


async def test_a_user_who_cancels_one_cancels_all() -> None:
    wishes = [Wish("look"), Wish("look", preparing=50), Wish("look")]
    stage, client = Stage(wishes), client_answering({"outcome": {"outcome": "cancelled"}})
    context = context_for(stage, client, "ask_always")
    answers = await carried_out(context, [wish.call(place) for place, wish in enumerate(wishes)])
    assert answers == [None, None, None]
    check_told(client.updates, wishes)


async def test_one_always_answers_the_questions_that_wait() -> None:
    wishes = [Wish("look")] * 5
    stage, client = Stage(wishes), client_answering(selected("allow-always"))
    context = context_for(stage, client, "ask_always")
    answers = await carried_out(context, [wish.call(place) for place, wish in enumerate(wishes)])
    assert len(client.requests) == 1
    assert [answer and answer.is_failed for answer in answers] == [False] * 5


async def test_without_calls_there_is_no_batch() -> None:
    stage = Stage([])
    assert list(tool_calls.batches(context_for(stage, client_answering(), "allow_all"), [])) == []
