"""What a model knows of a session, entry by entry, as JSON and back.

Everything is written by the names of its class and members, so that what a later version adds to
them is found again, and what it takes away is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final, cast

from acp_agent.memory import Aside, Compacted, Kept
from acp_agent.models.model import (
    Attachment,
    CallTool,
    Image,
    ModelSaid,
    Say,
    Sealed,
    ShowPlan,
    Step,
    Stopped,
    Think,
    ToolAnswered,
    UserSaid,
)
from acp_agent.sessions.errors import DAMAGED, StoreError
from acp_protocol.jsonrpc import Json

_CLASSES: Final[Mapping[str, type[Any]]] = {
    each.__name__: each
    for each in (
        *(UserSaid, Attachment, Image),
        *(ModelSaid, Say, Think, ShowPlan, Step, CallTool, Sealed, Stopped),
        *(ToolAnswered, Aside, Compacted),
    )
}


def write_entry(entry: Kept) -> dict[str, Json]:
    """Return an entry as JSON."""
    return _written(entry)


def read_entry(value: Json) -> Kept:
    """Return an entry from its JSON.

    Raises:
        StoreError: it is none.
    """
    entry = _read(value)
    if not isinstance(entry, UserSaid | ModelSaid | ToolAnswered | Aside | Compacted):
        raise StoreError(DAMAGED)
    return entry


def _written(entry: Any) -> dict[str, Json]:
    members: dict[str, Json] = {}
    parts: dict[str, Json] = {}
    for field in fields(entry):
        value = getattr(entry, field.name)
        if isinstance(value, tuple):
            parts[field.name] = [_written(part) for part in cast("tuple[Any, ...]", value)]
        else:
            members[field.name] = value
    return {"is": type(entry).__name__, "members": members} | ({"parts": parts} if parts else {})


def _read(value: Json) -> Any:
    try:
        kind: Any = _CLASSES[value["is"]]
        parts = {
            name: tuple(_read(part) for part in each if part["is"] in _CLASSES)
            for name, each in value.get("parts", {}).items()
        }
        given = {**value["members"], **parts}
        known = {field.name: field for field in fields(kind)}
        missing = {
            name
            for name, field in known.items()
            if name not in given and field.default is MISSING and field.default_factory is MISSING
        }
    except (KeyError, TypeError, AttributeError):
        raise StoreError(DAMAGED) from None
    if missing:
        raise StoreError(DAMAGED)
    return kind(**{name: each for name, each in given.items() if name in known})
