"""The MCP servers of a session, and the limits for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


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
    kill_after: float = 5.0
    """Between SIGTERM and SIGKILL for a server that does not end."""


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A program that is started for the session."""

    id: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What it gets besides the harmless part of the agent's environment; may hold secrets."""


@dataclass(frozen=True, slots=True)
class WebServer:
    """A server at an address."""

    id: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    is_sse: bool = False
    """Whether it speaks the older transport, with one stream of events."""


@dataclass(frozen=True, slots=True)
class AcpServer:
    """A server that the client itself serves, over the connection that is there anyway."""

    id: str
    server_id: str
    """What the client calls it."""


Server: TypeAlias = StdioServer | WebServer | AcpServer
