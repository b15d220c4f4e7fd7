"""The names that dialects have for members of official version 1.

Dialects read by this table. `spellings` finds a member in any dialect, so a name that is
added here is known everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WIRE_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "acpex": {"prompt": "content"},
    "continuum": {"prompt": "content", "modeId": "mode", "methodId": "method"},
    "openoxide": {
        "sessionId": "session_id",
        "cwd": "working_dir",
        "modeId": "mode_id",
        "configId": "config_id",
        "updatedAt": "updated_at",
        "nextCursor": "next_cursor",
        "mcpServers": "mcp_servers",
        "optionId": "option_id",
        "toolCall": "tool_call",
        "requestId": "request_id",
        "stopReason": "stop_reason",
        "prompt": "content",
    },
}
"""The name of a member in each dialect, by its official one."""


BATCHES: Final = "v2-batch"
"""The draft of version 2 with batches: a setting of the connection, without a translator."""
SENDS_BATCHES: Final = "sends arrays of messages (batches), which ACP does not have"
"""What a peer does that has batches without this dialect, after what the peer is called."""
BATCHES_HINT: Final = f"--dialect {BATCHES} accepts them"

NO_DIALECT: Final = "none"
"""Chosen in place of a dialect, this means that none is recognised."""

OWN_METHODS: Final[Mapping[str, frozenset[str]]] = {
    "continuum": frozenset({"mcp/connect", "mcp/message", "mcp/disconnect"}),
    "openoxide": frozenset({"session/fork"}),
}
"""The methods of each dialect that official version 1 does not have, or not for good."""


def official_names(dialect: str, *names: str) -> dict[str, str]:
    """Return the official names by those of a dialect: all, or only these official ones."""
    known = WIRE_NAMES[dialect]
    return {wire: name for name, wire in known.items() if not names or name in names}


def spellings(name: str) -> frozenset[str]:
    """Return the names that a member has in official version 1 and in every dialect."""
    return frozenset({name, *(each[name] for each in WIRE_NAMES.values() if name in each)})
