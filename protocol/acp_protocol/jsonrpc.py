"""JSON-RPC messages, without I/O.

`read_message` decodes one frame and never raises: an invalid message is a value (`InvalidMessage`)
like the others. Every message keeps the bytes that it was read from. Nothing here knows ACP:
methods and their params belong to `schema`.

Source: JSON-RPC 2.0; ACP, Overview, "Messages".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias, TypeVar, cast, dataclass_transform

from acp_protocol import json_codec

T = TypeVar("T")

Json: TypeAlias = json_codec.Json
"""Decoded JSON of any type."""
parse = json_codec.parse
encode = json_codec.encode

RequestId: TypeAlias = str | int | None

MAX_LOGGED: Final = 64 * 2**10
"""Bytes of a line within which a message after other text is looked for."""
MAX_BEGINNINGS: Final = 50
"""Objects that may begin in such a line before that message, at most."""
MAX_TRIED: Final = 4 * 2**20
"""Bytes that are parsed to find it, at most; the first object is always tried."""
_BEGIN: Final = re.compile(rb'\{\s*"')

JSON_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}",]', re.DOTALL)
"""A string, a bracket or a comma of JSON."""
_SPACES: Final = re.compile(rb"[ \t\r\n]*+")

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
AUTH_REQUIRED: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002
NOT_PERMITTED: Final = "not permitted"
"""The `reason` in the data of `INVALID_PARAMS` for what the params may not reach.

The published protocol has no code for it.
"""
NOT_OFFERED: Final = "not offered"
"""The same for a kind of content that the agent has not claimed to take."""
UNSUPPORTED_VERSION: Final = -32022
"""The peer speaks no version at or below the requested one (version 2)."""
REQUEST_CANCELLED: Final = -32800
MCP_LIMITED: Final = -33000
"""More connections to MCP servers than the client allows."""
MCP_NOT_FOUND: Final = -33001
"""The client has no such MCP server, or no such connection to one."""
MCP_FAILED: Final = -33002
"""The MCP server behind a connection has failed."""

ENVELOPE: Final = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
"""The members of all messages."""


@dataclass_transform(frozen_default=True)
def frozen_dataclass(of: type[T]) -> type[T]:
    """Make a dataclass that type checkers see as frozen.

    Creating a dataclass that is frozen at run time takes four times as long, for every frame.
    """
    return dataclass(slots=True, unsafe_hash=True)(of)


@frozen_dataclass
class Request:
    """A call that needs a response."""

    id: RequestId
    method: str
    params: Json
    """None if the field is absent."""
    raw: bytes


@frozen_dataclass
class Notification:
    """A call that gets no response."""

    method: str
    params: Json
    """None if the field is absent."""
    raw: bytes


@frozen_dataclass
class SuccessResponse:
    """A response with a result."""

    id: RequestId
    result: Json
    raw: bytes


@frozen_dataclass
class ErrorResponse:
    """A response with an error."""

    id: RequestId
    code: int
    message: str
    data: Json
    """None if the field is absent."""
    raw: bytes


@frozen_dataclass
class Batch:
    """Several messages in one array; the entries have no bytes of their own.

    Source: JSON-RPC 2.0, section 6. No released version of ACP has batches.
    """

    entries: tuple[Message, ...]
    raw: bytes


@frozen_dataclass
class InvalidMessage:
    """A frame that is no JSON (code `PARSE_ERROR`) or no JSON-RPC (code `INVALID_REQUEST`)."""

    reason: str
    code: int
    raw: bytes
    is_response: bool = False
    """Whether it was meant as a response, and so must not get an error response."""
    id: RequestId = None
    """The id of the request or response; None if it has no valid one."""
    has_version: bool = True
    """Whether it has `jsonrpc`. Without, it may be a line of a log in JSON."""


AnyResponse: TypeAlias = SuccessResponse | ErrorResponse
Message: TypeAlias = (
    Request | Notification | SuccessResponse | ErrorResponse | Batch | InvalidMessage
)


def read_message(raw: bytes, *, parse_entries: bool = True) -> Message:
    """Return the message in one frame; `InvalidMessage` if it is no JSON-RPC.

    Without `parse_entries` the entries of an array are not read, for callers that refuse batches.
    """
    try:
        value = parse(raw)
    except ValueError as error:
        return no_json(error, raw)
    if isinstance(value, list) and not parse_entries:
        return Batch((), raw)
    return message_of(value, raw)


def message_of(value: Json, raw: bytes) -> Message:
    """Return the message in a frame whose bytes `raw` were already parsed into `value`."""
    if isinstance(value, list):
        entries = cast("list[Json]", value)
        return Batch(tuple(_read_entry(entry, b"") for entry in entries), raw)
    return _read_entry(value, raw)


def no_json(error: ValueError, raw: bytes) -> InvalidMessage:
    """Return the message of a frame that cannot be parsed."""
    hint = "; the line ends in a whole message" if message_at_end(raw) else ""
    return InvalidMessage(f"{error}{hint}", PARSE_ERROR, raw)


def message_at_end(raw: bytes) -> bytes | None:
    """Return the message that a line ends in, after other text: its sender left out a newline.

    None if there is none, or if it begins further behind than a program that logs would write.
    """
    tried = 0
    for begin in islice(_BEGIN.finditer(raw, 1, MAX_LOGGED), MAX_BEGINNINGS):
        text = raw[begin.start() :]
        if tried and tried + len(text) > MAX_TRIED:
            break
        tried += len(text)
        try:
            value = parse(text)
        except ValueError:
            continue
        is_message = not isinstance(_read_entry(value, text), InvalidMessage)
        return text if is_message else None
    return None


def is_array_of_messages(raw: bytes) -> bool:
    """Return whether a frame is an array with a message; only one that begins so is parsed."""
    if raw.lstrip()[:1] != b"[":
        return False
    try:
        value = parse(raw)
    except ValueError:
        # Lines of logs begin with a bracket too.
        return False
    return any(not isinstance(_read_entry(each, b""), InvalidMessage) for each in value)


def message_spans(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield where each message of an array begins and ends, without the spaces around it."""
    depth = start = 0
    for token in JSON_TOKEN.finditer(raw):
        text = token[0]
        if text in {b"[", b"{"}:
            depth += 1
            if depth == 1:
                start = token.end()
            continue
        is_end = text in {b"]", b"}"}
        depth -= is_end
        if depth == 0 or (depth == 1 and text == b","):
            found = _SPACES.match(raw, start, token.start())
            begin = found.end() if found else start
            yield begin, begin + len(raw[begin : token.start()].rstrip(b" \t\r\n"))
            start = token.end()
        if depth == 0:
            return


def is_json(raw: bytes) -> bool:
    try:
        parse(raw)
    except ValueError:
        return False
    return True


def encode_request(id: RequestId, method: str, params: Json = None) -> bytes:  # noqa: A002
    """Return the frame of a request; without `params` if they are None."""
    if params is None:
        return encode({"jsonrpc": "2.0", "id": id, "method": method})
    return encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def encode_notification(method: str, params: Json = None) -> bytes:
    """Return the frame of a notification; without `params` if they are None."""
    if params is None:
        return encode({"jsonrpc": "2.0", "method": method})
    return encode({"jsonrpc": "2.0", "method": method, "params": params})


def encode_result(id: RequestId, result: Json) -> bytes:  # noqa: A002
    return encode({"jsonrpc": "2.0", "id": id, "result": result})


def encode_error(id: RequestId, code: int, message: str, data: Json = None) -> bytes:  # noqa: A002
    """Return the frame of a response with an error; without `data` if it is None."""
    error: dict[str, Json] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return encode({"jsonrpc": "2.0", "id": id, "error": error})


def id_key(id: RequestId) -> tuple[str, RequestId]:  # noqa: A002
    """Return a dictionary key that keeps the id's JSON type: 1 is not "1"."""
    return type(id).__name__, id


def is_request_id(value: Json) -> bool:
    """Return whether `value` is a valid id: a string, an integer or null, but not true or false."""
    return value is None or type(value) in _ID_TYPES


def _read_entry(value: Json, raw: bytes) -> Message:
    if value.__class__ is not dict:
        return InvalidMessage("no JSON-RPC: not an object", INVALID_REQUEST, raw)
    if "method" in value:
        return _read_call(value, raw)
    if "result" in value or "error" in value:
        return _read_response(value, raw)
    return InvalidMessage("no JSON-RPC: neither method, result nor error", INVALID_REQUEST, raw)


def _read_call(entry: dict[str, Json], raw: bytes) -> Message:
    method, params = entry["method"], entry.get("params")
    id_ = entry.get("id", _ABSENT)
    if entry.get("jsonrpc") != "2.0":
        reason = '"jsonrpc" is not "2.0"'
    elif not isinstance(method, str):
        reason = "method is not a string"
    elif not (params is None or isinstance(params, _STRUCTURES)):
        reason = "params is neither object nor array"
    elif id_ is _ABSENT:
        return Notification(method, params, raw)
    elif id_ is None or type(id_) in _ID_TYPES:
        return Request(id_, method, params, raw)
    else:
        reason = "id is not a string, integer or null"
    valid_id = id_ if is_request_id(id_) else None
    return InvalidMessage(f"no JSON-RPC: {reason}", INVALID_REQUEST, raw, id=valid_id)


def _read_response(entry: dict[str, Json], raw: bytes) -> Message:
    id_ = entry.get("id", _ABSENT)
    if entry.get("jsonrpc") != "2.0":
        reason = '"jsonrpc" is not "2.0"'
    elif not (id_ is None or type(id_) in _ID_TYPES):
        reason = "a response without a valid id"
    elif "result" in entry and entry.get("error") is None:
        # Some peers always write both fields; `"error": null` means that there is no error.
        return SuccessResponse(id_, entry["result"], raw)
    elif entry.get("result") is not None:
        reason = "both result and error"
    elif not isinstance(entry["error"], dict):
        reason = "error is not an object"
    else:
        error = cast("dict[str, Json]", entry["error"])
        code, message = error.get("code"), error.get("message")
        if type(code) is int and isinstance(message, str):
            return ErrorResponse(id_, code, message, error.get("data"), raw)
        reason = "error without an integer code and a message"
    valid_id = id_ if is_request_id(id_) else None
    return InvalidMessage(
        f"no JSON-RPC: {reason}",
        INVALID_REQUEST,
        raw,
        is_response=True,
        id=valid_id,
        has_version="jsonrpc" in entry,
    )


_ID_TYPES: Final = frozenset({str, int})
_ABSENT: Final[Json] = object()
_STRUCTURES: Final = (dict, list)
