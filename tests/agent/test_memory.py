"""What of a session a model is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_agent.models.types import AssistantMessage, PromptMessage, Stop, TextDelta
from acp_agent.store.entries import HistoryItem, LocalExchange, Summary
from acp_agent.turn.context import SUMMARY_PROMPT, ModelHistory, model_history

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


ITEMS: st.SearchStrategy[HistoryItem] = st.sampled_from(
    [
        PromptMessage("a"),
        SAID,
        REFUSED,
        LocalExchange("/help"),
        Summary("so far"),
        Summary("so far", (PromptMessage("a"),)),
    ]
)


class Counting(list[HistoryItem]):
    """A history that counts how often its entries are looked at."""

    looks = 0

    def __getitem__(self, at: Any) -> Any:
        self.looks += len(range(len(self))[at]) if isinstance(at, slice) else 1
        return list(self)[at]  # pyright: ignore[reportUnknownVariableType] - as a list does


@given(st.lists(st.lists(ITEMS, max_size=4)))
def test_a_history_that_grows_is_told_as_a_whole_one_and_looked_at_once(
    parts: Sequence[Sequence[HistoryItem]],
) -> None:
    grown, history = ModelHistory(), Counting()
    for part in parts:
        history += part
        assert grown.update(history) == model_history(list(history))
    assert history.looks == len(history)
