"""The messages of a server, read from its lines.

A server may cut a text in the middle of a character. The SDK takes such a message for none, and its
caller would wait for an answer that has come; so the message is mended.
"""

from __future__ import annotations

import json

from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json


def read_message(line: bytes) -> JSONRPCMessage:
    """Return the message on a line; half characters and bytes that are no text are replaced.

    An answer that is none is read as an error, so that its request fails at once.

    Raises:
        ValueError: it is no message, and answers nothing.
    """
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        text = _replaced(line)
    try:
        return jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        members = as_object(json.loads(text))
    id_: Json = members.get("id")
    if "method" in members and "id" in members and "params" in members:
        # Without its params, the server gets an answer to its request.
        del members["params"]
        return jsonrpc_message_adapter.validate_python(members, by_name=False)
    if type(id_) not in {str, int} or "method" in members:
        raise ValueError("no message")
    error = ErrorData(code=PARSE_ERROR, message="the answer is no MCP")
    return JSONRPCError(jsonrpc="2.0", id=id_, error=error)


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


def _replaced(line: bytes) -> str:
    """Return JSON text with nothing in it that has no UTF-8 form."""
    try:
        text = json.dumps(json.loads(line.decode(errors="replace")), ensure_ascii=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
