"""Amounts of time as a command line takes them."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(text: str) -> float:
    """Return a duration such as `90`, `500ms`, `5m` or `1.5h` in seconds.

    Raises:
        ValueError: it is none, or not above 0.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([a-z]*)", text.strip().lower())
    if found is None or found[2] not in _UNITS or not float(found[1]):
        raise ValueError(f"{text!r} is not a duration above 0, such as 90, 500ms, 5m or 1h")
    return float(found[1]) * _UNITS[found[2]]
