"""What of a session a model is told."""

from __future__ import annotations

from acp_agent.memory import SUMMED_UP, Aside, Compacted, remembered
from acp_agent.models.model import ModelSaid, Say, Stopped, UserSaid

SAID = ModelSaid((Say("well"),))
REFUSED = ModelSaid((Say("no"), Stopped("refusal")))


def test_what_the_agent_answers_by_itself_is_told_to_no_model() -> None:
    kept = [UserSaid("a"), SAID, Aside("/help"), UserSaid("b")]
    assert remembered(kept) == [UserSaid("a"), SAID, UserSaid("b")]


def test_a_refused_prompt_is_gone_with_what_followed_it() -> None:
    kept = [UserSaid("a"), SAID, UserSaid("b"), Aside("/help"), SAID, REFUSED, UserSaid("c")]
    assert remembered(kept) == [UserSaid("a"), SAID, UserSaid("c")]


def test_a_summary_takes_the_place_of_all_before_it() -> None:
    kept = [UserSaid("a"), SAID, Compacted("old"), SAID, Compacted("so {far}"), UserSaid("b"), SAID]
    summary = UserSaid(SUMMED_UP.format("so {far}"))
    assert remembered(kept) == [summary, UserSaid("b"), SAID]


def test_behind_a_summary_amid_a_turn_stands_what_was_asked_for() -> None:
    kept = [UserSaid("a"), SAID, Compacted("so far", (UserSaid("a"),)), SAID]
    summary, *rest = remembered(kept)
    assert isinstance(summary, UserSaid)
    assert summary.text.startswith(SUMMED_UP.format("so far"))
    assert "asked for last" in summary.text
    assert rest == [UserSaid("a"), SAID]


def test_a_refusal_behind_a_summary_takes_what_was_asked_for_and_leaves_the_summary() -> None:
    kept = [UserSaid("a"), SAID, Compacted("so far", (UserSaid("a"),)), SAID, REFUSED]
    summary = UserSaid(SUMMED_UP.format("so far"))
    assert remembered(kept) == [summary]
    assert remembered([*kept, UserSaid("b"), SAID]) == [summary, UserSaid("b"), SAID]
    assert remembered([*kept, UserSaid("b"), REFUSED]) == [summary]
