"""Talks with names that are newer than the built-in schemas."""

from __future__ import annotations

from tests.inspector.lint.cases.config_options import opened, option
from tests.inspector.lint.talk import CWD, Talk, breaks, keeps

SUGGESTIONS = [{"prompt": [{"type": "text", "text": "Go on"}]}]


@breaks("newer-name")
def the_options_of_a_session_are_requested(talk: Talk) -> None:
    talk.initialize(None, {"sessionCapabilities": {"options": {}}})
    talk.answer(talk.ask("session/options", cwd=CWD), configOptions=[])


@breaks("newer-name")
def prompts_are_suggested(talk: Talk) -> None:
    talk.open()
    talk.update("prompt_suggestions_update", suggestions=SUGGESTIONS)


@breaks("newer-name", 2)
def a_category_is_speed(talk: Talk) -> None:
    opened(talk, option(2, category="speed"))


@keeps("newer-name")
def the_end_of_a_replay_is_version_2s(talk: Talk) -> None:
    opened(talk, option(category="model"))
    talk.update("agent_message_chunk", content={"type": "text", "text": "replay_complete"})
