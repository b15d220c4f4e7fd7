"""The demo model as a value: history in, events out."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models.demo import PIECE, DemoModel, pieces
from acp_agent.models.types import (
    AssistantMessage,
    HistoryEntry,
    ModelEvent,
    PlanChange,
    PromptMessage,
    ReasoningDelta,
    TextDelta,
    ToolResult,
    ToolUse,
)


async def replied(history: Sequence[HistoryEntry]) -> list[ModelEvent]:
    return [event async for event in DemoModel().reply(history, [])]


def said(events: Sequence[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_what_follows_depends_on_the_answers_so_far() -> None:
    history: list[HistoryEntry] = [PromptMessage("read a then read b")]
    first = await replied(history)
    assert first[-1] == ToolUse("read", {"path": "a"})
    assert said(first) == "I'll read `a`.\n\n"
    history += [AssistantMessage(tuple(first)), ToolResult("read", "one\ntwo")]
    second = await replied(history)
    assert second[-1] == ToolUse("read", {"path": "b"})
    assert (
        said(second) == "Reading `a` returned 2 lines:\n\n```\none\ntwo\n```\n\nI'll read `b`.\n\n"
    )
    history += [AssistantMessage(tuple(second)), ToolResult("read", "no such file", is_failed=True)]
    third = await replied(history)
    assert said(third) == "Reading `b` failed: no such file\n\n"
    assert not any(isinstance(event, ToolUse) for event in third)


async def test_a_file_may_be_named_as_clients_complete_it() -> None:
    assert (await replied([PromptMessage("read @a")]))[-1] == ToolUse("read", {"path": "a"})


async def test_only_the_last_prompt_counts() -> None:
    history = [PromptMessage("read a"), ToolResult("read", "x"), PromptMessage("read b")]
    assert (await replied(history))[-1] == ToolUse("read", {"path": "b"})


async def test_reason_of_a_rejection_is_acknowledged_instead_of_explaining_itself() -> None:
    history: list[HistoryEntry] = [
        PromptMessage("run make"),
        ToolResult("run", "rejected by the user", is_failed=True),
        AssistantMessage((TextDelta("`make` failed: rejected by the user"),)),
        PromptMessage("the disk is full"),
    ]
    expected = (
        "All right, I'll leave it. You said:\n\n> the disk is full\n\nWhat should I do instead?\n\n"
    )
    assert said(await replied(history)) == expected
    history += [AssistantMessage((TextDelta(expected),)), PromptMessage("the disk is full")]
    assert "I don't know that command" in said(await replied(history))


async def test_the_same_history_gives_the_same_events() -> None:
    history = [PromptMessage("/tour")]
    assert await replied(history) == await replied(history)


async def test_text_comes_in_pieces_and_plans_and_calls_whole() -> None:
    events = await replied([PromptMessage("think then plan then read a")])
    kinds = [type(event) for event in events]
    assert kinds.count(ReasoningDelta) > 1
    assert kinds.count(PlanChange) == 4
    assert kinds.count(ToolUse) == 1


@given(text=st.text(alphabet=st.sampled_from("ab \n\t語")))
def test_pieces_joined_are_the_text_and_none_is_empty(text: str) -> None:
    cut = pieces(text)
    assert "".join(cut) == text
    assert all(cut)
    assert all(len(piece) >= PIECE for piece in cut[:-1])
