"""Reads, renames and moves fields of JSON objects that are not validated.

Nothing here changes its arguments, and nothing raises for a value of an unexpected type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, cast
from urllib.parse import quote, unquote, urlsplit

from acp_protocol.jsonrpc import Json

Object: TypeAlias = dict[str, Json]

META: Final = "_meta"
OFFICIAL_ALONE: Final = ("sessionCapabilities", "auth")
"""Capabilities that only official peers have; a dialect's peer must not seem to have them."""


def as_object(value: Json) -> Object:
    """Return `value` if it is an object, otherwise an empty one."""
    return cast("Object", value) if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Return `value` if it is an array, otherwise an empty one."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def as_text(value: Json) -> str:
    """Return `value` if it is a string, otherwise an empty one."""
    return value if isinstance(value, str) else ""


def without(value: Mapping[str, Json], *names: str) -> Object:
    """Return `value` without the members of these names."""
    return {name: member for name, member in value.items() if name not in names}


def renamed(value: Mapping[str, Json], names: Mapping[str, str]) -> Object:
    """Return `value` with members under their new names, unless a new name is taken already."""
    return {
        names[name] if name in names and names[name] not in value else name: member
        for name, member in value.items()
    }


def move_to_meta(value: Mapping[str, Json], names: Iterable[str], dialect: str) -> Object:
    """Return `value` with these members moved to `_meta`, under the dialect's name."""
    moved = {name: value[name] for name in names if name in value}
    if not moved:
        return dict(value)
    meta = as_object(value.get(META))
    kept = as_object(meta.get(dialect)) | moved
    return without(value, *moved) | {META: meta | {dialect: kept}}


def moved_to_meta(value: Mapping[str, Json], dialect: str) -> Object:
    """Return what `move_to_meta` has moved."""
    return as_object(as_object(value.get(META)).get(dialect))


def without_moved(value: Mapping[str, Json], dialect: str) -> Object:
    """Return `value` without what `move_to_meta` has moved."""
    if not moved_to_meta(value, dialect):
        return dict(value)
    meta = without(as_object(value[META]), dialect)
    return without(value, META) | ({META: meta} if meta else {})


def moved_back(value: Mapping[str, Json], names: Iterable[str], dialect: str) -> Object:
    """Return `value` with these members where they were before `move_to_meta` moved them."""
    kept = moved_to_meta(value, dialect)
    return without_moved(value, dialect) | {name: kept[name] for name in names if name in kept}


def name_of(uri: str) -> str:
    """Return the last part of the path of `uri`, or all of it if there is none.

    Raises:
        ValueError: it is no URI.
    """
    return unquote(urlsplit(uri).path.rstrip("/").rpartition("/")[2]) or uri


def path_of(uri: str) -> str:
    """Return the path in a file URI; other URIs are returned unchanged.

    Raises:
        ValueError: it is no URI.
    """
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def file_uri(path: str) -> str:
    """Return the URI of a file.

    Raises:
        ValueError: the path has characters without a UTF-8 form.
    """
    return "file://" + quote(path)
