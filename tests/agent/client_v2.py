"""A client of version 2 that talks to the agent in memory, and holds all it says to the schema."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import anyio
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
    ToolSpec,
)
from acp_agent.services import AgentServices
from acp_agent.settings.keys import settings_with
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.connection import Connection
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.schema.validate import validate_params, validate_result
from acp_protocol.transport.memory import memory_pair
from tests.agent.client import LIMIT

HELLO = {"protocolVersion": 2, "info": {"name": "test", "version": "1"}}


class Waiting:
    """A model that speaks when it is let."""

    name = "waiting"
    commands: Sequence[SlashCommand] = ()

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.go_on = anyio.Event()

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del history, tools
        self.begun.set()
        await self.go_on.wait()
        yield TextDelta("done")


class Broken:
    """A model that fails."""

    name = "broken"
    commands: Sequence[SlashCommand] = ()

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        del history, tools
        yield TextDelta("well")
        raise RuntimeError("a secret of ours")


@dataclass
class ClientV2:
    """The client's side; all that the agent says is kept and held against the schema."""

    answer: Json = None
    updates: list[Json] = field(default_factory=list[Json])
    asked: list[Request] = field(default_factory=list[Request])
    complaints: list[str] = field(default_factory=list[str])
    arrived: anyio.Event = field(default_factory=anyio.Event)

    async def handle_request(self, request: Request) -> Json:
        self._check(request.method, request.params)
        self.asked.append(request)
        self.arrived.set()
        if self.answer is None:
            await anyio.sleep_forever()
        if isinstance(self.answer, RequestFailedError):
            raise self.answer
        return self.answer

    async def handle_notification(self, notification: Notification) -> None:
        self._check(notification.method, notification.params)
        self.updates.append(notification.params["update"])
        self.arrived.set()

    def _check(self, method: str, params: Json) -> None:
        found = validate_params(method, params, 2)
        self.complaints += [f"{method}: {complaint}" for complaint in found]

    async def until(self, holds: Callable[[], object]) -> None:
        """Return when what has arrived makes `holds` true."""
        while not holds():
            self.arrived = anyio.Event()
            await self.arrived.wait()

    def states(self) -> list[Json]:
        """Return the states so far, with their stop reasons."""
        return [
            (update["state"], update.get("stopReason"))
            for update in self.updates
            if update["sessionUpdate"] == "state_update"
        ]

    def kinds(self) -> list[str]:
        """Return the kinds of the updates so far, equal neighbours once."""
        kinds: list[str] = []
        for update in self.updates:
            if kinds[-1:] != [update["sessionUpdate"]]:
                kinds.append(update["sessionUpdate"])
        return kinds


@dataclass
class TalkV2:
    """An open session of version 2."""

    connection: Connection
    client: ClientV2
    cwd: Path
    opened: Json

    @property
    def session_id(self) -> str:
        return self.opened["sessionId"]

    async def ask(self, method: str, **params: Json) -> Json:
        """Ask about the session; its answer must fit the schema."""
        result = await self.connection.request(method, {"sessionId": self.session_id, **params})
        self.client.complaints += [str(found) for found in validate_result(method, result, 2)]
        return result

    async def prompt(self, text: str) -> str:
        """Say something; return the id that it has got."""
        answer = await self.ask("session/prompt", prompt=[{"type": "text", "text": text}])
        return answer["messageId"]

    async def turn(self, text: str) -> Json:
        """Say something and wait until the agent is idle; return its last state."""
        before = len(self.client.states())
        await self.prompt(text)
        await self.client.until(
            lambda: self.client.states()[before:] and self.client.states()[-1][0] == "idle"
        )
        return self.client.states()[-1]

    async def cancel(self) -> None:
        await self.connection.notify("session/cancel", {"sessionId": self.session_id})


@asynccontextmanager
async def before_hello(
    newest: int = 2, *, model: Model | None = None, answer: Json = None
) -> AsyncGenerator[tuple[Connection, ClientV2]]:
    ours, theirs = memory_pair()
    names, client = count(1), ClientV2(answer)
    services = AgentServices(
        settings=settings_with({"protocol.version": newest}),
        models=[model or DemoModel()],
        new_id=lambda: f"session_{next(names)}",
    )
    server = AgentServer(services, ContinuumDialect())
    server.connection = Connection(theirs, server)
    with anyio.fail_after(LIMIT):
        async with (
            BackgroundTasks() as server.tasks,
            server.connection,
            Connection(ours, client) as connection,
        ):
            yield connection, client


@asynccontextmanager
async def talk(
    cwd: Path, *, model: Model | None = None, answer: Json = None
) -> AsyncGenerator[TalkV2]:
    async with before_hello(model=model, answer=answer) as (connection, client):
        await connection.request("initialize", HELLO)
        opened = await connection.request("session/new", {"cwd": str(cwd)})
        assert validate_result("session/new", opened, 2) == ()
        yield TalkV2(connection, client, cwd, opened)
    assert client.complaints == []


async def code_of(connection: Connection, method: str, params: Json) -> int:
    with pytest.raises(RequestFailedError) as caught:
        await connection.request(method, params)
    return caught.value.code
