"""The source of the method table: the methods of the schema, joined with the gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tools.schema.gates import GATES, SENT_BY
from tools.schema.published import Published

_SENDERS: Final = {"agent": "client", "client": "agent", "protocol": "either", "proxy": "either"}
"""The schema's `x-side` names who handles a method; here stands who sends it."""
_KINDS: Final = {"Request": "request", "Response": "request", "Notification": "notification"}
"""By the end of a definition's name."""


@dataclass
class Row:
    """One method; its kind tells it apart, as a name may be both request and notification."""

    name: str
    kind: str
    sent_by: str
    params: str | None = None
    result: str | None = None


def table_source(published: Published) -> str:
    """Return the module of the method table of a version, not formatted yet."""
    version = published.version
    entries = "\n".join(_entry(row, published) for row in rows(published))
    return f'''"""The methods of ACP version {version}. Made by tools/make_schema.py, never by hand.

Source: v{version}/schema.unstable.json, SHA-256 {published.digest}…
"""

from typing import Final

from acp_protocol.schema.method_spec import MethodSpec

METHODS: Final[tuple[MethodSpec, ...]] = (
{entries}
)
'''


def rows(published: Published) -> list[Row]:
    """Return the methods of the schema by name and kind."""
    found: dict[tuple[str, str], Row] = {}
    for name, schema in sorted(published.definitions.items()):
        if "x-method" not in schema:
            continue
        method, ending = schema["x-method"], _ending(name)
        kind = _KINDS[ending]
        sent_by = SENT_BY.get(method, _SENDERS[schema["x-side"]])
        row = found.setdefault((method, kind), Row(method, kind, sent_by))
        if ending == "Response":
            row.result = name
        else:
            row.params = name
    return [row for _, row in sorted(found.items())]


def _ending(name: str) -> str:
    return next(ending for ending in _KINDS if name.endswith(ending))


def _entry(row: Row, published: Published) -> str:
    return f"""MethodSpec(
    name={row.name!r},
    sent_by={row.sent_by!r},
    kind={row.kind!r},
    params={row.params!r},
    result={row.result!r},
    version={published.version},
    is_stable={row.params in published.stable},
    gate={GATES[published.version].get(row.name)!r},
),"""
