"""What all exchanges of a proxy share."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from acp_inspector.http_proxy.connections import ProxyConnections
from acp_inspector.http_proxy.requests import Incoming
from acp_inspector.http_proxy.upstream import Upstream
from acp_protocol.net import host_refusal

MAX_BODY_BYTES: Final = 64 * 2**20
"""Bytes of a body that is recorded and intercepted; a longer one passes as it comes."""
LARGE_WAIT_S: Final = 10.0
"""Seconds that a large body waits until others are done; then it passes as it comes, too."""
_TARGET: Final = re.compile(rb"/[!-\"$-~]*")


@dataclass(frozen=True, slots=True)
class ProxyContext:
    """The server that everything is passed to, the connections, and the limits."""

    upstream: Upstream
    connections: ProxyConnections
    hosts: Collection[str]
    """The `Host` headers that requests may have."""
    max_body: int = MAX_BODY_BYTES
    large_wait_s: float = LARGE_WAIT_S

    def refusal(self, incoming: Incoming) -> tuple[int, bytes] | None:
        """Return status and reason for a request that is none to this proxy."""
        if (reason := host_refusal(incoming.headers, self.hosts)) is not None:
            return 403, reason.encode()
        if _TARGET.fullmatch(incoming.target) is None:
            # Also one that names another server.
            return 400, b"This is not a path."
        return None
