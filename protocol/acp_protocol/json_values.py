"""Reads fields of decoded JSON that may be of any type.

`as_…` takes a value, `get_…` takes a value and the key of a field. Neither raises: what is absent
or of another type is None; of `string`, `object` and `list` it is empty, so that lookups can be
chained: `get_text(get_object(params, "update"), "title")`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import cast

from acp_protocol.json_codec import Json

# The second name keeps its type in the test. A `cast` does that too, but it is a call, and these
# functions run many times for every frame.


def as_object(value: Json) -> dict[str, Json]:
    found: Json = value
    return found if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    found: Json = value
    return found if isinstance(value, list) else []


def as_objects(value: Json) -> list[dict[str, Json]]:
    """Return the objects in the array `value`; empty if it is none."""
    return [cast("dict[str, Json]", item) for item in as_list(value) if isinstance(item, dict)]


def as_texts(value: Json) -> list[str]:
    """Return the strings in the array `value`; empty if it is none."""
    return [item for item in as_list(value) if isinstance(item, str)]


def as_text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def as_string(value: Json) -> str:
    """Return `value` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_int(value: Json) -> int | None:
    """Return `value` if it is an integer, else None; true and false are none."""
    return value if type(value) is int else None


def get(value: Json, key: str) -> Json:
    found: Json = value
    return found.get(key) if isinstance(value, dict) else None


def get_object(value: Json, key: str) -> dict[str, Json]:
    return as_object(get(value, key))


def get_list(value: Json, key: str) -> list[Json]:
    return as_list(get(value, key))


def get_objects(value: Json, key: str) -> list[dict[str, Json]]:
    return as_objects(get(value, key))


def get_text(value: Json, key: str) -> str | None:
    return as_text(get(value, key))


def get_string(value: Json, key: str) -> str:
    """Return the field `key` if it is a string, else an empty one."""
    members: Json = value
    found: Json = members.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def get_int(value: Json, key: str) -> int | None:
    return as_int(get(value, key))


def is_finite(value: Json) -> bool:
    """Return whether every number in `value` is finite; 1e400 is valid JSON, but no float."""
    return all(math.isfinite(each) for each in descendants(value) if isinstance(each, float))


def children(value: Json) -> Iterable[Json]:
    """Return the values right inside an object or an array; nothing is inside any other value."""
    return as_object(value).values() or as_list(value)


def descendants(value: Json) -> Iterator[Json]:
    """Yield `value` and every value inside, in the order in which they are written."""
    # Not recursive: a message may be nested to any depth.
    stack = [value]
    while stack:
        value = stack.pop()
        yield value
        stack.extend(reversed([*children(value)]))
