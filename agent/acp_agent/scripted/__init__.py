"""What a script imports: the agent that it describes, its calls, and faults.

Source: docs/scripted-agent.md.
"""

from acp_agent.scripted.call import Call
from acp_agent.scripted.kit import Agent, Saved
from acp_protocol.errors import RequestFailedError as Failed
from acp_protocol.faults import (
    corrupt,
    crash,
    cut,
    delay,
    drop,
    duplicate,
    ending,
    frame_kind,
    hang,
    invalid,
    length,
    nest,
    noise,
    pad,
    reorder,
    spelling,
    split,
    throttle,
    wrong_id,
)

__all__ = [
    "Agent",
    "Call",
    "Failed",
    "Saved",
    "corrupt",
    "crash",
    "cut",
    "delay",
    "drop",
    "duplicate",
    "ending",
    "frame_kind",
    "hang",
    "invalid",
    "length",
    "nest",
    "noise",
    "pad",
    "reorder",
    "spelling",
    "split",
    "throttle",
    "wrong_id",
]
