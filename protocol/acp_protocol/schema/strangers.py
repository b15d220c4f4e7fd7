"""Names the members of a JSON value that its shape does not know.

A reader passes over them, and the published schema lets them be; the protocol asks that what is
one's own go into `_meta`.

Source: ACP, "Extensibility".
"""

from __future__ import annotations

from typing import Any, Union, cast

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.complaints import Plan, find_complaints, take_apart
from acp_protocol.schema.marks import ELSE, Tagged


def find_strangers(shape: Any, value: Json, path: str = "") -> list[str]:
    """Return the places of members that `shape` does not know in `value`, which stands at `path`.

    What is of a kind that the shape does not know either has no strangers: nobody can say what
    belongs to it.
    """
    plan = take_apart(shape)
    if plan.is_object and isinstance(value, dict):
        return _in_object(plan.type_, cast("dict[str, Json]", value), path)
    if plan.origin is list and isinstance(value, list):
        entries = enumerate(cast("list[Json]", value))
        return [each for n, entry in entries for each in _in(plan.args[0], entry, path, str(n))]
    if plan.origin is dict and isinstance(value, dict):
        members = cast("dict[str, Json]", value).items()
        return [each for name, entry in members for each in _in(plan.args[1], entry, path, name)]
    if plan.origin is Union and isinstance(value, dict | list):
        arm = _arm(plan, value)
        return [] if arm is None else find_strangers(arm, value, path)
    return []


def _in(shape: Any, value: Json, path: str, name: str) -> list[str]:
    return find_strangers(shape, value, f"{path}.{name}" if path else name)


def _in_object(shape: Any, value: dict[str, Json], path: str) -> list[str]:
    known: dict[str, Any] = shape.__annotations__
    found: list[str] = []
    for name, member in value.items():
        if name in known:
            found += _in(known[name], member, path, name)
        else:
            found.append(f"{path}.{name}" if path else name)
    return found


def _arm(plan: Plan, value: Json) -> Any:
    """Return the arm of a union that a value is meant for; None for what no arm knows."""
    arms = plan.args
    for mark in plan.marks:
        if isinstance(mark, Tagged) and isinstance(value, dict):
            key = mark.key(cast("dict[str, Json]", value).get(mark.tag))
            if key == ELSE:
                return None
            arms = tuple(plan.args[place] for place in mark.places(key))
    fitting = [arm for arm in arms if not find_complaints(arm, value)]
    # Of arms that hold alike, the one that knows most of the members is meant.
    return min(fitting, key=lambda arm: len(find_strangers(arm, value)), default=None)
