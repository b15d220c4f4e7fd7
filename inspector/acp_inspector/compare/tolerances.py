"""What two runs of one conversation may differ in.

Source: docs/design/replay.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

Tolerance: TypeAlias = Literal[
    "ids-in-text",
    "shapes",
    "temp-paths",
    "usage",
    "process-ids",
    "late-updates",
    "call-states",
    "replaced-values",
    "output-lines",
    "request-order",
    "cut-titles",
    "relative-titles",
]
"""What two runs of one conversation may differ in."""
TOLERANCES: Final[frozenset[Tolerance]] = frozenset(get_args(Tolerance))
_TOLERATED: Final[dict[Tolerance, tuple[str, str]]] = {
    "ids-in-text": ("id inside a text", "ids inside texts"),
    "shapes": ("value bound by shape", "values bound by shape"),
    "temp-paths": ("temporary path", "temporary paths"),
    "usage": ("usage number", "usage numbers"),
    "process-ids": ("process id", "process ids"),
    "late-updates": ("update late", "updates late"),
    "call-states": (
        "tool call with other states repeated",
        "tool calls with other states repeated",
    ),
    "replaced-values": (
        "step with other values that were replaced",
        "steps with other values that were replaced",
    ),
    "output-lines": (
        "output with lines interleaved otherwise",
        "outputs with lines interleaved otherwise",
    ),
    "request-order": ("call or request in another order", "calls and requests in another order"),
    "cut-titles": ("title cut at a path", "titles cut at a path"),
    "relative-titles": (
        "title relative to another directory",
        "titles relative to another directory",
    ),
}


def tolerated_text(tolerated: Mapping[Tolerance, int]) -> str:
    """Return what was tolerated, e.g. `3 values bound by shape, 2 updates late`."""
    return ", ".join(f"{count} {_TOLERATED[name][count != 1]}" for name, count in tolerated.items())
