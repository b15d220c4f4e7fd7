"""A child process's stdin and stdout as a transport: the client's side of stdio.

Source: ACP, Transports, "stdio".
"""

from __future__ import annotations

from acp_protocol.framing import FRAME_LIMIT, Framing
from acp_protocol.host.processes import ChildProcess
from acp_protocol.transport.lines import LineTransport


class ProcessTransport(LineTransport):
    """Frames to and from a child, whose life is not this transport's business."""

    def __init__(
        self,
        child: ChildProcess,
        *,
        limit: int = FRAME_LIMIT,
        framing: Framing | None = "lines",
    ) -> None:
        super().__init__(child.stdout, child.stdin, limit=limit, framing=framing)
