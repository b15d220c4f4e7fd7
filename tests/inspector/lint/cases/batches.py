"""Talks in which arrays of messages are sent."""

from __future__ import annotations

from tests.inspector.lint.talk import Talk, breaks, keeps

ARRAY = b'[{"jsonrpc":"2.0","id":"a","method":"session/list","params":{}}]'
ERROR = {"code": -32600, "message": "Batches are not supported"}


def send(talk: Talk) -> None:
    """Send a request in an array."""
    talk.open()
    talk.send("client", ARRAY)


@breaks("batch-sent")
@breaks("batch-sent", 2)
def a_request_is_sent_in_an_array(talk: Talk) -> None:
    send(talk)


@keeps("batch-sent")
@keeps("batch-sent", 2)
def an_array_stands_in_a_message(talk: Talk) -> None:
    talk.open()
    talk.tell("_x", messages=[{"jsonrpc": "2.0", "method": "_y"}])


@breaks("batch-not-refused")
@breaks("batch-not-refused", 2)
def an_entry_of_an_array_is_answered(talk: Talk) -> None:
    send(talk)
    talk.send("agent", {"id": "a", "result": {"sessions": []}})


@breaks("batch-not-refused")
def an_array_is_no_json_to_an_agent(talk: Talk) -> None:
    send(talk)
    talk.send("agent", {"id": None, "error": ERROR | {"code": -32700}})


@breaks("batch-not-refused")
def an_array_is_refused_twice(talk: Talk) -> None:
    send(talk)
    talk.send("agent", {"id": None, "error": ERROR})
    talk.send("agent", {"id": None, "error": ERROR})


@breaks("batch-not-refused", 2)
def an_array_is_passed_over(talk: Talk) -> None:
    send(talk)
    talk.wait(10)
    talk.update("session_info_update", title="Hello")


@breaks("batch-not-refused")
def an_array_is_passed_over_and_something_else_refused(talk: Talk) -> None:
    send(talk)
    talk.wait(10)
    talk.send("client", {"id": None, "method": "_x"})
    talk.send("agent", {"id": None, "error": ERROR})


@keeps("batch-not-refused", despite=("not-an-object", "batch-sent"))
@keeps("batch-not-refused", 2, despite=("not-an-object", "batch-sent"))
def an_array_is_refused_once(talk: Talk) -> None:
    send(talk)
    talk.send("agent", {"id": None, "error": ERROR})
    talk.wait(10)
    talk.update("session_info_update", title="Hello")


@breaks("batch-response")
@breaks("batch-response", 2)
def answers_are_sent_in_an_array(talk: Talk) -> None:
    talk.open()
    call = talk.ask("session/list")
    id_ = str(call.id).encode()
    talk.send("agent", b'[{"jsonrpc":"2.0","id":' + id_ + b',"result":{"sessions":[]}}]')


@keeps("batch-response", despite=("not-an-object", "batch-sent"))
@keeps("batch-response", 2, despite=("not-an-object", "batch-sent"))
def requests_are_sent_in_an_array(talk: Talk) -> None:
    send(talk)
    talk.send("agent", {"id": None, "error": ERROR})


@breaks("batch-not-refused")
@breaks("batch-not-refused", 2)
def a_broken_line_behind_an_array_is_refused_alone(talk: Talk) -> None:
    send(talk)
    talk.send("client", b"{]")
    talk.send("agent", {"id": None, "error": ERROR | {"code": -32700}})
    talk.wait(10)
    talk.update("session_info_update", title="Hello")


@keeps("batch-not-refused", despite=("not-json", "not-an-object", "batch-sent"))
def a_broken_line_before_an_array_is_refused_too(talk: Talk) -> None:
    talk.open()
    talk.send("client", b"{]")
    talk.send("client", b'[{"jsonrpc":"2.0","id":"a","method":"session/list"}]')
    talk.send("agent", {"id": None, "error": ERROR | {"code": -32700}})
    talk.send("agent", {"id": None, "error": ERROR})
    talk.wait(10)
    talk.update("session_info_update", title="Hello")
