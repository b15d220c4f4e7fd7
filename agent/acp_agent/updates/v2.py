"""Sends the updates of a session, in version 2.

Messages have ids, tool calls are created by their first update, a turn lies between two states.

Source: ACP version 2, Prompt Lifecycle; Session Setup, "Resuming Sessions"; Tool Calls.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from acp_agent.models.types import SlashCommand
from acp_agent.options import OfferedOption
from acp_agent.store.events import Event
from acp_agent.store.log import SessionLog
from acp_agent.tools.call import MOVE_CONTENT, OUTPUT_CONTENT
from acp_agent.updates.v1 import Notifier, RenderedUpdates, SessionUpdates, new_message_id
from acp_agent.world.diffs import git_move, git_patch
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import FINAL_STATUSES

PLAN_ID: Final = "main"
"""The id of the only plan."""
TERMINAL_UPDATE: Final = "terminal_update"
_TERMINAL: Final = "_terminal"


class SessionUpdatesV2(SessionUpdates):
    """Sends the updates of one session of version 2, in order."""

    shows_notices = True
    shows_compactions = True
    option_key = "configId"
    is_asking = False
    """Whether the session waits for the user."""

    def __init__(
        self,
        client: Notifier,
        session_id: str,
        log: SessionLog | None = None,
        new_id: Callable[[], str] = new_message_id,
    ) -> None:
        super().__init__(client, session_id, log, new_id)
        self._terminals: dict[str, Mapping[str, Json]] = {}
        """What the client knows of terminals in which something runs."""
        self._contents: dict[str, Sequence[Json]] = {}
        """What the client knows of the content of tool calls that run."""
        self._replayed: set[str] = set()
        """The ids of messages that the client knows from a replay."""

    async def echo(self, message_id: str, blocks: Sequence[Json]) -> None:
        """Send a prompt back, with the message id of its response."""
        await self.send("user_message", {"messageId": message_id, "content": list(blocks)})

    def render(self, event: Event) -> RenderedUpdates:
        """Return the updates of an event."""
        match event["what"]:
            case "user":
                yield "user_message", {"messageId": event["id"], "content": event["blocks"]}
            case "text":
                content = {"type": "text", "text": event["text"]}
                if self._is_replay and event["id"] not in self._replayed:
                    # The first piece creates the message, and those after it are chunks.
                    self._replayed.add(event["id"])
                    kind = event["kind"].removesuffix("_chunk")
                    yield kind, {"messageId": event["id"], "content": [content]}
                else:
                    yield event["kind"], {"messageId": event["id"], "content": content}
            case "compaction":
                yield "compaction_update", {"compactionId": event["id"], **event["members"]}
            case "plan":
                plan = {"type": "items", "planId": PLAN_ID, "entries": event["entries"]}
                yield "plan_update", {"plan": plan}
            case _:
                yield from self._render_call(event["id"], event["members"])

    def _render_call(self, call_id: str, members: Mapping[str, Json]) -> RenderedUpdates:
        terminal_id, status = call_id + _TERMINAL, members.get("status")
        is_over = status in FINAL_STATUSES
        blocks: list[Mapping[str, Json]] = members.get("content") or []
        for block in blocks:
            if block.get("type") == OUTPUT_CONTENT:
                yield TERMINAL_UPDATE, _terminal(terminal_id, block, is_over=is_over)
        update = {"toolCallId": call_id, **_with_content(members, terminal_id)}
        if status == "in_progress":
            update["capabilities"] = {"cancel": {}}
        elif is_over:
            update["capabilities"] = None
        yield "tool_call_update", update

    def forget(self) -> None:
        self._terminals.clear()
        self._contents.clear()
        self._replayed.clear()

    async def _send(self, update: str, members: Mapping[str, Json]) -> None:
        """Send an update; of a terminal and of content, only what the client does not know."""
        if update == "tool_call_update":
            members = await self._send_appended(members)
            if len(members) == 1:
                return
        if update != TERMINAL_UPDATE:
            await super()._send(update, members)
            return
        key: str = members["terminalId"]
        before = self._terminals.get(key, {})
        self._terminals[key] = members
        changed = {name: value for name, value in members.items() if before.get(name) != value}
        if before and "output" in changed:
            old, new = (b64decode(each["output"]["data"]) for each in (before, members))
            if new.startswith(old):
                del changed["output"]
                chunk = {"terminalId": key, "data": _encoded(new[len(old) :])}
                await super()._send("terminal_output_chunk", chunk)
        if "exitStatus" in members:
            del self._terminals[key]
        if changed:
            await super()._send(TERMINAL_UPDATE, {"terminalId": key, **changed})

    async def _send_appended(self, members: Mapping[str, Json]) -> Mapping[str, Json]:
        """Send as chunks what is appended to a call's content; return the rest of the update."""
        key: str = members["toolCallId"]
        before = self._contents.pop(key, [])
        now: Sequence[Json] = members.get("content") or before
        if now and members.get("status") not in FINAL_STATUSES:
            self._contents[key] = now
        if not before or "content" not in members or now[: len(before)] != before:
            return members
        for item in now[len(before) :]:
            chunk = {"toolCallId": key, "content": item}
            await super()._send("tool_call_content_chunk", chunk)
        return {name: value for name, value in members.items() if name != "content"}

    async def state(self, state: str, **members: Json) -> None:
        await self.send("state_update", {"state": state, **members})

    async def enter_waiting(self) -> None:
        self.is_asking = True
        await self.state("requires_action")

    async def leave_waiting(self) -> None:
        self.is_asking = False
        await self.state("running")

    def command_entries(self, commands: Sequence[SlashCommand]) -> list[dict[str, Json]]:
        return [
            {"type": "command", "name": command.name, "description": command.description}
            | ({"input": {"type": "text", "hint": command.hint}} if command.hint else {})
            for command in commands
        ]

    def permission_request(
        self, call_id: str, members: Mapping[str, Json], options: Sequence[Json]
    ) -> dict[str, Json]:
        """Return the params of `session/request_permission` for a tool call."""
        fields = _with_content(members, call_id + _TERMINAL)
        call = {"toolCallId": call_id, "status": "pending", **fields}
        return {
            "sessionId": self._session_id,
            "title": f"Allow: {members.get('title', call_id)}",
            "subject": {"type": "tool_call", "toolCall": call},
            "options": list(options),
        }

    def settings(
        self, options: Sequence[OfferedOption], chosen: Mapping[str, str]
    ) -> dict[str, Json]:
        """Return the options of a session as fields of a result; the mode is one of them."""
        return {"configOptions": super().settings(options, chosen)["configOptions"]}


def _with_content(members: Mapping[str, Json], terminal_id: str) -> dict[str, Json]:
    """Return the fields of a tool call with its diffs and its output as version 2 has them."""
    content: Json = members.get("content")
    if not isinstance(content, list):
        return dict(members)
    blocks = cast("list[Mapping[str, Json]]", content)
    return {**members, "content": [_block(block, terminal_id) for block in blocks]}


def _block(block: Mapping[str, Json], terminal: str) -> Mapping[str, Json]:
    if block.get("type") == OUTPUT_CONTENT:
        return {"type": "terminal", "terminalId": terminal}
    if block.get("type") == MOVE_CONTENT:
        return _moved(block["oldPath"], block["path"], block["fileType"])
    if block.get("type") != "diff":
        return block
    path, old, new = block["path"], block["oldText"], block["newText"]
    operation = "add" if old is None else "modify"
    return {
        "type": "diff",
        "changes": [{"operation": operation, "path": path, "fileType": "text"}],
        "patch": {"format": "git_patch", "text": git_patch(path, old, new)},
    }


def _moved(old: str, new: str, file_type: str | None) -> Mapping[str, Json]:
    """Return a move as a diff; git knows no directories, so no patch shows how one is moved."""
    change = {"operation": "move", "oldPath": old, "path": new}
    diff = {"type": "diff", "changes": [change]}
    if file_type is not None:
        change["fileType"] = file_type
    if file_type == "directory":
        return diff
    return diff | {"patch": {"format": "git_patch", "text": git_move(old, new)}}


def call_of(terminal_id: str) -> str:
    """Return the id of the tool call that shows a terminal; empty if there is none."""
    return terminal_id.removesuffix(_TERMINAL) if terminal_id.endswith(_TERMINAL) else ""


def _terminal(key: str, block: Mapping[str, Json], *, is_over: bool) -> dict[str, Json]:
    """Return the state of a terminal; nothing runs in it when its call `is_over`."""
    sent: dict[str, Json] = {
        "terminalId": key,
        "command": block["command"],
        "cwd": block["cwd"],
        "output": {"data": _encoded(block["text"].encode(errors="replace"))},
    }
    ending: Json = block["ending"] if block["ending"] is not None or not is_over else {}
    if ending is None:
        return sent | {"capabilities": {"cancel": {}}}
    return sent | {"exitStatus": ending, "capabilities": None}


def _encoded(data: bytes) -> str:
    return b64encode(data).decode()
