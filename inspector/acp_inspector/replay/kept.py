"""The beats that are compared, where some of what was said is not.

A replay waits by all beats; what is ignored is left out only when both lists are held against each
other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acp_inspector.analysis.exchanges import Exchanges
from acp_inspector.analysis.ignores import Ignore, is_ignored, without
from acp_inspector.filter.frames import FrameFacts
from acp_inspector.journal import Frame
from acp_inspector.replay.beats import Beat, Beats
from acp_protocol.jsonrpc import read_message


def kept_beats(frames: Iterable[Frame], ignores: Sequence[Ignore]) -> list[Beat]:
    """Return the agent's beats without what is ignored, and count how often that was."""
    beats, exchanges = Beats(), Exchanges()
    for frame in frames:
        exchanges.apply(frame)
        if frame.side == "client":
            beats.apply(frame)
        elif not is_ignored(FrameFacts(frame, exchanges), ignores):
            beats.take(frame, without(read_message(frame.raw), ignores))
    return beats.beats
