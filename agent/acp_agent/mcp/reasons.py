"""Why something with a server went wrong, in words that fit behind its name.

The one border at which what the SDK and its friends raise becomes ours.
"""

from __future__ import annotations

from typing import Final, cast

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR
from pydantic import ValidationError

from acp_protocol.errors import AcpError
from acp_protocol.host.text import one_line

WIDTH: Final = 300
"""Characters of what a server itself says."""
_AWAY: Final = "cannot be reached"
_RUBBISH: Final = "answered what is no MCP"
_OURS: Final = {CONNECTION_CLOSED: _AWAY, PARSE_ERROR: _RUBBISH}
"""Codes of the SDK itself, which speaks of exceptions."""


def reason_of(problem: BaseException, limit: float | None = None) -> str:
    """Return what the server did or what happened to it; `limit` is in seconds.

    Nothing that an exception says of addresses or of our own inside is told.
    """
    if isinstance(problem, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", problem)
        return reason_of(group.exceptions[0], limit)
    match problem:
        case MCPError():
            if problem.code in _OURS:
                return _OURS[problem.code]
            return f"refused: {one_line(problem.message, WIDTH)} ({problem.code})"
        case AcpError():
            return f"is out of reach: {one_line(str(problem), WIDTH)}"
        case TimeoutError() | httpx2.TimeoutException():
            return "took too long" if limit is None else f"took longer than {limit:g} s"
        case httpx2.HTTPStatusError():
            return f"answered with HTTP status {problem.response.status_code}"
        case httpx2.HTTPError() | OSError():
            return _AWAY
        case ValidationError():
            return _RUBBISH
        case RuntimeError():
            return "returned what its tool does not promise"
        case _:
            return f"is not usable ({type(problem).__name__})"
