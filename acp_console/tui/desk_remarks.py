"""What there is to say about a frame that a person writes: nothing of it forbids to send it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from acp_inspector.intercept.skeletons import complaints_about
from acp_protocol import jsonrpc
from acp_protocol.jsonrpc import Failure, Json, Malformed, Message, Request, Result

Remarks = Callable[[bytes], Sequence[str]]

LONG = 200_000
"""Bytes of a frame that is not compared with the schema at every key."""


def on_edit(original: Message) -> Remarks:
    """Return what tells how an edited frame differs from what it was in more than its words."""

    def remarks(raw: bytes) -> Sequence[str]:
        message = jsonrpc.read_message(raw)
        return [*_changes(original, message), *on_call(raw)]

    return remarks


def on_call(raw: bytes) -> Sequence[str]:
    """Return what of a call is against the schema."""
    message = jsonrpc.read_message(raw)
    if isinstance(message, Malformed):
        return [message.reason]
    return () if len(raw) > LONG else complaints_about(jsonrpc.parse(raw))


def on_result(method: str) -> Remarks:
    """Return what tells what of a result of `method` is against the schema."""

    def remarks(raw: bytes) -> Sequence[str]:
        return () if len(raw) > LONG else complaints_about(jsonrpc.parse(raw), method)

    return remarks


def on_error(raw: bytes) -> Sequence[str]:
    """Return what an error lacks."""
    value = jsonrpc.parse(raw)
    error = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
    if type(error.get("code")) is int and isinstance(error.get("message"), str):
        return ()
    return ["an error needs an integer code and a message"]


def _changes(before: Message, after: Message) -> list[str]:
    if isinstance(before, Malformed) or isinstance(after, Malformed):
        return []
    if type(before) is not type(after):
        was, now = (type(message).__name__.lower() for message in (before, after))
        return [f"it was a {was} and is a {now}"]
    if isinstance(before, Request) and isinstance(after, Request):
        if jsonrpc.id_key(before.id) != jsonrpc.id_key(after.id):
            return [f"the id was {_id(before)}: the answer will not find who asked"]
    elif (
        isinstance(before, Result | Failure)
        and isinstance(after, Result | Failure)
        and jsonrpc.id_key(before.id) != jsonrpc.id_key(after.id)
    ):
        return [f"the id was {_id(before)}: who asked will not know its answer"]
    return []


def _id(message: Request | Result | Failure) -> str:
    return jsonrpc.encode(message.id).decode()
