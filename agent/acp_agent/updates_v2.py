"""What the agent tells the client about a session while it works, in the words of version 2.

Messages have ids, tool calls are created by their first update, a turn is what lies between two
states. What was said is kept, to be told again to a client that resumes the session.

Source: ACP version 2, Prompt Lifecycle; Session Setup, "Resuming Sessions"; Tool Calls.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final, cast

import anyio

from acp_agent.models.model import Command
from acp_agent.patch import git_patch
from acp_agent.permissions import MODES, ModeId
from acp_agent.updates import ChunkKind, Teller, Updates
from acp_protocol.jsonrpc import Json

MODE: Final = "mode"
"""The id of the configuration option that the modes of version 1 have become."""
PLAN: Final = "main"
"""The id of the only plan."""
_TOLD_AGAIN: Final = frozenset(
    {
        "user_message",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call_update",
        "plan_update",
        "session_info_update",
    }
)


def new_message_id() -> str:
    """Return an id that no other message has."""
    return os.urandom(8).hex()


class UpdatesV2(Updates):
    """Sends the updates of one session of version 2, in order."""

    def __init__(self, client: Teller, session_id: str) -> None:
        super().__init__(client, session_id)
        self._message: tuple[ChunkKind, str] | None = None
        """The kind and the id of the message that the next piece of text belongs to."""
        self._told: list[tuple[str, Mapping[str, Json]]] = []
        self._telling = anyio.Lock(fast_acquire=True)
        """Held while an update is on its way, and for the whole of a replay: it comes first."""

    async def send(self, update: str, members: Mapping[str, Json]) -> None:
        """Send one update, and keep it if it belongs to the history."""
        async with self._telling:
            if update in _TOLD_AGAIN:
                self._keep(update, members)
            await super().send(update, members)

    async def replay(self, state: str, *, has_history: bool) -> None:
        """Tell the history again if that is wanted, and then what the session is at."""
        async with self._telling:
            for update, members in tuple(self._told) if has_history else ():
                await super().send(update, members)
            await super().send("state_update", {"state": state})

    def _keep(self, update: str, members: Mapping[str, Json]) -> None:
        """Keep an update; pieces of one message are kept as one piece."""
        last, before = self._told[-1] if self._told else ("", members)
        is_chunk = update.endswith("_chunk") and last == update
        if is_chunk and before["messageId"] == members["messageId"]:
            text: str = before["content"]["text"] + members["content"]["text"]
            members = {**members, "content": {"type": "text", "text": text}}
            self._told.pop()
        self._told.append((update, members))

    async def user(self, message_id: str, blocks: Sequence[Json]) -> None:
        """Send what the user said, with the id that its prompt was answered with."""
        self._message = None
        await self.send("user_message", {"messageId": message_id, "content": list(blocks)})

    async def state(self, state: str, **members: Json) -> None:
        """Send what the session is at."""
        await self.send("state_update", {"state": state, **members})

    async def asking(self) -> None:
        """Send that nothing goes on until the user has answered."""
        await self.state("requires_action")

    async def answered(self) -> None:
        """Send that it goes on."""
        await self.state("running")

    async def text(self, kind: ChunkKind, text: str) -> None:
        """Send a piece of what is said or thought, as a part of its message."""
        if self._message is None or self._message[0] != kind:
            self._message = (kind, new_message_id())
        content = {"type": "text", "text": text}
        await self.send(kind, {"messageId": self._message[1], "content": content})

    async def plan(self, entries: Sequence[Json]) -> None:
        """Send the whole plan."""
        plan = {"type": "items", "planId": PLAN, "entries": list(entries)}
        await self.send("plan_update", {"plan": plan})

    async def call(self, call_id: str, members: Mapping[str, Json]) -> None:
        """Send a new tool call, which has not begun; empty lists are left out."""
        self._message = None
        shown = {name: value for name, value in members.items() if value != []}
        await self.tool(call_id, {"status": "pending"} | shown)

    async def tool(self, call_id: str, members: Mapping[str, Json]) -> None:
        """Send what changed about a tool call."""
        self._message = None
        await self.send("tool_call_update", {"toolCallId": call_id, **_spoken(members)})

    async def mode(self, mode: ModeId) -> None:
        """Send that the user is asked at other times from now on."""
        await self.send("config_option_update", self.settings(mode))

    def offered(self, commands: Sequence[Command]) -> list[dict[str, Json]]:
        """Return commands as the protocol shows them."""
        return [
            {"type": "command", "name": command.name, "description": command.about}
            | ({"input": {"type": "text", "hint": command.hint}} if command.hint else {})
            for command in commands
        ]

    def question(
        self, call_id: str, members: Mapping[str, Json], options: Sequence[Json]
    ) -> dict[str, Json]:
        """Return the params of the request that asks for consent to a tool call."""
        call = {"toolCallId": call_id, "status": "pending", **_spoken(members)}
        return {
            "sessionId": self._session_id,
            "title": f"Allow: {members.get('title', call_id)}",
            "subject": {"type": "tool_call", "toolCall": call},
            "options": list(options),
        }

    def settings(self, mode: ModeId) -> dict[str, Json]:
        """Return what a session offers to choose from, as members of its answers."""
        options = [{"value": id_, "name": name, "description": about} for id_, name, about in MODES]
        return {
            "configOptions": [
                {
                    "configId": MODE,
                    "name": "Mode",
                    "category": "mode",
                    "type": "select",
                    "currentValue": mode,
                    "options": options,
                }
            ]
        }


def _spoken(members: Mapping[str, Json]) -> dict[str, Json]:
    """Return the members of a tool call with its diffs as version 2 has them."""
    spoken = dict(members)
    if isinstance(content := spoken.get("content"), list):
        spoken["content"] = [_block(block) for block in cast("list[Mapping[str, Json]]", content)]
    return spoken


def _block(block: Mapping[str, Json]) -> Mapping[str, Json]:
    if block.get("type") != "diff":
        return block
    path, old, new = block["path"], block["oldText"], block["newText"]
    operation = "add" if old is None else "modify"
    return {
        "type": "diff",
        "changes": [{"operation": operation, "path": path, "fileType": "text"}],
        "patch": {"format": "git_patch", "text": git_patch(path, old, new)},
    }
