"""Numbers that are valid JSON but too large for a float, such as 1e400."""

from __future__ import annotations

import math
from typing import cast

from acp_protocol.jsonrpc import Json


def is_finite(value: Json) -> bool:
    """Return whether every number in `value` is finite."""
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
