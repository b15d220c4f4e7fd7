"""A scripted client that talks to the agent in memory, and holds all it says against the schema."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from acp_agent.door.server import AgentServer
from acp_agent.models.types import Model
from acp_agent.services import AgentServices
from acp_agent.world.workspace import Workspace
from acp_protocol import jsonrpc
from acp_protocol.concurrency import BackgroundTasks
from acp_protocol.connection import Connection
from acp_protocol.errors import RequestFailedError
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.schema.validate import validate_params
from acp_protocol.transport.base import TapTransport
from acp_protocol.transport.memory import memory_pair
from tests.agent.client import LIMIT

Answerer = Callable[[Request], Awaitable[Json]]


@dataclass
class ScriptedClient:
    """The client's side; `answers` says what it answers, and all that the agent says is kept."""

    answers: dict[str, Json | Answerer] = field(default_factory=dict[str, Any])
    updates: list[Json] = field(default_factory=list[Json])
    asked: list[Request] = field(default_factory=list[Request])
    complaints: list[str] = field(default_factory=list[str])
    on_update: Callable[[Json], None] = lambda _: None

    async def handle_request(self, request: Request) -> Json:
        self._check(request.method, request.params)
        self.asked.append(request)
        if request.method not in self.answers:
            raise RequestFailedError(jsonrpc.METHOD_NOT_FOUND, "Method not found")
        answer = self.answers[request.method]
        return await cast("Answerer", answer)(request) if callable(answer) else answer

    async def handle_notification(self, notification: Notification) -> None:
        self._check(notification.method, notification.params)
        self.updates.append(notification.params["update"])
        self.on_update(notification.params["update"])

    def _check(self, method: str, params: Json) -> None:
        self.complaints += [
            f"{method}: {complaint}" for complaint in validate_params(method, params)
        ]

    def of(self, kind: str) -> list[Json]:
        """Return the updates of one kind."""
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    @property
    def text(self) -> str:
        """All that the agent has said in words."""
        return "".join(chunk["content"]["text"] for chunk in self.of("agent_message_chunk"))

    @property
    def calls(self) -> list[dict[str, Json]]:
        """The tool calls as they stand now; `statuses` lists those that each has had."""
        calls: dict[str, dict[str, Json]] = {}
        for update in self.updates:
            if update["sessionUpdate"] == "tool_call":
                assert update["toolCallId"] not in calls
                calls[update["toolCallId"]] = {**update, "statuses": [update["status"]]}
            elif update["sessionUpdate"] == "tool_call_update":
                call = calls[update["toolCallId"]]
                call |= update
                if "status" in update:
                    call["statuses"].append(update["status"])
        return list(calls.values())


@dataclass
class Talk:
    """An open session, seen from the client."""

    connection: Connection
    client: ScriptedClient
    server: AgentServer
    cwd: Path
    session_id: str = ""
    wire: list[bytes] = field(default_factory=list[bytes])
    """What the agent has sent."""

    async def ask(self, method: str, **params: Json) -> Json:
        """Ask about the session."""
        return await self.connection.request(method, {"sessionId": self.session_id, **params})

    async def prompt(self, text: str) -> str:
        """Say something; return why the turn ended."""
        answer = await self.ask("session/prompt", prompt=[{"type": "text", "text": text}])
        return answer["stopReason"]

    async def cancel(self) -> None:
        """Cancel the turn."""
        await self.connection.notify("session/cancel", {"sessionId": self.session_id})


@asynccontextmanager
async def talk(
    cwd: Path,
    *,
    answers: dict[str, Json | Answerer] | None = None,
    capabilities: Json = None,
    model: Model | None = None,
    mode: str = "ask",
    services: AgentServices | None = None,
) -> AsyncGenerator[Talk]:
    """Open a session in `cwd`; at the end, all that the agent said must fit the schema."""
    ours, theirs = memory_pair()
    names = count(1)
    client = ScriptedClient(answers or {})
    wire: list[bytes] = []

    def keep(side: str, line: bytes) -> None:
        if side == "agent":
            wire.append(line)

    new_id = map("session_{}".format, names).__next__
    services = replace(services or AgentServices(), new_id=new_id)
    server = AgentServer(services if model is None else replace(services, models=[model]))
    server.connection = Connection(theirs, server)
    with anyio.fail_after(LIMIT):
        async with (
            BackgroundTasks() as server.tasks,
            server.connection,
            Connection(TapTransport(ours, "client", keep), client) as connection,
        ):
            hello: Json = {"protocolVersion": 1, "clientCapabilities": capabilities or {}}
            await connection.request("initialize", hello)
            it = Talk(connection, client, server, cwd, wire=wire)
            opened = await connection.request("session/new", {"cwd": str(cwd), "mcpServers": []})
            it.session_id = opened["sessionId"]
            if mode != "ask":
                await it.ask("session/set_mode", modeId=mode)
            yield it
    assert client.complaints == []


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """A directory with something in it, and a secret beside it."""
    cwd = tmp_path / "work"
    (cwd / "src").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (cwd / "notes.md").write_text("# Notes\n\nBuy milk.\nTODO: call Ada.\n")
    (cwd / "src" / "main.py").write_text("print('hi')  # todo later\n")
    return cwd


@pytest.fixture
def workspace(cwd: Path) -> Workspace:
    """The files of a session whose client offers none."""
    return Workspace("s", cwd)
