"""Changing what stands at a place in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from acp_inspector.filter.paths import Below, Every, Index, Member, Path, Step, look_up
from acp_protocol.jsonrpc import Json


def put(value: Json, path: Path, new: Json) -> bool:
    """Let `new` stand at every place of `path`; tell whether there was one.

    A member that is missing is made where the path names one place, and the object that would hold
    it exists; a list is never made longer.
    """
    names_one = all(isinstance(step, Member | Index) for step in path.steps)
    spots = list(_spots(value, path, makes_members=names_one))
    for holder, key in spots:
        holder[key] = new
    return bool(spots)


def remove(value: Json, path: Path) -> bool:
    """Remove what stands at every place of `path`; tell whether there was something."""
    spots = list(_spots(value, path, makes_members=False))
    for holder, key in reversed(spots):
        # With `..` a place may lie inside another that has just gone, which does no harm.
        del holder[key]
    return bool(spots)


def _spots(value: Json, path: Path, *, makes_members: bool) -> Iterator[tuple[Json, Json]]:
    """Yield the container and the key of each place."""
    *before, last = path.steps
    for holder in look_up(value, Path(tuple(before))):
        if isinstance(holder, dict):
            members = cast("dict[str, Json]", holder)
            for name in _names(members, last, makes_members=makes_members):
                yield members, name
        elif isinstance(holder, list):
            items = cast("list[Json]", holder)
            for index in _indexes(items, last):
                yield items, index


def _names(members: dict[str, Json], last: Step, *, makes_members: bool) -> list[str]:
    match last:
        case Member(name):
            return [name] if makes_members or name in members else []
        case Every():
            return list(members)
        case Index() | Below():
            return []


def _indexes(items: list[Json], last: Step) -> list[int]:
    match last:
        case Index(number):
            return [number % len(items)] if -len(items) <= number < len(items) else []
        case Every():
            return list(range(len(items)))
        case Member() | Below():
            return []
