"""What the agent tells the client about a session while it works.

Source: ACP, Prompt Turn, `session/update`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from acp_protocol.jsonrpc import Json


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

    async def text(self, update: str, text: str) -> None:
        """Send a piece of text as `agent_message_chunk` or `agent_thought_chunk`."""
        await self.send(update, {"content": {"type": "text", "text": text}})

    async def call(self, call_id: str, members: Mapping[str, Json]) -> None:
        """Send a new tool call, which has not begun; empty lists are left out."""
        shown = {name: value for name, value in members.items() if value != []}
        await self.send("tool_call", {"toolCallId": call_id, "status": "pending"} | shown)

    async def tool(self, call_id: str, members: Mapping[str, Json]) -> None:
        """Send what changed about a tool call."""
        await self.send("tool_call_update", {"toolCallId": call_id} | dict(members))
