"""Where a server of agents listens, and whom it serves; `serving.py` runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from acp_protocol.errors import AcpError
from acp_protocol.transport.served_connections import ServerLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Where a server listens, and whom it serves."""

    listen: str
    """`ADDRESS:PORT`, port 0 for any, or `unix:FILE`."""
    certificate: Path | None = None
    key: Path | None = None
    is_plain: bool = False
    """Whether there may be no TLS at an address that other machines reach."""
    token_variable: str
    """Holds the token; if it is not set, the token is a new one, which is printed."""
    needs_token: bool = False
    """Whether the variable has to be set, because the user has named it."""
    hosts: tuple[str, ...] = ()
    """Names by which clients reach the server, besides those of this machine."""
    origins: tuple[str, ...] = ()
    """Pages of browsers that may use it."""
    limits: ServerLimits = field(default_factory=ServerLimits)
    affinity: str | None = None
    """The value of the cookie by which a load balancer knows this process; None: a new one."""
    dialect: str | None = None
    """The dialect of the clients, which may have an HTTP of its own."""
    drain_s: float = 30.0
    """Seconds that open requests have when the server is to end."""


class ServerOptionsError(AcpError):
    """The options of a server exclude each other, or are not safe."""
