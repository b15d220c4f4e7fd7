"""Which ids an MCP server may have, and how its tools are called: `server__tool`.

A server's id holds no `__`, so that the first one in a name always parts server and tool.

Source: Continuum Router, MCP-over-ACP Bridge, "Server ID Validation Rules".
"""

from __future__ import annotations

import re
from typing import Final

ID_LENGTH: Final = 128
SEPARATOR: Final = "__"
NAME_LENGTH: Final = 64
"""Characters that the name of a tool may have for every service that models are reached through."""
ID_RULE: Final = (
    "an id has at most 128 letters, digits, dots, hyphens and underscores, "
    "no two underscores in a row, and a letter or digit at both ends"
)
_ID: Final = re.compile(r"(?!.*__)[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")


def is_server_id(text: str) -> bool:
    """Return whether `text` can be the id of a server."""
    return _ID.fullmatch(text) is not None
