"""OpenOxide over HTTP, without I/O: which response a POST gets, and the events of its stream.

| posted                             | response                                                  |
|------------------------------------|-----------------------------------------------------------|
| a prompt, with or without JSON-RPC | `text/event-stream`: the events of the turn, the response |
| another request                    | its response as JSON; or a stream, if it names a session  |
|                                    | and `Accept` has `text/event-stream`                      |
| a notification, a response         | 202 without a body                                        |

| event                              | its data                                                  |
|------------------------------------|-----------------------------------------------------------|
| the `type` of an event of the      | the event with its `session_id`, without JSON-RPC         |
| dialect, such as `text_delta`      |                                                           |
| `slash_commands`                   | the same; this event has no type                          |
| `message`                          | another message of the agent, with JSON-RPC               |
| `response`, `error`                | the answer, as on stdio; then the stream ends             |

The blueprint has the POST of a prompt, the stream of events by type, and the operations of the
session store; the rest of the names is ours.

Source: OpenOxide, "Remote Transport: HTTP + Server-Sent Events".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from acp_protocol.dialects.base import PROMPT, Object, session_in
from acp_protocol.dialects.openoxide import CANCEL
from acp_protocol.json_values import as_object, as_string
from acp_protocol.jsonrpc import (
    INTERNAL_ERROR,
    ErrorResponse,
    InvalidMessage,
    Message,
    Notification,
    Request,
    RequestId,
    SuccessResponse,
    encode,
    encode_error,
    encode_notification,
    id_key,
    parse,
    read_message,
)

COMMANDS: Final = "slash_commands"
OTHER: Final = "message"
"""The event that is a message with JSON-RPC; browsers give this name to events without one."""
RESPONSE: Final = "response"
ERROR: Final = "error"
ANSWERS: Final = frozenset({RESPONSE, ERROR})
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class PostedRequest:
    """A request that was posted, and what its response is known by."""

    session: str | None
    """The session that it names."""
    id: RequestId = None
    """None for a prompt without JSON-RPC."""
    is_prompt: bool = False

    def is_answered_by(self, frame: bytes) -> bool:
        """Return whether a frame of the agent is the answer."""
        message = read_message(frame)
        if isinstance(message, SuccessResponse | ErrorResponse):
            return self.id is not None and id_key(message.id) == id_key(self.id)
        return self.id is None and bare_answer(message) == self.session

    def cancellation(self) -> bytes | None:
        """Return what ends it before its response, if anything does."""
        if not self.is_prompt:
            return None
        if self.id is None:
            return encode_notification("session/cancel", {"session_id": self.session})
        return encode_notification(CANCEL, {"request_id": self.id})

    def failure(self, reason: str) -> bytes:
        """Return the answer if the agent has ended before it."""
        if self.id is not None:
            return encode_error(self.id, INTERNAL_ERROR, reason)
        error: Object = {"type": ERROR, "session_id": self.session, "code": INTERNAL_ERROR}
        return encode(error | {"message": reason})


def exchange_of(message: Message) -> PostedRequest | None:
    """Return the exchange that a message of the client begins; None if it gets no response."""
    if isinstance(message, Request):
        session = session_in(message.params)
        return PostedRequest(session, message.id, message.method == PROMPT and session is not None)
    if isinstance(message, InvalidMessage):
        value = _value(message)
        session = session_in(value)
        if value.get("type") == "prompt" and "jsonrpc" not in value and session is not None:
            return PostedRequest(session, None, is_prompt=True)
    return None


def session_of(message: Message) -> str | None:
    """Return the session that a message names."""
    if isinstance(message, Request | Notification):
        return session_in(message.params)
    if isinstance(message, InvalidMessage):
        return session_in(_value(message))
    return session_in(message.result) if isinstance(message, SuccessResponse) else None


def bare_answer(message: Message) -> str | None:
    """Return the session whose prompt without JSON-RPC a message answers, if it does."""
    if not isinstance(message, InvalidMessage):
        return None
    value = _value(message)
    is_answer = as_string(value.get("type")) in ANSWERS and "jsonrpc" not in value
    return session_in(value) if is_answer else None


def event_of(frame: bytes) -> tuple[str, bytes]:
    """Return the name and the data of the event with a frame of the agent."""
    message = read_message(frame)
    match message:
        case SuccessResponse():
            return RESPONSE, frame
        case ErrorResponse():
            return ERROR, frame
        case Notification(method="session/update"):
            event = as_object(message.params)
            name = _name_of(event)
            return (OTHER, frame) if name is None else (name, encode(event))
        case InvalidMessage():
            return _name_of(_value(message)) or OTHER, frame
        case _:
            return OTHER, frame


def _name_of(event: Object) -> str | None:
    """Return the name of an event of the dialect; None if it is none."""
    if COMMANDS in event and "type" not in event:
        return COMMANDS
    name = as_string(event.get("type"))
    return name if _NAME.fullmatch(name) else None


def _value(message: InvalidMessage) -> Object:
    try:
        return as_object(parse(message.raw))
    except ValueError:
        return {}
