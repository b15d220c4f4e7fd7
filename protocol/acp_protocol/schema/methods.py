"""The table of methods: who sends what, with which shapes, and what allows it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal


@dataclass(frozen=True, slots=True)
class Method:
    """One row of the table."""

    name: str
    sent_by: Literal["client", "agent", "either"]
    kind: Literal["request", "notification"]
    params: str | None
    """Name of the definition of its params."""
    result: str | None
    """Name of the definition of its result."""
    version: int
    is_stable: bool
    gate: str | None
    """Path of the capability that allows it; None when none is needed."""


def methods(version: int = 1) -> tuple[Method, ...]:
    """Return all methods of a protocol version, by name.

    Raises:
        ValueError: no shapes of that version are built in.
    """
    if version != 1:
        raise ValueError(f"no shapes of protocol version {version} are built in")
    from acp_protocol.schema.table_v1 import METHODS

    return METHODS


def find_method(name: str, version: int = 1) -> Method | None:
    """Return the row of `name`; None for extensions (`_…`), future and unknown methods."""
    return _by_name(version).get(name)


@cache
def _by_name(version: int) -> dict[str, Method]:
    # A name that is both a request and a notification is met as its request, which has the result.
    rows = sorted(methods(version), key=lambda method: method.kind == "request")
    return {method.name: method for method in rows}
