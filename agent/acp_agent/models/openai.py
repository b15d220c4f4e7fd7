"""Models behind chat completions, OpenAI's or those of another service.

The services differ where the original is silent: reasoning comes as `reasoning_content` or as
`reasoning`, tool calls whole or in pieces, with an index or without. All of it is read.

Source: OpenAI API reference, Chat Completions, "Streaming"; OpenRouter, "Reasoning tokens".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from acp_agent.models.errors import CUT, INVALID, ServiceErrors
from acp_agent.models.http import ServiceModel, StreamReader
from acp_agent.models.types import (
    AssistantMessage,
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
    amount,
    count,
    instructions,
    read_arguments,
    schema_of,
    spoken,
)
from acp_agent.settings.model import ModelSettings
from acp_protocol.json_codec import Json
from acp_protocol.json_values import as_list, as_object, as_string

CALLS_LIMIT: Final = 1000
"""The most tool calls in one reply."""
TOO_LONG: Final = Stop("max_tokens", "the reply has reached the length that it may have")
FILTERED: Final = Stop("refusal", "a filter of the service keeps the rest back")
CUT_REASONS: Final = frozenset({"length", "model_length"})
"""Reasons for an end in the middle; the second one is Mistral's."""
FAILED: Final = frozenset({"error", "abort", "insufficient_system_resource"})
"""Reasons that some services give if they failed."""


def conversation(
    history: Sequence[HistoryEntry], maker: str, names: ToolNames, *, takes_images: bool
) -> list[dict[str, Json]]:
    """Return the history as messages, with the provider blocks of the model `maker`."""
    messages: list[dict[str, Json]] = []
    waiting: list[str] = []
    ids = CallIds("call")
    for place, entry in enumerate(history):
        match entry:
            case PromptMessage():
                parts = [_text_part(spoken(entry, takes_images=takes_images))]
                for image in entry.images if takes_images else ():
                    url = f"data:{image.mime_type};base64,{image.data}"
                    parts.append({"type": "image_url", "image_url": {"url": url}})
                _add_user(messages, parts)
            case AssistantMessage(events):
                message, waiting = _assistant(events, maker, names, ids.at(place))
                # Services refuse a message without content.
                messages += [message] if len(message) > 1 else []
            case ToolResult():
                call_id = waiting.pop(0) if waiting else ""
                content = f"Failed: {entry.text}" if entry.is_failed else entry.text
                messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
            case ProjectInstructions():
                # Sent beside the messages.
                continue
    return messages


def _add_user(messages: list[dict[str, Json]], parts: list[dict[str, Json]]) -> None:
    """Add parts to the last message or a new one: some models refuse two user messages in a row."""
    if messages and messages[-1]["role"] == "user":
        last = messages[-1]
        before = last["content"]
        known = [_text_part(before)] if isinstance(before, str) else list(before)
        last["content"] = [*known, *parts]
    else:
        is_plain = len(parts) == 1 and parts[0]["type"] == "text"
        messages.append({"role": "user", "content": parts[0]["text"] if is_plain else parts})


def _text_part(content: str) -> dict[str, Json]:
    return {"type": "text", "text": content}


def _assistant(
    events: Sequence[ModelEvent], maker: str, names: ToolNames, id_of: Callable[[str], str]
) -> tuple[dict[str, Json], list[str]]:
    """Return a reply as a message, and the ids of its calls."""
    content = "".join(event.text for event in events if isinstance(event, TextDelta))
    message: dict[str, Json] = {"role": "assistant"}
    if content:
        message["content"] = content
    calls: list[dict[str, Json]] = []
    for event in events:
        if isinstance(event, ToolUse):
            arguments = json.dumps(dict(event.arguments), ensure_ascii=False)
            function = {"name": names.sent(event.name), "arguments": arguments}
            calls.append({"id": id_of(event.id), "type": "function", "function": function})
        elif isinstance(event, ProviderBlock) and event.model == maker:
            message |= event.content
    if calls:
        message["tool_calls"] = calls
        message.setdefault("content", None)
    return message, [call["id"] for call in calls]


@dataclass
class _Call:
    """A tool call that is not complete yet."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])


class ChatReader(StreamReader):
    """Turns the chunks of one response into events; it never ends before the stream does."""

    def __init__(
        self, errors: ServiceErrors, maker: str, settings: ModelSettings, names: ToolNames
    ) -> None:
        super().__init__(errors, maker, settings, names)
        self._calls: list[_Call] = []
        self._places: dict[int, _Call] = {}
        self._details: list[Json] = []
        self._reasoning: dict[str, list[str]] = {}
        """By the name of their field."""
        self._reason = ""
        self._usage: Mapping[str, Json] = {}
        self._has_refused = False
        self._has_text = False

    def feed(self, message: Mapping[str, Json]) -> Sequence[ModelEvent]:
        """Return the events of a chunk; calls come at the end, when they are complete.

        Raises:
            ServiceFailedError: it is an error, or no chunk.
        """
        if message.get("error") or message.get("object") == "error":
            raise self._errors.aborted(message)
        if "choices" not in message and "usage" not in message:
            raise self._errors.error(INVALID, "a chunk without choices in its stream")
        self._usage = as_object(message.get("usage")) or self._usage
        events: list[ModelEvent] = []
        for choice in as_list(message.get("choices"))[:1]:
            events += self._delta(as_object(as_object(choice).get("delta")))
            self._reason = as_string(as_object(choice).get("finish_reason")) or self._reason
        return events

    def pieces(self, response: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return a whole response as the one chunk of a stream."""
        if "choices" not in response:
            return [response]
        choices: list[Json] = []
        for choice in map(as_object, as_list(response["choices"])[:1]):
            message = as_object(choice.get("message"))
            calls = enumerate(map(as_object, as_list(message.get("tool_calls"))))
            numbered = [{**call, "index": place} for place, call in calls]
            choices.append({**choice, "delta": {**message, "tool_calls": numbered}})
        return [{**response, "choices": choices}]

    def ended(self, *, is_announced: bool = False) -> Sequence[ModelEvent]:
        """Return the calls, the usage, and why the reply ended early.

        Some services mark the end of the stream but give no reason: then the reply must have text
        or calls, and each call must be complete.

        Raises:
            ServiceFailedError: the response is incomplete.
        """
        if not self._reason and not (is_announced and self._is_whole()):
            raise self._errors.error(CUT)
        if self._reason in FAILED:
            raise self._errors.aborted({"type": "server_error", "message": self._reason})
        events: list[ModelEvent] = []
        # After "length" the last call may lack its end.
        if self._reason not in CUT_REASONS:
            events += self._read_calls()
        if self._usage:
            events.append(token_usage(self._usage, self._settings))
        if self._reason in CUT_REASONS:
            events.append(TOO_LONG)
        elif self._has_refused:
            events.append(Stop("refusal"))
        elif self._reason == "content_filter":
            events.append(FILTERED)
        return events

    def _is_whole(self) -> bool:
        """Return whether what was received may be a complete reply."""
        events = self._read_calls()
        is_broken = any(isinstance(event, ToolUse) and event.fault for event in events)
        # Empty arguments may be arguments that are still missing.
        is_open = any(not "".join(call.arguments).strip() for call in self._calls)
        return (self._has_text or bool(self._calls)) and not is_broken and not is_open

    def _read_calls(self) -> list[ModelEvent]:
        """Return the calls, after the reasoning that some models want back with the results."""
        if not self._calls:
            return []
        block: dict[str, Json] = {"reasoning_details": self._details}
        if not self._details:
            block = {name: "".join(pieces) for name, pieces in self._reasoning.items()}
        events: list[ModelEvent] = [ProviderBlock(self._maker, block)] if block else []
        return events + [
            read_arguments(self._names.received(call.name), "".join(call.arguments), call.id)
            for call in self._calls
        ]

    def _delta(self, delta: Mapping[str, Json]) -> list[ModelEvent]:
        reasoning = ""
        for name in ("reasoning_content", "reasoning"):
            if not reasoning and (reasoning := as_string(delta.get(name))):
                self._reasoning.setdefault(name, []).append(reasoning)
        refusal = as_string(delta.get("refusal"))
        self._has_refused = self._has_refused or bool(refusal)
        self._details += as_list(delta.get("reasoning_details"))
        for piece in as_list(delta.get("tool_calls")):
            self._add(as_object(piece))
        if function := as_object(delta.get("function_call")):
            # The former name, for a single call.
            self._add({"function": function})
        events: list[ModelEvent] = [ReasoningDelta(reasoning)] if reasoning else []
        content = as_string(delta.get("content")) + refusal
        self._has_text = self._has_text or bool(content)
        return [*events, TextDelta(content)] if content else events

    def _add(self, piece: Mapping[str, Json]) -> None:
        """Add a piece to its call."""
        function = as_object(piece.get("function"))
        call = self._call_of(piece)
        call.id = call.id or as_string(piece.get("id"))
        call.name = call.name or as_string(function.get("name"))
        arguments = function.get("arguments")
        # Some services send an object instead of its JSON.
        is_object = isinstance(arguments, dict)
        call.arguments.append(json.dumps(arguments) if is_object else as_string(arguments))

    def _call_of(self, piece: Mapping[str, Json]) -> _Call:
        """Return the call that `piece` belongs to: by its index, its id, or as the last one."""
        index, id_ = piece.get("index"), as_string(piece.get("id"))
        if isinstance(index, int):
            known = self._places.get(index)
        else:
            known = self._calls[-1] if self._calls and not id_ else None
        if known is None or (id_ and known.id and id_ != known.id):
            # Some services give all calls the same index, and ids of their own.
            if len(self._calls) >= CALLS_LIMIT:
                raise self._errors.error(
                    INVALID, f"more than {CALLS_LIMIT} tool calls in one answer"
                )
            known = _Call()
            self._calls.append(known)
        if isinstance(index, int):
            self._places[index] = known
        return known


def token_usage(usage: Mapping[str, Json], settings: ModelSettings) -> TokenUsage:
    """Return the tokens of a reply; the service's own price takes precedence."""
    details = as_object(usage.get("prompt_tokens_details"))
    written = as_object(usage.get("completion_tokens_details"))
    taken = TokenUsage(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        reasoning_tokens=count(written.get("reasoning_tokens")),
        cache_read_tokens=count(details.get("cached_tokens")),
        cache_write_tokens=count(details.get("cache_write_tokens")),
        cost=amount(usage.get("cost")),
        window=settings.window,
    )
    return taken.priced(settings.prices)


class ChatModel(ServiceModel):
    """A model behind chat completions."""

    path = "/chat/completions"
    reader = ChatReader

    def _body(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec], names: ToolNames
    ) -> dict[str, Json]:
        system = instructions(self._settings, history)
        system_messages = [{"role": "system", "content": system}] if system else []
        messages = conversation(history, self.name, names, takes_images=self.takes_images)
        body: dict[str, Json] = {
            "model": self._model,
            "messages": [*system_messages, *messages],
            "stream": self._settings.stream,
        }
        if self._settings.stream:
            body["stream_options"] = {"include_usage": True}
        if (temperature := self._settings.temperature) is not None:
            body["temperature"] = temperature
        if tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": names.sent(tool.name),
                        "description": tool.description,
                        "parameters": schema_of(tool),
                    },
                }
                for tool in tools
            ]
        is_router = self._service.prefix == "openrouter"
        if is_router:
            body["usage"] = {"include": True}
        if limit := self._settings.max_tokens:
            # The old name is the one that all but OpenAI's newer models know.
            is_first = self._service.prefix == "openai"
            body["max_completion_tokens" if is_first else "max_tokens"] = limit
        match self._settings.thinking:
            case None:
                pass
            case int(budget) if is_router:
                body["reasoning"] = {"max_tokens": budget}
            case str(effort) if is_router:
                body["reasoning"] = {"effort": effort}
            case effort:
                body["reasoning_effort"] = effort
        return body
