"""Talks about how a message is made up."""

from __future__ import annotations

from tests.inspector.lint.talk import Talk, breaks, keeps


@breaks("wrong-jsonrpc-version")
def jsonrpc_is_missing(talk: Talk) -> None:
    talk.send("client", b'{"method":"_x"}')


@breaks("wrong-jsonrpc-version")
def jsonrpc_is_another_version(talk: Talk) -> None:
    talk.send("client", {"jsonrpc": "1.0", "method": "_x"})


@breaks("wrong-jsonrpc-version")
def jsonrpc_is_a_number(talk: Talk) -> None:
    talk.send("client", {"jsonrpc": 2.0, "method": "_x"})


@keeps("wrong-jsonrpc-version")
def jsonrpc_stands_last(talk: Talk) -> None:
    talk.initialize()
    talk.send("client", b'{"method":"_x","jsonrpc":"2.0"}')


@breaks("ambiguous-message")
def a_message_is_question_and_answer(talk: Talk) -> None:
    talk.send("client", {"id": 1, "method": "_x", "result": {}})


@breaks("ambiguous-message")
def a_message_is_neither(talk: Talk) -> None:
    talk.send("client", {"id": 1})


@keeps("ambiguous-message")
def a_param_is_called_result(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x", result=1, error=2)


@breaks("result-and-error")
def an_answer_went_well_and_wrong(talk: Talk) -> None:
    call = talk.ask("initialize", protocolVersion=1)
    talk.send("agent", {"id": call.id, "result": {}, "error": {"code": 1, "message": "Oh."}})


@breaks("result-and-error")
def a_result_has_a_null_error_beside_it(talk: Talk) -> None:
    call = talk.ask("initialize", protocolVersion=1)
    talk.send("agent", {"id": call.id, "result": {"protocolVersion": 1}, "error": None})


@breaks("result-and-error")
def an_error_has_a_null_result_beside_it(talk: Talk) -> None:
    call = talk.ask("initialize", protocolVersion=1)
    talk.send("agent", {"id": call.id, "result": None, "error": {"code": 1, "message": "Oh."}})


@keeps("result-and-error")
def a_result_speaks_of_an_error(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("_x"), error={"code": 1})


@breaks("invalid-method")
def a_method_is_a_number(talk: Talk) -> None:
    talk.send("client", {"id": 1, "method": 7})


@breaks("invalid-method")
def a_method_is_empty(talk: Talk) -> None:
    talk.send("client", {"id": 1, "method": ""})


@keeps("invalid-method")
def a_method_is_one_letter_long(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_")


@breaks("invalid-id")
def an_id_is_a_fraction(talk: Talk) -> None:
    talk.ask("initialize", id_=1.5, protocolVersion=1)


@breaks("invalid-id")
def an_id_is_true(talk: Talk) -> None:
    talk.ask("initialize", id_=True, protocolVersion=1)


@breaks("invalid-id")
def an_id_is_beyond_64_bits(talk: Talk) -> None:
    talk.ask("initialize", id_=2**63, protocolVersion=1)


@keeps("invalid-id")
def an_id_is_the_last_of_64_bits(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("_x", id_=2**63 - 1))
    talk.answer(talk.ask("_x", id_=""))


@breaks("null-request-id")
def a_request_has_the_id_null(talk: Talk) -> None:
    talk.initialize()
    talk.send("client", {"id": None, "method": "_x"})


@keeps("null-request-id")
def a_request_has_the_id_zero(talk: Talk) -> None:
    talk.initialize()


@breaks("positional-params")
def params_are_by_position(talk: Talk) -> None:
    talk.initialize()
    talk.ask("_x", [1])


@keeps("positional-params")
def params_are_null(talk: Talk) -> None:
    talk.initialize()
    talk.send("client", {"method": "_x", "params": None})


@breaks("reused-pending-id")
def an_id_is_used_while_it_waits(talk: Talk) -> None:
    talk.initialize()
    talk.ask("_x", id_=5)
    talk.ask("_y", id_=5)


@keeps("reused-pending-id")
def both_sides_use_the_same_id(talk: Talk) -> None:
    talk.open()
    mine = talk.ask("_x", id_=5)
    theirs = talk.ask("_y", id_=5, side="agent")
    talk.answer(mine)
    talk.answer(theirs)


@keeps("reused-pending-id")
def a_number_and_its_text_are_two_ids(talk: Talk) -> None:
    talk.open()
    number, text = talk.ask("_x", id_=5), talk.ask("_y", id_="5")
    talk.answer(text)
    talk.answer(number)


@breaks("reused-id")
def an_id_comes_again_later(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("_x", id_=5))
    talk.answer(talk.ask("_x", id_=5))


@keeps("reused-id")
def ids_go_down(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("_x", id_=6))
    talk.answer(talk.ask("_x", id_=5))


@breaks("unknown-response-id")
def an_answer_is_for_nobody(talk: Talk) -> None:
    talk.initialize()
    talk.send("agent", {"id": 77, "result": {}})


@breaks("unknown-response-id")
def an_answer_turns_a_number_into_text(talk: Talk) -> None:
    talk.initialize()
    talk.ask("_x", id_=7)
    talk.send("agent", {"id": "7", "result": {}})


@breaks("unknown-response-id")
def a_side_answers_itself(talk: Talk) -> None:
    talk.initialize()
    talk.ask("_x", id_=7)
    talk.send("client", {"id": 7, "result": {}})


@keeps("unknown-response-id")
def answers_come_in_another_order(talk: Talk) -> None:
    talk.open()
    first, second = talk.ask("_x"), talk.ask("_x")
    talk.answer(second)
    talk.answer(first)


@breaks("duplicate-response")
def a_request_is_answered_twice(talk: Talk) -> None:
    talk.open()
    call = talk.ask("_x")
    talk.answer(call)
    talk.answer(call)


@keeps("duplicate-response")
def two_requests_are_answered_alike(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("_x"))
    talk.answer(talk.ask("_x"))


@breaks("unanswered-request")
def a_request_is_never_answered(talk: Talk) -> None:
    talk.open()
    talk.ask("session/list")
    talk.end()


@keeps("unanswered-request")
def a_recording_stops_before_an_answer(talk: Talk) -> None:
    talk.open()
    call = talk.ask("_x")
    talk.refuse(call, -32601, "There is no such method.")
    talk.end()


@breaks("answered-notification")
def a_notification_is_refused(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x")
    talk.send("agent", {"id": None, "error": {"code": -32601, "message": "Not found."}})


@keeps("answered-notification")
def a_request_after_a_notification_is_answered(talk: Talk) -> None:
    talk.open()
    talk.tell("_x")
    talk.answer(talk.ask("_y"))


@keeps("answered-notification", despite=("not-json",))
def a_broken_line_after_a_notification_is_answered(talk: Talk) -> None:
    talk.open()
    talk.tell("_x")
    talk.send("client", b"{]")
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "This is no JSON."}})


@breaks("null-response-id")
def an_error_without_id_says_not_found(talk: Talk) -> None:
    talk.initialize()
    talk.send("agent", {"id": None, "error": {"code": -32603, "message": "Oh."}})


@breaks("null-response-id")
def a_result_has_no_id(talk: Talk) -> None:
    talk.initialize()
    talk.send("agent", {"id": None, "result": {}})


@keeps("null-response-id", despite=("not-json",))
def an_error_without_id_says_no_json(talk: Talk) -> None:
    talk.send("client", b"{]")
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "This is no JSON."}})


@breaks("unknown-envelope-member")
def a_message_has_a_type(talk: Talk) -> None:
    talk.initialize()
    talk.send("client", {"method": "_x", "type": "notification"})


@breaks("unknown-envelope-member")
def an_error_has_a_stack(talk: Talk) -> None:
    talk.initialize()
    call = talk.ask("_x")
    talk.send("agent", {"id": call.id, "error": {"code": -32601, "message": "No.", "stack": "…"}})


@keeps("unknown-envelope-member")
def a_param_is_called_type(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x", type="notification")


@keeps("answered-notification", despite=("not-json",))
def a_broken_line_before_a_notification_is_answered(talk: Talk) -> None:
    talk.open()
    talk.send("client", b"{]")
    talk.tell("session/cancel", sessionId="s1")
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "This is no JSON."}})


@breaks("answered-notification")
def a_broken_line_was_answered_before_the_notification(talk: Talk) -> None:
    talk.open()
    talk.send("client", b"{]")
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "This is no JSON."}})
    talk.tell("_x")
    talk.send("agent", {"id": None, "error": {"code": -32600, "message": "This is unknown."}})


@keeps("unknown-response-id", despite=("reused-pending-id",))
def questions_with_one_id_are_answered_in_order(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    listing = talk.ask("session/list", id_=prompt.id)
    talk.finish(prompt)
    talk.answer(listing, sessions=[])


@keeps("duplicate-response", despite=("reused-pending-id",))
def two_questions_with_one_id_get_an_answer_each(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    listing = talk.ask("session/list", id_=prompt.id)
    talk.finish(prompt)
    talk.answer(listing, sessions=[])
    talk.turn()


@breaks("duplicate-response")
def the_second_question_with_one_id_is_answered_twice(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    listing = talk.ask("session/list", id_=prompt.id)
    talk.finish(prompt)
    talk.answer(listing, sessions=[])
    talk.answer(listing, sessions=[])


@keeps("unknown-response-id")
def the_question_was_nested_too_deeply(talk: Talk) -> None:
    talk.open()
    deep = b"[" * 3000 + b"]" * 3000
    talk.send("client", b'{"jsonrpc":"2.0","id":"d","method":"_x","params":{"a":%b}}' % deep)
    talk.send("agent", {"id": "d", "result": {}})


@keeps("unknown-response-id", despite=("ambiguous-message", "invalid-method"))
def what_is_no_message_is_answered_by_its_id(talk: Talk) -> None:
    talk.open()
    talk.send("client", {"id": "m", "method": 7, "params": {}})
    talk.send("agent", {"id": "m", "error": {"code": -32600, "message": "This is no request."}})


@breaks("wrong-jsonrpc-version")
def an_object_has_no_members(talk: Talk) -> None:
    talk.open()
    talk.send("client", b"{ }")


@breaks("ambiguous-message")
def a_version_alone_is_no_message(talk: Talk) -> None:
    talk.open()
    talk.send("agent", b'{"jsonrpc": "2.0"}')


@keeps("ambiguous-message", despite=("wrong-jsonrpc-version",))
@keeps("unknown-envelope-member", despite=("wrong-jsonrpc-version",))
def a_log_in_json_lacks_one_thing(talk: Talk) -> None:
    talk.open()
    talk.send("agent", b'{"level": "info", "message": "ready"}')


@breaks("unknown-response-id")
def a_result_is_sent_without_an_id(talk: Talk) -> None:
    talk.open()
    talk.send("agent", {"result": {}})


@breaks("unknown-response-id")
def an_error_is_sent_without_an_id(talk: Talk) -> None:
    talk.open()
    talk.send("agent", {"error": {"code": -32700, "message": "This is no JSON."}})


@keeps("unknown-response-id", despite=("not-json",))
def a_line_with_nan_is_answered_by_its_id(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","id":"n","method":"_x","params":{"a":NaN}}')
    talk.send("agent", {"id": "n", "result": {}})


@keeps("unknown-response-id", despite=("invalid-utf8",))
def a_line_with_invalid_utf8_is_answered_by_its_id(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","id":7001,"method":"_x","params":{"a":"\xff"}}')
    talk.send("agent", {"id": 7001, "result": {}})


@keeps("unknown-response-id", despite=("not-an-object", "batch-sent", "batch-not-refused"))
def a_request_in_an_array_is_answered_by_its_id(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'[{"jsonrpc":"2.0","id":7001,"method":"_x"}]')
    talk.send("agent", {"id": 7001, "result": {}})


@keeps("unknown-response-id", despite=("invalid-id",))
def a_whole_number_with_a_fraction_is_answered_without_it(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","id":71.0,"method":"_x"}')
    talk.send("agent", {"id": 71, "result": {}})


@breaks("unknown-response-id")
def a_number_in_broken_text_is_not_the_id(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","id":7001,"method":"_x","params":{"a":NaN}}')
    talk.send("agent", {"id": 700, "result": {}})


@breaks("invalid-id")
def an_invalid_id_is_the_responders_own(talk: Talk) -> None:
    talk.open()
    talk.ask("_x", id_=2.5)
    talk.send("agent", {"id": 3.5, "result": {}})
