"""The JSON-RPC envelope, without I/O.

`read_message` turns the bytes of one frame into what they say and never raises: what is no JSON-RPC
is `Malformed`, a value like the others. Every message keeps the bytes that it was read from.
Nothing of ACP stands here: methods and their params are the business of `schema`.

Source: JSON-RPC 2.0; ACP, Overview, "Messages".
"""

from __future__ import annotations

import json
import json.encoder
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias, cast

Json: TypeAlias = Any
"""JSON that has not been read yet."""

RequestId: TypeAlias = str | int | None

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
AUTH_REQUIRED: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002
REQUEST_CANCELLED: Final = -32800


@dataclass(frozen=True, slots=True)
class Request:
    """A call that has to be answered."""

    id: RequestId
    method: str
    params: Json
    """None when the member is absent."""
    raw: bytes


@dataclass(frozen=True, slots=True)
class Notification:
    """A call that must not be answered."""

    method: str
    params: Json
    """None when the member is absent."""
    raw: bytes


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a request that went well."""

    id: RequestId
    result: Json
    raw: bytes


@dataclass(frozen=True, slots=True)
class Failure:
    """The answer to a request that went wrong."""

    id: RequestId
    code: int
    message: str
    data: Json
    """None when the member is absent."""
    raw: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Several messages in one array; entries keep no bytes of their own.

    Source: JSON-RPC 2.0, section 6; ACP has taken batches out of all versions.
    """

    entries: tuple[Message, ...]
    raw: bytes


@dataclass(frozen=True, slots=True)
class Malformed:
    """A frame that is no JSON (`PARSE_ERROR`) or no JSON-RPC (`INVALID_REQUEST`)."""

    reason: str
    code: int
    raw: bytes
    is_answer: bool = False
    """It has the shape of an answer: nobody must answer it."""
    id: RequestId = None
    """The id of a broken request, where it can be told; None otherwise."""


Message: TypeAlias = Request | Notification | Result | Failure | Batch | Malformed


def read_message(raw: bytes, *, has_entries: bool = True) -> Message:
    """Return what one frame says; `Malformed` for whatever is no JSON-RPC.

    `has_entries` False leaves the entries of an array unread, for who refuses it anyway.
    """
    try:
        value = parse(raw)
    except ValueError as problem:
        return Malformed(str(problem), PARSE_ERROR, raw)
    if isinstance(value, list):
        entries = cast("list[Json]", value) if has_entries else ()
        return Batch(tuple(_read_entry(entry, b"") for entry in entries), raw)
    return _read_entry(value, raw)


def parse(raw: bytes) -> Json:
    """Return the JSON value that `raw` spells.

    Stricter than the standard library, which takes NaN and Infinity, and calmer: nesting that is
    too deep and numbers that are too long are errors like any other.

    Raises:
        ValueError: `raw` is no JSON; the message says why in a few words.
    """
    try:
        text = raw.decode()
        value, end = _DECODER.raw_decode(text)
        if end == len(text):
            return value
    except (ValueError, RecursionError):
        pass
    # White space around it, a byte order mark, or no JSON: the slower way knows.
    return _parse_any(raw)


def _parse_any(raw: bytes) -> Json:
    try:
        return _DECODER.decode(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        reason = f"invalid UTF-8 at byte {problem.start}"
    except json.JSONDecodeError as problem:
        reason = f"no JSON: {problem.msg.lower()} at character {problem.pos}"
    except RecursionError:
        reason = "no JSON that can be read: nested too deeply"
    except ValueError as problem:
        is_ours = isinstance(problem, _NoNumberError)
        reason = str(problem) if is_ours else "no JSON that can be read: a number is too long"
    raise ValueError(reason)


def is_json(raw: bytes) -> bool:
    """Tell whether `parse` takes `raw`."""
    try:
        parse(raw)
    except ValueError:
        return False
    return True


def encode(value: Json) -> bytes:
    """Return `value` as compact JSON on one line, UTF-8, without the newline.

    Raises:
        ValueError: `value` holds NaN or an infinity, for which JSON has no spelling.
    """
    try:
        return "".join(_CHUNKS(value, 0)).encode() if _CHUNKS else _ENCODER.encode(value).encode()
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form, only an escaped one.
        return _ESCAPING_ENCODER.encode(value).encode("ascii")


def request_line(id: RequestId, method: str, params: Json = None) -> bytes:  # noqa: A002
    """Return the frame of a request; `params` None leaves the member out."""
    return encode({"jsonrpc": "2.0", "id": id, "method": method} | _params(params))


def notification_line(method: str, params: Json = None) -> bytes:
    """Return the frame of a notification; `params` None leaves the member out."""
    return encode({"jsonrpc": "2.0", "method": method} | _params(params))


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
    return value is None or type(value) in {str, int}


def _params(params: Json) -> dict[str, Json]:
    return {} if params is None else {"params": params}


class _NoNumberError(ValueError):
    """JSON text holds NaN or an infinity."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NoNumberError(f"no JSON: {name} is no number")


def _read_entry(value: Json, raw: bytes) -> Message:
    if not isinstance(value, dict):
        return Malformed("no JSON-RPC: not an object", INVALID_REQUEST, raw)
    entry = cast("dict[str, Json]", value)
    if "method" in entry:
        return _read_call(entry, raw)
    if "result" in entry or "error" in entry:
        return _read_answer(entry, raw)
    return Malformed("no JSON-RPC: neither method, result nor error", INVALID_REQUEST, raw)


def _read_call(entry: dict[str, Json], raw: bytes) -> Message:
    id_: Json = entry.get("id")
    known = id_ if is_request_id(id_) else None

    def broken(reason: str) -> Malformed:
        return Malformed(f"no JSON-RPC: {reason}", INVALID_REQUEST, raw, id=known)

    method, params = entry["method"], entry.get("params")
    if entry.get("jsonrpc") != "2.0":
        return broken('"jsonrpc" is not "2.0"')
    if not isinstance(method, str):
        return broken("method is no string")
    if not (params is None or isinstance(params, dict | list)):
        return broken("params is neither object nor array")
    if "id" not in entry:
        return Notification(method, params, raw)
    if not is_request_id(id_):
        return broken("id is no string, integer or null")
    return Request(id_, method, params, raw)


def _read_answer(entry: dict[str, Json], raw: bytes) -> Message:
    def broken(reason: str) -> Malformed:
        return Malformed(f"no JSON-RPC: {reason}", INVALID_REQUEST, raw, is_answer=True)

    if entry.get("jsonrpc") != "2.0":
        return broken('"jsonrpc" is not "2.0"')
    if "id" not in entry or not is_request_id(entry["id"]):
        return broken("an answer without a valid id")
    if "error" not in entry:
        return Result(entry["id"], entry["result"], raw)
    if "result" in entry:
        return broken("both result and error")
    error = entry["error"]
    if not isinstance(error, dict):
        return broken("error is no object")
    error = cast("dict[str, Json]", error)
    code, message = error.get("code"), error.get("message")
    if type(code) is not int or not isinstance(message, str):
        return broken("error without an integer code and a message")
    return Failure(entry["id"], code, message, error.get("data"), raw)


def _compiled(encoder: json.JSONEncoder) -> Callable[[Json, int], Iterable[str]] | None:
    """Return what `encoder` makes anew for every value, made once; None where Python lacks it."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return None
    spell = json.encoder.encode_basestring
    separators = encoder.key_separator, encoder.item_separator
    return make(None, encoder.default, spell, None, *separators, False, False, encoder.allow_nan)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_CHUNKS: Final = _compiled(_ENCODER)
_ESCAPING_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
