"""What the agent tells the client about a session while it works, in the words of version 1.

Whoever works does not know which version is spoken: it says, plans and calls tools, and `Updates`
finds the words. `updates_v2` finds those of version 2. What is told is kept first, so that it can
be sent again in the same words.

Source: ACP, Prompt Turn, `session/update`; Session Setup, "Loading Sessions".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal, Protocol, TypeAlias, cast

import anyio

from acp_agent.models.types import SlashCommand
from acp_agent.sessions import events
from acp_agent.sessions.events import Event
from acp_agent.sessions.options import MODE, Option
from acp_agent.sessions.store import StoreError
from acp_agent.tools.call import MOVE_CONTENT, OUTPUT_CONTENT, Content, fenced
from acp_protocol.jsonrpc import Json

ChunkKind: TypeAlias = Literal["agent_message_chunk", "agent_thought_chunk"]
RenderedUpdates: TypeAlias = Iterable[tuple[str, Mapping[str, Json]]]
"""Updates by their `sessionUpdate`, without it."""
USAGE_UPDATE: Final = "usage_update"
FLUSH_TIMEOUT_S: Final = 0.1
"""Seconds that the end of something waits to be kept before it is told."""


class Notifier(Protocol):
    """Sends notifications to the client."""

    async def notify(self, method: str, params: Json = None) -> None:
        """Send a notification."""
        ...


class EventLog(Protocol):
    """Stores the events of a session before they are sent."""

    async def append_now(self, event: Event) -> None:
        """Keep an event, or raise."""
        ...

    async def update_now(self, **members: Json) -> None:
        """Keep what is known beside the events, or raise."""
        ...

    def append(self, event: Event) -> None:
        """Keep an event as soon as that can be."""
        ...

    async def flush(self, max_wait_s: float | None = None) -> None:
        """Return when all is kept, or raise."""
        ...


def new_message_id() -> str:
    """Return an id that no other message has."""
    return os.urandom(8).hex()


class SessionUpdates:
    """Sends the updates of one session, in order; without a keeper none of them is kept."""

    shows_thoughts = True
    """Whether the user wants to see what the model thinks."""
    shows_notices = False
    """Whether the client shows notices."""
    shows_compactions = False
    """Whether the client shows when the model goes on with a summary."""

    def __init__(self, client: Notifier, session_id: str, keeper: EventLog | None = None) -> None:
        self._client = client
        self._session_id = session_id
        self._log = keeper
        self._message: tuple[ChunkKind, str] | None = None
        """The kind and the id of the message that the next piece of text belongs to."""
        self._is_replay = False
        """Whether it is a replay: what has ended since is there no more."""
        self._send_lock = anyio.Lock(fast_acquire=True)
        """Held while something is told, and for the whole of a replay: it comes first."""

    async def send(self, update: str, members: Mapping[str, Json]) -> None:
        """Send one update; `update` is its `sessionUpdate`."""
        async with self._send_lock:
            if self._log is not None and update == USAGE_UPDATE:
                await self._log.update_now(usage=dict(members))
            await self._send(update, members)

    async def replay(self, events: Iterable[Event], then: Callable[[], RenderedUpdates]) -> None:
        """Send the stored events again, and `then` what the session is at by that time."""
        async with self._send_lock:
            self._is_replay = True
            self._forget()
            try:
                for event in events:
                    for update, members in self.render(event):
                        await self._send(update, members)
            except BaseException:
                # How much of it the client has got is not known.
                self._forget()
                raise
            finally:
                self._is_replay = False
            for update, members in then():
                await self._send(update, members)

    async def user(self, message_id: str, blocks: Sequence[Json]) -> None:
        """Keep what the user said; the client knows it from its own prompt."""
        async with self._send_lock:
            self._message = None
            if self._log is not None:
                await self._log.append_now(events.user(message_id, list(blocks)))

    async def text(self, kind: ChunkKind, text: str) -> None:
        """Send a piece of what is said or thought, as a part of its message."""
        if kind == "agent_thought_chunk" and not self.shows_thoughts:
            return
        if self._message is None or self._message[0] != kind:
            self._message = (kind, new_message_id())
        await self._emit(events.text(*self._message, text))

    async def plan(self, entries: Sequence[Json]) -> None:
        """Send the whole plan."""
        await self._emit(events.plan(list(entries)))

    async def start_call(self, call_id: str, members: Mapping[str, Json]) -> None:
        """Send a new tool call, which has not begun; empty lists are left out."""
        self._message = None
        shown = {name: value for name, value in members.items() if value != []}
        await self._emit(events.call(call_id, {"status": "pending"} | shown))

    async def update_call(self, call_id: str, members: Mapping[str, Json]) -> None:
        """Send what changed about a tool call."""
        self._message = None
        await self._emit(events.tool(call_id, members))

    async def finish_call(self, call_id: str, members: Mapping[str, Json]) -> None:
        """Send how a tool call has ended that was broken off."""
        self._message = None
        await self._emit_end(events.tool(call_id, members))

    async def compaction(self, id_: str, members: Mapping[str, Json]) -> None:
        """Send what changed about a compaction; in words where the client knows none."""
        self._message = None
        if members.get("status") == "in_progress" and not self.shows_compactions:
            await self.retrying("Room is made.", "What was said so far is summed up for the model.")
        emit = self._emit if members.get("status") == "in_progress" else self._emit_end
        await emit(events.compaction(id_, members))

    def render(self, event: Event) -> RenderedUpdates:
        """Return an event as the updates that tell it."""
        match event["what"]:
            case "user":
                for block in event["blocks"]:
                    yield "user_message_chunk", {"messageId": event["id"], "content": block}
            case "text":
                yield event["kind"], {"content": {"type": "text", "text": event["text"]}}
            case "plan":
                yield "plan", {"entries": event["entries"]}
            case "compaction" if self.shows_compactions:
                yield "compaction_update", {"compactionId": event["id"], **event["members"]}
            case "compaction":
                if text := _summed_up(event["members"]):
                    yield "agent_message_chunk", {"content": {"type": "text", "text": text}}
            case "call":
                members = _known(event["members"], is_live=not self._is_replay)
                yield "tool_call", {"toolCallId": event["id"], **members}
            case _:
                if members := _known(event["members"], is_live=not self._is_replay):
                    yield "tool_call_update", {"toolCallId": event["id"], **members}

    async def warn(self, title: str, about: str, *, is_in_turn: bool) -> bool:
        """Tell the user what went wrong beside the conversation; return whether that could be.

        A notice is not kept: it is about now. A client that shows none is told in a message, as a
        part of the turn that runs.
        """
        if self.shows_notices:
            notice = {"severity": "warning", "title": title, "description": about}
            await self.send("notice", notice)
        elif is_in_turn:
            await self.text("agent_message_chunk", f"{title}. {about}\n\n")
            self._message = None
        return self.shows_notices or is_in_turn

    async def retrying(self, why: str, about: str) -> None:
        """Tell the user why nothing comes for a while.

        It is about now, and not kept. A client that shows no notices is told among the thoughts,
        whether or not those of the model are shown.
        """
        if self.shows_notices:
            await self.send("notice", {"severity": "info", "title": why, "description": about})
            return
        content = {"type": "text", "text": f"{why} {about}\n\n"}
        await self.send("agent_thought_chunk", {"content": content})

    async def enter_waiting(self) -> None:
        """Nothing: that a question waits for the user is shown by the question itself."""

    async def leave_waiting(self) -> None:
        """Nothing, as for `asking`."""

    async def option_changed(
        self, option: Option, chosen: Mapping[str, str], all_: Sequence[Option]
    ) -> None:
        """Send that something else was chosen: as an option, and the mode as a mode too."""
        if option.id == MODE:
            await self.send("current_mode_update", {"currentModeId": chosen[MODE]})
        options = {"configOptions": self.settings(all_, chosen)["configOptions"]}
        await self.send("config_option_update", options)

    async def commands(self, commands: Sequence[SlashCommand]) -> None:
        """Send which commands a prompt may begin with."""
        await self.send(
            "available_commands_update", {"availableCommands": self.command_entries(commands)}
        )

    def command_entries(self, commands: Sequence[SlashCommand]) -> list[dict[str, Json]]:
        """Return commands as the protocol shows them."""
        return [
            {"name": command.name, "description": command.description}
            | ({"input": {"hint": command.hint}} if command.hint else {})
            for command in commands
        ]

    def permission_request(
        self, call_id: str, members: Mapping[str, Json], options: Sequence[Json]
    ) -> dict[str, Json]:
        """Return the params of the request that asks for consent to a tool call."""
        return {
            "sessionId": self._session_id,
            "toolCall": {
                "toolCallId": call_id,
                "status": "pending",
                **_known(members, is_live=True),
            },
            "options": list(options),
        }

    def settings(self, options: Sequence[Option], chosen: Mapping[str, str]) -> dict[str, Json]:
        """Return what a session offers to choose from, as members of its answers."""
        modes = [
            {"id": choice.value, "name": choice.name, "description": choice.description}
            for option in options
            if option.id == MODE
            for choice in option.choices
        ]
        return {
            "modes": {"currentModeId": chosen[MODE], "availableModes": modes},
            "configOptions": [option_entry(option, "id", chosen[option.id]) for option in options],
        }

    def _forget(self) -> None:
        """Forget what the client knows: it is sent again."""

    async def _emit(self, event: Event) -> None:
        """Store an event and send it."""
        async with self._send_lock:
            if self._log is not None:
                await self._log.append_now(event)
            for update, members in self.render(event):
                await self._send(update, members)

    async def _emit_end(self, event: Event) -> None:
        """Report how something has ended, even where that cannot be kept yet."""
        async with self._send_lock:
            if self._log is not None:
                self._log.append(event)
                with suppress(StoreError):
                    await self._log.flush(FLUSH_TIMEOUT_S)
            for update, members in self.render(event):
                await self._send(update, members)

    async def _send(self, update: str, members: Mapping[str, Json]) -> None:
        params = {"sessionUpdate": update} | dict(members)
        await self._client.notify(
            "session/update", {"sessionId": self._session_id, "update": params}
        )


def option_entry(option: Option, named: str, value: str) -> dict[str, Json]:
    """Return an option as the protocol shows it; `named` is the member that holds its id."""
    return {
        named: option.id,
        "name": option.name,
        "category": option.category,
        "type": "select",
        "currentValue": value,
        "options": [
            {"value": choice.value, "name": choice.name}
            | ({"description": choice.description} if choice.description else {})
            for choice in option.choices
        ],
    }


def _summed_up(members: Mapping[str, Json]) -> str:
    """Return what a user is told of a compaction where the client shows none."""
    match members.get("status"):
        case "completed":
            summary = "\n".join(block["text"] for block in members["summary"])
            quoted = "\n".join(f"> {line}".rstrip() for line in summary.splitlines())
            return (
                f"What was said so far was summed up. The model goes on with this:\n\n{quoted}\n\n"
            )
        case "failed":
            return f"No room was made, and all is as it was. {members['error']}\n\n"
        case "cancelled":
            return "No room was made, and all is as it was. It was cancelled.\n\n"
        case _:
            return ""


def _known(members: Mapping[str, Json], *, is_live: bool) -> Mapping[str, Json]:
    """Return the members of a tool call as version 1 has them: it knows no status `cancelled`.

    Output of a program stands in a terminal of the client, while there is one, or is text. That
    something is moved is shown by title and locations alone.
    """
    known = dict(members)
    if known.get("status") == "cancelled":
        known["status"] = "failed"
    if isinstance(content := known.get("content"), list):
        blocks = cast("list[Mapping[str, Json]]", content)
        shown = [each for block in blocks for each in _blocks(block, is_live=is_live)]
        known["content"] = shown
        if not shown:
            # A program that has written nothing has nothing to be shown.
            del known["content"]
    return known


def _blocks(block: Mapping[str, Json], *, is_live: bool) -> Content:
    if block.get("type") == MOVE_CONTENT:
        return []
    if block.get("type") != OUTPUT_CONTENT:
        return [block]
    terminal: Json = block.get("terminalId")
    if terminal is not None and is_live:
        return [{"type": "terminal", "terminalId": terminal}]
    return fenced(block["text"])
