"""The changes between two states of the same sessions.

The states may be of one model at two frames, which is cheap, or of two models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final, TypeAlias

from acp_inspector.session.conversation import SessionInfo, SessionSnapshot
from acp_inspector.session.items import Item, TextItem
from acp_inspector.views.to_json import (
    info_to_json,
    item_to_json,
    terminal_to_json,
    turn_to_json,
)
from acp_protocol.jsonrpc import Json


@dataclass(frozen=True, slots=True)
class SessionAppeared:
    """A session that only the later state has."""

    session_id: str


@dataclass(frozen=True, slots=True)
class SessionVanished:
    """A session that only the earlier state has."""

    session_id: str


@dataclass(frozen=True, slots=True)
class ItemAppeared:
    """An item that only the later state has."""

    session_id: str
    key: str
    item: Mapping[str, Json]
    """As `item_to_json` returns it."""


@dataclass(frozen=True, slots=True)
class ItemVanished:
    """An item that only the earlier state has."""

    session_id: str
    key: str
    item: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class TextGrew:
    """A message or a thought has more words at its end."""

    session_id: str
    key: str
    more: str


@dataclass(frozen=True, slots=True)
class ItemChanged:
    """A field of an item has another value."""

    session_id: str
    key: str
    member: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class SessionInfoChanged:
    """A title, mode, usage, terminal, turn or the like has another value."""

    session_id: str
    member: str
    before: Json
    after: Json


StateChange: TypeAlias = (
    SessionAppeared
    | SessionVanished
    | ItemAppeared
    | ItemVanished
    | TextGrew
    | ItemChanged
    | SessionInfoChanged
)


_NAMES: Final[dict[type[StateChange], str]] = {
    SessionAppeared: "SessionAppeared",
    SessionVanished: "SessionVanished",
    ItemAppeared: "ItemAppeared",
    ItemVanished: "ItemVanished",
    TextGrew: "TextGrew",
    ItemChanged: "ItemChanged",
    SessionInfoChanged: "SurroundingsChanged",
}
"""The names in JSON; scripts rely on them, whatever the classes are called."""


def change_to_json(change: StateChange) -> dict[str, Json]:
    """Return a change; its `change` key says which it is."""
    members = {each.name: getattr(change, each.name) for each in fields(change)}
    return {"change": _NAMES[type(change)], **members}


def state_changes(
    before: Mapping[str, SessionSnapshot], after: Mapping[str, SessionSnapshot]
) -> list[StateChange]:
    """Return the changes that turn the first state into the second."""
    found: list[StateChange] = []
    for key in dict.fromkeys([*before, *after]):
        if key not in after:
            found.append(SessionVanished(key))
            continue
        if key not in before:
            found.append(SessionAppeared(key))
            found += (_appeared(key, item) for item in after[key].items)
        else:
            found += _items(before[key], after[key])
        found += _session_info_changes(before.get(key), after[key])
    return found


def _items(before: SessionSnapshot, after: SessionSnapshot) -> Iterator[StateChange]:
    if before.items.is_earlier(after.items):
        known = len(before.items)
        for place, item in after.items.changed_since(before.n):
            if place >= known:
                yield _appeared(after.session_id, item)
            else:
                yield from _item(after.session_id, before.items[place], item)
        return
    theirs = {item.key: item for item in after.items}
    ours = {item.key: item for item in before.items}
    for key, item in ours.items():
        if key not in theirs or type(theirs[key]) is not type(item):
            yield ItemVanished(after.session_id, key, item_to_json(item))
    for key, item in theirs.items():
        if key in ours and type(ours[key]) is type(item):
            yield from _item(after.session_id, ours[key], item)
        else:
            yield _appeared(after.session_id, item)


def _appeared(session_id: str, item: Item) -> ItemAppeared:
    return ItemAppeared(session_id, item.key, item_to_json(item))


def _item(session_id: str, before: Item, after: Item) -> Iterator[StateChange]:
    ours, theirs = item_to_json(before), item_to_json(after)
    if isinstance(before, TextItem) and isinstance(after, TextItem):
        old, new = before.text, after.text
        if old != new and new.startswith(old):
            yield TextGrew(session_id, after.key, new[len(old) :])
            ours["text"] = new
    for name, value in ours.items():
        if value != theirs[name]:
            yield ItemChanged(session_id, after.key, name, value, theirs[name])


def _session_info_changes(
    before: SessionSnapshot | None, after: SessionSnapshot
) -> Iterator[SessionInfoChanged]:
    ours, theirs = _around(before), _around(after)
    for name in dict.fromkeys([*ours, *theirs]):
        if ours.get(name) != theirs.get(name):
            yield SessionInfoChanged(after.session_id, name, ours.get(name), theirs.get(name))


def _around(snapshot: SessionSnapshot | None) -> dict[str, Json]:
    if snapshot is None:
        return info_to_json(SessionInfo()) | {"errors": 0}
    around = info_to_json(snapshot.info)
    around |= {f"turn {turn.number}": turn_to_json(turn) for turn in snapshot.turns}
    around |= {f"terminal {each.key}": terminal_to_json(each) for each in snapshot.terminals}
    around["errors"] = len(snapshot.errors)
    return around
