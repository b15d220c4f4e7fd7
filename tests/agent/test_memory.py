"""What of a session a model is told."""

from __future__ import annotations

from acp_agent.models.types import AssistantMessage, PromptMessage, Stop, TextDelta
from acp_agent.store.entries import LocalExchange, Summary
from acp_agent.turn.context import SUMMARY_PROMPT, model_history

SAID = AssistantMessage((TextDelta("well"),))
REFUSED = AssistantMessage((TextDelta("no"), Stop("refusal")))


def test_what_the_agent_answers_by_itself_is_told_to_no_model() -> None:
    kept = [PromptMessage("a"), SAID, LocalExchange("/help"), PromptMessage("b")]
    assert model_history(kept) == [PromptMessage("a"), SAID, PromptMessage("b")]


def test_a_refused_prompt_is_gone_with_what_followed_it() -> None:
    kept = [
        PromptMessage("a"),
        SAID,
        PromptMessage("b"),
        LocalExchange("/help"),
        SAID,
        REFUSED,
        PromptMessage("c"),
    ]
    assert model_history(kept) == [PromptMessage("a"), SAID, PromptMessage("c")]


def test_a_summary_takes_the_place_of_all_before_it() -> None:
    kept = [
        PromptMessage("a"),
        SAID,
        Summary("old"),
        SAID,
        Summary("so {far}"),
        PromptMessage("b"),
        SAID,
    ]
    summary = PromptMessage(SUMMARY_PROMPT.format("so {far}"))
    assert model_history(kept) == [summary, PromptMessage("b"), SAID]


def test_behind_a_summary_amid_a_turn_stands_what_was_asked_for() -> None:
    kept = [PromptMessage("a"), SAID, Summary("so far", (PromptMessage("a"),)), SAID]
    summary, *rest = model_history(kept)
    assert isinstance(summary, PromptMessage)
    assert summary.text.startswith(SUMMARY_PROMPT.format("so far"))
    assert "asked for last" in summary.text
    assert rest == [PromptMessage("a"), SAID]


def test_a_refusal_behind_a_summary_takes_what_was_asked_for_and_leaves_the_summary() -> None:
    kept = [PromptMessage("a"), SAID, Summary("so far", (PromptMessage("a"),)), SAID, REFUSED]
    summary = PromptMessage(SUMMARY_PROMPT.format("so far"))
    assert model_history(kept) == [summary]
    assert model_history([*kept, PromptMessage("b"), SAID]) == [summary, PromptMessage("b"), SAID]
    assert model_history([*kept, PromptMessage("b"), REFUSED]) == [summary]
