"""What a message or a tool call holds besides text: images, audio, resources and links.

Source: ACP, Content.
"""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from typing import Final

from acp_inspector.session.items import Item, TextItem, ToolCallItem
from acp_protocol.json_values import get, get_string
from acp_protocol.jsonrpc import Json

MAX_NAME: Final = 60
"""Characters of a file name that is suggested."""
SUFFIXES: Final = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "audio/wav": ".wav",
    "application/pdf": ".pdf",
    "text/plain": ".txt",
}
"""The kinds of content that another program may show; nothing here is run."""


@dataclass(frozen=True, slots=True)
class AttachedContent:
    """Content that is not shown; its texts are untrusted."""

    kind: str
    name: str
    mime_type: str
    uri: str
    data: str | None
    """Base64, or the text itself; None for a link."""
    is_text: bool = False

    @property
    def can_be_shown(self) -> bool:
        """Whether a program may show it, by its type."""
        return self.data is not None and self.mime_type in SUFFIXES

    @property
    def file_name(self) -> str:
        """A name to save it under: only letters, digits, dots and dashes, and none that hides."""
        last = (self.name or self.uri).rstrip("/").rpartition("/")[2]
        plain = "".join(each if each.isalnum() or each in ".-_" else "-" for each in last)
        name = plain.strip(".-")[:MAX_NAME] or self.kind
        suffix = SUFFIXES.get(self.mime_type, "")
        return name if name.endswith(suffix) else f"{name}{suffix}"

    def content(self) -> bytes:
        """Return the bytes.

        Raises:
            ValueError: they are not base64.
        """
        data = self.data or ""
        return data.encode(errors="replace") if self.is_text else b64decode(data, validate=True)


def attachments_of(item: Item) -> list[AttachedContent]:
    """Return what an item holds besides text, in its order."""
    if isinstance(item, TextItem):
        blocks = item.blocks
    elif isinstance(item, ToolCallItem):
        inner = (
            get(each, "content") for each in item.content if get_string(each, "type") == "content"
        )
        blocks = [each for each in inner if get_string(each, "type") != "text"]
    else:
        blocks = []
    return [_attachment(block) for block in blocks]


def _attachment(block: Json) -> AttachedContent:
    kind = get_string(block, "type") or "content"
    inner = get(block, "resource") if kind == "resource" else block
    text = get(inner, "text")
    data = get_string(inner, "data") or get_string(inner, "blob") or None
    is_text = isinstance(text, str) and data is None
    return AttachedContent(
        kind=kind,
        name=get_string(inner, "title") or get_string(inner, "name"),
        mime_type=get_string(inner, "mimeType") or ("text/plain" if is_text else ""),
        uri=get_string(inner, "uri"),
        data=str(text) if is_text else data,
        is_text=is_text,
    )
