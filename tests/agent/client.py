"""A client of the agent in memory, for both versions and every dialect."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.lowlevel
import pytest

from acp_agent.continuum.dialect import ContinuumDialect
from acp_agent.door.server import AgentServer
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
from acp_agent.openoxide import OpenOxideDialect
from acp_agent.services import AgentServices
from acp_agent.settings.keys import settings_with
from acp_agent.store.events import Event
from acp_agent.updates.v1 import RenderedUpdates
from acp_inspector.journal import Entry, Frame, Journal
from acp_inspector.lint.engine import Linter
from acp_inspector.session.conversation import Conversation
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import (
    AgentMessage,
    Item,
    PlanItem,
    Thought,
    ToolCallItem,
    UserMessage,
)
from acp_protocol import jsonrpc
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.connection import Connection
from acp_protocol.dialects.base import Dialect
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.schema.validate import validate_params, validate_result
from acp_protocol.transport.base import TapTransport
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.memory import memory_pair

LIMIT: Final = 10.0
"""Seconds after which a connection counts as hung."""
PERMISSION: Final = "session/request_permission"
SILENCE: Final = object()
"""In `Client.answers`: the request is never answered."""
INITIALIZE: Final[dict[int, Json]] = {
    1: {
        "protocolVersion": 1,
        "clientCapabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
    2: {"protocolVersion": 2, "capabilities": {}, "info": {"name": "test", "version": "1"}},
}
_IDS = count(1)


async def stream(events: Iterable[Event]) -> AsyncIterator[Event]:
    """Yield events as a log does."""
    for event in events:
        yield event


async def nothing() -> RenderedUpdates:
    """Return no updates, for the end of a replay."""
    return ()


def selected(option: str) -> Json:
    """Return the answer of a user who has chosen `option`."""
    return {"outcome": {"outcome": "selected", "optionId": option}}


class Counting:
    """A model that reports what it takes."""

    name = "counting"
    commands: Sequence[SlashCommand] = ()

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del tools
        yield TextDelta("well")
        yield TokenUsage(len(history), 2, cost=0.5, window=1000)


@dataclass
class Client:
    """The client's side of a connection: it answers requests and keeps what the agent sends."""

    version: int = 1
    answers: dict[str, Any] = field(default_factory=lambda: {PERMISSION: selected("allow")})
    """Method → answer: a value, an error to raise, a function of the params (sync or async), or
    `SILENCE`. What is not named is no method."""
    requests: list[Request] = field(default_factory=list[Request])
    notifications: list[Notification] = field(default_factory=list[Notification])
    cancelled: list[str] = field(default_factory=list[str])
    """The methods of requests that the agent has cancelled."""
    violations: list[str] | None = field(default_factory=list[str])
    """What violates the schema of the version; None where a dialect has another one."""
    journal: Journal = field(default_factory=Journal)
    """The frames of both sides."""
    cwd: Path = Path("/")
    initialized: Json = None
    """The response to `initialize`."""
    _arrived: anyio.Event = field(default_factory=anyio.Event)

    connection: Connection = field(init=False)
    server: AgentServer = field(init=False)

    async def handle_request(self, request: Request) -> Json:
        self._check(request.method, request.params)
        self.requests.append(request)
        self._arrived.set()
        no_method = RequestFailedError(jsonrpc.METHOD_NOT_FOUND, "Method not found")
        answer = self.answers.get(request.method, no_method)
        try:
            if answer is SILENCE:
                await anyio.sleep_forever()
            if isinstance(answer, Exception):
                raise answer
            result = answer(request.params) if callable(answer) else answer
            return await result if inspect.isawaitable(result) else result
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(request.method)
            self._arrived.set()
            raise

    async def handle_notification(self, notification: Notification) -> None:
        self._check(notification.method, notification.params)
        self.notifications.append(notification)
        self._arrived.set()

    def _check(self, method: str, params: Json) -> None:
        if self.violations is not None:
            found = validate_params(method, params, self.version)
            self.violations += [f"{method}: {violation}" for violation in found]

    async def until(self, holds: Callable[[], object]) -> None:
        """Return when what has arrived makes `holds` true."""
        while not holds():
            if self._arrived.is_set():
                self._arrived = anyio.Event()
            await self._arrived.wait()

    @property
    def requested(self) -> list[str]:
        """The methods of the agent's requests so far."""
        return [request.method for request in self.requests]

    @property
    def updates(self) -> list[Json]:
        """The updates of all sessions so far."""
        return [
            each.params["update"] for each in self.notifications if each.method == "session/update"
        ]

    def kinds(self) -> list[str]:
        """Return the kinds of the updates so far."""
        return [update["sessionUpdate"] for update in self.updates]

    @property
    def received(self) -> list[bytes]:
        """The lines that the agent has sent."""
        return [frame.data for frame in frames(self.journal.entries) if frame.side == "agent"]

    def methods(self) -> set[str]:
        """Return the methods of the client's requests so far."""
        lines = [each.data for each in frames(self.journal.entries) if each.side == "client"]
        sent = [json.loads(line) for line in lines]
        return {each["method"] for each in sent if "method" in each and "id" in each}

    async def ask(self, method: str, /, **params: Json) -> Json:
        """Return the result of a request; it must fit the schema."""
        result = await self.connection.request(method, params)
        if self.violations is not None:
            violations = validate_result(method, result, self.version)
            assert not violations, violations
        return result

    async def refusal(self, method: str, /, **params: Json) -> RequestFailedError:
        """Return the error that is the response to a request."""
        return await refusal(self.connection, method, params)

    async def new(self, **params: Json) -> ClientSession:
        """Open a session."""
        servers: dict[str, Json] = {"mcpServers": []} if self.version == 1 else {}
        opened = await self.ask("session/new", **({"cwd": str(self.cwd)} | servers | params))
        return ClientSession(self, opened["sessionId"], opened)

    def session(self, session_id: str) -> ClientSession:
        """Return a session by its id."""
        return ClientSession(self, session_id)


@dataclass
class ClientSession:
    """A session of a client."""

    client: Client
    id: str
    opened: Json = None
    """The response that opened it."""

    async def ask(self, method: str, /, **params: Json) -> Json:
        """Return the result of a request about the session; it must fit the schema."""
        return await self.client.ask(method, **{"sessionId": self.id, **params})

    async def refusal(self, method: str, /, **params: Json) -> RequestFailedError:
        """Return the error that is the response to a request about the session."""
        return await self.client.refusal(method, **{"sessionId": self.id, **params})

    async def reopen(self, **params: Json) -> Json:
        """Open the session again, with all that was said."""
        members = {"cwd": str(self.client.cwd)} | params
        if self.client.version == 1:
            return await self.ask("session/load", **(members | {"mcpServers": []}))
        return await self.ask("session/resume", **(members | {"replayFrom": {"type": "start"}}))

    async def prompt(self, text: str) -> Json:
        """Send a prompt; return its response, which in version 2 comes before the turn."""
        return await self.ask("session/prompt", prompt=[{"type": "text", "text": text}])

    async def turn(self, text: str) -> str:
        """Send a prompt; return why its turn ended."""
        before = len(self.idles())
        answer = await self.prompt(text)
        if self.client.version == 1:
            return answer["stopReason"]
        await self.client.until(lambda: len(self.idles()) > before)
        return self.idles()[-1]["stopReason"]

    async def cancel(self) -> None:
        """Cancel what runs."""
        await self.client.connection.notify("session/cancel", {"sessionId": self.id})

    async def choose(self, option: str, value: str) -> Json:
        """Choose a value of an option."""
        kind = {"type": "id"} if self.client.version == 2 else {}
        params = {"configId": option, "value": value} | kind
        return await self.ask("session/set_config_option", **params)

    @property
    def updates(self) -> list[Json]:
        """The updates of the session so far."""
        return [
            each.params["update"]
            for each in self.client.notifications
            if each.method == "session/update" and each.params["sessionId"] == self.id
        ]

    def of(self, kind: str) -> list[Json]:
        """Return the updates of one kind."""
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    def idles(self) -> list[Json]:
        """Return the states in which the agent does nothing (version 2)."""
        return [state for state in self.of("state_update") if state["state"] == "idle"]

    def states(self) -> list[Json]:
        """Return the states so far, with their stop reasons (version 2)."""
        return [(each["state"], each.get("stopReason")) for each in self.of("state_update")]

    async def ends(self, reason: str) -> None:
        """Return when the agent is idle for `reason` (version 2)."""
        await self.client.until(lambda: self.states()[-1:] == [("idle", reason)])

    @property
    def text(self) -> str:
        """All that the agent has written."""
        return "".join(chunk["content"]["text"] for chunk in self.of("agent_message_chunk"))

    @property
    def calls(self) -> list[dict[str, Json]]:
        """The tool calls as they stand now; `statuses` lists those that each has had."""
        calls: dict[str, dict[str, Json]] = {}
        for update in self.updates:
            if update["sessionUpdate"] == "tool_call":
                assert update["toolCallId"] not in calls
            elif update["sessionUpdate"] != "tool_call_update":
                continue
            elif self.client.version == 1:
                assert update["toolCallId"] in calls
            call = calls.setdefault(update["toolCallId"], {"statuses": []})
            call |= update
            if "status" in update:
                call["statuses"].append(update["status"])
        return list(calls.values())

    @property
    def conversation(self) -> Conversation:
        """What all that was said folds into."""
        return folded(self.client.journal.entries).get(self.id)


class DirectClient(Client):
    """A client that a part of the agent calls without a connection, as the schema wants it."""

    async def request(self, method: str, params: Json = None) -> Json:
        await anyio.lowlevel.checkpoint()
        return await self.handle_request(Request(len(self.requests), method, params, b""))

    async def notify(self, method: str, params: Json = None) -> None:
        await anyio.lowlevel.checkpoint()
        await self.handle_notification(Notification(method, params, b""))

    def _check(self, method: str, params: Json) -> None:
        super()._check(method, params)
        assert not self.violations, self.violations


@asynccontextmanager
async def connected(
    cwd: Path,
    version: int = 1,
    *,
    permission: Any = None,
    answers: dict[str, Any] | None = None,
    capabilities: Json = None,
    dialect: Dialect | None = None,
    initializes: bool = True,
    lints: bool = True,
    unstable: bool = False,
    settings: dict[str, Any] | None = None,
    model: Model | None = None,
    others: Sequence[Model] = (),
    timeout_s: float = LIMIT,
    **services: Any,
) -> AsyncGenerator[Client]:
    """Connect to an agent; at the end, its frames must fit the schema and lint without an error.

    `version` is the highest that both speak. `permission` is the answer to requests for permission
    (else all is allowed), `answers` holds those to others. `services` are members of
    `AgentServices`. A client that speaks a dialect is neither linted nor held to the schema.
    """
    ours, theirs = memory_pair()
    client = Client(version, cwd=cwd)
    client.answers |= {} if permission is None else {PERMISSION: permission}
    client.answers |= answers or {}
    services.setdefault("new_id", lambda: f"session_{next(_IDS)}")
    made = AgentServices(
        settings=settings_with(
            {"protocol.version": version, "protocol.unstable": unstable, **(settings or {})}
        ),
        models=[model or DemoModel(), *others],
        **services,
    )
    server = client.server = AgentServer(made, [ContinuumDialect(), OpenOxideDialect()])
    if dialect is not None:
        client.violations = None
        server.spoken_dialect = lambda: dialect.name
        theirs = DialectTransport(theirs, "agent", dialect)
    server.connection = Connection(theirs, server)
    tapped = TapTransport(ours, "client", client.journal.wire)
    with anyio.fail_after(timeout_s):
        async with (
            BackgroundTasks() as server.tasks,
            server.connection,
            Connection(tapped, client) as client.connection,
        ):
            if initializes:
                name = "clientCapabilities" if version == 1 else "capabilities"
                params = INITIALIZE[version] | {name: capabilities or {}}
                client.initialized = await client.ask("initialize", **params)
            yield client
            await server.connection.wait_settled()
        await server.release_sessions()
    assert not client.violations, client.violations
    if lints and dialect is None:
        errors = lint_errors(client.journal.entries, unstable=unstable)
        assert not errors, errors


@asynccontextmanager
async def open_session(
    cwd: Path, version: int = 1, *, mode: str = "ask", **options: Any
) -> AsyncGenerator[ClientSession]:
    """Connect to an agent as `connected` does, and open a session."""
    async with connected(cwd, version, **options) as client:
        session = await client.new()
        if mode != "ask":
            await session.choose("mode", mode)
        yield session


async def refusal(connection: Connection, method: str, params: Json) -> RequestFailedError:
    """Return the error that is the response to a request."""
    with pytest.raises(RequestFailedError) as caught:
        await connection.request(method, params)
    return caught.value


def frames(entries: Iterable[Entry]) -> list[Frame]:
    """Return the frames of a journal."""
    return [entry for entry in entries if isinstance(entry, Frame)]


def lint_errors(entries: Iterable[Entry], *, unstable: bool) -> list[str]:
    """Return what the linter calls an error."""
    linter = Linter(unstable=unstable)
    found = [finding for entry in entries for finding in linter.feed(entry)]
    found += linter.finish()
    return [f"{each.rule.name} {each.message}" for each in found if each.severity == "error"]


def folded(entries: Iterable[Entry]) -> Conversations:
    """Return what frames fold into."""
    conversations = Conversations()
    for frame in frames(entries):
        conversations.apply(frame)
    return conversations


def items(conversation: Conversation) -> list[Json]:
    """Return what a user sees of a conversation, without when its turns ended."""
    return [shown for item in conversation.items if (shown := _shown(item)) is not None]


def surroundings(conversation: Conversation) -> Json:
    """Return what a user sees beside the conversation."""
    known = conversation.info
    return (known.title, known.current_mode, known.config_options, known.commands, known.usage)


def _shown(item: Item) -> Json:
    match item:
        case UserMessage() | AgentMessage() | Thought():
            return (type(item).__name__, item.text, item.blocks)
        case PlanItem():
            return ("plan", item.entries)
        case ToolCallItem(facts=facts):
            return (
                *(facts.title, facts.kind, facts.status, item.content, facts.locations),
                *(facts.raw_input, facts.raw_output),
            )
        case _:
            return None
