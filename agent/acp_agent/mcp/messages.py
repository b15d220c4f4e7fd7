"""The messages of a server, read from its lines.

Read leniently where that is harmless: a caller that waits for an answer is not to wait for nothing
because one sign of it is no sign.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast

from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from acp_protocol.json_codec import Json, parse

_ESCAPED: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""What is escaped: a whole sign of two halves, a half one alone, or anything else."""
_REPLACED: Final = rb"\ufffd"
DEEPEST: Final = 150
"""Levels of an answer with tools that are read; the SDK refuses one with many more as a whole."""


def read_message(line: bytes) -> JSONRPCMessage:
    """Return the message that stands on a line; half signs and bytes that are none are replaced.

    An answer that is none is read as an error: its request fails at once. Of tools, what lies too
    deep is cut off; params that are none are left out of a question, for an answer to tell of.

    Raises:
        ValueError: it is no message, and answers nothing.
    """
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        mended = _mended(line)
    try:
        return jsonrpc_message_adapter.validate_json(mended, by_name=False)
    except ValueError:
        value = parse(mended)
    try:
        return jsonrpc_message_adapter.validate_python(_readable(value), by_name=False)
    except ValueError:
        return _failed(value)


def mended(line: bytes) -> bytes:
    """Return a message as the SDK reads it; what is none, or needs no mending, stays as it is."""
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        try:
            return read_message(line).model_dump_json(by_alias=True, exclude_unset=True).encode()
        except ValueError:
            return line
    return line


def _mended(line: bytes) -> bytes:
    """Return a line in which each half sign is the sign that stands for what is unknown."""
    return _ESCAPED.sub(
        lambda found: _REPLACED if found["half"] else found[0],
        line.decode(errors="replace").encode(),
    )


def _readable(value: Json) -> Json:
    """Return a message without what keeps others from being read.

    Raises:
        ValueError: there is nothing of the kind in it.
    """
    members = _members(value)
    if isinstance(tools := _members(members.get("result")).get("tools"), list):
        cut = [_cut(tool, DEEPEST) for tool in cast("list[Json]", tools)]
        return {**members, "result": {**members["result"], "tools": cut}}
    if "method" in members and "id" in members:
        return {name: each for name, each in members.items() if name != "params"}
    raise ValueError("nothing to mend")


def _cut(value: Json, levels: int) -> Json:
    if isinstance(value, dict):
        members = cast("Mapping[str, Json]", value)
        return {name: _cut(each, levels - 1) for name, each in members.items()} if levels else None
    if isinstance(value, list):
        each_of = cast("list[Json]", value)
        return [_cut(each, levels - 1) for each in each_of] if levels else None
    return value


def _members(value: Json) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", value) if isinstance(value, dict) else {}


def _failed(value: Json) -> JSONRPCMessage:
    """Return the failure of the request that `value` answers.

    Raises:
        ValueError: it answers none.
    """
    members = _members(value)
    id_: Json = members.get("id")
    if type(id_) not in {str, int} or "method" in members:
        raise ValueError("no message")
    error = ErrorData(code=PARSE_ERROR, message="the answer is no MCP")
    return JSONRPCError(jsonrpc="2.0", id=id_, error=error)
