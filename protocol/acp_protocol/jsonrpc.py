"""The JSON-RPC envelope, without I/O.

`read_message` turns the bytes of one frame into what they say and never raises: what is no JSON-RPC
is `Malformed`, a value like the others. Every message keeps the bytes that it was read from.
Nothing of ACP stands here: methods and their params are the business of `schema`.

Source: JSON-RPC 2.0; ACP, Overview, "Messages".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar, cast, dataclass_transform

from acp_protocol import json_text

T = TypeVar("T")

Json: TypeAlias = json_text.Json
"""JSON that has not been read yet."""
parse = json_text.parse
encode = json_text.encode

RequestId: TypeAlias = str | int | None

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
AUTH_REQUIRED: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002
REQUEST_CANCELLED: Final = -32800


@dataclass_transform(frozen_default=True)
def _fact(of: type[T]) -> type[T]:
    """Make a class of facts: frozen for who reads the code, and made at no more than it costs.

    The fields of a dataclass that is frozen at run time take four times as long to be filled, for
    every frame of every conversation.
    """
    return dataclass(slots=True, unsafe_hash=True)(of)


@_fact
class Request:
    """A call that has to be answered."""

    id: RequestId
    method: str
    params: Json
    """None when the member is absent."""
    raw: bytes


@_fact
class Notification:
    """A call that must not be answered."""

    method: str
    params: Json
    """None when the member is absent."""
    raw: bytes


@_fact
class Result:
    """The answer to a request that went well."""

    id: RequestId
    result: Json
    raw: bytes


@_fact
class Failure:
    """The answer to a request that went wrong."""

    id: RequestId
    code: int
    message: str
    data: Json
    """None when the member is absent."""
    raw: bytes


@_fact
class Batch:
    """Several messages in one array; entries keep no bytes of their own.

    Source: JSON-RPC 2.0, section 6; ACP has taken batches out of all versions.
    """

    entries: tuple[Message, ...]
    raw: bytes


@_fact
class Malformed:
    """A frame that is no JSON (`PARSE_ERROR`) or no JSON-RPC (`INVALID_REQUEST`)."""

    reason: str
    code: int
    raw: bytes
    is_answer: bool = False
    """It has the shape of an answer: nobody must answer it."""
    id: RequestId = None
    """The id of a broken request or answer, where it can be told; None otherwise."""


Message: TypeAlias = Request | Notification | Result | Failure | Batch | Malformed


def read_message(raw: bytes, *, has_entries: bool = True) -> Message:
    """Return what one frame says; `Malformed` for whatever is no JSON-RPC.

    `has_entries` False leaves the entries of an array unread, for who refuses it anyway.
    """
    try:
        value = parse(raw)
    except ValueError as problem:
        return Malformed(str(problem), PARSE_ERROR, raw)
    kind = value.__class__
    if kind is dict:
        # What nearly every frame is.
        if "method" in value:
            return _read_call(value, raw)
        if "result" in value:
            return _read_answer(value, raw)
    if kind is list:
        entries = cast("list[Json]", value) if has_entries else ()
        return Batch(tuple(_read_entry(entry, b"") for entry in entries), raw)
    return _read_entry(value, raw)


def message_of(value: Json, raw: bytes) -> Message:
    """Return what a frame says whose bytes, `raw`, `parse` has turned into `value` already."""
    if isinstance(value, list):
        entries = cast("list[Json]", value)
        return Batch(tuple(_read_entry(entry, b"") for entry in entries), raw)
    return _read_entry(value, raw)


def is_json(raw: bytes) -> bool:
    """Tell whether `parse` takes `raw`."""
    try:
        parse(raw)
    except ValueError:
        return False
    return True


def request_line(id: RequestId, method: str, params: Json = None) -> bytes:  # noqa: A002
    """Return the frame of a request; `params` None leaves the member out."""
    if params is None:
        return encode({"jsonrpc": "2.0", "id": id, "method": method})
    return encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def notification_line(method: str, params: Json = None) -> bytes:
    """Return the frame of a notification; `params` None leaves the member out."""
    if params is None:
        return encode({"jsonrpc": "2.0", "method": method})
    return encode({"jsonrpc": "2.0", "method": method, "params": params})


def result_line(id: RequestId, result: Json) -> bytes:  # noqa: A002
    """Return the frame of an answer that went well."""
    return encode({"jsonrpc": "2.0", "id": id, "result": result})


def failure_line(id: RequestId, code: int, message: str, data: Json = None) -> bytes:  # noqa: A002
    """Return the frame of an error answer; `data` None leaves the member out."""
    error: dict[str, Json] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return encode({"jsonrpc": "2.0", "id": id, "error": error})


def id_key(id: RequestId) -> tuple[str, RequestId]:  # noqa: A002
    """Return a dictionary key that keeps the id's JSON type: 1 is not "1"."""
    return type(id).__name__, id


def is_request_id(value: Json) -> bool:
    """Tell whether `value` may stand as an id: string, integer or null; true is no integer here."""
    return value is None or type(value) in _ID_TYPES


def _read_entry(value: Json, raw: bytes) -> Message:
    if value.__class__ is not dict:
        return Malformed("no JSON-RPC: not an object", INVALID_REQUEST, raw)
    if "method" in value:
        return _read_call(value, raw)
    if "result" in value or "error" in value:
        return _read_answer(value, raw)
    return Malformed("no JSON-RPC: neither method, result nor error", INVALID_REQUEST, raw)


def _read_call(entry: dict[str, Json], raw: bytes) -> Message:
    method, params = entry["method"], entry.get("params")
    id_ = entry.get("id", _ABSENT)
    if entry.get("jsonrpc") != "2.0":
        reason = '"jsonrpc" is not "2.0"'
    elif not isinstance(method, str):
        reason = "method is no string"
    elif not (params is None or isinstance(params, _STRUCTURES)):
        reason = "params is neither object nor array"
    elif id_ is _ABSENT:
        return Notification(method, params, raw)
    elif id_ is None or type(id_) in _ID_TYPES:
        return Request(id_, method, params, raw)
    else:
        reason = "id is no string, integer or null"
    known = id_ if is_request_id(id_) else None
    return Malformed(f"no JSON-RPC: {reason}", INVALID_REQUEST, raw, id=known)


def _read_answer(entry: dict[str, Json], raw: bytes) -> Message:
    id_ = entry.get("id", _ABSENT)
    if entry.get("jsonrpc") != "2.0":
        reason = '"jsonrpc" is not "2.0"'
    elif not (id_ is None or type(id_) in _ID_TYPES):
        reason = "an answer without a valid id"
    elif "error" not in entry:
        return Result(id_, entry["result"], raw)
    elif "result" in entry:
        reason = "both result and error"
    else:
        return _read_failure(entry, raw)
    return _broken_answer(id_, reason, raw)


def _read_failure(entry: dict[str, Json], raw: bytes) -> Message:
    error = entry["error"]
    if isinstance(error, dict):
        members = cast("dict[str, Json]", error)
        code, message = members.get("code"), members.get("message")
        if type(code) is int and isinstance(message, str):
            return Failure(entry["id"], code, message, members.get("data"), raw)
        reason = "error without an integer code and a message"
    else:
        reason = "error is no object"
    return _broken_answer(entry["id"], reason, raw)


def _broken_answer(id_: Json, reason: str, raw: bytes) -> Malformed:
    known = id_ if is_request_id(id_) else None
    return Malformed(f"no JSON-RPC: {reason}", INVALID_REQUEST, raw, is_answer=True, id=known)


_ID_TYPES: Final = frozenset({str, int})
_ABSENT: Final[Json] = object()
_STRUCTURES: Final = (dict, list)
