"""The state of a tool call after its updates.

Source: ACP, Tool Calls, "Updating"; the same of version 2.
"""

from __future__ import annotations

from collections.abc import Mapping

from acp_protocol.json_values import as_list
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import FINAL_STATUSES


class _Chunks(list[Json]):
    """Content that `merge` has begun, so that a chunk is added to it without a copy."""


def is_final(status: Json) -> bool:
    """Return whether a tool call with this status has ended."""
    return isinstance(status, str) and status in FINAL_STATUSES


def changes(update: Mapping[str, Json], version: int) -> dict[str, Json]:
    """Return the fields that an update changes; null removes one, but only in version 2.

    Fields that are absent stay as they are.
    """
    return {name: each for name, each in update.items() if each is not None or version >= 2}


def merge(call: Mapping[str, Json], update: Mapping[str, Json], version: int) -> dict[str, Json]:
    """Return a tool call after an update.

    A `tool_call_content_chunk` adds one entry to the content; `call` must not be used afterwards.
    """
    if update.get("sessionUpdate") == "tool_call_content_chunk":
        content = call.get("content")
        chunks = content if isinstance(content, _Chunks) else _Chunks(as_list(content))
        chunks.append(update.get("content"))
        return {**call, "toolCallId": update.get("toolCallId"), "content": chunks}
    changed = {**call, **changes(update, version)}
    return {name: value for name, value in changed.items() if value is not None}
