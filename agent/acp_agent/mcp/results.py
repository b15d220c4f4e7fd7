"""What a server's tool has returned, as the model and the user get to see it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias, assert_never

from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from acp_agent.mcp.config import Limits
from acp_agent.tools.call import MAX_TEXT_CHARS, Outcome, fenced, shorten
from acp_protocol.json_values import get_object, get_objects, get_text
from acp_protocol.jsonrpc import Json

Block: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


def outcome_of(result: CallToolResult, limits: Limits) -> Outcome:
    """Return what came of a call, within the limits."""
    text = "\n".join(_texts(result))
    return Outcome(
        shorten(text),
        list(_content(result, limits.result_size)),
        _raw(result),
        is_failed=result.is_error,
    )


def _texts(result: CallToolResult) -> Iterator[str]:
    """Yield what the model reads; pictures and sounds are named only."""
    for block in result.content:
        yield _described(block)
    if not result.content and result.structured_content is not None:
        yield json.dumps(result.structured_content, ensure_ascii=False)


def _described(block: Block) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            return f"[{block.type} {block.mime_type}, shown to the user only]"
        case ResourceLink():
            return f"{block.title or block.name}: {block.uri}"
        case EmbeddedResource():
            held = block.resource
            if isinstance(held, TextResourceContents):
                return held.text
            return f"[{held.uri}, {held.mime_type or 'no text'}]"
        case _:
            assert_never(block)


def _content(result: CallToolResult, room: int) -> Iterator[Mapping[str, Json]]:
    """Yield what the user sees: pictures and sounds as long as there is room for them."""
    for block in result.content:
        match block:
            case ImageContent() | AudioContent() if len(block.data) <= room:
                room -= len(block.data)
                yield _shown({"type": block.type, "data": block.data, "mimeType": block.mime_type})
            case ImageContent() | AudioContent():
                yield from fenced(f"[{block.type} {block.mime_type}, too large to show]")
            case ResourceLink():
                yield _shown({"type": "resource_link", "name": block.name, "uri": block.uri})
            case _:
                yield from fenced(_described(block))
    if not result.content and result.structured_content is not None:
        yield from fenced(json.dumps(result.structured_content, ensure_ascii=False, indent=2))


def _shown(block: Mapping[str, Json]) -> Mapping[str, Json]:
    return {"type": "content", "content": block}


def _raw(result: CallToolResult) -> Mapping[str, Json]:
    """Return the result as it came, but without pictures, sounds and what is too long."""
    whole = result.model_dump(by_alias=True, mode="json", exclude_none=True, exclude_unset=True)
    for block in get_objects(whole, "content"):
        for holder in (block, get_object(block, "resource")):
            for name in ("data", "blob"):
                if (data := get_text(holder, name)) is not None:
                    holder[name] = f"… {len(data)} characters"
    size = len(json.dumps(whole))
    if size > MAX_TEXT_CHARS:
        return {"isError": result.is_error, "leftOut": f"{size} characters"}
    return whole
