"""Models that speak as Anthropic's messages do.

Thoughts come with a seal, and have to be given back as they came while a turn runs; so each block
of them is kept whole beside the words that are shown.

Source: Anthropic API reference, Messages; "Streaming messages"; "Extended thinking".
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from acp_agent.models.errors import ServiceErrors
from acp_agent.models.http import Cassette, ModelClient, Timeouts
from acp_agent.models.providers import Provider
from acp_agent.models.system_prompt import instructions, spoken
from acp_agent.models.types import (
    AssistantMessage,
    Continue,
    HistoryEntry,
    ModelEvent,
    ModelOptions,
    ProjectInstructions,
    PromptMessage,
    ProviderBlock,
    ReasoningDelta,
    SlashCommand,
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
    members,
    read_arguments,
    schema_of,
    text,
)
from acp_protocol.json_codec import Json

LENGTH: Final = 16_384
"""The default limit of tokens of a reply: this API requires one."""
CACHED: Final[Mapping[str, Json]] = {"cache_control": {"type": "ephemeral"}}
"""Marks a place up to which the next request will say the same."""
ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What the API takes for the id of a call, which may be another service's."""
STOPS: Final[Mapping[str, ModelEvent]] = {
    "max_tokens": Stop("max_tokens", "the reply has reached the length that it may have"),
    "model_context_window_exceeded": Stop(
        "max_tokens", "the conversation fills all that the model can bear in mind"
    ),
    "refusal": Stop("refusal", "the service refuses to go on with this"),
    "pause_turn": Continue(),
}
"""What reasons mean that are no usual end, as the end of a turn and that of a call are."""
FOREIGN: Final = frozenset({"server_tool_use", "mcp_tool_use"})
"""Calls that the service carries out itself; they go back as they came, with their results."""


class MessagesModel:
    """A model behind Anthropic's messages."""

    commands: Sequence[SlashCommand] = ()

    def __init__(
        self,
        service: Provider,
        model: str,
        options: ModelOptions,
        *,
        tape: Cassette | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self.name = f"{service.prefix}:{model}"
        self.takes_images = service.takes_images if options.images is None else options.images
        self._model = model
        self._options = options
        self._client = ModelClient(service, "/v1/messages", model, timeouts=timeouts, tape=tape)

    def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[ModelEvent]:
        """Ask the service, and yield what it streams."""
        names = ToolNames(tools)

        def new_reader() -> MessagesReader:
            return MessagesReader(self._client.refusals, self.name, self._options, names)

        return self._client.reply(self._body(history, tools, names), new_reader)

    def _body(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec], names: ToolNames
    ) -> dict[str, Json]:
        messages = conversation(history, self.name, names, takes_images=self.takes_images)
        body: dict[str, Json] = {
            "model": self._model,
            "max_tokens": self._options.max_tokens or LENGTH,
            "messages": messages,
            "stream": True,
        }
        if system := instructions(self._options, history):
            body["system"] = [{"type": "text", "text": system, **CACHED}]
        # What is cached must not be a thought, which moves; a paused reply may end with one.
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
        match self._options.thinking:
            case None:
                pass
            case int(budget):
                body["thinking"] = {"type": "enabled", "budget_tokens": budget}
                body["max_tokens"] = budget + body["max_tokens"]
            case effort:
                body["thinking"] = {"type": "adaptive", "display": "summarized"}
                body["output_config"] = {"effort": effort}
        return body


def conversation(
    history: Sequence[HistoryEntry], maker: str, names: ToolNames, *, takes_images: bool
) -> list[dict[str, Json]]:
    """Return the history as messages that take turns; `maker`'s seals are given back."""
    messages: list[dict[str, Json]] = []
    waiting: list[str] = []
    ids = CallIds("toolu", ID)
    for place, entry in enumerate(history):
        match entry:
            case PromptMessage():
                _add(messages, "user", _user_blocks(entry, takes_images=takes_images))
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
    """Take the space from the end of a paused reply: the service refuses to go on behind it."""
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


def _user_blocks(message: PromptMessage, *, takes_images: bool) -> list[dict[str, Json]]:
    blocks: list[dict[str, Json]] = []
    if takes_images:
        blocks += [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": image.mime_type, "data": image.data},
            }
            for image in message.images
        ]
    return [*blocks, {"type": "text", "text": spoken(message, takes_images=takes_images)}]


def _assistant_blocks(
    events: Sequence[ModelEvent], maker: str, names: ToolNames, id_of: Callable[[str], str]
) -> list[dict[str, Json]]:
    """Return a reply as blocks; words in a row are one block, and empty ones are none."""
    blocks: list[dict[str, Json]] = []
    words: list[str] = []

    def close_words() -> None:
        content = "".join(words)
        words.clear()
        if content.strip():
            blocks.append({"type": "text", "text": content})

    for event in events:
        if isinstance(event, TextDelta):
            words.append(event.text)
        elif isinstance(event, ProviderBlock):
            if event.model == maker:
                close_words()
                blocks.append(dict(event.content))
        elif isinstance(event, ToolUse):
            close_words()
            called = {
                "id": id_of(event.id),
                "name": names.sent(event.name),
                "input": dict(event.arguments),
            }
            blocks.append({"type": "tool_use", **called})
    close_words()
    # Thoughts that led to nothing are taken by no service.
    has_content = any(not block["type"].endswith("thinking") for block in blocks)
    return blocks if has_content else []


@dataclass
class _Block:
    """A block of which pieces have come."""

    start: Mapping[str, Json]
    pieces: list[str] = field(default_factory=list[str])
    seal: list[str] = field(default_factory=list[str])

    @property
    def kind(self) -> str:
        return text(self.start.get("type"))


class MessagesReader:
    """Folds the messages of one stream into events."""

    def __init__(
        self, refusals: ServiceErrors, maker: str, options: ModelOptions, names: ToolNames
    ) -> None:
        self._names = names
        self._refusals = refusals
        self._maker = maker
        self._options = options
        self._blocks: dict[Json, _Block] = {}
        self._usage: dict[str, Json] = {}
        self._reason = ""
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether the service has said that this was all."""
        return self._is_over

    def feed(self, message: Mapping[str, Json]) -> Sequence[ModelEvent]:
        """Return the events that a message holds; a call comes when it is whole.

        Raises:
            ServiceFailedError: it is an error, or none of the messages that are known to come.
        """
        match text(message.get("type")):
            case "content_block_start":
                return self._started(message)
            case "content_block_delta":
                return self._grown(message)
            case "content_block_stop":
                return self._finished(message)
            case "message_start":
                self._note(members(message.get("message")).get("usage"))
            case "message_delta":
                self._note(message.get("usage"))
                delta = members(message.get("delta"))
                self._reason = text(delta.get("stop_reason")) or self._reason
            case "message_stop":
                self._is_over = True
                return self._last_events()
            case "error":
                raise self._refusals.broken_off(message)
            case "":
                if message.get("error"):
                    raise self._refusals.broken_off(message)
                raise self._refusals.malformed("a message without a type in its stream")
            case _:
                # New kinds may come at any time, says the documentation; "ping" is an old one.
                pass
        return ()

    def ended(self, *, is_announced: bool = False) -> Sequence[ModelEvent]:
        """Raise: the stream has ended without the message that ends it.

        Raises:
            ServiceFailedError: always.
        """
        del is_announced
        raise self._refusals.cut()

    def _started(self, message: Mapping[str, Json]) -> Sequence[ModelEvent]:
        block = _Block(members(message.get("content_block")))
        self._blocks[_index(message)] = block
        return _shown(block, text(block.start.get("text")), text(block.start.get("thinking")))

    def _grown(self, message: Mapping[str, Json]) -> Sequence[ModelEvent]:
        block = self._blocks.get(_index(message))
        if block is None:
            raise self._refusals.malformed("a piece of a block that has not begun")
        delta = members(message.get("delta"))
        block.seal.append(text(delta.get("signature")))
        if block.kind == "tool_use" or block.kind in FOREIGN:
            block.pieces.append(text(delta.get("partial_json")))
            return ()
        return _shown(block, text(delta.get("text")), text(delta.get("thinking")))

    def _finished(self, message: Mapping[str, Json]) -> Sequence[ModelEvent]:
        block = self._blocks.pop(_index(message), None)
        if block is None:
            return ()
        whole = "".join(block.pieces)
        if block.kind == "thinking":
            seal = "".join(block.seal) or text(block.start.get("signature"))
            content = {"type": "thinking", "thinking": whole, "signature": seal}
            return [ProviderBlock(self._maker, content)]
        if block.kind == "redacted_thinking" or block.kind.endswith("_tool_result"):
            return [ProviderBlock(self._maker, dict(block.start))]
        if block.kind in FOREIGN:
            called = self._call(block, whole)
            return [ProviderBlock(self._maker, {**block.start, "input": called.arguments})]
        if block.kind == "tool_use":
            return [self._call(block, whole)]
        return ()

    def _call(self, block: _Block, written: str) -> ToolUse:
        name = self._names.received(text(block.start.get("name")))
        id_ = text(block.start.get("id"))
        if not written and members(block.start.get("input")):
            return ToolUse(name, members(block.start.get("input")), id_)
        return read_arguments(name, written, id_)

    def _note(self, usage: Json) -> None:
        """Keep what is told of usage: each number counts from the beginning, the last one holds."""
        self._usage |= {name: count for name, count in members(usage).items() if count is not None}

    def _last_events(self) -> Sequence[ModelEvent]:
        if any(block.kind == "tool_use" for block in self._blocks.values()):
            # Carried out without its end, a call might do something else.
            raise self._refusals.cut()
        events: list[ModelEvent] = []
        if self._usage:
            events.append(used(self._usage, self._options))
        if self._reason in STOPS:
            events.append(STOPS[self._reason])
        return events


def _index(message: Mapping[str, Json]) -> int:
    return count(message.get("index"))


def _shown(block: _Block, content: str, thought: str) -> Sequence[ModelEvent]:
    """Keep a piece of text or of a thought, and return what is shown of it."""
    if block.kind == "text" and content:
        return [TextDelta(content)]
    if block.kind == "thinking" and thought:
        block.pieces.append(thought)
        return [ReasoningDelta(thought)]
    return ()


def used(usage: Mapping[str, Json], options: ModelOptions) -> TokenUsage:
    """Return what the service says that the reply took; it counts what is cached apart."""
    from_cache = count(usage.get("cache_read_input_tokens"))
    into_cache = count(usage.get("cache_creation_input_tokens"))
    taken = TokenUsage(
        input_tokens=count(usage.get("input_tokens")) + from_cache + into_cache,
        output_tokens=count(usage.get("output_tokens")),
        cache_read_tokens=from_cache,
        cache_write_tokens=into_cache,
        window=options.window,
    )
    return options.priced(taken)
