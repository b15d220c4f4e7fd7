"""The messages of a server, read from its lines, and what went wrong with it, in words.

A server may cut a text in the middle of a character. The SDK takes such a message for none, and its
caller would wait for an answer that has come; so the message is mended. What the SDK and its
friends raise becomes ours here, in words that fit behind the name of a server.
"""

from __future__ import annotations

import json
import os
from typing import Final, cast

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import single_line
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
    error = ErrorData(code=PARSE_ERROR, message="the answer is not MCP")
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


WIDTH: Final = 300
"""Characters of what a server itself says."""
AWAY: Final = "cannot be reached"
BROKE_OFF: Final = "has broken off the connection"
ELSEWHERE: Final = "sends us somewhere else, where we do not go"
RUBBISH: Final = "answered with something that is not MCP"
_SDKS: Final = {CONNECTION_CLOSED: BROKE_OFF, PARSE_ERROR: RUBBISH}
"""Codes of the SDK itself, which speaks of exceptions."""
_REDIRECT: Final = "Redirect to "
"""What the SDK says of one that it has not followed begins so, and names the address."""
_MARK: Final = os.urandom(16).hex()
"""Tells our own words from those that a server puts into an error."""


def our_error(reason: str) -> ErrorData:
    """Return the error of a request that gets no answer, for `reason`."""
    return ErrorData(code=INTERNAL_ERROR, message=reason, data=_MARK)


def reason_of(problem: BaseException, limit: float | None = None) -> str:
    """Return what the server did or what happened to it; `limit` is in seconds.

    The text never contains addresses or internals from the exception.
    """
    if isinstance(problem, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", problem)
        return reason_of(group.exceptions[0], limit)
    match problem:
        case MCPError():
            return _answered(problem)
        case AcpError():
            return f"is out of reach: {single_line(str(problem), WIDTH)}"
        case TimeoutError() | httpx2.TimeoutException():
            return "took too long" if limit is None else f"took longer than {limit:g} s"
        case httpx2.HTTPStatusError():
            return f"answered with HTTP status {problem.response.status_code}"
        case ValidationError() | httpx2.DecodingError():
            return RUBBISH
        case httpx2.ConnectError():
            return AWAY
        case httpx2.NetworkError() | httpx2.ProtocolError():
            return BROKE_OFF
        case httpx2.HTTPError() | OSError():
            return AWAY
        case _:
            is_header = isinstance(problem, UnicodeEncodeError) and problem.encoding == "ascii"
            what = (
                ": a header may contain ASCII only" if is_header else f" ({type(problem).__name__})"
            )
            return f"is not usable{what}"


def _answered(problem: MCPError) -> str:
    """Return what an error says, be it of the server, of the SDK or of ours."""
    if problem.error.data == _MARK:
        return problem.message
    if problem.message.startswith(_REDIRECT):
        return ELSEWHERE
    sentence = f"refused: {single_line(problem.message, WIDTH)} ({problem.code})"
    return _SDKS.get(problem.code, sentence)
