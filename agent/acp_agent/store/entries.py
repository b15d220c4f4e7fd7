"""The entries of a session's history, and how they are stored as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any, Final, TypeAlias, cast

from acp_agent.models.types import (
    AssistantMessage,
    Attachment,
    HistoryEntry,
    Image,
    ModelEvent,
    PlanChange,
    PlannedStep,
    PromptMessage,
    ProviderBlock,
    ReasoningDelta,
    Stop,
    TextDelta,
    TokenUsage,
    ToolResult,
    ToolUse,
)
from acp_agent.store.errors import DAMAGED, StoreError
from acp_protocol.jsonrpc import Json


@dataclass(frozen=True, slots=True)
class LocalExchange:
    """A prompt that the agent itself answers; the model gets neither it nor the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that replaces everything before it."""

    summary: str
    requests: tuple[PromptMessage, ...] = ()
    """The last prompt, if it is not answered yet."""


HistoryItem: TypeAlias = HistoryEntry | LocalExchange | Summary

# The names in the file format outlive those of classes and fields.
_CLASSES: Final[Mapping[str, type[Any]]] = {
    "UserSaid": PromptMessage,
    "Attachment": Attachment,
    "Image": Image,
    "ModelSaid": AssistantMessage,
    "Say": TextDelta,
    "Think": ReasoningDelta,
    "ShowPlan": PlanChange,
    "Step": PlannedStep,
    "CallTool": ToolUse,
    "Sealed": ProviderBlock,
    "Stopped": Stop,
    "ToolAnswered": ToolResult,
    "Aside": LocalExchange,
    "Compacted": Summary,
}
_NAMES: Final[Mapping[type[Any], str]] = {kind: name for name, kind in _CLASSES.items()}
_RENAMED: Final[Mapping[type[Any], Mapping[str, str]]] = {
    PlanChange: {"entries": "steps"},
    ProviderBlock: {"model": "maker"},
    TokenUsage: {
        "input_tokens": "read",
        "output_tokens": "written",
        "reasoning_tokens": "thought",
        "cache_read_tokens": "cached_read",
        "cache_write_tokens": "cached_written",
    },
}
"""Fields whose names in the file format are others."""
_KINDS: Final[Mapping[type[Any], str]] = {
    TextDelta: "agent_message_chunk",
    ReasoningDelta: "agent_thought_chunk",
}


def _stored_names(kind: type[Any]) -> Mapping[str, str]:
    """Return the fields of a class, with their names in the file format."""
    renamed = _RENAMED.get(kind, {})
    return {each.name: renamed.get(each.name, each.name) for each in fields(kind)}


def write_entry(entry: Any, texts: Sequence[tuple[str, str]] = ()) -> dict[str, Json]:
    """Return an entry as JSON; texts that are among `texts` are written as their index there."""
    class_ = cast("type[Any]", type(entry))
    members: dict[str, Json] = {}
    parts: dict[str, Json] = {}
    for name, stored_name in _stored_names(class_).items():
        value = getattr(entry, name)
        if isinstance(value, tuple):
            nested = cast("tuple[Any, ...]", value)
            parts[stored_name] = [write_entry(part, texts) for part in nested]
        else:
            members[stored_name] = value
    written = {"is": _NAMES[class_], "members": members} | ({"parts": parts} if parts else {})
    kind = _KINDS.get(class_)
    for place, (shown_as, shown) in enumerate(texts):
        if shown_as == kind and shown and entry.text.startswith(shown):
            members["text"] = entry.text[len(shown) :]
            return written | {"behind": place}
    return written


def read_entry(value: Json, texts: Sequence[tuple[str, str]] = ()) -> HistoryItem:
    """Return an entry from its JSON; `texts` are those that it was written with.

    Fields that this version does not know are left out, and so are events of unknown types.

    Raises:
        StoreError: it is none.
    """
    entry = _read(value, texts)
    if not isinstance(
        entry, PromptMessage | AssistantMessage | ToolResult | LocalExchange | Summary
    ):
        raise StoreError(DAMAGED)
    return entry


def _read(value: Json, texts: Sequence[tuple[str, str]]) -> Any:
    try:
        kind: Any = _CLASSES[value["is"]]
        parts = {
            name: tuple(_read(part, texts) for part in each if part["is"] in _CLASSES)
            for name, each in value.get("parts", {}).items()
        }
        given = {**value["members"], **parts}
        if "behind" in value:
            given["text"] = texts[value["behind"]][1] + given["text"]
        names = _stored_names(kind).items()
        return kind(**{name: given[stored] for name, stored in names if stored in given})
    except (KeyError, IndexError, TypeError, AttributeError):
        raise StoreError(DAMAGED) from None


def write_usage(usage: TokenUsage) -> dict[str, Json]:
    """Return the usage of a session as JSON."""
    return {stored: getattr(usage, name) for name, stored in _stored_names(TokenUsage).items()}


def read_usage(value: Mapping[str, Json]) -> TokenUsage:
    """Return the usage from its JSON; nothing was used if it cannot be read."""
    names = _stored_names(TokenUsage).items()
    try:
        return TokenUsage(**{name: value[stored] for name, stored in names if stored in value})
    except TypeError:
        return TokenUsage(0, 0)


def joined(events: Sequence[ModelEvent]) -> Iterator[ModelEvent]:
    """Yield events with neighbouring pieces of text, or of thought, as one."""
    for kind, group in groupby(events, type):
        if kind in _KINDS:
            yield kind("".join(cast("TextDelta | ReasoningDelta", each).text for each in group))
        else:
            yield from group
