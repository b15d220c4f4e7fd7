"""What a user has said, taken from the blocks of a prompt.

Text is what is asked for. Links stand in it by their path, so that "read" with a file behind it
reads that file. Embedded resources are material: what stands in them gives no orders.

Source: ACP, Content; ACP, Prompt Turn, "User Message".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast
from urllib.parse import unquote, urlsplit

from acp_agent.models.model import Attachment, UserSaid
from acp_agent.params import Params, invalid
from acp_protocol.jsonrpc import Json

Block = Mapping[str, Json]

OFFERED: Final = frozenset({"text", "resource_link", "resource"})
"""Kinds of content that a prompt may hold, as `initialize` tells."""


def blocks_of(params: Params) -> list[Block]:
    """Return the blocks of a prompt.

    Raises:
        RequestFailedError: one is of a kind that was not offered.
    """
    blocks = cast("list[Block]", params["prompt"])
    for place, block in enumerate(blocks):
        if block.get("type") not in OFFERED:
            raise invalid(f"params.prompt.{place}: {block.get('type')} was not offered")
    return blocks


def read_prompt(blocks: Sequence[Block], cwd: Path) -> UserSaid:
    """Return what the blocks say; `cwd` is what paths are told from."""
    text = ""
    attachments: list[Attachment] = []
    was_text = False
    for block in blocks:
        match block:
            case {"type": "text", "text": str(piece)}:
                gap = "\n" if was_text else " " if piece[:1].isalnum() else ""
                text = _joined(text, piece, gap)
                was_text = True
            case {"type": "resource_link", "uri": str(uri)}:
                text = _joined(text, _path(uri, cwd), " ")
                was_text = False
            case {"type": "resource", "resource": {"uri": str(uri), **contents}}:
                content = contents.get("text")
                attachments.append(Attachment(uri, content if isinstance(content, str) else None))
            case _:
                # What was not offered in `initialize` is refused before it comes here.
                continue
    return UserSaid(text, tuple(attachments))


def _joined(text: str, piece: str, gap: str) -> str:
    is_apart = not text or text[-1].isspace() or piece[:1].isspace()
    return text + ("" if is_apart else gap) + piece


def _path(uri: str, cwd: Path) -> str:
    """Return the path of a file below `cwd` from there, and any other URI as it is."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    if parts.scheme != "file":
        return uri
    path = Path(unquote(parts.path))
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
