"""The stdin and stdout of this process as a transport: the agent side of stdio.

Source: ACP, Transports, "stdio".
"""

from __future__ import annotations

import os
import sys

from acp_protocol.descriptors import DescriptorReader, DescriptorWriter
from acp_protocol.framing import Framing
from acp_protocol.transport.lines import LineTransport


def open_stdio(*, framing: Framing | None = "lines") -> LineTransport:
    """Return our stdin and stdout as a transport; see `LineTransport` for `framing`.

    From then on `print` and child processes write to stderr, because stdout is for frames only, and
    child processes have an empty stdin.
    """
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return LineTransport(DescriptorReader(incoming), DescriptorWriter(outgoing), framing=framing)
