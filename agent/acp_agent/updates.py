"""What the agent tells the client about a session while it works, in the words of version 1.

Whoever works does not know which version is spoken: it says, plans and calls tools, and `Updates`
finds the words. `updates_v2` finds those of version 2.

Source: ACP, Prompt Turn, `session/update`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from acp_agent.models.model import Command
from acp_agent.permissions import MODES, ModeId
from acp_protocol.jsonrpc import Json

ChunkKind: TypeAlias = Literal["agent_message_chunk", "agent_thought_chunk"]


class Teller(Protocol):
    """Whoever can tell the client something."""

    async def notify(self, method: str, params: Json = None) -> None:
        """Send a notification."""
        ...


class Updates:
    """Sends the updates of one session, in order."""

    def __init__(self, client: Teller, session_id: str) -> None:
        self._client = client
        self._session_id = session_id

    async def send(self, update: str, members: Mapping[str, Json]) -> None:
        """Send one update; `update` is its `sessionUpdate`."""
        params = {"sessionUpdate": update} | dict(members)
        await self._client.notify(
            "session/update", {"sessionId": self._session_id, "update": params}
        )

    async def text(self, kind: ChunkKind, text: str) -> None:
        """Send a piece of what is said or thought."""
        await self.send(kind, {"content": {"type": "text", "text": text}})

    async def plan(self, entries: Sequence[Json]) -> None:
        """Send the whole plan."""
        await self.send("plan", {"entries": list(entries)})

    async def call(self, call_id: str, members: Mapping[str, Json]) -> None:
        """Send a new tool call, which has not begun; empty lists are left out."""
        shown = {name: value for name, value in members.items() if value != []}
        await self.send("tool_call", {"toolCallId": call_id, "status": "pending"} | shown)

    async def tool(self, call_id: str, members: Mapping[str, Json]) -> None:
        """Send what changed about a tool call; version 1 knows no status `cancelled`."""
        changed = {"toolCallId": call_id} | dict(members)
        if changed.get("status") == "cancelled":
            changed["status"] = "failed"
        await self.send("tool_call_update", changed)

    async def asking(self) -> None:
        """Nothing: that a question waits for the user is told by the question itself."""

    async def answered(self) -> None:
        """Nothing, as for `asking`."""

    async def title(self, title: str) -> None:
        """Send what the session is called."""
        await self.send("session_info_update", {"title": title})

    async def mode(self, mode: ModeId) -> None:
        """Send that the user is asked at other times from now on."""
        await self.send("current_mode_update", {"currentModeId": mode})

    async def commands(self, commands: Sequence[Command]) -> None:
        """Send which commands a prompt may begin with."""
        await self.send("available_commands_update", {"availableCommands": self.offered(commands)})

    def offered(self, commands: Sequence[Command]) -> list[dict[str, Json]]:
        """Return commands as the protocol shows them."""
        return [
            {"name": command.name, "description": command.about}
            | ({"input": {"hint": command.hint}} if command.hint else {})
            for command in commands
        ]

    def question(
        self, call_id: str, members: Mapping[str, Json], options: Sequence[Json]
    ) -> dict[str, Json]:
        """Return the params of the request that asks for consent to a tool call."""
        return {
            "sessionId": self._session_id,
            "toolCall": {"toolCallId": call_id, "status": "pending", **members},
            "options": list(options),
        }

    def settings(self, mode: ModeId) -> dict[str, Json]:
        """Return what a new session offers to choose from, as members of its answer."""
        modes = [{"id": id_, "name": name, "description": about} for id_, name, about in MODES]
        return {"modes": {"currentModeId": mode, "availableModes": modes}}
