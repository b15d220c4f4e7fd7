"""A client of either version; what is said is written down, linted at the end, and folded."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, cast

import anyio

from acp_agent.continuum.dialect import ContinuumDialect
from acp_agent.door.server import AgentServer
from acp_agent.mcp.servers import McpSettings
from acp_agent.models.demo import DemoModel
from acp_agent.models.types import (
    HistoryEntry,
    Model,
    ModelEvent,
    SlashCommand,
    TextDelta,
    TokenUsage,
    ToolSpec,
)
from acp_agent.services import AgentServices
from acp_agent.settings.keys import AuthMode, settings_with
from acp_agent.store.database import SessionStore
from acp_inspector.journal import Entry, Frame, Journal
from acp_inspector.lint.engine import Linter
from acp_inspector.session.conversation import Conversation
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import (
    AgentMessage,
    Item,
    PlanItem,
    TextItem,
    Thought,
    ToolCallItem,
    UserMessage,
)
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.connection import Connection
from acp_protocol.errors import RequestFailedError
from acp_protocol.framing import Side
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.schema.validate import validate_result
from acp_protocol.transport.base import TapTransport
from acp_protocol.transport.memory import memory_pair
from tests.agent.conftest import LIMIT, selected

HELLO: dict[int, Json] = {
    1: {
        "protocolVersion": 1,
        "clientCapabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
    2: {"protocolVersion": 2, "capabilities": {}, "info": {"name": "test", "version": "1"}},
}
_IDS = count(1)


class Counting:
    """A model that tells what it takes."""

    name = "counting"
    commands: Sequence[SlashCommand] = ()

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del tools
        yield TextDelta("well")
        yield TokenUsage(len(history), 2, cost=0.5, window=1000)


@dataclass
class Visitor:
    """The client's side: it allows what it is asked for, or waits where `is_silent`."""

    updates: list[Json] = field(default_factory=list[Json])
    told: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])
    """Notifications that are no updates of a session."""
    asked: list[str] = field(default_factory=list[str])
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    """What is answered to questions, by their method; refusals are raised, and a function is asked
    what comes of the params."""
    heard: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    """The params of questions, for those methods that somebody has asked to be told of."""
    gave_up: list[str] = field(default_factory=list[str])
    """Questions that were taken back while they waited."""
    is_silent: bool = False
    arrived: anyio.Event = field(default_factory=anyio.Event)

    async def handle_request(self, request: Request) -> Json:
        self.asked.append(request.method)
        self.heard.get(request.method, []).append(request.params)
        self.arrived.set()
        if self.is_silent:
            try:
                await anyio.sleep_forever()
            finally:
                self.gave_up.append(request.method)
                self.arrived.set()
        answer = self.answers.get(request.method, selected("allow"))
        if isinstance(answer, RequestFailedError):
            raise answer
        return answer(request.params) if callable(answer) else answer

    async def handle_notification(self, notification: Notification) -> None:
        if notification.method == "session/update":
            self.updates.append(notification.params)
        else:
            self.told.append((notification.method, notification.params))
        self.arrived.set()

    async def until(self, holds: Callable[[], object]) -> None:
        """Return when what has arrived makes `holds` true."""
        while not holds():
            if self.arrived.is_set():
                self.arrived = anyio.Event()
            await self.arrived.wait()

    def kinds(self) -> list[str]:
        """Return the kinds of the updates so far."""
        return [params["update"]["sessionUpdate"] for params in self.updates]

    def idles(self, session_id: str) -> list[Json]:
        """Return the states of a session in which nothing is done (version 2)."""
        return [
            params["update"]
            for params in self.updates
            if params["sessionId"] == session_id and params["update"].get("state") == "idle"
        ]


@dataclass
class Visit:
    """A connection to an agent."""

    connection: Connection
    visitor: Visitor
    server: AgentServer
    journal: Journal
    cwd: Path
    version: int
    hello: Json = None

    async def ask(self, method: str, **params: Json) -> Json:
        """Ask; the answer must fit the schema."""
        result = await self.connection.request(method, params)
        assert validate_result(method, result, self.version) == ()
        return result

    async def new(self, **params: Json) -> str:
        """Open a session."""
        servers: dict[str, Json] = {"mcpServers": []} if self.version == 1 else {}
        answer = await self.ask("session/new", **({"cwd": str(self.cwd)} | servers | params))
        return answer["sessionId"]

    async def reopen(self, session_id: str, **params: Json) -> Json:
        """Open a session again, with all that was said."""
        members = {"sessionId": session_id, "cwd": str(self.cwd)} | params
        if self.version == 1:
            return await self.ask("session/load", **(members | {"mcpServers": []}))
        return await self.ask("session/resume", **(members | {"replayFrom": {"type": "start"}}))

    async def turn(self, session_id: str, text: str) -> str:
        """Say something; return why the turn ended."""
        before = len(self.visitor.idles(session_id))
        answer = await self.say(session_id, text)
        if self.version == 1:
            return answer["stopReason"]
        await self.visitor.until(lambda: len(self.visitor.idles(session_id)) > before)
        return self.visitor.idles(session_id)[-1]["stopReason"]

    async def say(self, session_id: str, text: str) -> Json:
        """Send a prompt; return its answer."""
        prompt = [{"type": "text", "text": text}]
        return await self.ask("session/prompt", sessionId=session_id, prompt=prompt)

    async def cancel(self, session_id: str) -> None:
        """Cancel what runs."""
        await self.connection.notify("session/cancel", {"sessionId": session_id})

    async def choose(self, session_id: str, option: str, value: str) -> Json:
        """Choose a value of an option."""
        kind = {"type": "id"} if self.version == 2 else {}
        params = {"sessionId": session_id, "configId": option, "value": value}
        return await self.ask("session/set_config_option", **(params | kind))

    def said(self, session_id: str) -> str:
        """Return all that the agent has said in words so far."""
        return "".join(
            params["update"]["content"]["text"]
            for params in self.visitor.updates
            if params["sessionId"] == session_id
            and params["update"]["sessionUpdate"] == "agent_message_chunk"
        )

    def methods(self) -> set[str]:
        """Return the methods that were asked for so far."""
        frames = (entry for entry in self.journal.entries if isinstance(entry, Frame))
        asked = [json.loads(frame.data) for frame in frames if frame.side == "client"]
        return {each["method"] for each in asked if "method" in each and "id" in each}

    def conversation(self, session_id: str) -> Conversation:
        """Return what all that was said folds into."""
        return folded(self.journal.entries).get(session_id)


@asynccontextmanager
async def visit(
    cwd: Path,
    version: int = 1,
    *,
    store: SessionStore | None = None,
    unstable: bool = False,
    model: Model | None = None,
    others: Sequence[Model] = (),
    limit: int = 1000,
    idle_timeout: float = 3600.0,
    lints: bool = True,
    mcp: McpSettings | None = None,
    patience: float = LIMIT,
    hello: dict[str, Json] | None = None,
    auth: AuthMode = "keys",
    namespace: str | None = None,
) -> AsyncGenerator[Visit]:
    """Connect to an agent; at the end, all that was said must lint without an error.

    `patience` is in seconds; `hello` holds members of `initialize` that stand in for others.
    """
    ours, theirs = memory_pair()
    visitor, journal = Visitor(), Journal()

    def note(side: Side, line: bytes) -> None:
        journal.line(side, line)

    settings = settings_with(
        {
            "protocol.version": version,
            "protocol.unstable": unstable,
            "sessions.max_concurrent": limit,
            "sessions.idle_timeout": idle_timeout,
            "auth.mode": auth,
            "agent.namespace": namespace,
        }
    )
    services = AgentServices(
        settings=settings,
        models=[model or DemoModel(), *others],
        store=store or SessionStore(),
        mcp=mcp or McpSettings(),
        new_id=lambda: f"session_{next(_IDS)}",
    )
    server = AgentServer(services, ContinuumDialect())
    server.connection = Connection(theirs, server)
    with anyio.fail_after(patience):
        async with (
            BackgroundTasks() as server.tasks,
            server.connection,
            Connection(TapTransport(ours, "client", note), visitor) as connection,
        ):
            it = Visit(connection, visitor, server, journal, cwd, version)
            it.hello = await it.ask("initialize", **(HELLO[version] | (hello or {})))
            yield it
            await server.connection.wait_settled()
    if lints:
        assert lint_errors(journal.entries, unstable=unstable) == []


def lint_errors(entries: Any, *, unstable: bool) -> list[str]:
    """Return what the linter calls an error."""
    linter = Linter(unstable=unstable)
    found = [finding for entry in entries for finding in linter.feed(entry)]
    found += linter.finish()
    return [f"{each.rule.name} {each.message}" for each in found if each.severity == "error"]


def folded(entries: Any) -> Conversations:
    """Return what frames fold into."""
    talks = Conversations()
    for entry in cast("list[Entry]", entries):
        if isinstance(entry, Frame):
            talks.apply(entry)
    return talks


def items(talk: Conversation) -> list[Json]:
    """Return what a user sees of a conversation, without when its turns ended."""
    return [shown for item in talk.items if (shown := _shown(item)) is not None]


def surroundings(talk: Conversation) -> Json:
    """Return what a user sees beside the conversation."""
    known = talk.info
    return (
        *(known.title, known.current_mode, known.config_options),
        *(known.commands, known.usage),
    )


def _shown(item: Item) -> Json:
    match item:
        case UserMessage() | AgentMessage() | Thought():
            return _said(item)
        case PlanItem():
            return ("plan", item.entries)
        case ToolCallItem():
            facts = item.facts
            return (
                *(facts.title, facts.kind, facts.status, item.content, facts.locations),
                *(facts.raw_input, facts.raw_output),
            )
        case _:
            return None


def _said(item: TextItem) -> Json:
    return (type(item).__name__, item.text, item.blocks)
