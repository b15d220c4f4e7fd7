"""Talks about which methods there are, and who sends them."""

from __future__ import annotations

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps


@breaks("unknown-method")
def a_method_is_made_up(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/summarize", sessionId="s1"), -32601)


@breaks("unknown-method")
def a_method_is_unstable(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/fork", sessionId="s1", cwd=CWD, mcpServers=[]), -32601)


@breaks("unknown-method")
def a_method_is_of_an_old_schema(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("nes/start"), -32601)


@keeps("unknown-method")
def a_method_is_in_the_table(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("v1-method", 2)
def version_2_loads_like_version_1(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/load", sessionId="s1", cwd=CWD, mcpServers=[]), -32601)


@keeps("v1-method", 2)
def version_2_resumes(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("v2-method")
def version_1_logs_in_like_version_2(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("auth/login", methodId="a"), -32601)


@keeps("v2-method")
def version_1_goes_its_own_way(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("wrong-direction")
def an_agent_prompts(talk: Talk) -> None:
    talk.open()
    talk.ask("session/prompt", side="agent", sessionId="s1", prompt=[])


@breaks("wrong-direction", 2)
def a_client_updates(talk: Talk) -> None:
    talk.open()
    talk.tell("session/update", sessionId="s1", update={"sessionUpdate": "state_update"})


@keeps("wrong-direction")
def either_side_cancels_its_requests(talk: Talk) -> None:
    talk.open()
    call = talk.ask("_x")
    talk.tell("$/cancel_request", requestId=call.id)
    talk.refuse(call, -32800, "Cancelled")


@breaks("notification-with-id")
def a_cancel_asks_for_an_answer(talk: Talk) -> None:
    talk.open()
    talk.ask("session/cancel", sessionId="s1")


@keeps("notification-with-id")
def a_prompt_asks_for_an_answer(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("request-without-id")
def a_prompt_asks_for_no_answer(talk: Talk) -> None:
    talk.open()
    talk.tell("session/prompt", sessionId="s1", prompt=[{"type": "text", "text": "Hi"}])


@keeps("request-without-id")
def an_update_asks_for_no_answer(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("unknown-method-not-refused")
def an_unknown_method_is_an_internal_error(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/summarize"), -32603)


@keeps("unknown-method-not-refused", despite=("unknown-method",))
def an_unknown_method_is_not_found(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/summarize"), -32601, "There is no such method.")


@breaks("unknown-notification-has-effect")
def an_unknown_notification_is_refused(talk: Talk) -> None:
    talk.open()
    talk.tell("_made/up")
    talk.send("agent", {"id": None, "error": {"code": -32601, "message": "Not found."}})


@keeps("unknown-notification-has-effect")
def an_unknown_notification_is_passed_over(talk: Talk) -> None:
    talk.open()
    talk.tell("_made/up")
    talk.turn()


@keeps("unknown-notification-has-effect", despite=("not-an-object", "batch-sent"))
def an_array_behind_an_unknown_notification_is_refused(talk: Talk) -> None:
    talk.open()
    talk.tell("_made/up")
    talk.send("client", b"[]")
    talk.send("agent", {"id": None, "error": {"code": -32600, "message": "No arrays."}})


@breaks("supported-method-refused")
def prompts_are_not_found(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.prompt(), -32601)


@breaks("supported-method-refused")
def a_claimed_method_is_not_found(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/list"), -32601)


@breaks("supported-method-refused", 2)
def a_claimed_method_of_version_2_is_not_found(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/delete", sessionId="s1"), -32601)


@keeps("supported-method-refused")
def a_claimed_method_fails_otherwise(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/list"), -32603)


@breaks("null-result")
def an_empty_result_is_null(talk: Talk) -> None:
    talk.open()
    call = talk.ask("session/close", sessionId="s1")
    talk.send("agent", {"id": call.id, "result": None})


@keeps("null-result")
def an_empty_result_is_an_object(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("session/close", sessionId="s1"))


@breaks("notification-with-id")
def a_retired_notification_has_an_id(talk: Talk) -> None:
    talk.open()
    talk.ask("document/didOpen", sessionId="s1", uri="file:///a")


@keeps("notification-with-id")
def a_retired_request_has_an_id(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("session/list"), -32603)
    talk.refuse(talk.ask("nes/start", sessionId="s1"), -32601)


@breaks("unknown-method-not-refused")
def a_method_of_the_other_version_breaks_the_agent(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("tool_call/cancel", sessionId="s1", toolCallId="t"), -32603)


@keeps("unknown-method-not-refused", despite=("v2-method",))
def a_method_of_the_other_version_is_not_found(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("tool_call/cancel", sessionId="s1", toolCallId="t"), -32601)


@keeps("unknown-method-not-refused", despite=("initialize-not-first",))
def an_unknown_method_before_initialize_is_an_invalid_request(talk: Talk) -> None:
    talk.refuse(talk.ask("acme/summarize"), -32600)


@keeps("unknown-method-not-refused", despite=("positional-params", "unprefixed-method"))
def an_unknown_method_with_params_by_position_is_an_invalid_request(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("acme/summarize", [1]), -32600)


@keeps("unknown-method-not-refused", despite=("unprefixed-method", "reused-pending-id"))
def an_unknown_method_with_an_id_in_use_is_an_invalid_request(talk: Talk) -> None:
    talk.open()
    first = talk.ask("acme/summarize")
    second = talk.ask("acme/summarize", id_=first.id)
    talk.refuse(first, -32601)
    talk.refuse(second, -32600)


@breaks("unknown-method-not-refused")
def an_unknown_method_is_an_invalid_request(talk: Talk) -> None:
    talk.open()
    talk.refuse(talk.ask("acme/summarize"), -32600)
