"""Events of a session, independent of the version of the protocol.

An event is an object with a `what`. The `SessionUpdates` of each version turn it into
notifications, so that a session of one version can be replayed in another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, cast

from acp_agent.store.errors import DAMAGED, StoreError
from acp_protocol.jsonrpc import Json

Event: TypeAlias = Mapping[str, Json]

PIECE_LIMIT: Final = 64 * 1024
"""Characters of a message that are replayed as one update."""
ROW_LIMIT: Final = 8 * 1024
"""Characters of a message in one row: rewriting a longer row costs more than adding another."""
_MEMBERS: Final[Mapping[str, Mapping[str, type]]] = {
    "user": {"id": str, "blocks": list},
    "text": {"kind": str, "id": str, "text": str},
    "plan": {"entries": list},
    "call": {"id": str, "members": dict},
    "tool": {"id": str, "members": dict},
    "compaction": {"id": str, "members": dict},
    "entry": {"entry": dict},
}
"""The members of each kind of event. An `entry` is one of the model's history, and is not sent."""


def user(message_id: str, blocks: list[Json]) -> Event:
    return {"what": "user", "id": message_id, "blocks": blocks}


def text(kind: str, message_id: str, piece: str) -> Event:
    return {"what": "text", "kind": kind, "id": message_id, "text": piece}


def plan(entries: list[Json]) -> Event:
    return {"what": "plan", "entries": entries}


def call(call_id: str, members: Mapping[str, Json]) -> Event:
    return {"what": "call", "id": call_id, "members": dict(members)}


def tool(call_id: str, members: Mapping[str, Json]) -> Event:
    return {"what": "tool", "id": call_id, "members": dict(members)}


def compaction(id_: str, members: Mapping[str, Json]) -> Event:
    return {"what": "compaction", "id": id_, "members": dict(members)}


def entry(written: Mapping[str, Json]) -> Event:
    return {"what": "entry", "entry": dict(written)}


def check_event(value: Json) -> Event:
    """Return `value` if it is an event.

    Raises:
        StoreError: it is none.
    """
    event = cast("dict[str, Json]", value) if isinstance(value, dict) else {}
    members = _MEMBERS.get(str(event.get("what")))
    if members is None or not all(
        isinstance(event.get(name), kind) for name, kind in members.items()
    ):
        raise StoreError(DAMAGED)
    return event


def replaces(event: Event, before: Event) -> bool:
    """Return whether `event` has all fields of the one before it, and can replace it."""
    if event["what"] != "tool" or before["what"] != "tool" or event["id"] != before["id"]:
        return False
    return before["members"].keys() <= event["members"].keys()


class JoinedTexts:
    """Joins the pieces of each message; entries of the history are left out."""

    def __init__(self) -> None:
        self._last: Event | None = None

    def add(self, event: Event) -> Iterator[Event]:
        """Add an event; yield what is complete before it."""
        if event["what"] == "entry":
            return
        last, self._last = self._last, event
        if last is None:
            return
        if continues(last, event, PIECE_LIMIT):
            self._last = text(last["kind"], last["id"], last["text"] + event["text"])
        else:
            yield last

    def end(self) -> Iterator[Event]:
        """Yield what remains."""
        if self._last is not None:
            yield self._last


def continues(last: Event, event: Event, limit: int) -> bool:
    """Return whether `event` goes on with the message of `last`, which is not too long for it."""
    is_same = all(last.get(name) == event.get(name) for name in ("what", "kind", "id"))
    return event["what"] == "text" and is_same and len(last["text"]) < limit
