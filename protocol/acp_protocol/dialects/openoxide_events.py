"""What an OpenOxide agent streams: events by type.

The blueprint names the categories of events, but not how they are spelled: text deltas, tool calls,
tool results, plan steps, diff blocks. The spelling here follows its own of other things. An event
may stand alone or be the params of a `session/update`.

Source: OpenOxide, "Prompt Turns", "Slash Command Advertisement".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_protocol.dialects.acpex_updates import kind_of, output_text, plan_entry, tool_output
from acp_protocol.dialects.interpreter import REMEMBERED, keep
from acp_protocol.dialects.members import Object, as_list, as_object, as_text
from acp_protocol.dialects.unified import diff_of, texts_of
from acp_protocol.jsonrpc import Json

_STATUSES: Final = frozenset({"pending", "in_progress", "completed"})


@dataclass(slots=True)
class _Turn:
    """What the running turn of a session has told."""

    steps: list[Object] = field(default_factory=list[Object])
    """The plan, as it was read."""
    told: dict[str, Json] = field(default_factory=dict[str, Json])
    """The steps that were written, and how far they were."""
    tool: str | None = None


class Events:
    """Reads and writes the events of one connection: plans come in steps, diffs without tools."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}
        self._diffs = 0

    def begin(self, session: str | None) -> None:
        """Forget the plan and the tool of the turn before."""
        self._turns.pop(session or "", None)

    def read(self, event: Object, session: str | None) -> Object | None:
        """Return the official update that says the same; None where the event makes no sense.

        Raises:
            ValueError: a number has no spelling in JSON.
        """
        match event.get("type"):
            case "text_delta" if isinstance(event.get("text"), str):
                return chunk({"type": "text", "text": event["text"]})
            case "tool_call" if isinstance(event.get("id"), str):
                self._turn(session).tool = event["id"]
                return _read_tool_call(event)
            case "tool_result" if isinstance(event.get("id"), str):
                return tool_output(event["id"], event.get("output", ""))
            case "plan_step" if isinstance(event.get("step"), str):
                return _read_step(event, self._turn(session).steps)
            case "diff" if is_diff(event):
                return self._read_diff(event, self._turn(session).tool)
            case None if isinstance(event.get("slash_commands"), list):
                return read_commands(event["slash_commands"])
            case _:
                return None

    def write(self, update: Object, session: str | None) -> list[Object] | None:
        """Turn an official update into events; None where there are none for it.

        Raises:
            ValueError: a number has no spelling in JSON.
        """
        if update.get("sessionUpdate") != "plan":
            return write_events(update)
        told = self._turn(session).told
        entries = [as_object(entry) for entry in as_list(update.get("entries"))]
        return [step for entry in entries if (step := _write_step(entry, told)) is not None]

    def _turn(self, session: str | None) -> _Turn:
        turn = self._turns.get(session or "") or _Turn()
        keep(self._turns, session or "", turn)
        return turn

    def _read_diff(self, event: Object, running: str | None) -> Object:
        content = [read_diff(event)]
        tool = as_text(event.get("id")) or running
        if tool is not None:
            return {"sessionUpdate": "tool_call_update", "toolCallId": tool, "content": content}
        self._diffs += 1
        return {
            "sessionUpdate": "tool_call",
            "toolCallId": f"diff-{self._diffs}",
            "title": f"Edit {event['path']}",
            "kind": "edit",
            "status": "completed",
            "content": content,
        }


def chunk(block: Json) -> Object:
    """Return the update of a block that the agent says."""
    return {"sessionUpdate": "agent_message_chunk", "content": block}


def write_events(update: Object) -> list[Object] | None:
    """Turn an official update that is no plan into events; None where there are none for it.

    Raises:
        ValueError: a number has no spelling in JSON.
    """
    match update.get("sessionUpdate"):
        case "agent_message_chunk" if as_object(update.get("content")).get("type") == "text":
            text = as_text(as_object(update["content"]).get("text"))
            return [{"type": "text_delta", "text": text}]
        case "tool_call":
            return [_write_tool_call(update), *_write_tool_update(update)]
        case "tool_call_update":
            return _write_tool_update(update) or None
        case "available_commands_update":
            return [{"slash_commands": write_commands(update.get("availableCommands"))}]
        case _:
            return None


def is_diff(value: Object) -> bool:
    """Tell whether `value` holds a diff."""
    return all(isinstance(value.get(name), str) for name in ("path", "unified_diff"))


def read_diff(value: Object) -> Object:
    """Return the official tool call content that holds the same diff."""
    before, after = texts_of(value["unified_diff"])
    return {"type": "diff", "path": value["path"], "oldText": before, "newText": after}


def write_diff(value: Object) -> Object:
    """Return the diff that an official tool call content holds."""
    before, after = value.get("oldText"), as_text(value.get("newText"))
    path = as_text(value.get("path"))
    diff = diff_of(path, before if isinstance(before, str) else None, after)
    return {"path": path, "unified_diff": diff}


def read_commands(commands: Json) -> Object:
    """Return the official update that advertises these slash commands."""
    members = [as_object(command) for command in as_list(commands)]
    available = [
        {
            "name": as_text(command.get("command")).removeprefix("/"),
            "description": as_text(command.get("description")),
        }
        for command in members
        if as_text(command.get("command")).removeprefix("/")
    ]
    return {"sessionUpdate": "available_commands_update", "availableCommands": available}


def write_commands(commands: Json) -> list[Json]:
    """Return officially advertised commands as slash commands."""
    members = [as_object(command) for command in as_list(commands)]
    return [
        {
            "command": f"/{as_text(command.get('name'))}",
            "description": as_text(command.get("description")),
        }
        for command in members
    ]


def _read_tool_call(event: Object) -> Object:
    name = as_text(event.get("name")) or event["id"]
    call = {
        "sessionUpdate": "tool_call",
        "toolCallId": event["id"],
        "title": name,
        "kind": kind_of(name),
        "status": "in_progress",
    }
    return call | ({"rawInput": event["input"]} if "input" in event else {})


def _write_tool_call(update: Object) -> Object:
    name = as_text(update.get("title"))
    event = {"type": "tool_call", "id": update.get("toolCallId"), "name": name}
    return event | ({"input": update["rawInput"]} if "rawInput" in update else {})


def _write_tool_update(update: Object) -> list[Object]:
    id_ = update.get("toolCallId")
    items = [as_object(item) for item in as_list(update.get("content"))]
    diffs = [write_diff(item) for item in items if item.get("type") == "diff"]
    events: list[Object] = [{"type": "diff", "id": id_} | diff for diff in diffs]
    text = output_text(update)
    if text or update.get("status") in ("completed", "failed"):
        events.append({"type": "tool_result", "id": id_, "output": text})
    return events


def _read_step(event: Object, steps: list[Object]) -> Object:
    """Add a step to the plan; one that is there and comes with a status has come that far."""
    text, status = event["step"], as_text(event.get("status"))
    places = [place for place, step in enumerate(steps) if step["content"] == text]
    entry = plan_entry(text, status if status in _STATUSES else "pending")
    if status and places:
        steps[places[0]] = entry
    elif len(steps) < REMEMBERED:
        steps.append(entry)
    return {"sessionUpdate": "plan", "entries": list(steps)}


def _write_step(entry: Object, told: dict[str, Json]) -> Object | None:
    """Return an entry of a plan as a step; None for what was told before."""
    text, status = as_text(entry.get("content")), as_text(entry.get("status")) or "pending"
    before = told.get(text)
    keep(told, text, status)
    if before == status:
        return None
    step = {"type": "plan_step", "step": text}
    return step if before is None and status == "pending" else step | {"status": status}
