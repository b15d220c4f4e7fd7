"""Talks about how a connection begins."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import CWD, TOOL, Talk, breaks, keeps

V2: dict[str, Any] = {"protocolVersion": 2, "capabilities": {}, "info": TOOL}
V1: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": TOOL}


def answered(talk: Talk, asked: dict[str, Any], **result: Any) -> None:
    """Ask to initialize and answer."""
    talk.answer(talk.ask("initialize", asked), result)


@breaks("initialize-not-first")
def a_session_comes_first(talk: Talk) -> None:
    talk.ask("session/new", cwd=CWD, mcpServers=[])


@keeps("initialize-not-first")
def initialize_comes_first(talk: Talk) -> None:
    talk.open()


@breaks("request-before-initialized")
def a_session_overtakes_the_answer(talk: Talk) -> None:
    call = talk.ask("initialize", V1)
    talk.ask("session/new", cwd=CWD, mcpServers=[])
    talk.answer(call, protocolVersion=1, agentCapabilities={}, agentInfo=TOOL)


@keeps("request-before-initialized")
def a_session_waits_for_the_answer(talk: Talk) -> None:
    talk.open()


@breaks("repeated-initialize")
def initialize_comes_again(talk: Talk) -> None:
    talk.initialize()
    talk.initialize()


@keeps("repeated-initialize", 2)
def version_2_may_begin_again(talk: Talk) -> None:
    talk.initialize()
    talk.initialize()


@breaks("agent-speaks-first")
def an_agent_asks_before_it_is_introduced(talk: Talk) -> None:
    call = talk.ask("initialize", V1)
    talk.ask("session/request_permission", {}, side="agent")
    talk.answer(call, protocolVersion=1)


@breaks("agent-speaks-first")
def an_agent_updates_before_it_is_introduced(talk: Talk) -> None:
    call = talk.ask("initialize", V1)
    talk.say()
    talk.answer(call, protocolVersion=1)


@keeps("agent-speaks-first")
def an_agent_tells_of_itself_before(talk: Talk) -> None:
    call = talk.ask("initialize", V1)
    talk.tell("_log", side="agent")
    talk.answer(call, protocolVersion=1, agentCapabilities={"loadSession": True}, agentInfo=TOOL)


@breaks("invalid-protocol-version")
def a_version_is_dotted(talk: Talk) -> None:
    answered(talk, V1 | {"protocolVersion": "1.0.0"}, protocolVersion=1)


@breaks("invalid-protocol-version")
def a_version_is_a_date(talk: Talk) -> None:
    answered(talk, V1, protocolVersion="2025-06-18")


@breaks("invalid-protocol-version")
def a_version_is_too_large(talk: Talk) -> None:
    answered(talk, V1 | {"protocolVersion": 65536}, protocolVersion=1)


@keeps("invalid-protocol-version")
def a_version_is_just_small_enough(talk: Talk) -> None:
    asked = V2 | {"protocolVersion": 65535} | V1 | {"protocolVersion": 65535}
    answered(talk, asked, protocolVersion=1, agentCapabilities={}, agentInfo=TOOL)


@breaks("prerelease-version")
def a_version_is_0(talk: Talk) -> None:
    answered(talk, V1, protocolVersion=0)


@keeps("prerelease-version")
def a_version_is_1(talk: Talk) -> None:
    talk.initialize()


@breaks("other-version-answered")
def another_version_is_answered(talk: Talk) -> None:
    answered(talk, V2 | V1 | {"protocolVersion": 2}, protocolVersion=1)


@keeps("other-version-answered")
def the_same_version_is_answered(talk: Talk) -> None:
    talk.initialize()


@breaks("version-mismatch-ignored", 2)
def a_client_goes_on_above_what_it_asked_for(talk: Talk) -> None:
    answered(talk, V1, protocolVersion=2, capabilities={"session": {}}, info=TOOL)
    talk.ask("session/new", cwd=CWD, mcpServers=[])


@keeps("version-mismatch-ignored")
def a_client_goes_on_below_what_it_asked_for(talk: Talk) -> None:
    asked = V2 | V1 | {"protocolVersion": 2}
    claims = {"loadSession": True}
    answered(talk, asked, protocolVersion=1, agentCapabilities=claims, agentInfo=TOOL)
    talk.new_session()


@breaks("shape-of-other-version")
def version_1_asks_for_permission_like_version_2(talk: Talk) -> None:
    talk.open()
    talk.prompt()
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "t1"}}
    talk.permission(subject=subject, title="May it?")


@breaks("shape-of-other-version", 2)
def version_2_asks_for_permission_like_version_1(talk: Talk) -> None:
    talk.open()
    talk.accept(talk.prompt())
    talk.permission(toolCall={"toolCallId": "t1"})


@breaks("shape-of-other-version", 2)
def version_2_ends_a_turn_like_version_1(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.prompt(), messageId="m", stopReason="end_turn")


@keeps("shape-of-other-version")
def a_turn_ends_in_the_same_version(talk: Talk) -> None:
    talk.open()
    talk.turn()


@keeps("shape-of-other-version", 2)
def a_turn_of_version_2_is_version_2s(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("missing-implementation-info")
def a_client_has_no_name(talk: Talk) -> None:
    answered(talk, {"protocolVersion": 1}, protocolVersion=1, agentInfo=TOOL)


@breaks("missing-implementation-info")
def an_agent_has_no_version(talk: Talk) -> None:
    answered(talk, V1, protocolVersion=1, agentInfo={"name": "a"})


@keeps("missing-implementation-info")
def both_have_names(talk: Talk) -> None:
    talk.initialize()


@breaks("missing-info", 2)
def an_agent_of_version_2_has_no_name(talk: Talk) -> None:
    answered(talk, V2, protocolVersion=2, capabilities={})


@keeps("missing-info", 2)
def both_have_names_in_version_2(talk: Talk) -> None:
    talk.initialize()


@breaks("mixed-initialize-fields")
def a_client_of_version_1_uses_the_new_names(talk: Talk) -> None:
    answered(talk, {"protocolVersion": 1, "capabilities": {}, "info": TOOL}, protocolVersion=1)


@breaks("mixed-initialize-fields", 2)
def an_agent_of_version_2_uses_the_old_names(talk: Talk) -> None:
    answered(talk, V2, protocolVersion=2, agentCapabilities={}, info=TOOL)


@keeps("mixed-initialize-fields", 2)
def a_client_of_both_versions_sends_both_sets(talk: Talk) -> None:
    claims: dict[str, dict[str, str]] = {"session": {}}
    answered(talk, V1 | V2, protocolVersion=2, capabilities=claims, info=TOOL)


@breaks("version-in-disguise")
def version_1_is_called_version_2(talk: Talk) -> None:
    talk.initialize(protocolVersion=2)


@keeps("version-in-disguise")
@keeps("version-in-disguise", 2)
def an_answer_has_the_form_of_its_version(talk: Talk) -> None:
    talk.initialize()


@keeps("version-in-disguise", 2)
def an_answer_has_the_forms_of_both_versions(talk: Talk) -> None:
    talk.initialize(agentCapabilities={})
