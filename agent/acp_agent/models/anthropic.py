"""Models behind Anthropic's messages.

Reasoning is signed, and has to be sent back unchanged while a turn runs; so each block of it is
kept beside the text that is shown.

Source: Anthropic API reference, Messages; "Streaming messages"; "Extended thinking".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from acp_agent.models.errors import CUT, INVALID, ServiceErrors
from acp_agent.models.http import ServiceModel, StreamReader
from acp_agent.models.types import (
    AssistantMessage,
    Continue,
    HistoryEntry,
    ModelEvent,
    ProjectInstructions,
    PromptMessage,
    ProviderBlock,
    ReasoningDelta,
    Stop,
    TextDelta,
    TokenUsage,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from acp_agent.models.wire import (
    CallIds,
    ToolNames,
    count,
    instructions,
    read_arguments,
    schema_of,
    spoken,
)
from acp_agent.settings.model import ModelSettings
from acp_protocol.json_codec import Json
from acp_protocol.json_values import as_list, as_object, as_string

LENGTH: Final = 16_384
"""The default limit of tokens of a reply: this API requires one."""
CACHED: Final[Mapping[str, Json]] = {"cache_control": {"type": "ephemeral"}}
"""Marks where the part that the next request repeats ends."""
ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Valid ids of calls; those of another service may be invalid."""
STOPS: Final[Mapping[str, ModelEvent]] = {
    "max_tokens": Stop("max_tokens", "the reply has reached the length that it may have"),
    "model_context_window_exceeded": Stop(
        "max_tokens", "the conversation fills all that the model can bear in mind"
    ),
    "refusal": Stop("refusal", "the service refuses to go on with this"),
    "pause_turn": Continue(),
}
"""Reasons for an unusual end."""
FOREIGN: Final = frozenset({"server_tool_use", "mcp_tool_use"})
"""Calls that the service runs itself; they are sent back unchanged, with their results."""


def conversation(
    history: Sequence[HistoryEntry], maker: str, names: ToolNames, *, takes_images: bool
) -> list[dict[str, Json]]:
    """Return the history as alternating messages, with the provider blocks of `maker`."""
    messages: list[dict[str, Json]] = []
    waiting: list[str] = []
    ids = CallIds("toolu", ID)
    for place, entry in enumerate(history):
        match entry:
            case PromptMessage():
                blocks = [
                    {
                        "type": "image",
                        "source": {
                            "type": "base64",
                            "media_type": image.mime_type,
                            "data": image.data,
                        },
                    }
                    for image in (entry.images if takes_images else ())
                ]
                content = spoken(entry, takes_images=takes_images)
                _add(messages, "user", [*blocks, {"type": "text", "text": content}])
            case AssistantMessage(events):
                blocks = _assistant_blocks(events, maker, names, ids.at(place))
                waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
                _add(messages, "assistant", blocks)
            case ToolResult():
                result: dict[str, Json] = {
                    "type": "tool_result",
                    "tool_use_id": waiting.pop(0) if waiting else "",
                    "content": entry.text or "(nothing)",
                }
                if entry.is_failed:
                    result["is_error"] = True
                _add(messages, "user", [result])
            case ProjectInstructions():
                # Sent beside the messages.
                continue
            case _:
                assert_never(entry)
    _trim(messages)
    return messages


def _trim(messages: list[dict[str, Json]]) -> None:
    """Remove trailing space of a paused reply: the service refuses to continue after it."""
    if messages and messages[-1]["role"] == "assistant":
        last = messages[-1]["content"][-1]
        if last["type"] == "text":
            last["text"] = last["text"].rstrip()


def _add(messages: list[dict[str, Json]], role: str, blocks: list[dict[str, Json]]) -> None:
    """Add blocks to the last message if it is of the same role, or as a new one."""
    if not blocks:
        return
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": blocks})


def _assistant_blocks(
    events: Sequence[ModelEvent], maker: str, names: ToolNames, id_of: Callable[[str], str]
) -> list[dict[str, Json]]:
    """Return a reply as blocks, with adjacent text in one block."""
    blocks: list[dict[str, Json]] = []
    parts: list[str] = []

    def close_parts() -> None:
        content = "".join(parts)
        parts.clear()
        if content.strip():
            blocks.append({"type": "text", "text": content})

    for event in events:
        if isinstance(event, TextDelta):
            parts.append(event.text)
        elif isinstance(event, ProviderBlock):
            if event.model == maker:
                close_parts()
                blocks.append(dict(event.content))
        elif isinstance(event, ToolUse):
            close_parts()
            called = {
                "id": id_of(event.id),
                "name": names.sent(event.name),
                "input": dict(event.arguments),
            }
            blocks.append({"type": "tool_use", **called})
    close_parts()
    # The service refuses a message that has only reasoning.
    has_content = any(not block["type"].endswith("thinking") for block in blocks)
    return blocks if has_content else []


@dataclass
class _Block:
    """A content block that is not complete yet."""

    start: Mapping[str, Json]
    pieces: list[str] = field(default_factory=list[str])
    signature: list[str] = field(default_factory=list[str])

    @property
    def kind(self) -> str:
        return as_string(self.start.get("type"))


class MessagesReader(StreamReader):
    """Turns the messages of one response into events."""

    def __init__(
        self, errors: ServiceErrors, maker: str, settings: ModelSettings, names: ToolNames
    ) -> None:
        super().__init__(errors, maker, settings, names)
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, Json] = {}
        self._reason = ""

    def feed(self, message: Mapping[str, Json]) -> Sequence[ModelEvent]:
        """Return the events of a message; a tool call comes when it is complete.

        Raises:
            ServiceFailedError: it is an error, or invalid.
        """
        index = count(message.get("index"))
        delta = as_object(message.get("delta"))
        match as_string(message.get("type")):
            case "content_block_start":
                block = self._blocks[index] = _Block(as_object(message.get("content_block")))
                return _text_events(block, block.start)
            case "content_block_delta":
                block = self._blocks.get(index)
                if block is None:
                    raise self._errors.error(INVALID, "a piece of a block that has not begun")
                return _add_delta(block, delta)
            case "content_block_stop":
                block = self._blocks.pop(index, None)
                return self._finished(block) if block is not None else ()
            case "message_start":
                self._add_usage(as_object(message.get("message")).get("usage"))
            case "message_delta":
                self._add_usage(message.get("usage"))
                self._reason = as_string(delta.get("stop_reason")) or self._reason
            case "message_stop":
                self.is_over = True
                return self._last_events()
            case "" if not message.get("error"):
                raise self._errors.error(INVALID, "a message without a type in its stream")
            case "" | "error":
                raise self._errors.aborted(message)
            case _:
                # The API may add types at any time.
                pass
        return ()

    def pieces(self, response: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return a whole response as the messages of a stream."""
        if response.get("type") != "message":
            return [response]
        pieces: list[Mapping[str, Json]] = []
        for place, block in enumerate(as_list(response.get("content"))):
            begun = {"type": "content_block_start", "index": place, "content_block": block}
            pieces += [begun, {"type": "content_block_stop", "index": place}]
        reason = {"stop_reason": response.get("stop_reason")}
        last = {"type": "message_delta", "delta": reason, "usage": response.get("usage")}
        return [*pieces, last, {"type": "message_stop"}]

    def ended(self, *, is_announced: bool = False) -> Sequence[ModelEvent]:
        """Raise: the stream ended without `message_stop`.

        Raises:
            ServiceFailedError: always.
        """
        del is_announced
        raise self._errors.error(CUT)

    def _finished(self, block: _Block) -> Sequence[ModelEvent]:
        content = "".join(block.pieces)
        if block.kind == "thinking":
            signature = "".join(block.signature) or as_string(block.start.get("signature"))
            thinking = {"type": "thinking", "thinking": content, "signature": signature}
            return [ProviderBlock(self._maker, thinking)]
        if block.kind == "redacted_thinking" or block.kind.endswith("_tool_result"):
            return [ProviderBlock(self._maker, dict(block.start))]
        if block.kind != "tool_use" and block.kind not in FOREIGN:
            return ()
        name = self._names.received(as_string(block.start.get("name")))
        id_ = as_string(block.start.get("id"))
        if not content and (whole := as_object(block.start.get("input"))):
            call = ToolUse(name, whole, id_)
        else:
            call = read_arguments(name, content, id_)
        if block.kind in FOREIGN:
            return [ProviderBlock(self._maker, {**block.start, "input": call.arguments})]
        return [call]

    def _add_usage(self, usage: Json) -> None:
        """Keep the numbers of `usage`: each counts from the beginning, so the last one holds."""
        self._usage |= {
            name: count for name, count in as_object(usage).items() if count is not None
        }

    def _last_events(self) -> Sequence[ModelEvent]:
        if any(block.kind == "tool_use" for block in self._blocks.values()):
            # Run without its end, a call might do something else.
            raise self._errors.error(CUT)
        events: list[ModelEvent] = []
        if self._usage:
            events.append(token_usage(self._usage, self._settings))
        if self._reason in STOPS:
            events.append(STOPS[self._reason])
        return events


def _add_delta(block: _Block, delta: Mapping[str, Json]) -> Sequence[ModelEvent]:
    block.signature.append(as_string(delta.get("signature")))
    if block.kind == "tool_use" or block.kind in FOREIGN:
        block.pieces.append(as_string(delta.get("partial_json")))
        return ()
    return _text_events(block, delta)


def _text_events(block: _Block, piece: Mapping[str, Json]) -> Sequence[ModelEvent]:
    """Return the text in `piece`, the start or a delta of `block`; reasoning is kept, too."""
    if block.kind == "text" and (content := as_string(piece.get("text"))):
        return [TextDelta(content)]
    if block.kind == "thinking" and (thinking := as_string(piece.get("thinking"))):
        block.pieces.append(thinking)
        return [ReasoningDelta(thinking)]
    return ()


def token_usage(usage: Mapping[str, Json], settings: ModelSettings) -> TokenUsage:
    """Return the tokens of a reply; the service counts cached ones apart."""
    from_cache = count(usage.get("cache_read_input_tokens"))
    into_cache = count(usage.get("cache_creation_input_tokens"))
    taken = TokenUsage(
        input_tokens=count(usage.get("input_tokens")) + from_cache + into_cache,
        output_tokens=count(usage.get("output_tokens")),
        cache_read_tokens=from_cache,
        cache_write_tokens=into_cache,
        window=settings.window,
    )
    return taken.priced(settings.prices)


class MessagesModel(ServiceModel):
    """A model behind Anthropic's messages."""

    path = "/v1/messages"
    reader = MessagesReader

    def _body(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec], names: ToolNames
    ) -> dict[str, Json]:
        messages = conversation(history, self.name, names, takes_images=self.takes_images)
        body: dict[str, Json] = {
            "model": self._model,
            "max_tokens": self._settings.max_tokens or LENGTH,
            "messages": messages,
            "stream": self._settings.stream,
        }
        temperature = self._settings.temperature
        if temperature is not None and self._settings.thinking is None:
            # The scale of others ends at 2.
            body["temperature"] = min(temperature, 1.0)
        if system := instructions(self._settings, history):
            body["system"] = [{"type": "text", "text": system, **CACHED}]
        # Reasoning must not be cached; a paused reply may end with it.
        if user_messages := [each for each in messages if each["role"] == "user"]:
            user_messages[-1]["content"][-1] |= CACHED
        if tools:
            body["tools"] = [
                {
                    "name": names.sent(tool.name),
                    "description": tool.description,
                    "input_schema": schema_of(tool),
                }
                for tool in tools
            ]
        match self._settings.thinking:
            case None:
                pass
            case int(budget):
                body["thinking"] = {"type": "enabled", "budget_tokens": budget}
                body["max_tokens"] = budget + body["max_tokens"]
            case effort:
                body["thinking"] = {"type": "adaptive", "display": "summarized"}
                body["output_config"] = {"effort": effort}
        return body
