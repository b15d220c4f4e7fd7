"""Our client with an agent on the official Python SDK, over HTTP and WebSocket."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp
import anyio
import pytest
import uvicorn
from acp.http.asgi import create_asgi_app

from acp_console.agents.spec import remote_agent
from acp_console.chat.connection import AgentConnection, connect_agent
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PolicyDecider
from acp_inspector.journal import Frame, Journal
from acp_inspector.lint.engine import lint
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import AgentMessage
from acp_protocol.errors import RequestFailedError
from acp_protocol.transport.remote import RemoteAgent
from tests.interop.python_sdk_agent import EditingAgent

LIMIT = 30.0
SCHEMES = ("http", "ws")


class LoadingAgent(EditingAgent):
    """Repeats two words when it loads a session."""

    async def initialize(self, *args: Any, **kwargs: Any) -> acp.InitializeResponse:
        answer = await super().initialize(*args, **kwargs)
        answer.agent_capabilities = acp.schema.AgentCapabilities(load_session=True)
        return answer

    async def load_session(self, session_id: str, **kwargs: Any) -> acp.LoadSessionResponse:
        for word in ("from ", "before"):
            await self._say(session_id, word)
        return acp.LoadSessionResponse()


@asynccontextmanager
async def python_server() -> AsyncGenerator[int]:
    """Serve the agent; yield the port."""

    def make(connection: Any) -> acp.Agent:
        agent = LoadingAgent()
        agent.on_connect(connection)
        return cast("acp.Agent", agent)

    with socket.create_server(("127.0.0.1", 0)) as listening, anyio.fail_after(LIMIT):
        config = uvicorn.Config(
            create_asgi_app(make), log_level="error", lifespan="off", ws="websockets-sansio"
        )
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            try:
                yield listening.getsockname()[1]
            finally:
                server.should_exit = server.force_exit = True


@asynccontextmanager
async def linked(scheme: str, place: Path, journal: Journal) -> AsyncGenerator[AgentConnection]:
    handlers = ClientHandlers(PolicyDecider("edits", lambda _ask, _is_allowed: None))
    async with python_server() as port:
        spec = remote_agent(RemoteAgent(f"{scheme}://127.0.0.1:{port}/acp"))
        async with connect_agent(spec, cwd=place, journal=journal, handlers=handlers) as link:
            yield link


def said(journal: Journal) -> str:
    talks = Conversations()
    talks.read(journal.entries)
    items = [item for talk in talks.sessions.values() for item in talk.items]
    return "".join(item.text for item in items if isinstance(item, AgentMessage))


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_an_edit_is_asked_for_and_done(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "greeting.txt").write_text("hello\n")
    journal = Journal()
    async with linked(scheme, tmp_path, journal) as link:
        session = await link.new_session(tmp_path)
        answer = await link.prompt(session["sessionId"], "edit it")
        assert answer["stopReason"] == "end_turn"
    assert (tmp_path / "greeting.txt").read_text() == "edit it"
    assert said(journal) == "chosen: go"
    # Of HTTP, only the version is found fault with, and none of ours.
    problems = {each.rule.name for each in lint(journal.entries).findings}
    assert problems <= {"no-capabilities", "not-http2"}


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_a_turn_is_cancelled(scheme: str, tmp_path: Path) -> None:
    journal = Journal()
    waiting = anyio.Event()
    journal.subscribe(
        lambda entry: (
            waiting.set() if isinstance(entry, Frame) and b'"waiting"' in entry.data else None
        )
    )
    async with linked(scheme, tmp_path, journal) as link, anyio.create_task_group() as tasks:
        session = await link.new_session(tmp_path)

        async def cancel() -> None:
            await waiting.wait()
            await link.cancel(session["sessionId"])

        tasks.start_soon(cancel)
        answer = await link.prompt(session["sessionId"], "wait for me")
        assert answer["stopReason"] == "cancelled"


async def test_a_session_that_was_loaded_can_be_prompted_over_a_websocket(tmp_path: Path) -> None:
    journal = Journal()
    async with linked("ws", tmp_path, journal) as link:
        await link.open_session("load", tmp_path, "sdk-session")
        await link.prompt("sdk-session", "and now")
    assert said(journal) == "from beforeYou said: and now"


async def test_over_http_it_cannot_and_that_is_said(tmp_path: Path) -> None:
    """The session stays unknown to the server: 404 with the header, 400 without."""
    journal = Journal()
    async with linked("http", tmp_path, journal) as link:
        await link.open_session("load", tmp_path, "sdk-session")
        with pytest.raises(RequestFailedError, match=r"does not know the session.*use ws://"):
            await link.prompt("sdk-session", "and now")
    assert said(journal) == "from before"
