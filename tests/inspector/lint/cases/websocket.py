"""Talks over a WebSocket."""

from __future__ import annotations

from tests.inspector.lint.talk import Talk, breaks, keeps
from tests.inspector.lint.wire import ANSWERED, ASKED, Wire, message

INITIALIZE = message("initialize", ASKED, 0)


@breaks("wrong-websocket-message")
def a_session_comes_first(talk: Talk) -> None:
    wire = Wire(talk)
    wire.say(wire.socket(), message("session/list", {}, 0))


@breaks("wrong-websocket-message")
def a_message_is_binary(talk: Talk) -> None:
    wire = Wire(talk)
    wire.say(wire.socket(), INITIALIZE, kind="binary")


@keeps("wrong-websocket-message")
def initialize_comes_first_as_text(talk: Talk) -> None:
    wire = Wire(talk)
    socket = wire.socket()
    wire.say(socket, INITIALIZE)
    wire.say(socket, {"id": 0, "result": ANSWERED}, side="agent")
    wire.say(socket, message("_x", {}))


@breaks("missing-websocket-connection-id")
def a_socket_has_no_connection(talk: Talk) -> None:
    Wire(talk).socket(**{"Acp-Connection-Id": ""})


@keeps("missing-websocket-connection-id")
def a_socket_has_a_connection(talk: Talk) -> None:
    Wire(talk).socket()


@breaks("initialize-with-connection-id")
def initialize_comes_twice_on_a_socket(talk: Talk) -> None:
    wire = Wire(talk)
    socket = wire.socket()
    wire.say(socket, INITIALIZE)
    wire.say(socket, {"id": 0, "result": ANSWERED}, side="agent")
    wire.say(socket, INITIALIZE | {"id": 1})


@breaks("wrong-close-code")
def a_socket_closes_with_a_code_of_its_own(talk: Talk) -> None:
    wire = Wire(talk)
    talk.event("ws_close", id=wire.socket(), code=4000)


@breaks("wrong-close-code")
def a_wrong_beginning_is_an_internal_error(talk: Talk) -> None:
    wire = Wire(talk)
    socket = wire.socket()
    wire.say(socket, message("session/list", {}, 0))
    talk.event("ws_close", id=socket, code=1011)


@keeps("wrong-close-code")
def a_socket_closes_in_peace(talk: Talk) -> None:
    wire = Wire(talk)
    talk.event("ws_close", id=wire.socket(), code=1000)
