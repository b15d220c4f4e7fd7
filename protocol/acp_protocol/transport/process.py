"""The stdin and stdout of a child process as a transport: the client side of stdio.

Source: ACP, Transports, "stdio".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_protocol.framing import FRAME_LIMIT, Framing
from acp_protocol.transport.lines import LineTransport

if TYPE_CHECKING:
    from acp_protocol.host.processes import ChildProcess


class ProcessTransport(LineTransport):
    """Frames to and from a child process, which the transport does not start or end."""

    def __init__(
        self,
        child: ChildProcess,
        *,
        limit: int = FRAME_LIMIT,
        framing: Framing | None = "lines",
    ) -> None:
        super().__init__(child.stdout, child.stdin, limit=limit, framing=framing)
