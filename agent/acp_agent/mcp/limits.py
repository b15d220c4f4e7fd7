"""How much an MCP server may take: of time, of memory, and of the model's attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KILL_AFTER: Final = 5.0
"""Seconds between SIGTERM and SIGKILL for a server that does not end."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds for the servers of one session; times are in seconds."""

    servers: int = 32
    """That a session may have."""
    connections: int = 5
    """That a client may have open through the agent (`mcp/connect`)."""
    spawn_timeout: float = 10.0
    """For starting a server, shaking hands and listing its tools."""
    call_timeout: float = 120.0
    """For one tool call."""
    tools: int = 128
    """Of one server; what it lists beyond that is left out."""
    tool_size: int = 64 * 1024
    """Bytes of what one tool says of itself; a larger one is left out."""
    result_size: int = 4 * 2**20
    """Characters of pictures and sounds of one result that are shown; the rest is named only."""
    message_size: int = 16 * 2**20
    """Bytes of one message; a server that sends a larger one is dropped."""
    eof_grace: float = 1.0
    """For a server to end by itself once its stdin is closed."""
    kill_after: float = KILL_AFTER
    """Between SIGTERM and SIGKILL."""
