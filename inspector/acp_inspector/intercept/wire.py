"""The proxy's stdin and stdout, kept for its pumps alone.

What an add-on prints, reads or starts must not reach the wire: from here on, stdout is stderr and
stdin is empty for everybody but those who know the new descriptors.
"""

from __future__ import annotations

import os


def take_wire() -> tuple[int, int]:
    """Move stdin and stdout to descriptors of their own and return these, in this order."""
    wire = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire
