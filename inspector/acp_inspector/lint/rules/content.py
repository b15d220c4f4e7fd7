"""Content blocks: what they have to hold, and which of them a prompt may hold.

Source: ACP, "Content"; ACP, "Initialization", prompt capabilities.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from acp_inspector.lint.moment import FINE, Found, Moment, entries, members, quoted
from acp_inspector.lint.registry import asks, check, updates
from acp_inspector.lint.state import State
from acp_protocol.jsonrpc import Json

Block: TypeAlias = tuple[str, dict[str, Json]]
"""Where a content block stands, and what it holds."""

MESSAGE_CHUNKS: Final = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
MESSAGES: Final = ("user_message", "agent_message", "agent_thought", "session_message")
ONE_BLOCK: Final = frozenset({*MESSAGE_CHUNKS, "compaction_summary_chunk", "session_message_chunk"})
TOOL_CALLS: Final = ("tool_call", "tool_call_update")
REQUIRED: Final = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": (),
}
"""Members that are strings in every block of a type."""
CLAIMS: Final = {
    1: "promptCapabilities.{}",
    2: "session.prompt.{}",
}
"""Where an agent claims that it takes blocks of a kind."""

_MIME_TYPE: Final = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+\s*(;.*)?", re.DOTALL)

HOLDERS: Final = (
    asks("session/prompt", "session/request_permission"),
    updates(
        *sorted(ONE_BLOCK),
        *MESSAGES,
        *TOOL_CALLS,
        "tool_call_content_chunk",
        "compaction_update",
    ),
)
"""Messages that hold content blocks."""


@dataclass(slots=True)
class _Blocks:
    """The blocks of the newest message, for all checks that look at them."""

    n: int = -1
    all: list[Block] = field(default_factory=list[Block])
    beyond_text: list[Block] = field(default_factory=list[Block])


@check(
    "ACP-L137", asks("session/prompt"), fix="Send images only to agents that claim to take them."
)
def images_are_taken(moment: Moment) -> Found:
    """Tell of images for an agent that did not say it takes them."""
    return _claimed(moment, "image", "image")


@check("ACP-L138", asks("session/prompt"), fix="Send audio only to agents that claim to take it.")
def audio_is_taken(moment: Moment) -> Found:
    """Tell of audio for an agent that did not say it takes it."""
    return _claimed(moment, "audio", "audio")


@check(
    "ACP-L139",
    asks("session/prompt"),
    fix="Send a resource_link, or the text, to agents that take no embedded context.",
)
def embedded_resources_are_taken(moment: Moment) -> Found:
    """Tell of embedded resources for an agent that did not say it takes them."""
    return _claimed(moment, "resource", "embeddedContext")


def takes(state: State, capability: str) -> bool:
    """Tell whether the agent said that its prompts may hold blocks of a kind."""
    version = 2 if state.version == 2 else 1
    said = state.claim("agent", CLAIMS[version].format(capability))
    return isinstance(said, dict) if version == 2 else said is True


def _claimed(moment: Moment, type_: str, capability: str) -> Found:
    if not moment.state.is_ready:
        return None
    for path, block in _all(moment).beyond_text:
        if block.get("type") == type_:
            if takes(moment.state, capability):
                return FINE
            claim = CLAIMS[2 if moment.version == 2 else 1].format(capability)
            return moment.problem(
                f"the prompt has a block of type {type_}, but the agent does not claim {claim}",
                moment.state.initialize,
                path=f"{path}.type",
            )
    return None


@check(
    "ACP-L140",
    *HOLDERS,
    fix="Give each content block all members that its type needs.",
)
def blocks_are_whole(moment: Moment) -> Found:
    """Tell of content blocks without what their type needs."""
    blocks = _all(moment).all
    if not blocks:
        return None
    for path, block in blocks:
        type_ = block.get("type")
        required = REQUIRED.get(type_) if isinstance(type_, str) else None
        if required is None:
            continue
        for name in required:
            if not isinstance(block.get(name), str):
                what = "is no string" if name in block else "is missing"
                return moment.problem(
                    f"{name} of a block of type {type_} {what}", path=f"{path}.{name}"
                )
        if type_ == "resource" and (found := _incomplete(moment, path, block)):
            return found
    return FINE


def _incomplete(moment: Moment, path: str, block: dict[str, Json]) -> Found:
    resource = block.get("resource")
    if not isinstance(resource, dict):
        return moment.problem("an embedded resource is no object", path=f"{path}.resource")
    held = members(resource)
    if not isinstance(held.get("uri"), str):
        return moment.problem("an embedded resource has no uri", path=f"{path}.resource.uri")
    if not isinstance(held.get("text"), str) and not isinstance(held.get("blob"), str):
        return moment.problem(
            "an embedded resource has neither text nor blob", path=f"{path}.resource.text"
        )
    return None


@check(
    "ACP-L141",
    *HOLDERS,
    fix="Encode bytes as standard base64, with padding, without a prefix.",
)
def bytes_are_base64(moment: Moment) -> Found:
    """Tell of data and blobs that do not decode."""
    found: Found = None
    for path, block in _all(moment).beyond_text:
        for where, data in _encoded(path, block):
            found = FINE
            if data.startswith("data:"):
                return moment.problem("the data is a data: URL, not base64", path=where)
            if not is_base64(data):
                return moment.problem(f"no base64: {quoted(data[:40])}", path=where)
    return found


def _encoded(path: str, block: dict[str, Json]) -> Iterator[tuple[str, str]]:
    if block.get("type") in ("image", "audio") and isinstance(data := block.get("data"), str):
        yield f"{path}.data", data
    blob = members(block.get("resource")).get("blob")
    if block.get("type") == "resource" and isinstance(blob, str):
        yield f"{path}.resource.blob", blob


def is_base64(text: str) -> bool:
    """Tell whether `text` is standard base64 with its padding, and nothing else."""
    try:
        b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


@check(
    "ACP-L142",
    *HOLDERS,
    fix="Name the MIME type as type/subtype; image/… for images.",
)
def mime_types_fit(moment: Moment) -> Found:
    """Tell of MIME types that are none, or that belong to another type of block."""
    found: Found = None
    for path, block in _all(moment).beyond_text:
        type_ = block.get("type")
        where = f"{path}.mimeType"
        said: Json = block.get("mimeType")
        if type_ == "resource":
            where, said = (
                f"{path}.resource.mimeType",
                members(block.get("resource")).get("mimeType"),
            )
        if not isinstance(said, str):
            continue
        found = FINE
        if not _MIME_TYPE.fullmatch(said):
            return moment.problem(f"no MIME type: {quoted(said)}", path=where)
        if type_ in ("image", "audio") and not said.lower().startswith(f"{type_}/"):
            return moment.problem(f"the {type_} is said to be {quoted(said)}", path=where)
    return found


@check(
    "ACP-L143",
    *HOLDERS,
    fix="Use text, image, audio, resource_link or resource.",
)
def types_of_blocks_are_known(moment: Moment) -> Found:
    """Tell of content blocks of a type that version 1 does not have."""
    blocks = _all(moment).all
    if not blocks:
        return None
    for path, block in blocks:
        type_ = block.get("type")
        if not isinstance(type_, str) or type_ not in REQUIRED:
            what = f"has the type {quoted(type_)}" if "type" in block else "has no type"
            return moment.problem(f"a content block {what}", path=f"{path}.type")
    return FINE


@check("ACP-L462", *HOLDERS, fix="Point icons at https: or data: URIs.")
def icons_are_safe_to_fetch(moment: Moment) -> Found:
    """Tell of icons that a client would have to fetch from elsewhere than the web."""
    found: Found = None
    for path, block in _all(moment).beyond_text:
        if moment.side != "agent" or block.get("type") != "resource_link":
            continue
        for i, icon in enumerate(map(members, entries(block.get("icons")))):
            source = icon.get("src")
            if not isinstance(source, str):
                continue
            found = FINE
            if not source.lower().startswith(("https:", "data:")):
                return moment.problem(
                    f"an icon is at {quoted(source)}", path=f"{path}.icons.{i}.src"
                )
    return found


def _all(moment: Moment) -> _Blocks:
    seen = moment.state.of(_Blocks)
    if seen.n != moment.n:
        seen.n = moment.n
        seen.all = blocks_of(moment)
        seen.beyond_text = [each for each in seen.all if each[1].get("type") != "text"]
    return seen


def blocks_of(moment: Moment) -> list[Block]:
    """Return every content block of a message, with its place."""
    if moment.kind == "request":
        if moment.method == "session/prompt":
            return _listed("params.prompt", moment.params.get("prompt"))
        subject = members(moment.params.get("subject"))
        return [
            *_in_tool_call("params.toolCall", members(moment.params.get("toolCall"))),
            *_in_tool_call("params.subject.toolCall", members(subject.get("toolCall"))),
        ]
    update = moment.update
    content = update.get("content")
    if moment.variant in ONE_BLOCK:
        return [("params.update.content", members(content))] if isinstance(content, dict) else []
    if moment.variant == "compaction_update":
        return _listed("params.update.summary", update.get("summary"))
    if moment.variant == "tool_call_content_chunk":
        return _wrapped("params.update.content", members(content))
    if moment.variant in TOOL_CALLS:
        return _in_tool_call("params.update", update)
    return _listed("params.update.content", content)


def _listed(path: str, value: Json) -> list[Block]:
    return [
        (f"{path}.{i}", members(block))
        for i, block in enumerate(entries(value))
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
    return [(f"{path}.content", members(block))]
