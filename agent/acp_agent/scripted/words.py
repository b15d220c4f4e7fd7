"""What a session tells its client, in the words of version 1; `words_v2` has those of version 2.

Steps do not know the version: they say, plan and call tools, and the words are found here.

Source: ACP, Prompt Turn; Tool Calls; Agent Plan; Session Modes; Slash Commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from acp_agent.scripted.values import members
from acp_protocol.jsonrpc import Json

Speaker: TypeAlias = Literal["agent_message", "agent_thought", "user_message"]
CONSENTS: Final = {
    "allow_once": "Allow",
    "allow_always": "Always allow",
    "reject_once": "Reject",
    "reject_always": "Always reject",
}
"""The kinds of options of a permission request, and what they are called here."""


class Words:
    """The words of one session; it knows which tool calls there are and what they show."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.calls: dict[str, list[Json]] = {}
        """What each tool call shows."""
        self.terminals: set[str] = set()
        """Terminals of ours that were told."""

    def message(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        """Return a piece of what somebody says."""
        named = {} if message_id is None else {"messageId": message_id}
        return {"sessionUpdate": f"{speaker}_chunk", **named, "content": block}

    def whole(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        """Return all that somebody says in a message, in place of what was said of it before."""
        return self.message(speaker, block, message_id)

    def prompt(self, blocks: Sequence[Json], message_id: str) -> list[Json]:
        """Return what the user said, as a replay tells it."""
        del message_id
        return [self.message("user_message", block, None) for block in blocks]

    def plan(self, entries: Sequence[Json]) -> Json:
        """Return the whole plan."""
        return {"sessionUpdate": "plan", "entries": list(entries)}

    def call(self, call_id: str, changed: Mapping[str, Json]) -> Json:
        """Return a tool call when it is told first, and what has changed later."""
        is_new = call_id not in self.calls
        self._remember(call_id, changed)
        told = self.spoken(changed)
        if is_new:
            begin = {"toolCallId": call_id, "title": call_id, "status": "pending"}
            return {"sessionUpdate": "tool_call", **begin, **told}
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **told}

    def more(self, call_id: str, content: Json) -> Json:
        """Return that a tool call shows something more."""
        self.calls.setdefault(call_id, []).append(content)
        shown = self.spoken({"content": list(self.calls[call_id])})
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **shown}

    def terminal(
        self, terminal_id: str, call_id: str | None, command: Json, cwd: str
    ) -> list[Json]:
        """Return that there is a terminal of ours, which a tool call shows; only version 2 has."""
        del call_id, command, cwd
        self.terminals.add(terminal_id)
        return []

    def printed(self, terminal_id: str, call_id: str | None, output: Sequence[bytes]) -> list[Json]:
        """Return what a terminal of ours prints; here its tool call shows it as text."""
        del terminal_id
        text = b"".join(output).decode("utf-8", "replace")
        return [self.more(call_id, shown_text(text))] if call_id is not None and text else []

    def exited(self, terminal_id: str, code: int) -> list[Json]:
        """Return that the command of a terminal of ours has ended."""
        del terminal_id, code
        return []

    def question(
        self, call_id: str, title: str, changed: Mapping[str, Json], options: Sequence[Json]
    ) -> Json:
        """Return the params of the request for consent to a tool call."""
        del title
        self._remember(call_id, changed)
        return {
            "sessionId": self.session_id,
            "toolCall": {"toolCallId": call_id, **self.spoken(changed)},
            "options": list(options),
        }

    def mode(self, mode: str, modes: Sequence[str]) -> Json:
        """Return that the session is in another mode."""
        del modes
        return {"sessionUpdate": "current_mode_update", "currentModeId": mode}

    def modes(self, mode: str, modes: Sequence[str]) -> dict[str, Json]:
        """Return the modes, as a member of the answer that opens a session."""
        listed = [{"id": each, "name": each.capitalize()} for each in modes]
        return {"modes": {"currentModeId": mode, "availableModes": listed}}

    def commands(self, commands: Mapping[str, str]) -> Json:
        """Return the commands that a prompt may begin with, and what they do."""
        listed = [{"name": name, "description": does} for name, does in commands.items()]
        return {"sessionUpdate": "available_commands_update", "availableCommands": listed}

    def state(self, state: str, **more: Json) -> Json:
        """Return what the session is at; None where the version has no word for it."""
        del state, more
        return None

    def spoken(self, changed: Mapping[str, Json]) -> dict[str, Json]:
        """Return the members of a tool call in the words of the version."""
        spoken = dict(changed)
        if spoken.get("status") == "cancelled":
            spoken["status"] = "failed"
        if spoken.get("status") == "paused":
            spoken["status"] = "in_progress"
        return spoken

    def _remember(self, call_id: str, changed: Mapping[str, Json]) -> None:
        shown = self.calls.setdefault(call_id, [])
        if "content" in changed:
            shown[:] = changed["content"]


def text_block(text: str) -> Json:
    """Return a text as content."""
    return {"type": "text", "text": text}


def shown_text(text: str) -> Json:
    """Return a text as what a tool call shows."""
    return {"type": "content", "content": text_block(text)}


def plan_entry(value: Json) -> Json:
    """Return an entry of a plan; a text alone is one that has not begun."""
    if isinstance(value, str):
        return {"content": value, "priority": "medium", "status": "pending"}
    return {"priority": "medium", "status": "pending"} | members(value)
