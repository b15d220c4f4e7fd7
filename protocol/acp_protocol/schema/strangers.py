"""Names the members and words of a JSON value that its shape does not know.

A reader passes over such members, and the published schema lets them be; where a later version may
add words, it lets any other word be too. The protocol asks that what is one's own go into `_meta`,
and begin with an underscore.

Source: ACP, "Extensibility".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, Union, cast, get_origin

from acp_protocol.jsonrpc import Json
from acp_protocol.schema.complaints import Plan, find_complaints, take_apart
from acp_protocol.schema.marks import ELSE, Tagged

_Kind: TypeAlias = Literal["member", "word"]


def find_strangers(shape: Any, value: Json, path: str = "") -> list[str]:
    """Return the places of members that `shape` does not know in `value`, which stands at `path`.

    What is of a kind that the shape does not know either has no strangers: nobody can say what
    belongs to it.
    """
    return [place for kind, place in _walk(shape, value, path) if kind == "member"]


def find_own_words(shape: Any, value: Json, path: str = "") -> list[str]:
    """Return the places of words that `shape` lets be in `value` without knowing them."""
    return [place for kind, place in _walk(shape, value, path) if kind == "word"]


def _walk(shape: Any, value: Json, path: str) -> Iterator[tuple[_Kind, str]]:
    plan = take_apart(shape)
    if plan.is_object and isinstance(value, dict):
        yield from _in_object(plan.type_, cast("dict[str, Json]", value), path)
    elif plan.origin is list and isinstance(value, list):
        for n, entry in enumerate(cast("list[Json]", value)):
            yield from _walk(plan.args[0], entry, _below(path, str(n)))
    elif plan.origin is dict and isinstance(value, dict):
        for name, entry in cast("dict[str, Json]", value).items():
            yield from _walk(plan.args[1], entry, _below(path, name))
    elif plan.origin is Union and isinstance(value, str | dict | list):
        yield from _in_union(plan, value, path)


def _in_object(shape: Any, value: dict[str, Json], path: str) -> Iterator[tuple[_Kind, str]]:
    known: dict[str, Any] = shape.__annotations__
    for name, member in value.items():
        if name in known:
            yield from _walk(known[name], member, _below(path, name))
        else:
            yield "member", _below(path, name)


def _in_union(plan: Plan, value: Json, path: str) -> Iterator[tuple[_Kind, str]]:
    if isinstance(value, str):
        if _is_own_word(plan, value):
            yield "word", path
    elif tag := _own_tag(plan, value):
        yield "word", _below(path, tag)
    elif (arm := _arm(plan, value)) is not None:
        yield from _walk(arm, value, path)


def _is_own_word(plan: Plan, value: str) -> bool:
    """Tell whether a union knows some words, takes any, and does not know this one."""
    words = [arm for arm in plan.args if get_origin(arm) is Literal]
    is_open = any(take_apart(arm).type_ is str for arm in plan.args)
    return bool(words) and is_open and all(value not in take_apart(arm).args for arm in words)


def _own_tag(plan: Plan, value: Json) -> str | None:
    """Return the tag of a union that takes objects of any kind, where this one's is not known."""
    for mark in plan.marks:
        if isinstance(mark, Tagged) and isinstance(value, dict):
            tag = cast("dict[str, Json]", value).get(mark.tag)
            if mark.key(tag) == ELSE and ELSE in mark.values:
                return mark.tag
    return None


def _arm(plan: Plan, value: Json) -> Any:
    """Return the arm of a union that a value is meant for; None for what no arm takes.

    A tag names its arm, even where what belongs there is missing or wrong. Where the tag is missing
    itself, the arm that knows most is meant.
    """
    arms = tuple(arm for arm in plan.args if _takes(arm, value))
    for mark in plan.marks:
        if isinstance(mark, Tagged) and isinstance(value, dict):
            key = mark.key(cast("dict[str, Json]", value).get(mark.tag))
            places = mark.places(key)
            named = places[: mark.values.count(key)] if key is not None else places
            if key is not None or places:
                arms = tuple(plan.args[place] for place in named or places)
    if len(arms) < 2:
        return arms[0] if arms else None
    fitting = [arm for arm in arms if not find_complaints(arm, value)]
    # Of arms that hold alike, the one that knows most of the members is meant.
    return min(fitting or arms, key=lambda arm: len(find_strangers(arm, value)))


def _takes(arm: Any, value: Json) -> bool:
    """Tell whether an arm is one for objects, or lists, as the value is one."""
    plan = take_apart(arm)
    if plan.origin is Union:
        return any(_takes(each, value) for each in plan.args)
    return plan.is_object or plan.origin is dict if isinstance(value, dict) else plan.origin is list


def _below(path: str, part: str) -> str:
    return f"{path}.{part}" if path else part
