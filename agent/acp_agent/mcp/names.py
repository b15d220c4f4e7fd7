"""What servers and their tools are called, on every floor above the wire.

Source: Continuum Router, MCP-over-ACP Bridge, "Server ID Validation Rules".
"""

from __future__ import annotations

import re
from collections.abc import Container
from hashlib import sha256
from typing import Final

from acp_protocol.user_files.mcp_ids import ID_LENGTH, NAME_LENGTH, SEPARATOR

MARK_LENGTH: Final = 8
_NOT_IN_IDS: Final = re.compile(r"[^A-Za-z0-9._-]+")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")
_MARK: Final = re.compile(rf"-[0-9a-f]{{{MARK_LENGTH}}}\Z")
_NAMELESS: Final = "server"


def server_id(name: str, taken: Container[str] = ()) -> str:
    """Return an id for a server that its client calls `name`; none of those `taken`."""
    fitting = re.sub(r"_{2,}", "_", _NOT_IN_IDS.sub("-", name[:ID_LENGTH]))
    id_ = stem = fitting.strip("._-") or _NAMELESS
    number = 1
    while id_ in taken:
        number += 1
        ending = f"-{number}"
        id_ = stem[: ID_LENGTH - len(ending)] + ending
    return id_


def unmarked(name: str) -> str:
    """Return the name that a tool would have alone, given one of `tool_name`.

    What is cut off of a name that is too long stays so.
    """
    return _MARK.sub("", name)


def tool_name(server: str, tool: str, taken: Container[str] = ()) -> str:
    """Return what the model calls `tool` of `server`: none of those `taken`.

    What no service would take is replaced, and a name that is too long is cut; then a mark made of
    the whole name keeps it apart from others, and the same from one day to the next.
    """
    whole = f"{server}{SEPARATOR}{tool}"
    # A dot would become the second of two underscores, and so another separator.
    prefix = _NOT_IN_NAMES.sub("-", server)[: NAME_LENGTH // 2].rstrip("_")
    name = f"{prefix}{SEPARATOR}{_NOT_IN_NAMES.sub('_', tool)}"
    if len(name) <= NAME_LENGTH and name not in taken:
        return name
    mark = sha256(whole.encode(errors="surrogatepass")).hexdigest()[:MARK_LENGTH]
    return f"{name[: NAME_LENGTH - MARK_LENGTH - 1]}-{mark}"
