"""This process's own stdin and stdout as a transport: the agent's side of stdio.

Source: ACP, Transports, "stdio".
"""

from __future__ import annotations

import os
import sys

from acp_protocol.descriptors import DescriptorReader, DescriptorWriter
from acp_protocol.framing import Framing
from acp_protocol.transport.lines import LineTransport


def open_stdio(*, framing: Framing | None = "lines") -> LineTransport:
    """Return this process's stdin and stdout as a transport; for `framing` see `LineTransport`.

    From then on `print` and child processes write to stderr, and children read nothing: only frames
    may stand on stdout.
    """
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return LineTransport(DescriptorReader(incoming), DescriptorWriter(outgoing), framing=framing)
