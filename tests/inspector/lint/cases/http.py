"""Talks over Streamable HTTP."""

from __future__ import annotations

from tests.inspector.lint.talk import CWD, Talk, breaks, keeps
from tests.inspector.lint.wire import ASKED, CONNECTION, JSON, Wire, message

LIST = message("session/list", {}, 7)


@breaks("wrong-content-type")
def a_post_is_plain_text(talk: Talk) -> None:
    Wire(talk).post(message("initialize", ASKED, 0), {"Content-Type": "text/plain"}, 415)


@keeps("wrong-content-type")
def a_post_names_its_charset(talk: Talk) -> None:
    wire = Wire(talk)
    wire.initialize()
    wire.stream()
    wire.post(message("_x", {}), CONNECTION | {"Content-Type": "application/json; charset=utf-8"})


@breaks("wrong-accept-header")
def a_stream_is_not_asked_for(talk: Talk) -> None:
    Wire(talk).stream(Accept="*/*")


@keeps("wrong-accept-header")
def a_stream_is_asked_for_among_others(talk: Talk) -> None:
    Wire(talk).stream(Accept="application/json, text/event-stream")


@breaks("wrong-initialize-response")
def a_connection_has_no_id(talk: Talk) -> None:
    Wire(talk).initialize(Acp_Connection_Id="")


@breaks("wrong-initialize-response")
def initialize_is_accepted_only(talk: Talk) -> None:
    Wire(talk).initialize(202)


@keeps("wrong-initialize-response")
def a_proxy_answers_for_a_server_that_it_does_not_reach(talk: Talk) -> None:
    wire = Wire(talk)
    id_ = wire.request("POST", JSON)
    talk.send("client", message("initialize", ASKED, 0))
    talk.event("http_response", id=id_, status=502, by="proxy")
    wire.initialize()


@keeps("wrong-initialize-response")
def a_connection_that_was_refused_has_no_id(talk: Talk) -> None:
    wire = Wire(talk)
    wire.post(message("initialize", ASKED, 0), JSON, status=200)
    refusal = {"code": -32602, "message": "no"}
    talk.send("agent", {"jsonrpc": "2.0", "id": 0, "error": refusal})


@keeps("wrong-initialize-response")
def initialize_is_answered_at_once(talk: Talk) -> None:
    Wire(talk).initialize()


@breaks("wrong-post-response")
def a_post_is_answered_with_200(talk: Talk) -> None:
    wire = Wire(talk)
    wire.open()
    wire.post(LIST, status=200)


@breaks("wrong-post-response")
def a_result_stands_in_the_answer(talk: Talk) -> None:
    wire = Wire(talk)
    wire.open()
    wire.post(LIST)
    talk.send("agent", {"id": 7, "result": {"sessions": []}})


@keeps("wrong-post-response")
def a_post_is_accepted(talk: Talk) -> None:
    Wire(talk).open()


@breaks("missing-connection-id")
def a_post_names_no_connection(talk: Talk) -> None:
    wire = Wire(talk)
    wire.initialize()
    wire.post(LIST, JSON, 400)


@breaks("missing-connection-id")
def a_post_names_another_connection(talk: Talk) -> None:
    wire = Wire(talk)
    wire.initialize()
    wire.post(LIST, JSON | {"Acp-Connection-Id": "c9"}, 404)


@keeps("missing-connection-id")
def a_post_names_its_connection(talk: Talk) -> None:
    Wire(talk).open()


@breaks("missing-session-header")
def a_prompt_names_no_session(talk: Talk) -> None:
    wire = Wire(talk)
    wire.open()
    wire.prompt(None)


@breaks("missing-session-header")
def a_prompt_names_another_session(talk: Talk) -> None:
    wire = Wire(talk)
    wire.open()
    wire.prompt("s2")


@keeps("missing-session-header")
def a_prompt_names_its_session(talk: Talk) -> None:
    wire = Wire(talk)
    _, session = wire.open()
    wire.prompt()
    wire.event(session, {"id": 2, "result": {"stopReason": "end_turn"}})


@breaks("wrong-stream")
def an_update_comes_on_the_connections_stream(talk: Talk) -> None:
    wire = Wire(talk)
    connection, _ = wire.open()
    wire.prompt()
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}}
    wire.event(connection, message("session/update", {"sessionId": "s1", "update": update}))


@breaks("wrong-stream")
def a_new_session_comes_on_a_sessions_stream(talk: Talk) -> None:
    wire = Wire(talk)
    _, session = wire.open()
    wire.post(message("session/new", {"cwd": CWD, "mcpServers": []}, 5))
    wire.event(session, {"id": 5, "result": {"sessionId": "s2"}})


@keeps("wrong-stream")
def an_update_comes_on_its_stream(talk: Talk) -> None:
    wire = Wire(talk)
    _, session = wire.open()
    wire.prompt()
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi"}}
    wire.event(session, message("session/update", {"sessionId": "s1", "update": update}))


@breaks("http-batch-accepted")
def an_array_is_accepted(talk: Talk) -> None:
    wire = Wire(talk)
    wire.initialize()
    wire.post(b'[{"jsonrpc":"2.0","method":"_x"}]')


@keeps("http-batch-accepted", despite=("not-an-object", "batch-sent", "batch-not-refused"))
def an_array_is_refused(talk: Talk) -> None:
    wire = Wire(talk)
    wire.initialize()
    wire.post(b'[{"jsonrpc":"2.0","method":"_x"}]', status=501)


@breaks("cookie-not-returned")
def a_cookie_is_forgotten(talk: Talk) -> None:
    wire = Wire(talk)
    wire.initialize(Set_Cookie="node=7; Path=/")
    wire.stream()


@keeps("cookie-not-returned")
def a_cookie_comes_back(talk: Talk) -> None:
    wire = Wire(talk)
    wire.initialize(Set_Cookie="node=7; Path=/")
    wire.stream(Cookie="a=b; node=7")


@breaks("not-http2")
def a_connection_is_over_http_1(talk: Talk) -> None:
    Wire(talk).initialize(version="HTTP/1.1")


@keeps("not-http2")
def a_connection_is_over_http_2(talk: Talk) -> None:
    Wire(talk).initialize()


@breaks("used-after-delete")
def a_post_follows_the_end(talk: Talk) -> None:
    wire = Wire(talk)
    wire.open()
    wire.respond(wire.request("DELETE", CONNECTION), 202)
    wire.post(LIST, status=404)


@keeps("used-after-delete")
def another_connection_follows_the_end(talk: Talk) -> None:
    wire = Wire(talk)
    wire.open()
    wire.respond(wire.request("DELETE", CONNECTION), 202)
    wire.request("GET", {"Accept": "text/event-stream", "Acp-Connection-Id": "c2"})


@breaks("stream-opened-late")
def a_session_is_asked_for_without_a_stream(talk: Talk) -> None:
    wire = Wire(talk)
    wire.initialize()
    wire.post(message("session/new", {"cwd": CWD, "mcpServers": []}, 1))


@keeps("stream-opened-late")
def a_session_is_asked_for_with_a_stream(talk: Talk) -> None:
    Wire(talk).open()


@breaks("second-stream-reader")
def a_stream_is_read_twice(talk: Talk) -> None:
    wire = Wire(talk)
    wire.open()
    wire.stream("s1")


@keeps("second-stream-reader")
def a_stream_is_read_again_after_its_end(talk: Talk) -> None:
    wire = Wire(talk)
    _, session = wire.open()
    talk.event("http_end", id=session)
    wire.stream("s1")


@breaks("malformed-sse-event")
def an_event_holds_an_array(talk: Talk) -> None:
    wire = Wire(talk)
    connection, _ = wire.open()
    wire.event(connection, b"[]")


@keeps("malformed-sse-event")
def an_event_holds_an_object(talk: Talk) -> None:
    Wire(talk).open()


@breaks("initialize-with-connection-id")
def initialize_names_a_connection(talk: Talk) -> None:
    Wire(talk).post(message("initialize", ASKED, 0), status=400)


@keeps("initialize-with-connection-id")
def initialize_names_no_connection(talk: Talk) -> None:
    Wire(talk).initialize()


@breaks("cancel-on-session-stream")
def a_cancel_comes_on_a_sessions_stream(talk: Talk) -> None:
    wire = Wire(talk)
    _, session = wire.open()
    wire.event(session, message("$/cancel_request", {"requestId": 3}))


@keeps("cancel-on-session-stream")
def a_cancel_comes_on_the_connections_stream(talk: Talk) -> None:
    wire = Wire(talk)
    connection, _ = wire.open()
    wire.event(connection, message("$/cancel_request", {"requestId": 3}))


@breaks("unchecked-origin")
def a_page_of_somewhere_else_is_let_in(talk: Talk) -> None:
    wire = Wire(talk)
    wire.stream(Origin="https://evil.example", Host="localhost:8080")


@keeps("unchecked-origin")
def a_page_with_a_token_is_let_in(talk: Talk) -> None:
    wire = Wire(talk)
    wire.stream(
        Origin="https://tools.example", Host="localhost:8080", Authorization="Bearer «secret:1»"
    )


@keeps("unchecked-origin")
def a_page_of_the_same_host_is_let_in(talk: Talk) -> None:
    wire = Wire(talk)
    wire.stream(Origin="http://localhost:8080", Host="localhost:8080")


def refused_and_sent_again(talk: Talk) -> None:
    wire = Wire(talk)
    _, stream = wire.open()
    for status in (429, 503, 202):
        block = {"type": "text", "text": "Hi"}
        prompt = message("session/prompt", {"sessionId": "s1", "prompt": [block]}, 2)
        wire.post(prompt, CONNECTION | JSON | {"Acp-Session-Id": "s1"}, status)
    wire.event(stream, {"id": 2, "result": {"stopReason": "end_turn"}})


@keeps("reused-pending-id")
def a_refused_post_is_sent_again(talk: Talk) -> None:
    refused_and_sent_again(talk)


@keeps("concurrent-prompts")
def a_refused_prompt_is_sent_again(talk: Talk) -> None:
    refused_and_sent_again(talk)


@keeps("unanswered-request")
def a_refused_post_gets_no_message(talk: Talk) -> None:
    wire = Wire(talk)
    connection, _ = wire.open()
    asked = message("session/new", {"cwd": CWD, "mcpServers": []}, 7)
    wire.post(asked, status=400)
    wire.post(asked | {"id": 8})
    wire.event(connection, {"id": 8, "result": {"sessionId": "s2"}})
    talk.end()


@breaks("reused-pending-id")
def an_accepted_post_is_sent_again(talk: Talk) -> None:
    wire = Wire(talk)
    wire.open()
    wire.post(LIST)
    wire.post(LIST)
