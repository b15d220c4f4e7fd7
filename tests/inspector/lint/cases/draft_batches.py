"""Talks in which arrays of messages are sent where the dialect has them."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.inspector.lint import talk as talks
from tests.inspector.lint.talk import Talk

breaks, keeps = (partial(each, dialect="v2-batch") for each in (talks.breaks, talks.keeps))

LIST: dict[str, Any] = {"id": "a", "method": "session/list", "params": {}}
CANCEL: dict[str, Any] = {"method": "session/cancel", "params": {"sessionId": "s1"}}
LISTED: dict[str, Any] = {"id": "a", "result": {"sessions": []}}
REFUSED: dict[str, Any] = {"id": None, "error": {"code": -32600, "message": "Invalid Request"}}
INVALID = ("not-an-object", "not-json")


@breaks("empty-batch", 2)
def nothing_is_sent_in_an_array(talk: Talk) -> None:
    talk.open()
    talk.batch("client")


@breaks("empty-batch", 2)
def notifications_get_an_empty_array(talk: Talk) -> None:
    talk.open()
    talk.batch("client", CANCEL)
    talk.batch("agent")


@keeps("empty-batch", 2)
@keeps("mixed-batch", 2)
@keeps("lifecycle-in-batch", 2)
@keeps("batch-answered-apart", 2)
def requests_and_notifications_are_sent_and_answered_in_arrays(talk: Talk) -> None:
    talk.open()
    talk.batch("client", LIST, CANCEL, {**LIST, "id": 7})
    talk.batch("agent", {**LISTED, "id": 7}, LISTED)


@breaks("mixed-batch", 2)
def a_response_is_sent_among_requests(talk: Talk) -> None:
    talk.open()
    call = talk.ask("_x", side="agent")
    talk.batch("client", LIST, {"id": call.id, "result": {}})


@breaks("lifecycle-in-batch", 2)
def a_session_is_opened_in_an_array(talk: Talk) -> None:
    talk.initialize()
    params: dict[str, Any] = {"cwd": talks.CWD, "mcpServers": []}
    talk.batch("client", {"id": "n", "method": "session/new", "params": params})


@breaks("lifecycle-in-batch", 2)
def the_version_is_agreed_upon_in_an_array(talk: Talk) -> None:
    """What follows is checked as version 2."""
    params = {"protocolVersion": 2, "info": talks.TOOL, "capabilities": {}}
    talk.batch("client", {"id": "i", "method": "initialize", "params": params})
    talk.batch("agent", {"id": "i", "result": params | {"capabilities": {"session": {}}}})


@breaks("batch-in-version-1")
def an_array_is_sent_in_version_1(talk: Talk) -> None:
    talk.open()
    talk.batch("client", LIST)


@keeps("batch-in-version-1")
def a_message_of_version_1_is_sent_alone(talk: Talk) -> None:
    talk.open()
    talk.turn()


@breaks("batch-answered-apart", 2)
def a_request_of_an_array_is_answered_by_itself(talk: Talk) -> None:
    talk.open()
    talk.batch("client", LIST, CANCEL)
    talk.send("agent", LISTED)


@breaks("batch-answered-apart", 2)
def requests_of_one_array_are_answered_in_two(talk: Talk) -> None:
    talk.open()
    talk.batch("client", LIST, {**LIST, "id": "b"})
    talk.batch("agent", LISTED)
    talk.batch("agent", {**LISTED, "id": "b"})


@breaks("batch-answered-apart", 2)
def a_request_alone_is_answered_in_an_array(talk: Talk) -> None:
    talk.open()
    talk.send("client", LIST)
    talk.batch("agent", LISTED)


@breaks("invalid-entry-not-answered", 2)
def an_invalid_entry_is_passed_over(talk: Talk) -> None:
    talk.open()
    talk.batch("client", 1, LIST)
    talk.batch("agent", LISTED)


@breaks("invalid-entry-not-answered", 2)
def an_array_of_invalid_entries_is_passed_over(talk: Talk) -> None:
    talk.open()
    talk.batch("client", 1, 2)
    talk.wait(10)
    talk.update("session_info_update", title="Hello")


@keeps("invalid-entry-not-answered", 2, despite=INVALID)
@keeps("batch-refused-whole", 2, despite=INVALID)
def invalid_entries_are_refused_one_by_one(talk: Talk) -> None:
    talk.open()
    talk.batch("client", 1, LIST, 2)
    talk.batch("agent", REFUSED, LISTED, REFUSED)
    talk.batch("client", 1)
    talk.batch("agent", REFUSED)
    talk.wait(10)
    talk.send("client", b"{]")
    talk.send("agent", {**REFUSED, "error": {"code": -32700, "message": "Parse error"}})
    talk.update("session_info_update", title="Hello")


@breaks("batch-refused-whole", 2)
def one_invalid_entry_makes_the_array_fail(talk: Talk) -> None:
    talk.open()
    talk.batch("client", 1, LIST)
    talk.send("agent", REFUSED)


@breaks("empty-batch-not-answered", 2)
def an_empty_array_is_answered_with_an_array(talk: Talk) -> None:
    talk.open()
    talk.batch("client")
    talk.batch("agent", REFUSED)


@breaks("empty-batch-not-answered", 2)
def an_empty_array_is_passed_over(talk: Talk) -> None:
    talk.open()
    talk.batch("client")
    talk.wait(10)
    talk.update("session_info_update", title="Hello")


@breaks("empty-batch-not-answered", 2)
def an_empty_array_is_no_json_to_an_agent(talk: Talk) -> None:
    talk.open()
    talk.batch("client")
    talk.send("agent", {**REFUSED, "error": {"code": -32700, "message": "Parse error"}})


@keeps("empty-batch-not-answered", 2, despite=("empty-batch",))
def an_empty_array_gets_one_error(talk: Talk) -> None:
    talk.open()
    talk.batch("client")
    talk.send("agent", REFUSED)


@breaks("answered-notification", 2)
def a_notification_of_an_array_is_answered(talk: Talk) -> None:
    talk.open()
    talk.batch("client", LIST, CANCEL)
    talk.batch("agent", LISTED, REFUSED)
