"""The message of a user, taken from the content blocks of a prompt.

Text is the request. Links appear in it by their path, so that "read" with a file behind it reads
that file. Embedded resources and images are attachments: the model does not follow what they say.

Source: ACP, Content; ACP, Prompt Turn, "User Message".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp_agent.models.types import Attachment, Image, PromptMessage
from acp_protocol.jsonrpc import Json


def read_prompt(blocks: Sequence[Mapping[str, Json]], cwd: Path) -> PromptMessage:
    """Return the message of the blocks; paths in it are relative to `cwd`."""
    text = ""
    attachments: list[Attachment] = []
    images: list[Image] = []
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
            case {"type": "image", "mimeType": str(kind), "data": str(data)}:
                images.append(Image(kind, data))
            case _:
                # The handler has refused kinds that were not offered in `initialize`.
                continue
    return PromptMessage(text, tuple(attachments), tuple(images))


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
