"""What is known of a session beside what was said in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from acp_agent.sessions.errors import DAMAGED, StoreError
from acp_protocol.jsonrpc import Json

COLUMNS: Final = (
    "number",
    "id",
    "cwd",
    "directories",
    "title",
    "is_named",
    "is_archived",
    "created",
    "updated",
    "settings",
    "usage",
    "spent",
)


@dataclass(frozen=True, slots=True)
class Record:
    """A session as the store knows it."""

    number: int
    """Rises with each session of the store, and is never used again."""
    id: str
    cwd: str
    directories: tuple[str, ...]
    title: str | None
    is_named: bool
    """Whether the title is the user's, and no other may take its place."""
    is_archived: bool
    created: str
    """RFC 3339, in UTC."""
    updated: str
    """When somebody last asked for something in it, likewise."""
    settings: Mapping[str, str]
    """What is chosen, by option."""
    usage: Mapping[str, Json] | None
    """How full the model's mind is, as the client was told last."""
    spent: Mapping[str, Json] | None
    """What all replies have taken together."""


def now() -> str:
    """Return the time as it stands in a record."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def read_record(row: tuple[Any, ...]) -> Record:
    """Return the record in a row of the store, which has `COLUMNS`.

    Settings, directories and sums that make no sense are as good as none: without them the session
    is still what it was.

    Raises:
        StoreError: the rest makes no sense.
    """
    number, *texts, named, archived, created, updated, settings, usage, spent = _as_given(row)
    id_, cwd, directories, title = texts
    texts = (id_, cwd, created, updated)
    if not all(isinstance(text, str) for text in texts) or not isinstance(title, str | None):
        raise StoreError(DAMAGED)
    chosen = _object(settings) or {}
    return Record(
        number=number,
        id=id_,
        cwd=cwd,
        directories=_names(directories),
        title=title,
        is_named=bool(named),
        is_archived=bool(archived),
        created=created,
        updated=updated,
        settings={name: value for name, value in chosen.items() if isinstance(value, str)},
        usage=_object(usage),
        spent=_object(spent),
    )


def written(value: object) -> object:
    """Return a member of a record as it stands in a column."""
    if isinstance(value, dict | list | tuple):
        return json.dumps(value)
    if isinstance(value, str) and any("\ud800" <= sign <= "\udfff" for sign in value):
        # Half a sign, as JSON can bring it, has no place in a text of the library.
        return value.encode(errors="surrogatepass")
    return value


def read_json(text: object) -> Json:
    """Return what stands in a column as JSON.

    Raises:
        StoreError: it is none.
    """
    try:
        return json.loads(cast("str", text))
    except (ValueError, TypeError, RecursionError):
        raise StoreError(DAMAGED) from None


def _as_given(row: tuple[Any, ...]) -> list[Any]:
    return [_text(each) if isinstance(each, bytes) else each for each in row]


def _text(value: bytes) -> str | None:
    try:
        return value.decode(errors="surrogatepass")
    except UnicodeError:
        return None


def _object(text: object) -> dict[str, Json] | None:
    value = _value(text)
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None


def _names(text: object) -> tuple[str, ...]:
    value = _value(text)
    names = cast("list[Json]", value) if isinstance(value, list) else []
    return tuple(name for name in names if isinstance(name, str))


def _value(text: object) -> Json:
    try:
        return read_json(text)
    except StoreError:
        return None
