"""Sends the updates of a session, in version 1.

The session, its turns and tools do not know the version: they report events, and `SessionUpdates`
renders them; `updates/v2.py` does so for version 2. Each event is stored before it is sent, so that
a replay sends the same.

Source: ACP, Prompt Turn, `session/update`; Session Setup, "Loading Sessions".
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal, Protocol, TypeAlias, cast

import anyio

from acp_agent.models.types import SlashCommand
from acp_agent.options import MODE, OfferedOption
from acp_agent.store import events
from acp_agent.store.errors import StoreError
from acp_agent.store.events import Event
from acp_agent.store.log import SessionLog
from acp_agent.tools.call import MOVE_CONTENT, OUTPUT_CONTENT, fenced
from acp_protocol.jsonrpc import Json

ChunkKind: TypeAlias = Literal["agent_message_chunk", "agent_thought_chunk"]
RenderedUpdates: TypeAlias = Iterable[tuple[str, Mapping[str, Json]]]
"""Pairs of a `sessionUpdate` and the other fields of the update."""
USAGE_UPDATE: Final = "usage_update"
FLUSH_TIMEOUT_S: Final = 0.1
"""How long the end of something waits to be stored before it is sent."""


class Notifier(Protocol):
    """Sends notifications to the client."""

    async def notify(self, method: str, params: Json = None) -> None:
        """Send a notification."""
        ...


def new_message_id() -> str:
    """Return an id that no other message has."""
    return os.urandom(8).hex()


class SessionUpdates:
    """Sends the updates of one session, in order; without a log, none of them is stored."""

    shows_thoughts = True
    """Whether the user wants to see the model's thoughts."""
    shows_notices = False
    """Whether the client shows notices."""
    shows_compactions = False
    """Whether the client shows compactions."""
    option_key = "id"
    """The field that holds the id of an option."""

    def __init__(
        self,
        client: Notifier,
        session_id: str,
        log: SessionLog | None = None,
        new_id: Callable[[], str] = new_message_id,
    ) -> None:
        self._client = client
        self._new_id = new_id
        self._session_id = session_id
        self._log = log
        self._message: tuple[ChunkKind, str] | None = None
        """The kind and the id of the message that the next piece of text belongs to."""
        self._is_replay = False
        """Whether a replay is sent; terminals in it do not exist any more."""
        self._send_lock = anyio.Lock(fast_acquire=True)
        """Held while something is sent, and for the whole of a replay."""

    async def send(self, update: str, members: Mapping[str, Json]) -> None:
        """Send one update; `update` is its `sessionUpdate`."""
        async with self._send_lock:
            if self._log is not None and update == USAGE_UPDATE:
                await self._log.update_now(usage=dict(members))
            await self._send(update, members)

    async def replay(
        self,
        events: AsyncIterable[Event] | None,
        then: Callable[[], Awaitable[RenderedUpdates]],
    ) -> None:
        """Send the stored events again, if any, and then the updates of `then`."""
        async with self._send_lock:
            self._is_replay = True
            self.forget()
            try:
                if events is not None:
                    async for event in events:
                        for update, members in self.render(event):
                            await self._send(update, members)
            except BaseException:
                # The client may have received any part of it.
                self.forget()
                raise
            finally:
                self._is_replay = False
            for update, members in await then():
                await self._send(update, members)

    async def user(self, message_id: str, blocks: Sequence[Json]) -> None:
        """Store a prompt; the client knows it."""
        async with self._send_lock:
            self._message = None
            if self._log is not None:
                await self._log.append_now(events.user(message_id, list(blocks)))

    async def text(self, kind: ChunkKind, text: str) -> None:
        """Send a piece of a message or a thought."""
        if kind == "agent_thought_chunk" and not self.shows_thoughts:
            return
        if self._message is None or self._message[0] != kind:
            self._message = (kind, self._new_id())
        await self._emit(events.text(*self._message, text))

    async def plan(self, entries: Sequence[Json]) -> None:
        await self._emit(events.plan(list(entries)))

    async def start_call(self, call_id: str, members: Mapping[str, Json]) -> None:
        """Send a new tool call, which has not begun; empty lists are left out."""
        self._message = None
        shown = {name: value for name, value in members.items() if value != []}
        await self._emit(events.call(call_id, {"status": "pending"} | shown))

    async def update_call(self, call_id: str, members: Mapping[str, Json]) -> None:
        self._message = None
        await self._emit(events.tool(call_id, members))

    async def finish_call(self, call_id: str, members: Mapping[str, Json]) -> None:
        """Send the final status of a tool call that was interrupted."""
        self._message = None
        await self._emit(events.tool(call_id, members), is_end=True)

    async def compaction(self, id_: str, members: Mapping[str, Json]) -> None:
        """Send a change of a compaction; as text if the client shows none."""
        self._message = None
        is_end = members.get("status") != "in_progress"
        if not is_end and not self.shows_compactions:
            await self.retrying(
                "Making room.", "The conversation is being summarized for the model."
            )
        await self._emit(events.compaction(id_, members), is_end=is_end)

    def render(self, event: Event) -> RenderedUpdates:
        """Return the updates of an event."""
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
                if text := _compaction_text(event["members"]):
                    yield "agent_message_chunk", {"content": {"type": "text", "text": text}}
            case "call":
                members = _members(event["members"], is_live=not self._is_replay)
                yield "tool_call", {"toolCallId": event["id"], **members}
            case _:
                if members := _members(event["members"], is_live=not self._is_replay):
                    yield "tool_call_update", {"toolCallId": event["id"], **members}

    async def warn(self, title: str, about: str, *, is_in_turn: bool) -> bool:
        """Send a warning to the user; return whether that was possible.

        A notice is not stored. A client that shows none gets a message, as a part of the turn.
        """
        if self.shows_notices:
            notice = {"severity": "warning", "title": title, "description": about}
            await self.send("notice", notice)
        elif is_in_turn:
            await self.text("agent_message_chunk", f"{title}. {about}\n\n")
            self._message = None
        return self.shows_notices or is_in_turn

    async def retrying(self, why: str, about: str) -> None:
        """Send why nothing happens for a while.

        It is not stored. A client that shows no notices gets a thought, whether or not those of the
        model are shown.
        """
        if self.shows_notices:
            await self.send("notice", {"severity": "info", "title": why, "description": about})
            return
        content = {"type": "text", "text": f"{why} {about}\n\n"}
        await self.send("agent_thought_chunk", {"content": content})

    async def enter_waiting(self) -> None:
        """Do nothing: in version 1 the request to the user shows that the session waits."""

    async def leave_waiting(self) -> None:
        """Do nothing, as in `enter_waiting`."""

    async def option_changed(
        self, option: OfferedOption, chosen: Mapping[str, str], all_: Sequence[OfferedOption]
    ) -> None:
        """Send the value of an option; in version 1 the mode as a mode too."""
        settings = self.settings(all_, chosen)
        if option.id == MODE and "modes" in settings:
            await self.send("current_mode_update", {"currentModeId": chosen[MODE]})
        await self.send("config_option_update", {"configOptions": settings["configOptions"]})

    async def commands(self, commands: Sequence[SlashCommand]) -> None:
        await self.send(
            "available_commands_update", {"availableCommands": self.command_entries(commands)}
        )

    def command_entries(self, commands: Sequence[SlashCommand]) -> list[dict[str, Json]]:
        return [
            {"name": command.name, "description": command.description}
            | ({"input": {"hint": command.hint}} if command.hint else {})
            for command in commands
        ]

    def permission_request(
        self, call_id: str, members: Mapping[str, Json], options: Sequence[Json]
    ) -> dict[str, Json]:
        """Return the params of `session/request_permission` for a tool call."""
        return {
            "sessionId": self._session_id,
            "toolCall": {
                "toolCallId": call_id,
                "status": "pending",
                **_members(members, is_live=True),
            },
            "options": list(options),
        }

    def settings(
        self, options: Sequence[OfferedOption], chosen: Mapping[str, str]
    ) -> dict[str, Json]:
        """Return the options of a session as fields of a result."""
        modes: list[Json] = []
        entries: list[Json] = []
        for option in options:
            choices: list[Json] = []
            for each in option.choices:
                about = {"description": each.description} if each.description else {}
                choices.append({"value": each.value, "name": each.name, **about})
                if option.id == MODE:
                    modes.append({"id": each.value, "name": each.name, **about})
            entries.append(
                {
                    self.option_key: option.id,
                    "name": option.name,
                    "category": option.category,
                    "type": "select",
                    "currentValue": chosen[option.id],
                    "options": choices,
                }
            )
        return {
            "modes": {"currentModeId": chosen[MODE], "availableModes": modes},
            "configOptions": entries,
        }

    def forget(self) -> None:
        """Forget what the client knows: it is sent again."""

    async def _emit(self, event: Event, *, is_end: bool = False) -> None:
        """Store and send an event; one that `is_end` is sent even if it cannot be stored yet."""
        async with self._send_lock:
            if self._log is not None and is_end:
                self._log.append(event)
                with suppress(StoreError):
                    await self._log.flush(FLUSH_TIMEOUT_S)
            elif self._log is not None:
                await self._log.append_now(event)
            for update, members in self.render(event):
                await self._send(update, members)

    async def _send(self, update: str, members: Mapping[str, Json]) -> None:
        params = {"sessionUpdate": update} | dict(members)
        await self._client.notify(
            "session/update", {"sessionId": self._session_id, "update": params}
        )


def _compaction_text(members: Mapping[str, Json]) -> str:
    """Return the text for a client that shows no compactions."""
    match members.get("status"):
        case "completed":
            summary = "\n".join(block["text"] for block in members["summary"])
            quoted = "\n".join(f"> {line}".rstrip() for line in summary.splitlines())
            return (
                f"The conversation was summarized. The model continues from this:\n\n{quoted}\n\n"
            )
        case "failed":
            return f"No room was made; nothing has changed. {members['error']}\n\n"
        case "cancelled":
            return "No room was made; nothing has changed. It was cancelled.\n\n"
        case _:
            return ""


def _members(members: Mapping[str, Json], *, is_live: bool) -> Mapping[str, Json]:
    """Return the fields of a tool call in version 1, which knows no status `cancelled`.

    The output of a program is in a terminal of the client, while there is one, or is text. A move
    has no content: title and locations show it.
    """
    known = dict(members)
    if known.get("status") == "cancelled":
        known["status"] = "failed"
    if isinstance(content := known.get("content"), list):
        shown: list[Mapping[str, Json]] = []
        for block in cast("list[Mapping[str, Json]]", content):
            kind, terminal = block.get("type"), block.get("terminalId")
            if kind == OUTPUT_CONTENT and terminal is not None and is_live:
                shown.append({"type": "terminal", "terminalId": terminal})
            elif kind == OUTPUT_CONTENT:
                shown += fenced(block["text"])
            elif kind != MOVE_CONTENT:
                shown.append(block)
        known["content"] = shown
        if not shown:
            # A program without output has no content.
            del known["content"]
    return known
