"""Updates of ACPex: a kind and its content instead of a tag and members.

Its tool calls have neither status nor kind nor title, and cannot fail: what official ACP requires
of these is guessed, and what is no output of a tool has no words here.

Source: ACPex, "Update Types".
"""

from __future__ import annotations

import json
import re
from typing import Final

from acp_protocol.dialects.acpex_blocks import read_block, text_of, write_block
from acp_protocol.dialects.members import Object, as_list, as_object, as_text, without
from acp_protocol.jsonrpc import Json, encode, parse

KINDS: Final = frozenset(
    {
        "message",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
    }
)
"""The words of this dialect for what an update is."""

_TOOL_KINDS: Final = {
    "read": ("read", "view", "cat", "open"),
    "edit": ("edit", "write", "create", "patch", "replace", "insert", "append", "update"),
    "delete": ("delete", "remove", "rm"),
    "move": ("move", "rename", "mv"),
    "search": ("search", "grep", "find", "glob", "list", "ls"),
    "execute": ("run", "exec", "execute", "shell", "bash", "terminal", "command"),
    "think": ("think", "thought", "reason"),
    "fetch": ("fetch", "http", "web", "browse", "url", "download", "curl"),
}
_NUMBER: Final = re.compile(r"\s*\d{1,9}[.)]\s+")


def read_update(update: Object) -> list[Object] | None:
    """Turn an update of the dialect into official ones; None where it makes no sense.

    Raises:
        ValueError: a block's URI is none.
    """
    content = update.get("content")
    members = as_object(content)
    match update.get("kind"):
        case "message" if isinstance(content, str):
            return [_chunk("agent_message_chunk", {"type": "text", "text": content})]
        case "agent_message_chunk" if isinstance(members.get("content"), list):
            return [_chunk("agent_message_chunk", read_block(each)) for each in members["content"]]
        case "agent_thought_chunk" if isinstance(members.get("thought"), str):
            return [_chunk("agent_thought_chunk", {"type": "text", "text": members["thought"]})]
        case "tool_call" if isinstance(members.get("toolCallId"), str):
            return [_read_tool_call(members)]
        case "tool_call_update" if isinstance(members.get("toolCallId"), str):
            return [_read_tool_update(members)]
        case "plan" if isinstance(members.get("steps"), list):
            entries = [_entry(step) for step in members["steps"] if isinstance(step, str)]
            return [{"sessionUpdate": "plan", "entries": entries}]
        case _:
            return None


def write_update(update: Object) -> list[Object] | None:
    """Turn an official update into those of the dialect; None where it has no words for it.

    Raises:
        ValueError: a number has no spelling in JSON.
    """
    match update.get("sessionUpdate"):
        case "agent_message_chunk" if "content" in update:
            content = [write_block(update["content"])]
            message = {"role": "assistant", "content": content}
            return [{"kind": "agent_message_chunk", "content": message}]
        case "agent_thought_chunk" if thought := text_of(update.get("content")):
            return [{"kind": "agent_thought_chunk", "content": {"thought": thought}}]
        case "tool_call":
            output = [] if _output(update) is None else [_write_tool_update(update)]
            return [_write_tool_call(update), *output]
        case "tool_call_update" if _output(update) is not None:
            return [_write_tool_update(update)]
        case "plan":
            texts = [as_text(as_object(entry).get("content")) for entry in _entries(update)]
            steps = [f"{number}. {text}" for number, text in enumerate(texts, start=1)]
            return [{"kind": "plan", "content": {"steps": steps}}]
        case _:
            return None


def kind_of(name: str) -> str:
    """Guess the official kind of a tool from its name."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    kinds = (kind for word in words for kind, names in _TOOL_KINDS.items() if word in names)
    return next(kinds, "other")


def tool_output(id: Json, output: Json) -> Object:  # noqa: A002
    """Return the official update that says what a tool put out.

    Raises:
        ValueError: a number has no spelling in JSON.
    """
    text = output if isinstance(output, str) else encode(output).decode()
    block = {"type": "text", "text": text}
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": id,
        "status": "completed",
        "content": [{"type": "content", "content": block}],
        "rawOutput": output,
    }


def output_text(update: Object) -> str:
    """Return what an official tool call has put out, as text; empty for nothing.

    Raises:
        ValueError: a number has no spelling in JSON.
    """
    raw = update.get("rawOutput")
    if isinstance(raw, str):
        return raw
    items = (as_object(item) for item in as_list(update.get("content")))
    text = "".join(text_of(item.get("content")) for item in items)
    return text or ("" if raw is None else encode(raw).decode())


def plan_entry(text: str, status: str = "pending") -> Object:
    """Return an official plan's entry."""
    return {"content": text, "priority": "medium", "status": status}


def _chunk(tag: str, block: Json) -> Object:
    return {"sessionUpdate": tag, "content": block}


def _read_tool_call(members: Object) -> Object:
    function = as_object(members.get("function"))
    name = as_text(function.get("name")) or members["toolCallId"]
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": members["toolCallId"],
        "title": name,
        "kind": kind_of(name),
        "status": "in_progress",
    }
    if "arguments" not in function:
        return call
    return call | {"rawInput": _arguments(function["arguments"])}


def _arguments(spelled: Json) -> Json:
    try:
        return parse(spelled.encode()) if isinstance(spelled, str) else spelled
    except ValueError:
        return spelled


def _read_tool_update(members: Object) -> Object:
    if "output" not in members:
        return {"sessionUpdate": "tool_call_update"} | without(members, "content")
    return tool_output(members["toolCallId"], members["output"])


def _write_tool_call(update: Object) -> Object:
    arguments = json.dumps(update.get("rawInput", {}), ensure_ascii=False, separators=(",", ":"))
    function = {"name": as_text(update.get("title")), "arguments": arguments}
    call = {"toolCallId": update.get("toolCallId"), "type": "function", "function": function}
    return {"kind": "tool_call", "content": call}


def _write_tool_update(update: Object) -> Object:
    content = {"toolCallId": update.get("toolCallId"), "output": _output(update)}
    return {"kind": "tool_call_update", "content": content}


def _output(update: Object) -> str | None:
    """Return a tool call's text; None while it may still run and has put out nothing."""
    text = output_text(update)
    return text if text or update.get("status") in ("completed", "failed") else None


def _entries(update: Object) -> list[Json]:
    return as_list(update.get("entries"))


def _entry(step: str) -> Object:
    return plan_entry(_NUMBER.sub("", step, count=1) if _NUMBER.match(step) else step)
