"""What of a session a model is told."""

from __future__ import annotations

from acp_agent.memory import Aside, remembered
from acp_agent.models.model import ModelSaid, Say, Stopped, UserSaid

SAID = ModelSaid((Say("well"),))
REFUSED = ModelSaid((Say("no"), Stopped("refusal")))


def test_what_the_agent_answers_by_itself_is_told_to_no_model() -> None:
    kept = [UserSaid("a"), SAID, Aside("/help"), UserSaid("b")]
    assert remembered(kept) == [UserSaid("a"), SAID, UserSaid("b")]


def test_a_refused_prompt_is_gone_with_what_followed_it() -> None:
    kept = [UserSaid("a"), SAID, UserSaid("b"), Aside("/help"), SAID, REFUSED, UserSaid("c")]
    assert remembered(kept) == [UserSaid("a"), SAID, UserSaid("c")]
