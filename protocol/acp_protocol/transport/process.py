"""A child process's stdin and stdout as a transport: the client's side of stdio.

Source: ACP, Transports, "stdio".
"""

from __future__ import annotations

from acp_protocol.framing import FRAME_LIMIT
from acp_protocol.host.processes import ChildProcess
from acp_protocol.transport.lines import LineTransport


class ProcessTransport(LineTransport):
    """Newline-delimited frames to and from a child, whose life is not this transport's business."""

    def __init__(self, child: ChildProcess, *, limit: int = FRAME_LIMIT) -> None:
        super().__init__(child.stdout, child.stdin, limit=limit)
