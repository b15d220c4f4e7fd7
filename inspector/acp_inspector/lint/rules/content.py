"""Content blocks: their required fields, and the types allowed in prompts.

Source: ACP, "Content"; ACP, "Initialization", prompt capabilities.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from acp_inspector.journal import Frame
from acp_inspector.lint import on
from acp_inspector.lint.checks import claimed, schema, valid
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix
from acp_inspector.lint.rules.tool_calls import in_calls
from acp_inspector.lint.state import LintState
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import CALL_UPDATES, TEXT_CHUNKS, WHOLE_MESSAGES

rule = LintSubject("prompt-turn", page="content.mdx")
version_2 = LintSubject("version-2", version=2)

Block: TypeAlias = tuple[str, dict[str, Json]]
"""The path of a content block, and the block."""

TOOL_CALLS: Final = ("tool_call", "tool_call_update")
REQUIRED: Final = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": (),
}
"""Required string fields of each block type."""
BLOCKS: Final = (
    "content",
    "content.*",
    "content.content",
    "prompt.*",
    "summary.*",
    *in_calls("content.*.content"),
)
"""Where messages have content blocks."""
CLAIMS: Final = {1: "promptCapabilities.{}", 2: "session.prompt.{}"}
"""The capability path for a kind of block."""

_MIME_TYPE: Final = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+\s*(;.*)?", re.DOTALL)

SHOWN: Final = (
    on.request("session/request_permission"),
    on.update(*TEXT_CHUNKS, *WHOLE_MESSAGES, "session_message", *CALL_UPDATES, "compaction_update"),
)
"""Messages of the agent with content blocks."""
HOLDERS: Final = (on.request("session/prompt"), *SHOWN)
"""Messages with content blocks."""


def in_blocks(*members: str) -> tuple[str, ...]:
    """Return where members of content blocks are."""
    return tuple(f"{block}.{each}" for block in BLOCKS for each in members)


@dataclass(slots=True)
class _Blocks:
    """The blocks of the newest message, shared by all checks."""

    frame: Frame | None = None
    all: list[Block] = field(default_factory=list[Block])
    beyond_text: list[Block] = field(default_factory=list[Block])


def takes(state: LintState, capability: str) -> bool:
    """Return whether the agent declares support for a kind of block in prompts."""
    version = 2 if state.version == 2 else 1
    mime_type = state.claim("agent", CLAIMS[version].format(capability))
    return isinstance(mime_type, dict) if version == 2 else mime_type is True


@rule.error(137, "must", "client", on.request("session/prompt"))
@fix("Send images only to agents that claim to take them.")
@checked_by(
    claimed,
    v1="promptCapabilities.image",
    v2="session.prompt.image",
    at="prompt.*.type",
    value="image",
)
def undeclared_image() -> None:
    """`image` blocks only with the image prompt capability."""


@rule.error(138, "must", "client", on.request("session/prompt"))
@fix("Send audio only to agents that claim to take it.")
@checked_by(
    claimed,
    v1="promptCapabilities.audio",
    v2="session.prompt.audio",
    at="prompt.*.type",
    value="audio",
)
def undeclared_audio() -> None:
    """`audio` blocks only with the audio prompt capability."""


@rule.error(139, "must", "client", on.request("session/prompt"))
@fix("Send a resource_link, or the text, to agents that take no embedded context.")
@checked_by(
    claimed,
    v1="promptCapabilities.embeddedContext",
    v2="session.prompt.embeddedContext",
    at="prompt.*.type",
    value="resource",
)
def undeclared_embedded_resource() -> None:
    """`resource` blocks only with `embeddedContext`."""


@rule.error(
    140, "schema", "sender", *HOLDERS, case={"agent": "content.fields", "client": "prompt.fields"}
)
@details(source="content.mdx")
@fix("Give each content block all members that its type needs.")
@checked_by(schema, at=in_blocks("text|data|mimeType|uri|name|resource", "resource.uri|text|blob"))
def incomplete_content_block() -> None:
    """Blocks have their required fields: text: `text`; image/audio `data`+`mimeType`; resource_link
    `uri`+`name`; resource `resource.uri`+`text` or `blob`.
    """


@rule.warning(141, "schema", "sender", *HOLDERS, source="content.mdx")
@fix("Encode bytes as standard base64, with padding, without a prefix.")
def invalid_base64(context: Context) -> CheckResult:
    """`data` and `blob` decode as standard base64 (no data: URL prefix)."""
    found: CheckResult = None
    for path, block in _all(context).beyond_text:
        for where, data in _encoded(path, block):
            found = OK
            if data.startswith("data:"):
                return context.problem("the data is a data: URL, not base64", path=where)
            if not is_base64(data):
                return context.problem(f"no base64: {quoted(data[:40])}", path=where)
    return found


def _encoded(path: str, block: dict[str, Json]) -> Iterator[tuple[str, str]]:
    if block.get("type") in ("image", "audio") and isinstance(data := block.get("data"), str):
        yield f"{path}.data", data
    blob = as_object(block.get("resource")).get("blob")
    if block.get("type") == "resource" and isinstance(blob, str):
        yield f"{path}.resource.blob", blob


def is_base64(text: str) -> bool:
    """Return whether `text` is standard base64 with its padding, and nothing else."""
    try:
        b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


@rule.warning(142, "heuristic", "sender", *HOLDERS)
@fix("Name the MIME type as type/subtype; image/… for images.")
def wrong_mime_type(context: Context) -> CheckResult:
    """`mimeType` looks like type/subtype and fits the block (image/*, audio/*)."""
    found: CheckResult = None
    for path, block in _all(context).beyond_text:
        type_ = block.get("type")
        where = f"{path}.mimeType"
        mime_type: Json = block.get("mimeType")
        if type_ == "resource":
            where, mime_type = (
                f"{path}.resource.mimeType",
                as_object(block.get("resource")).get("mimeType"),
            )
        if not isinstance(mime_type, str):
            continue
        found = OK
        if not _MIME_TYPE.fullmatch(mime_type):
            return context.problem(f"no MIME type: {quoted(mime_type)}", path=where)
        if type_ in ("image", "audio") and not mime_type.lower().startswith(f"{type_}/"):
            return context.problem(f"the {type_} has the mimeType {quoted(mime_type)}", path=where)
    return found


@rule.error(143, "schema", "sender", *HOLDERS, version=1, case={"agent": "content.known"})
@fix("Use text, image, audio, resource_link or resource.")
@checked_by(
    schema,
    at=("content.type", "prompt.*.type", *in_calls("content.*.content.type")),
    kinds=("missing", "type", "word"),
)
def unknown_content_type() -> None:
    """Content block `type` is one of the five known ones."""


def _is_safe(source: str) -> bool:
    return source.lower().startswith(("https:", "data:"))


@version_2.error(462, "must", "agent", *SHOWN)
@fix("Point icons at https: or data: URIs.")
@checked_by(valid, at=in_blocks("icons.*.src"), test=_is_safe, what="neither https: nor data:")
def unsafe_icon_source() -> None:
    """`icons[].src` is an `https:` or `data:` URI."""


def _all(context: Context) -> _Blocks:
    seen = context.state.of(_Blocks)
    if seen.frame is not context.frame:
        seen.frame = context.frame
        seen.all = blocks_of(context)
        seen.beyond_text = [each for each in seen.all if each[1].get("type") != "text"]
    return seen


def blocks_of(context: Context) -> list[Block]:
    """Return every content block of a message, with its path."""
    if context.kind == "request":
        if context.method == "session/prompt":
            return _listed("params.prompt", context.params.get("prompt"))
        subject = as_object(context.params.get("subject"))
        return [
            *_in_tool_call("params.toolCall", as_object(context.params.get("toolCall"))),
            *_in_tool_call("params.subject.toolCall", as_object(subject.get("toolCall"))),
        ]
    update = context.update
    content = update.get("content")
    if context.variant in TEXT_CHUNKS:
        return [("params.update.content", as_object(content))] if isinstance(content, dict) else []
    if context.variant == "compaction_update":
        return _listed("params.update.summary", update.get("summary"))
    if context.variant == "tool_call_content_chunk":
        return _wrapped("params.update.content", as_object(content))
    if context.variant in TOOL_CALLS:
        return _in_tool_call("params.update", update)
    return _listed("params.update.content", content)


def _listed(path: str, value: Json) -> list[Block]:
    return [
        (f"{path}.{i}", as_object(block))
        for i, block in enumerate(as_list(value))
        if isinstance(block, dict)
    ]


def _in_tool_call(path: str, tool: dict[str, Json]) -> list[Block]:
    return [
        block
        for place, item in _listed(f"{path}.content", tool.get("content"))
        for block in _wrapped(place, item)
    ]


def _wrapped(path: str, item: dict[str, Json]) -> list[Block]:
    block = item.get("content")
    if item.get("type") != "content" or not isinstance(block, dict):
        return []
    return [(f"{path}.content", as_object(block))]
