"""The table of methods: who sends what, its schema, and the capability that allows it.

The functions raise `ValueError` for a version that is not built in.
"""

from __future__ import annotations

from typing import Final

from acp_protocol.framing import Side
from acp_protocol.schema import methods_v1, methods_v2
from acp_protocol.schema.method_spec import Kind, MethodSpec

METHODS: Final[tuple[MethodSpec, ...]] = methods_v1.METHODS + methods_v2.METHODS
"""Every method of every version that is built in."""

VERSIONS: Final = frozenset(row.version for row in METHODS)
"""The protocol versions that are built in; speaking one is its user's decision."""

_BY_NAME: Final[dict[tuple[int, str, Kind], MethodSpec]] = {
    (row.version, row.name, row.kind): row for row in METHODS
}

_NAMES: Final = frozenset(row.name for row in METHODS)


def find_method(name: str, version: int = 1, *, kind: Kind | None = None) -> MethodSpec | None:
    """Return the row of `name`; None for extensions (`_…`), future and unknown methods.

    A few names are both a request and a notification; without `kind` the request is meant.
    """
    for each in (kind,) if kind else ("request", "notification"):
        if row := _BY_NAME.get((version, name, each)):
            return row
    _require(version)
    return None


def is_method(name: str) -> bool:
    """Return whether any version has a method of this name."""
    return name in _NAMES


def methods_sent_by(side: Side, version: int = 1) -> tuple[MethodSpec, ...]:
    """Return the methods that `side` may send, by name; those that both may send are among them."""
    _require(version)
    return tuple(
        row for row in METHODS if row.version == version and row.sent_by in {side, "either"}
    )


def _require(version: int) -> None:
    if version not in VERSIONS:
        raise ValueError(f"protocol version {version} is not built in")
