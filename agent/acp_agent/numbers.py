"""Numbers that JSON can spell and nobody can hold, such as 1e400: they could not be said again."""

from __future__ import annotations

import math
from typing import cast

from acp_protocol.jsonrpc import Json


def is_finite(value: Json) -> bool:
    """Whether no number in `value` was too large to be read as what it is."""
    waiting: list[Json] = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, float) and not math.isfinite(each):
            return False
        if isinstance(each, dict):
            waiting.extend(cast("dict[str, Json]", each).values())
        elif isinstance(each, list):
            waiting.extend(cast("list[Json]", each))
    return True
