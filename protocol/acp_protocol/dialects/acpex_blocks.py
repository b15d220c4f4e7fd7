"""Content blocks of ACPex.

Source: ACPex, "Content Blocks".
"""

from __future__ import annotations

from acp_protocol.dialects.members import (
    Object,
    as_object,
    as_text,
    name_of,
    renamed,
    without,
)
from acp_protocol.jsonrpc import Json

_CONTENTS = ("uri", "mimeType", "text", "blob")


def read_block(block: Json) -> Json:
    """Turn a block of the dialect into an official one.

    Raises:
        ValueError: its URI is none.
    """
    members = as_object(block)
    match members.get("type"):
        case "image" | "audio" if isinstance(members.get("source"), dict):
            return _unwrapped(members)
        case "resource" if "resource" not in members and isinstance(members.get("uri"), str):
            return _read_resource(members)
        case "resource_link" if "name" not in members and isinstance(members.get("uri"), str):
            return members | {"name": name_of(members["uri"])}
        case _:
            return block


def write_block(block: Json) -> Json:
    """Turn an official block into one of the dialect."""
    members = as_object(block)
    match members.get("type"):
        case "image" | "audio" if isinstance(members.get("data"), str):
            source = {"type": "base64", "mediaType": members.get("mimeType")}
            rest = without(members, "data", "mimeType")
            return rest | {"source": source | {"data": members["data"]}}
        case "resource" if isinstance(members.get("resource"), dict):
            return without(members, "resource") | as_object(members["resource"])
        case "resource_link":
            return without(members, "name")
        case _:
            return block


def text_of(block: Json) -> str:
    """Return the text of a block; none for other blocks."""
    members = as_object(block)
    return as_text(members.get("text")) if members.get("type") == "text" else ""


def _unwrapped(members: Object) -> Object:
    source = renamed(without(as_object(members["source"]), "type"), {"mediaType": "mimeType"})
    return without(members, "source") | source


def _read_resource(members: Object) -> Object:
    if "text" not in members and "blob" not in members:
        return {"name": name_of(members["uri"])} | members | {"type": "resource_link"}
    contents = {name: members[name] for name in _CONTENTS if name in members}
    return without(members, *_CONTENTS) | {"resource": contents}
