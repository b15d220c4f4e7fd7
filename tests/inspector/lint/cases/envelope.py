"""Talks about how a message is made up."""

from __future__ import annotations

from tests.inspector.lint.talk import Talk, breaks, keeps


@breaks("ACP-L016")
def jsonrpc_is_missing(talk: Talk) -> None:
    talk.send("client", b'{"method":"_x"}')


@breaks("ACP-L016")
def jsonrpc_is_another_version(talk: Talk) -> None:
    talk.send("client", {"jsonrpc": "1.0", "method": "_x"})


@breaks("ACP-L016")
def jsonrpc_is_a_number(talk: Talk) -> None:
    talk.send("client", {"jsonrpc": 2.0, "method": "_x"})


@keeps("ACP-L016")
def jsonrpc_stands_last(talk: Talk) -> None:
    talk.initialize()
    talk.send("client", b'{"method":"_x","jsonrpc":"2.0"}')


@breaks("ACP-L017")
def a_message_is_question_and_answer(talk: Talk) -> None:
    talk.send("client", {"id": 1, "method": "_x", "result": {}})


@breaks("ACP-L017")
def a_message_is_neither(talk: Talk) -> None:
    talk.send("client", {"id": 1})


@keeps("ACP-L017")
def a_param_is_called_result(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x", result=1, error=2)


@breaks("ACP-L018")
def an_answer_went_well_and_wrong(talk: Talk) -> None:
    call = talk.ask("initialize", protocolVersion=1)
    talk.send("agent", {"id": call.id, "result": {}, "error": {"code": 1, "message": "Oh."}})


@breaks("ACP-L018")
def a_result_has_a_null_error_beside_it(talk: Talk) -> None:
    call = talk.ask("initialize", protocolVersion=1)
    talk.send("agent", {"id": call.id, "result": {"protocolVersion": 1}, "error": None})


@breaks("ACP-L018")
def an_error_has_a_null_result_beside_it(talk: Talk) -> None:
    call = talk.ask("initialize", protocolVersion=1)
    talk.send("agent", {"id": call.id, "result": None, "error": {"code": 1, "message": "Oh."}})


@keeps("ACP-L018")
def a_result_speaks_of_an_error(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("_x"), error={"code": 1})


@breaks("ACP-L019")
def a_method_is_a_number(talk: Talk) -> None:
    talk.send("client", {"id": 1, "method": 7})


@breaks("ACP-L019")
def a_method_is_empty(talk: Talk) -> None:
    talk.send("client", {"id": 1, "method": ""})


@keeps("ACP-L019")
def a_method_is_one_letter_long(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_")


@breaks("ACP-L020")
def an_id_is_a_fraction(talk: Talk) -> None:
    talk.ask("initialize", id_=1.5, protocolVersion=1)


@breaks("ACP-L020")
def an_id_is_true(talk: Talk) -> None:
    talk.ask("initialize", id_=True, protocolVersion=1)


@breaks("ACP-L020")
def an_id_is_beyond_64_bits(talk: Talk) -> None:
    talk.ask("initialize", id_=2**63, protocolVersion=1)


@keeps("ACP-L020")
def an_id_is_the_last_of_64_bits(talk: Talk) -> None:
    talk.initialize()
    talk.answer(talk.ask("_x", id_=2**63 - 1))
    talk.answer(talk.ask("_x", id_=""))


@breaks("ACP-L021")
def a_request_has_the_id_null(talk: Talk) -> None:
    talk.initialize()
    talk.send("client", {"id": None, "method": "_x"})


@keeps("ACP-L021")
def a_request_has_the_id_zero(talk: Talk) -> None:
    talk.initialize()


@breaks("ACP-L022")
def params_are_by_position(talk: Talk) -> None:
    talk.initialize()
    talk.ask("_x", [1])


@keeps("ACP-L022")
def params_are_null(talk: Talk) -> None:
    talk.initialize()
    talk.send("client", {"method": "_x", "params": None})


@breaks("ACP-L023")
def an_id_is_used_while_it_waits(talk: Talk) -> None:
    talk.initialize()
    talk.ask("_x", id_=5)
    talk.ask("_y", id_=5)


@keeps("ACP-L023")
def both_sides_use_the_same_id(talk: Talk) -> None:
    talk.open()
    mine = talk.ask("_x", id_=5)
    theirs = talk.ask("_y", id_=5, side="agent")
    talk.answer(mine)
    talk.answer(theirs)


@keeps("ACP-L023")
def a_number_and_its_text_are_two_ids(talk: Talk) -> None:
    talk.open()
    number, text = talk.ask("_x", id_=5), talk.ask("_y", id_="5")
    talk.answer(text)
    talk.answer(number)


@breaks("ACP-L024")
def an_id_comes_again_later(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("_x", id_=5))
    talk.answer(talk.ask("_x", id_=5))


@keeps("ACP-L024")
def ids_go_down(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("_x", id_=6))
    talk.answer(talk.ask("_x", id_=5))


@breaks("ACP-L025")
def an_answer_is_for_nobody(talk: Talk) -> None:
    talk.initialize()
    talk.send("agent", {"id": 77, "result": {}})


@breaks("ACP-L025")
def an_answer_turns_a_number_into_text(talk: Talk) -> None:
    talk.initialize()
    talk.ask("_x", id_=7)
    talk.send("agent", {"id": "7", "result": {}})


@breaks("ACP-L025")
def a_side_answers_itself(talk: Talk) -> None:
    talk.initialize()
    talk.ask("_x", id_=7)
    talk.send("client", {"id": 7, "result": {}})


@keeps("ACP-L025")
def answers_come_in_another_order(talk: Talk) -> None:
    talk.open()
    first, second = talk.ask("_x"), talk.ask("_x")
    talk.answer(second)
    talk.answer(first)


@breaks("ACP-L026")
def a_request_is_answered_twice(talk: Talk) -> None:
    talk.open()
    call = talk.ask("_x")
    talk.answer(call)
    talk.answer(call)


@keeps("ACP-L026")
def two_requests_are_answered_alike(talk: Talk) -> None:
    talk.open()
    talk.answer(talk.ask("_x"))
    talk.answer(talk.ask("_x"))


@breaks("ACP-L027")
def a_request_is_never_answered(talk: Talk) -> None:
    talk.open()
    talk.ask("session/list")
    talk.end()


@keeps("ACP-L027")
def a_recording_stops_before_an_answer(talk: Talk) -> None:
    talk.open()
    call = talk.ask("_x")
    talk.refuse(call, -32601, "There is no such method.")
    talk.end()


@breaks("ACP-L028")
def a_notification_is_refused(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x")
    talk.send("agent", {"id": None, "error": {"code": -32601, "message": "Not found."}})


@keeps("ACP-L028")
def a_request_after_a_notification_is_answered(talk: Talk) -> None:
    talk.open()
    talk.tell("_x")
    talk.answer(talk.ask("_y"))


@keeps("ACP-L028", despite=("ACP-L001",))
def a_broken_line_after_a_notification_is_answered(talk: Talk) -> None:
    talk.open()
    talk.tell("_x")
    talk.send("client", b"{]")
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "This is no JSON."}})


@breaks("ACP-L029")
def an_error_without_id_says_not_found(talk: Talk) -> None:
    talk.initialize()
    talk.send("agent", {"id": None, "error": {"code": -32603, "message": "Oh."}})


@breaks("ACP-L029")
def a_result_has_no_id(talk: Talk) -> None:
    talk.initialize()
    talk.send("agent", {"id": None, "result": {}})


@keeps("ACP-L029", despite=("ACP-L001",))
def an_error_without_id_says_no_json(talk: Talk) -> None:
    talk.send("client", b"{]")
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "This is no JSON."}})


@breaks("ACP-L045")
def a_message_has_a_type(talk: Talk) -> None:
    talk.initialize()
    talk.send("client", {"method": "_x", "type": "notification"})


@breaks("ACP-L045")
def an_error_has_a_stack(talk: Talk) -> None:
    talk.initialize()
    call = talk.ask("_x")
    talk.send("agent", {"id": call.id, "error": {"code": -32601, "message": "No.", "stack": "…"}})


@keeps("ACP-L045")
def a_param_is_called_type(talk: Talk) -> None:
    talk.initialize()
    talk.tell("_x", type="notification")


@keeps("ACP-L028", despite=("ACP-L001",))
def a_broken_line_before_a_notification_is_answered(talk: Talk) -> None:
    talk.open()
    talk.send("client", b"{]")
    talk.tell("session/cancel", sessionId="s1")
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "This is no JSON."}})


@breaks("ACP-L028")
def a_broken_line_was_answered_before_the_notification(talk: Talk) -> None:
    talk.open()
    talk.send("client", b"{]")
    talk.send("agent", {"id": None, "error": {"code": -32700, "message": "This is no JSON."}})
    talk.tell("_x")
    talk.send("agent", {"id": None, "error": {"code": -32600, "message": "This is unknown."}})


@keeps("ACP-L025", despite=("ACP-L023",))
def questions_with_one_id_are_answered_in_order(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    listing = talk.ask("session/list", id_=prompt.id)
    talk.finish(prompt)
    talk.answer(listing, sessions=[])


@keeps("ACP-L026", despite=("ACP-L023",))
def two_questions_with_one_id_get_an_answer_each(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    listing = talk.ask("session/list", id_=prompt.id)
    talk.finish(prompt)
    talk.answer(listing, sessions=[])
    talk.turn()


@breaks("ACP-L026")
def the_second_question_with_one_id_is_answered_twice(talk: Talk) -> None:
    talk.open()
    prompt = talk.prompt()
    listing = talk.ask("session/list", id_=prompt.id)
    talk.finish(prompt)
    talk.answer(listing, sessions=[])
    talk.answer(listing, sessions=[])


@keeps("ACP-L025")
def the_question_was_nested_too_deeply(talk: Talk) -> None:
    talk.open()
    deep = b"[" * 3000 + b"]" * 3000
    talk.send("client", b'{"jsonrpc":"2.0","id":"d","method":"_x","params":{"a":%b}}' % deep)
    talk.send("agent", {"id": "d", "result": {}})


@keeps("ACP-L025", despite=("ACP-L017", "ACP-L019"))
def what_is_no_message_is_answered_by_its_id(talk: Talk) -> None:
    talk.open()
    talk.send("client", {"id": "m", "method": 7, "params": {}})
    talk.send("agent", {"id": "m", "error": {"code": -32600, "message": "This is no request."}})


@breaks("ACP-L016")
def an_object_has_no_members(talk: Talk) -> None:
    talk.open()
    talk.send("client", b"{ }")


@breaks("ACP-L017")
def a_version_alone_is_no_message(talk: Talk) -> None:
    talk.open()
    talk.send("agent", b'{"jsonrpc": "2.0"}')


@keeps("ACP-L017", despite=("ACP-L016",))
@keeps("ACP-L045", despite=("ACP-L016",))
def a_log_in_json_lacks_one_thing(talk: Talk) -> None:
    talk.open()
    talk.send("agent", b'{"level": "info", "message": "ready"}')


@breaks("ACP-L025")
def a_result_is_sent_without_an_id(talk: Talk) -> None:
    talk.open()
    talk.send("agent", {"result": {}})


@breaks("ACP-L025")
def an_error_is_sent_without_an_id(talk: Talk) -> None:
    talk.open()
    talk.send("agent", {"error": {"code": -32700, "message": "This is no JSON."}})


@keeps("ACP-L025", despite=("ACP-L001",))
def a_line_with_nan_is_answered_by_its_id(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","id":"n","method":"_x","params":{"a":NaN}}')
    talk.send("agent", {"id": "n", "result": {}})


@keeps("ACP-L025", despite=("ACP-L003",))
def a_line_with_invalid_utf8_is_answered_by_its_id(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","id":7001,"method":"_x","params":{"a":"\xff"}}')
    talk.send("agent", {"id": 7001, "result": {}})


@keeps("ACP-L025", despite=("ACP-L009", "ACP-L357", "ACP-L359"))
def a_request_in_an_array_is_answered_by_its_id(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'[{"jsonrpc":"2.0","id":7001,"method":"_x"}]')
    talk.send("agent", {"id": 7001, "result": {}})


@keeps("ACP-L025", despite=("ACP-L020",))
def a_whole_number_with_a_fraction_is_answered_without_it(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","id":71.0,"method":"_x"}')
    talk.send("agent", {"id": 71, "result": {}})


@breaks("ACP-L025")
def a_number_in_broken_text_is_not_the_id(talk: Talk) -> None:
    talk.open()
    talk.send("client", b'{"jsonrpc":"2.0","id":7001,"method":"_x","params":{"a":NaN}}')
    talk.send("agent", {"id": 700, "result": {}})


@breaks("ACP-L020")
def an_invalid_id_is_the_responders_own(talk: Talk) -> None:
    talk.open()
    talk.ask("_x", id_=2.5)
    talk.send("agent", {"id": 3.5, "result": {}})
