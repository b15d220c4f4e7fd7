"""What a session tells its client, in the words of version 2.

Source: ACP version 2, Prompt Lifecycle; Tool Calls; Plans; Session Config Options.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Final, cast

from acp_agent.patch import git_patch
from acp_agent.scripted.values import members
from acp_agent.scripted.words import Speaker, Words
from acp_protocol.jsonrpc import Json

PLAN: Final = "main"
"""The id of the only plan."""
MODE: Final = "mode"
"""The id of the option that modes have become."""


class WordsV2(Words):
    """The words of one session of version 2: messages have ids, calls begin with an update."""

    def message(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        """Return a piece of what somebody says, as a part of its message."""
        return {"sessionUpdate": f"{speaker}_chunk", "messageId": message_id, "content": block}

    def whole(self, speaker: Speaker, block: Json, message_id: str | None) -> Json:
        """Return all that somebody says in a message, in place of what was said of it before."""
        return {"sessionUpdate": speaker, "messageId": message_id, "content": [block]}

    def prompt(self, blocks: Sequence[Json], message_id: str) -> list[Json]:
        """Return what the user said, whole."""
        said = {"messageId": message_id, "content": list(blocks)}
        return [{"sessionUpdate": "user_message", **said}]

    def plan(self, entries: Sequence[Json]) -> Json:
        """Return the whole plan."""
        plan = {"type": "items", "planId": PLAN, "entries": list(entries)}
        return {"sessionUpdate": "plan_update", "plan": plan}

    def call(self, call_id: str, changed: Mapping[str, Json]) -> Json:
        """Return a tool call, or what has changed about it: that is one thing here."""
        begin: dict[str, Json] = {}
        if call_id not in self.calls:
            begin = {"title": call_id, "status": "pending"}
        self._remember(call_id, changed)
        told = {**begin, **self.spoken(changed)}
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **told}

    def more(self, call_id: str, content: Json) -> Json:
        """Return that a tool call shows something more."""
        self.calls.setdefault(call_id, []).append(content)
        shown = {"toolCallId": call_id, "content": _content(content)}
        return {"sessionUpdate": "tool_call_content_chunk", **shown}

    def terminal(
        self, terminal_id: str, call_id: str | None, command: Json, cwd: str
    ) -> list[Json]:
        """Return that there is a terminal of ours, and that a tool call shows it."""
        told: list[Json] = []
        if terminal_id not in self.terminals:
            about = {"terminalId": terminal_id, "command": command, "cwd": cwd}
            told.append({"sessionUpdate": "terminal_update", **about})
            if call_id is not None:
                shown = {"type": "terminal", "terminalId": terminal_id}
                told.append(self.more(call_id, shown))
        self.terminals.add(terminal_id)
        return told

    def printed(self, terminal_id: str, call_id: str | None, output: Sequence[bytes]) -> list[Json]:
        """Return what a terminal of ours prints, byte by byte."""
        del call_id
        chunk = {"sessionUpdate": "terminal_output_chunk", "terminalId": terminal_id}
        return [{**chunk, "data": b64encode(piece).decode()} for piece in output]

    def exited(self, terminal_id: str, code: int) -> list[Json]:
        """Return that the command of a terminal of ours has ended."""
        status = {"terminalId": terminal_id, "exitStatus": {"exitCode": code}}
        return [{"sessionUpdate": "terminal_update", **status}]

    def question(
        self, call_id: str, title: str, changed: Mapping[str, Json], options: Sequence[Json]
    ) -> Json:
        """Return the params of the request for consent to a tool call."""
        self._remember(call_id, changed)
        call = {"toolCallId": call_id, **self.spoken(changed)}
        return {
            "sessionId": self.session_id,
            "title": title,
            "subject": {"type": "tool_call", "toolCall": call},
            "options": list(options),
        }

    def mode(self, mode: str, modes: Sequence[str]) -> Json:
        """Return that the session is in another mode, which is an option like others."""
        return {"sessionUpdate": "config_option_update", **self.modes(mode, modes)}

    def modes(self, mode: str, modes: Sequence[str]) -> dict[str, Json]:
        """Return the modes, as a member of the answer that opens a session."""
        option = {
            "configId": MODE,
            "name": "Mode",
            "category": "mode",
            "type": "select",
            "currentValue": mode,
            "options": [{"value": each, "name": each.capitalize()} for each in modes],
        }
        return {"configOptions": [option]}

    def commands(self, commands: Mapping[str, str]) -> Json:
        """Return the commands that a prompt may begin with, and what they do."""
        listed = [
            {"type": "command", "name": name, "description": does}
            for name, does in commands.items()
        ]
        return {"sessionUpdate": "available_commands_update", "availableCommands": listed}

    def state(self, state: str, **more: Json) -> Json:
        """Return what the session is at."""
        return {"sessionUpdate": "state_update", "state": state, **more}

    def spoken(self, changed: Mapping[str, Json]) -> dict[str, Json]:
        """Return the members of a tool call with its diffs as this version has them."""
        spoken = dict(changed)
        if isinstance(content := spoken.get("content"), list):
            spoken["content"] = [_content(each) for each in cast("list[Json]", content)]
        return spoken


def _content(content: Json) -> Json:
    diff = members(content)
    if diff.get("type") != "diff" or "newText" not in diff:
        return content
    path, old, new = diff["path"], diff.get("oldText"), diff["newText"]
    operation = "add" if old is None else "modify"
    return {
        "type": "diff",
        "changes": [{"operation": operation, "path": path, "fileType": "text"}],
        "patch": {"format": "git_patch", "text": git_patch(path, old, new)},
    }
