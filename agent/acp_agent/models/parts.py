"""Parts of JSON that a service sent: what is not as it should be counts as absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from acp_protocol.json_text import Json


def members(value: Json) -> Mapping[str, Json]:
    """Return the members of an object; none for what is no object."""
    return cast("Mapping[str, Json]", value) if isinstance(value, dict) else {}


def entries(value: Json) -> Sequence[Json]:
    """Return the entries of an array; none for what is no array."""
    return cast("Sequence[Json]", value) if isinstance(value, list) else ()


def text(value: Json) -> str:
    """Return a string; an empty one for what is no string."""
    return value if isinstance(value, str) else ""


def count(value: Json) -> int:
    """Return a whole number that is not negative and can be counted to; 0 for what is none."""
    return value if type(value) is int and 0 <= value < 2**53 else 0


def amount(value: Json) -> float | None:
    """Return a number that is not negative; None for what is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e12 else None
