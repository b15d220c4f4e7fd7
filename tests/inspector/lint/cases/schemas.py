"""Talks about whether messages fit the published schema."""

from __future__ import annotations

from typing import Any

from tests.inspector.lint.talk import TOOL, Talk, breaks, keeps


def noted(*audience: str) -> dict[str, Any]:
    """Return a text for somebody."""
    return {"type": "text", "text": "Hi", "annotations": {"audience": list(audience)}}


@breaks("schema-error")
def a_required_param_is_missing(talk: Talk) -> None:
    talk.open()
    talk.ask("session/set_config_option", sessionId="s1", configId="model")


@breaks("schema-error")
def a_param_is_of_a_wrong_type(talk: Talk) -> None:
    talk.open()
    talk.tell("session/cancel", sessionId=7)


@breaks("schema-error", 2)
def a_param_of_version_2_is_missing(talk: Talk) -> None:
    talk.open()
    talk.tell("session/cancel")


@keeps("schema-error")
def everything_fits(talk: Talk) -> None:
    talk.open()
    talk.turn()


@keeps("schema-error", 2)
def everything_of_version_2_fits(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("tolerated-schema-error")
def a_lenient_member_is_malformed(talk: Talk) -> None:
    talk.open()
    talk.update("session_info_update", title=7)


@keeps("tolerated-schema-error")
def a_lenient_member_is_absent(talk: Talk) -> None:
    talk.open()
    talk.update("session_info_update")


@breaks("unknown-member")
def a_param_is_not_known(talk: Talk) -> None:
    talk.open()
    talk.tell("session/cancel", sessionId="s1", reason="I changed my mind")


@breaks("unknown-member", 2)
def a_member_of_a_block_is_not_known(talk: Talk) -> None:
    talk.open()
    block = {"type": "text", "text": "Hi", "language": "en"}
    talk.refuse(talk.ask("session/prompt", sessionId="s1", prompt=[block]), -32602)


@keeps("unknown-member")
def what_is_ones_own_stands_in_meta(talk: Talk) -> None:
    talk.open()
    talk.say(_meta={"language": "en"})


@breaks("misspelt-meta")
def meta_has_no_underscore(talk: Talk) -> None:
    talk.open()
    talk.say(meta={"language": "en"})


@keeps("misspelt-meta")
def meta_has_an_underscore(talk: Talk) -> None:
    talk.open()
    talk.say(_meta={"metadata": {}})


@breaks("reserved-value", 2)
def a_word_is_made_up(talk: Talk) -> None:
    talk.open()
    talk.say(content=noted("robots"))


@keeps("reserved-value", 2)
def a_word_is_ones_own(talk: Talk) -> None:
    talk.open()
    talk.say(content=noted("_robots", "user"))


@breaks("unknown-value")
def a_word_is_not_version_1s(talk: Talk) -> None:
    talk.open()
    talk.say(content=noted("robots"))


@keeps("unknown-value")
def a_word_is_version_1s(talk: Talk) -> None:
    talk.open()
    talk.say(content=noted("user"))


@breaks("wrong-case")
def a_member_is_in_snake_case(talk: Talk) -> None:
    talk.open()
    talk.tell("session/cancel", sessionId="s1", session_id="s1")


@breaks("wrong-case")
def a_value_is_in_camel_case(talk: Talk) -> None:
    talk.open()
    talk.say(content=noted("endUser"))


@keeps("wrong-case")
def members_are_in_camel_case(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("unknown-member")
def what_lacks_something_has_what_is_not_known(talk: Talk) -> None:
    talk.open()
    talk.update("tool_call", toolCallId="t1", colour="red")


@keeps("unknown-member", despite=("schema-error", "invalid-update", "incomplete-tool-call"))
def what_lacks_something_has_nothing_else(talk: Talk) -> None:
    talk.open()
    talk.update("tool_call", toolCallId="t1", rawInput={"colour": "red"})


@breaks("misspelt-meta")
def what_lacks_something_has_meta(talk: Talk) -> None:
    talk.open()
    talk.update("tool_call", toolCallId="t1", metadata={})


@breaks("reserved-value", 2)
def what_lacks_something_has_a_word_made_up(talk: Talk) -> None:
    talk.open()
    talk.update("agent_message_chunk", content=noted("robots"))


@breaks("wrong-case")
def an_id_is_in_snake_case_and_hence_missing(talk: Talk) -> None:
    talk.open()
    talk.update("tool_call_update", tool_call_id="t1", status="completed")


@breaks("wrong-case", 2)
def a_message_id_is_in_snake_case(talk: Talk) -> None:
    talk.open()
    talk.update("agent_message_chunk", message_id="m", content={"type": "text", "text": "Hi"})


@breaks("wrong-case")
def a_type_of_data_is_in_snake_case(talk: Talk) -> None:
    talk.open()
    talk.say(content={"type": "image", "data": "AA==", "mime_type": "image/png"})


def bridged(talk: Talk, **members: Any) -> None:
    """Reach a server of the agent, as Continuum Router does."""
    talk.open()
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    call = talk.ask("mcp/message", {"connectionId": "c1", "message": message})
    talk.answer(call, {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}})
    talk.tell("mcp/message", side="agent", connectionId="c1", message=message)
    talk.say(**members)


@breaks("schema-error", unstable=True)
def a_message_to_a_server_of_the_client_lacks_its_method(talk: Talk) -> None:
    talk.open()
    asked = {"serverId": "srv", "requestId": "r1"}
    talk.refuse(talk.ask("mcp/message", asked, side="agent"), -32602)


@keeps("schema-error")
def a_message_that_goes_the_other_way_is_of_no_schema(talk: Talk) -> None:
    bridged(talk)


@breaks("unknown-member", unstable=True)
def a_message_to_a_server_of_the_client_has_a_stranger(talk: Talk) -> None:
    talk.open()
    asked = {"serverId": "srv", "requestId": "r1", "method": "tools/list", "colour": "red"}
    talk.refuse(talk.ask("mcp/message", asked, side="agent"), -32602)


@keeps("unknown-member")
def a_message_that_goes_the_other_way_has_members_of_its_own(talk: Talk) -> None:
    bridged(talk, _meta={"language": "en"})


@breaks("invalid-request-accepted")
def a_prompt_is_accepted_without_blocks(talk: Talk) -> None:
    talk.open()
    talk.finish(talk.ask("session/prompt", sessionId="s1"))


@breaks("invalid-request-accepted")
def an_unknown_block_is_accepted(talk: Talk) -> None:
    talk.open()
    blocks = [{"type": "hologram", "data": ""}]
    talk.finish(talk.ask("session/prompt", sessionId="s1", prompt=blocks))


@breaks("invalid-request-accepted")
def a_session_is_created_before_initialize(talk: Talk) -> None:
    talk.new_session()
    talk.initialize()


@breaks("invalid-request-accepted")
def an_unknown_method_to_log_in_is_accepted(talk: Talk) -> None:
    talk.initialize(authMethods=[{"id": "key", "name": "Key"}])
    talk.answer(talk.ask("authenticate", methodId="card"))


@breaks("invalid-request-accepted", 2)
def a_login_by_an_unknown_method_is_accepted(talk: Talk) -> None:
    talk.initialize(authMethods=[{"methodId": "key", "name": "Key", "type": "agent"}])
    talk.answer(talk.ask("auth/login", methodId="card"))


@keeps("invalid-request-accepted", despite=("prompt-not-list",))
def a_prompt_without_blocks_is_refused(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/prompt", sessionId="s1"), -32602)


@keeps("invalid-request-accepted", despite=("missing-info",))
def initialize_of_another_version_is_incomplete(talk: Talk) -> None:
    call = talk.ask("initialize", protocolVersion=2, capabilities={})
    claims = {"agentCapabilities": {"loadSession": True}, "agentInfo": TOOL}
    talk.answer(call, {"protocolVersion": 1} | claims)


@keeps("invalid-request-accepted")
def a_known_method_to_log_in_is_accepted(talk: Talk) -> None:
    talk.initialize(authMethods=[{"id": "key", "name": "Key"}])
    talk.answer(talk.ask("authenticate", methodId="key"))


@keeps("invalid-request-accepted")
def a_member_of_its_own_is_accepted(talk: Talk) -> None:
    talk.open()
    blocks = [{"type": "text", "text": "Hi", "hue": "red"}]
    talk.finish(talk.ask("session/prompt", sessionId="s1", prompt=blocks))
