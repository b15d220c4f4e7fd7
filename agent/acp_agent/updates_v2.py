"""What the agent tells the client about a session while it works, in the words of version 2.

Messages have ids, tool calls are created by their first update, a turn is what lies between two
states.

Source: ACP version 2, Prompt Lifecycle; Session Setup, "Resuming Sessions"; Tool Calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from acp_agent.models.model import Command
from acp_agent.patch import git_patch
from acp_agent.sessions import events
from acp_agent.sessions.events import Event
from acp_agent.sessions.options import Option
from acp_agent.updates import Said, Updates, shown
from acp_protocol.jsonrpc import Json

PLAN: Final = "main"
"""The id of the only plan."""


class UpdatesV2(Updates):
    """Sends the updates of one session of version 2, in order."""

    shows_notices = True
    is_asking = False
    """Whether nothing goes on until the user has answered."""

    async def user(self, message_id: str, blocks: Sequence[Json]) -> None:
        """Send what the user said, with the id that its prompt was answered with."""
        self._message = None
        await self._tell(events.user(message_id, list(blocks)))

    def words(self, event: Event) -> Said:
        """Return an event as the updates that tell it."""
        match event["what"]:
            case "user":
                yield "user_message", {"messageId": event["id"], "content": event["blocks"]}
            case "text":
                content = {"type": "text", "text": event["text"]}
                yield event["kind"], {"messageId": event["id"], "content": content}
            case "plan":
                plan = {"type": "items", "planId": PLAN, "entries": event["entries"]}
                yield "plan_update", {"plan": plan}
            case _:
                yield "tool_call_update", {"toolCallId": event["id"], **_spoken(event["members"])}

    async def state(self, state: str, **members: Json) -> None:
        """Send what the session is at."""
        await self.send("state_update", {"state": state, **members})

    async def asking(self) -> None:
        """Send that nothing goes on until the user has answered."""
        self.is_asking = True
        await self.state("requires_action")

    async def answered(self) -> None:
        """Send that it goes on."""
        self.is_asking = False
        await self.state("running")

    async def chosen(
        self, option: Option, chosen: Mapping[str, str], all_: Sequence[Option]
    ) -> None:
        """Send that something else was chosen."""
        del option
        await self.send("config_option_update", self.settings(all_, chosen))

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

    def settings(self, options: Sequence[Option], chosen: Mapping[str, str]) -> dict[str, Json]:
        """Return what a session offers to choose from, as members of its answers."""
        return {
            "configOptions": [shown(option, "configId", chosen[option.id]) for option in options]
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
