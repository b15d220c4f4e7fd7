"""Chats with a remote agent whose connection breaks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from acp_console.agents.spec import remote_agent
from acp_console.chat.chat_session import NOT_KNOWN, ChatSession
from acp_console.chat.connection import QuietTimes
from acp_console.chat.running_agent import RunningAgent
from acp_inspector.session.items import AgentMessage, Notice, UserMessage
from acp_protocol.jsonrpc import Json, encode_error, encode_notification, encode_result, parse
from acp_protocol.transport.remote import RemoteAgent, RemoteClosedError, RemoteLimits

LIMIT = 30.0
"""Seconds after which a test counts as hung."""
SOON = RemoteLimits(retry_s=0.01, max_retry_s=0.02, give_up_s=LIMIT)
QUIET = QuietTimes(after_turn=0.01, after_silent_turn=0.01, after_opening=0.01)


class FarAgent:
    """Says each prompt again; breaks the connection at "break", after it has said something."""

    def __init__(self, *abilities: str) -> None:
        self.abilities = abilities
        self.history: list[tuple[str, str]] = []
        self.methods: list[str] = []
        self.status: int | None = None
        """With which upgrades are refused."""
        self.refused: list[int] = []
        self.server: Server | None = None

    def judge(self, socket: ServerConnection, request: Request) -> Response | None:
        if self.status is None:
            return None
        self.refused.append(self.status)
        return socket.respond(self.status, "no")

    async def talk(self, socket: ServerConnection) -> None:
        async for frame in socket:
            message: Any = parse(frame.encode() if isinstance(frame, str) else frame)
            self.methods.append(message["method"])
            result = await self.respond(socket, message["method"], message["params"])
            if result is None:
                answer = encode_error(message["id"], -32601, "unknown method")
            else:
                answer = encode_result(message["id"], result)
            await socket.send(answer, text=True)

    async def respond(self, socket: ServerConnection, method: str, params: Any) -> Json:
        match method:
            case "initialize":
                able: dict[str, Json] = {"loadSession": "load" in self.abilities}
                if "resume" in self.abilities:
                    able["sessionCapabilities"] = {"resume": {}}
                return {"protocolVersion": 1, "agentCapabilities": able}
            case "session/new":
                return {"sessionId": f"s{len(self.methods)}"}
            case "session/load":
                for kind, text in self.history:
                    await self.say(socket, kind, text, params["sessionId"])
                return {}
            case "session/resume":
                return {}
            case "session/prompt":
                text = params["prompt"][0]["text"]
                self.history.append(("user_message_chunk", text))
                await self.tell(socket, f"heard {text}", params["sessionId"])
                if text == "break":
                    self.history.append(("agent_message_chunk", "went on"))
                    socket.transport.abort()
                return {"stopReason": "end_turn"}
            case _:
                return None

    async def tell(self, socket: ServerConnection, text: str, session: str) -> None:
        self.history.append(("agent_message_chunk", text))
        await self.say(socket, "agent_message_chunk", text, session)

    async def say(self, socket: ServerConnection, kind: str, text: str, session: str) -> None:
        content: Json = {"type": "text", "text": text}
        update: Json = {"sessionUpdate": kind, "content": content}
        params: Json = {"sessionId": session, "update": update}
        await socket.send(encode_notification("session/update", params), text=True)

    def stop(self) -> None:
        """Close the port, but no connection."""
        assert self.server is not None
        self.server.close(close_connections=False)


class Chat:
    """A chat with a far agent, driven as a screen drives it."""

    def __init__(self, session: ChatSession, changed: Callable[[], anyio.Event]) -> None:
        self.session = session
        self._changed = changed
        self.notices: list[str] = []
        self.states: list[str] = []

    async def until(self, holds: Callable[[], object]) -> None:
        while True:
            change = self._changed()
            self.session.agent.read_journal()
            items = self.session.take_changes()
            self.notices += [item.text for item in items if isinstance(item, Notice)]
            if self.session.state not in self.states[-1:]:
                self.states.append(self.session.state)
            if holds():
                return
            await change.wait()

    async def until_ready(self) -> None:
        await self.until(lambda: self.session.state == "ready" and not self.session.queued)

    @property
    def texts(self) -> list[str]:
        talk = self.session.conversation
        items = talk.items if talk is not None else ()
        return [each.text for each in items if isinstance(each, AgentMessage | UserMessage)]


@asynccontextmanager
async def chat_with(far: FarAgent, cwd: Path, limits: RemoteLimits = SOON) -> AsyncGenerator[Chat]:
    event = anyio.Event()

    def changed() -> anyio.Event:
        nonlocal event
        event = anyio.Event()
        return event

    with anyio.fail_after(LIMIT):
        async with (
            serve(far.talk, "127.0.0.1", 0, process_request=far.judge) as far.server,
            anyio.create_task_group() as tasks,
        ):
            port = next(iter(far.server.sockets)).getsockname()[1]
            spec = remote_agent(RemoteAgent(f"ws://127.0.0.1:{port}/acp"))
            agent = RunningAgent(spec, cwd, quiet=QUIET, reconnecting=limits)
            session = ChatSession(agent, on_change=lambda: event.set())
            tasks.start_soon(agent.run)
            try:
                yield Chat(session, changed)
            finally:
                await agent.close()


async def test_a_session_is_loaded_again_and_nothing_is_shown_twice(tmp_path: Path) -> None:
    far = FarAgent("load", "resume")
    async with chat_with(far, tmp_path) as chat:
        chat.session.send("hello")
        await chat.until_ready()
        chat.session.send("break")
        await chat.until(lambda: chat.session.state == "reconnecting")
        await chat.until_ready()
        assert chat.session.take_reset()
        assert chat.texts == ["hello", "heard hello", "break", "heard break" + "went on"]
        chat.session.send("again")
        await chat.until_ready()
        assert chat.texts[-2:] == ["again", "heard again"]
    assert far.methods[-3:] == ["initialize", "session/load", "session/prompt"]
    [lost] = [each for each in chat.notices if "connecting again" in each]
    assert "may be lost" in lost
    assert "whether the turn goes on is not known" in lost


async def test_what_may_be_missing_after_a_resume_is_said(tmp_path: Path) -> None:
    far = FarAgent("resume")
    async with chat_with(far, tmp_path) as chat:
        await chat.until_ready()
        chat.session.send("break")
        await chat.until(lambda: chat.session.state == "reconnecting")
        await chat.until_ready()
    assert "session/resume" in far.methods
    assert "goes on with this session; what it sent meanwhile may be missing" in chat.notices[-1]


async def test_an_agent_that_keeps_nothing_begins_anew_and_says_so(tmp_path: Path) -> None:
    far = FarAgent()
    async with chat_with(far, tmp_path) as chat:
        await chat.until_ready()
        chat.session.send("break")
        await chat.until(lambda: chat.session.state == "reconnecting")
        await chat.until_ready()
    assert far.methods.count("session/new") == 2
    assert NOT_KNOWN in chat.notices[-1]


async def test_a_server_that_stays_away_is_given_up(tmp_path: Path) -> None:
    far = FarAgent("load")
    limits = RemoteLimits(retry_s=0.01, max_retry_s=0.01, give_up_s=0.05)
    async with chat_with(far, tmp_path, limits) as chat:
        await chat.until_ready()
        far.stop()
        chat.session.send("break")
        await chat.until(lambda: chat.session.state == "stopped")
        assert isinstance(chat.session.error, RemoteClosedError)
        assert "connection refused" in str(chat.session.error)
    assert "reconnecting" in chat.states


async def test_a_server_that_restarts_is_waited_for(tmp_path: Path) -> None:
    far = FarAgent("load")
    async with chat_with(far, tmp_path) as chat:
        await chat.until_ready()
        far.status = 503
        chat.session.send("break")
        await chat.until(lambda: len(far.refused) > 2)
        far.status = None
        await chat.until_ready()
        assert chat.texts == ["break", "heard breakwent on"]
    assert "stopped" not in chat.states
    assert len([each for each in chat.notices if "connecting again" in each]) == 1


async def test_a_server_that_refuses_is_not_asked_again(tmp_path: Path) -> None:
    far = FarAgent("load")
    async with chat_with(far, tmp_path) as chat:
        await chat.until_ready()
        far.status = 401
        chat.session.send("break")
        await chat.until(lambda: chat.session.state == "stopped")
        assert "--token-env" in str(chat.session.error)
        far.status = None
        chat.session.restart()
        await chat.until_ready()
    assert "session/load" in far.methods


@pytest.mark.parametrize("status", [401, 503])
async def test_a_connection_that_never_was_is_not_opened_again(tmp_path: Path, status: int) -> None:
    far = FarAgent()
    far.status = status
    async with chat_with(far, tmp_path) as chat:
        await chat.until(lambda: chat.session.state == "stopped")
        assert chat.session.has_failed_to_start
        assert str(status) in str(chat.session.error)
    assert "reconnecting" not in chat.states
