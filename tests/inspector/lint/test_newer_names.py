"""Names that are newer than the built-in schema are known as such: one info for each feature."""

from __future__ import annotations

from typing import Any

import pytest

from acp_inspector.lint.engine import lint
from tests.inspector.lint.cases.config_options import option
from tests.inspector.lint.talk import CWD, Talk

SUGGESTIONS = [{"prompt": [{"type": "text", "text": "Go on"}]}]
SYSTEM_PROMPT = {"mode": "append", "content": [{"type": "text", "text": "Be brief."}]}


def found(talk: Talk) -> dict[str, str]:
    """Return the severity of each rule that was broken."""
    return {each.rule.name: each.severity for each in lint(talk.entries).findings}


def texts(talk: Talk) -> list[str]:
    return [each.message.partition(":")[0] for each in lint(talk.entries).findings]


@pytest.mark.parametrize("version", [1, 2])
def test_session_options_are_one_info(version: int) -> None:
    talk = Talk(version)
    claim: dict[str, Any] = {"loadSession": True, "sessionCapabilities": {"options": {}}}
    talk.initialize(None, claim if version == 1 else {"session": {"options": {}}})
    talk.answer(talk.ask("session/options", cwd=CWD), configOptions=[])
    talk.refuse(talk.ask("session/options", cwd=CWD, sessionId="s0"), -32603)
    talk.ask("session/options", cwd=CWD)
    chosen = [{"configId": "model", "value": "fast"}]
    talk.ask("session/new", cwd=CWD, mcpServers=[], configOptions=chosen)
    assert found(talk) == {"newer-name": "info"}
    assert texts(talk) == ["session options"]


def test_a_newer_method_is_an_info_by_itself() -> None:
    talk = Talk()
    talk.open()
    talk.answer(talk.ask("session/options", cwd=CWD), configOptions=[])
    assert found(talk) == {"newer-name": "info"}


@pytest.mark.parametrize("version", [1, 2])
def test_suggestions_and_cursors_are_one_info_each(version: int) -> None:
    talk = Talk(version)
    names = ("promptSuggestions", "cursors") if version == 1 else ("promptSuggestions",)
    claim: dict[str, Any] = {"session": {name: {} for name in names}}
    talk.initialize(claim)
    talk.new_session()
    for _ in range(2):
        talk.update("prompt_suggestions_update", suggestions=SUGGESTIONS)
        talk.update("cursor_update", cursorId="c1", capabilities={"fork": {}})
    assert found(talk) == {"newer-name": "info"}
    assert sorted(texts(talk)) == ["prompt suggestions", "session cursors"]


@pytest.mark.parametrize("version", [1, 2])
def test_the_category_speed_is_one_info(version: int) -> None:
    talk = Talk(version)
    talk.initialize()
    talk.new_session(configOptions=[option(version, category="speed")])
    talk.update("config_option_update", configOptions=[option(version, category="speed")])
    assert found(talk) == {"newer-name": "info"}
    assert texts(talk) == ["the category speed"]


def test_skills_are_one_info() -> None:
    talk = Talk(2)
    client: dict[str, Any] = {"session": {"commands": {"skill": {}}}}
    agent: dict[str, Any] = {"session": {"prompt": {"skill": {"inline": {}}}}}
    talk.initialize(client, agent)
    talk.new_session()
    skill = {"type": "skill", "name": "pdf", "description": "Read it", "path": "/s/SKILL.md"}
    talk.update("available_commands_update", availableCommands=[skill])
    blocks = [{"type": "skill", "name": "pdf"}, {"type": "text", "text": "Read it"}]
    talk.answer(talk.ask("session/prompt", sessionId="s1", prompt=blocks), messageId="m1")
    talk.update("user_message", messageId="m1", content=blocks)
    talk.state("running")
    assert found(talk) == {"newer-name": "info"}
    assert texts(talk) == ["agent skills"]


def test_names_beside_the_newer_ones_are_still_reported() -> None:
    talk = Talk(2)
    talk.initialize({"session": {"commands": {}, "mood": {}}})
    talk.new_session()
    talk.update("prompt_guess_update")
    talk.refuse(talk.ask("session/option", cwd=CWD), -32603)
    assert {
        "unknown-capability",
        "reserved-update",
        "unknown-method",
        "unknown-method-not-refused",
    } <= found(talk).keys()
    assert "newer-name" not in found(talk)


def test_the_end_of_a_replay_is_not_of_version_1() -> None:
    talk = Talk()
    talk.open()
    talk.update("replay_complete")
    assert found(talk) == {"unknown-update": "error"}


def resumed(talk: Talk) -> Any:
    talk.open()
    return talk.ask(
        "session/resume", sessionId="s1", cwd=CWD, mcpServers=[], replayFrom={"type": "start"}
    )


def replayed(talk: Talk, id_: str) -> None:
    block = {"type": "text", "text": "Hello"}
    talk.update("user_message", messageId=id_, content=[block])


def test_history_ends_with_its_marker() -> None:
    talk = Talk(2)
    resume = resumed(talk)
    replayed(talk, "m1")
    talk.update("replay_complete")
    talk.state("idle")
    talk.answer(resume, configOptions=[], availableCommands=[])
    assert found(talk) == {"newer-name": "info"}


def test_history_behind_its_marker_is_reported() -> None:
    talk = Talk(2)
    resume = resumed(talk)
    replayed(talk, "m1")
    talk.update("replay_complete")
    replayed(talk, "m2")
    talk.state("idle")
    talk.answer(resume, configOptions=[], availableCommands=[])
    late = [each for each in lint(talk.entries).findings if each.rule.name == "late-replay"]
    assert [each.message for each in late] == ["user_message came after the end of the replay"]
    assert late[0].frames[0] < late[0].frames[1]


def test_a_system_prompt_is_checked_in_version_1_and_unstable_in_version_2() -> None:
    for version, rules in ((1, {"undeclared-system-prompt": "error"}), (2, dict[str, str]())):
        talk = Talk(version)
        talk.initialize()
        talk.ask("session/new", cwd=CWD, mcpServers=[], systemPrompt=SYSTEM_PROMPT)
        assert found(talk) == rules


def test_a_claimed_system_prompt_is_no_finding_in_version_1() -> None:
    talk = Talk()
    talk.initialize(None, {"sessionCapabilities": {"systemPrompt": {"mode": {"override": {}}}}})
    for mode in ("append", "override"):
        prompt = SYSTEM_PROMPT | {"mode": mode}
        session = talk.ask("session/new", cwd=CWD, mcpServers=[], systemPrompt=prompt)
        talk.answer(session, sessionId=mode)
    assert found(talk) == {}


def test_the_system_prompt_of_a_fork_is_unstable() -> None:
    talk = Talk()
    talk.initialize(None, {"sessionCapabilities": {"fork": {}}})
    talk.new_session()
    talk.ask("session/fork", sessionId="s1", cwd=CWD, mcpServers=[], systemPrompt=SYSTEM_PROMPT)
    assert found(talk) == {"unknown-method": "info"}
