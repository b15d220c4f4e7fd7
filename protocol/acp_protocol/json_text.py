"""Values as JSON text to read or to compare, however deeply they are nested.

`json.dumps` raises a `RecursionError` for what was parsed where the stack was less deep.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json

_NOTHING: Final = object()
"""No value follows."""


def json_text(
    value: Json,
    *,
    indent: int | None = None,
    sort_keys: bool = False,
    default: Callable[[object], object] | None = None,
) -> str:
    """Return a value as JSON; one that is nested very deeply is on one line.

    `default` returns a JSON value in the place of an object that JSON does not have.
    """
    try:
        return json.dumps(
            value, ensure_ascii=False, indent=indent, sort_keys=sort_keys, default=default
        )
    except RecursionError:
        return "".join(_parts(value, sort_keys=sort_keys, default=default))


def _parts(
    value: Json, *, sort_keys: bool, default: Callable[[object], object] | None
) -> Iterator[str]:
    """Yield a value as JSON in parts, however deeply it is nested."""
    rest: list[tuple[str, Json | object]] = [("", value)]
    while rest:
        text, inner = rest.pop()
        yield text
        if isinstance(inner, dict):
            members = as_object(cast("Json", inner))
            names = sorted(members) if sort_keys else list(members)
            heads = [f"{json.dumps(name, ensure_ascii=False)}: " for name in names]
            rest += _inner("{}", heads, [members[name] for name in names])
        elif isinstance(inner, list):
            values = as_list(cast("Json", inner))
            rest += _inner("[]", [""] * len(values), values)
        elif inner is not _NOTHING:
            yield json.dumps(inner, ensure_ascii=False, default=default)


def _inner(
    brackets: str, heads: Sequence[str], values: Sequence[Json]
) -> Iterator[tuple[str, Json | object]]:
    """Yield what an array or object consists of, from its end."""
    yield brackets[1], _NOTHING
    for place in range(len(values) - 1, -1, -1):
        yield (", " if place else brackets[0]) + heads[place], values[place]
    if not values:
        yield brackets[0], _NOTHING
