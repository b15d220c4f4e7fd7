"""Content blocks of Continuum Router.

Source: Continuum Router, "Content Block Types".
"""

from __future__ import annotations

from acp_protocol.dialects.members import as_object, as_text, name_of, renamed, without
from acp_protocol.jsonrpc import Json


def read_block(block: Json) -> Json:
    """Turn a block of the dialect into an official one.

    Raises:
        ValueError: its URI is none.
    """
    members = as_object(block)
    match members.get("type"):
        case "image":
            return renamed(members, {"mediaType": "mimeType"})
        case "resource" if "resource" not in members and isinstance(members.get("uri"), str):
            link = renamed(members, {"mediaType": "mimeType"})
            return link | {"type": "resource_link", "name": _name(link)}
        case _:
            return block


def write_block(block: Json) -> Json:
    """Turn an official block into one of the dialect; audio and contents it has no word for."""
    members = as_object(block)
    match members.get("type"):
        case "image":
            return renamed(members, {"mimeType": "mediaType"})
        case "resource_link":
            reference = without(renamed(members, {"mimeType": "mediaType"}), "name")
            return reference | {"type": "resource"}
        case _:
            return block


def _name(link: dict[str, Json]) -> str:
    return as_text(link.get("name")) or name_of(link["uri"])
