"""A peer that speaks a dialect, of which the one who talks with it notices nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import anyio
import pytest

from acp_protocol.connection import Connection
from acp_protocol.dialects.registry import open_dialect
from acp_protocol.errors import ConnectionClosedError, RequestFailedError
from acp_protocol.framing import Side
from acp_protocol.host.process import spawn
from acp_protocol.jsonrpc import Json, Notification, Request
from acp_protocol.schema.validate import validate_params, validate_result
from acp_protocol.transport import Transport
from acp_protocol.transport.dialect import DialectTransport
from acp_protocol.transport.memory import memory_pair
from acp_protocol.transport.stdio import StreamTransport
from tests.protocol.connected_peers import Script
from tests.protocol.dialects.examples import call, frame, said

LIMIT = 20.0
"""Seconds after which a talk counts as hung."""
PEERS = Path(__file__).parent.parent / "dialects/peers"
DIALECTS = ["continuum", "acpex", "openoxide", None]
"""What the reference agents speak; None for official words."""
OPENING = {
    "protocolVersion": 1,
    "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
    "clientInfo": {"name": "acp-console", "version": "1"},
}
READABLE = call("session/update", {"sessionId": "s", "content": [{"type": "text", "text": "a"}]})


@dataclass
class Chat:
    """A client of ours, and what it heard."""

    connection: Connection
    script: Script
    recognised: list[str]

    async def ask(self, method: str, params: Json) -> Json:
        result = await self.connection.request(method, params, timeout=LIMIT)
        assert validate_result(method, result) == (), method
        return result

    async def open(self) -> str:
        await self.ask("initialize", OPENING)
        return (await self.ask("session/new", {"cwd": "/", "mcpServers": []}))["sessionId"]

    def prompt(self, session: str, text: str) -> Json:
        return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}

    def updates(self) -> list[Json]:
        """Return the updates so far, each of which must be an official one."""
        for heard in self.script.heard:
            assert validate_params(heard.method, heard.params) == (), heard.raw
        return [heard.params["update"] for heard in self.script.heard]

    def text(self) -> str:
        tag = "agent_message_chunk"
        chunks = (each for each in self.updates() if each["sessionUpdate"] == tag)
        return "".join(chunk["content"]["text"] for chunk in chunks)


async def allow(request: Request) -> Json:
    if request.method == "session/request_permission":
        assert validate_params(request.method, request.params) == ()
        option = request.params["options"][0]["optionId"]
        return {"outcome": {"outcome": "selected", "optionId": option}}
    assert request.method == "fs/read_text_file"
    uri = {"uri": f"file://{request.params['path']}"}
    raise RequestFailedError(-32002, "Resource not found", uri)


@asynccontextmanager
async def chat(agent: str, dialect: str | None) -> AsyncGenerator[Chat]:
    """Talk with a reference agent in its own process."""
    script, recognised = Script(on_request=allow), list[str]()
    spoken = None if dialect is None else open_dialect(dialect)
    framing = "lines" if spoken is None else spoken.framing
    command = [sys.executable, str(PEERS / f"{agent}_agent.py")]
    with anyio.fail_after(LIMIT):
        async with spawn(command) as child:
            inner = StreamTransport(child.stdout, child.stdin, framing=framing)
            transport = DialectTransport(inner, "client", spoken, recognised.append)
            async with Connection(transport, script) as connection:
                yield Chat(connection, script, recognised)


# With the reference agents


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_client_chats_with_an_agent_whatever_it_speaks(dialect: str | None) -> None:
    async with chat(dialect or "summary", dialect) as talk:
        session = await talk.open()
        result = await talk.ask("session/prompt", talk.prompt(session, "Explain"))
        assert result["stopReason"] == "end_turn"
        assert (
            talk.text()
            == {
                "continuum": "The architecture is simple.",
                "acpex": "I'll refactor this function by...Refactoring complete!",
                "openoxide": "Adding ünï checks…Done.",
                None: "Let me see. Done.",
            }[dialect]
        )
        tools = [each for each in talk.updates() if each["sessionUpdate"].startswith("tool_call")]
        assert tools[0]["sessionUpdate"] == "tool_call"
        assert tools[-1]["status"] == "completed"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_turn_can_be_cancelled_whatever_the_agent_speaks(dialect: str | None) -> None:
    async with chat(dialect or "summary", dialect) as talk:
        session = await talk.open()
        heard = anyio.Event()
        results: list[Json] = []

        async def note(notification: object) -> None:
            del notification
            heard.set()

        async def ask() -> None:
            results.append(await talk.ask("session/prompt", talk.prompt(session, "wait")))

        talk.script.on_notification = note
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await heard.wait()
            await talk.connection.notify("session/cancel", {"sessionId": session})
        assert results == [{"stopReason": "cancelled"}]
        assert list(talk.connection.violations) == []


@pytest.mark.parametrize("dialect", ["continuum", "acpex"])
async def test_a_dialect_in_lines_is_recognised(dialect: str) -> None:
    async with chat(dialect, None) as talk:
        session = await talk.open()
        assert talk.recognised == [dialect]
        await talk.ask("session/prompt", talk.prompt(session, "Explain"))
        assert talk.text()


async def test_official_words_are_no_dialect() -> None:
    async with chat("summary", None) as talk:
        session = await talk.open()
        await talk.ask("session/prompt", talk.prompt(session, "Edit"))
        assert talk.recognised == []


async def test_the_mode_of_a_continuum_session_is_set() -> None:
    async with chat("continuum", "continuum") as talk:
        await talk.ask("initialize", OPENING)
        made = await talk.ask("session/new", {"cwd": "/", "mcpServers": []})
        assert made["modes"]["currentModeId"] == "code"
        mode = {"sessionId": made["sessionId"], "modeId": "architect"}
        result = await talk.ask("session/set_mode", mode)
        assert result["_meta"]["continuum"]["previousMode"] == "code"


@pytest.mark.parametrize(
    ("dialect", "code"), [("continuum", -32002), ("acpex", -32002), ("openoxide", -32602)]
)
async def test_an_unknown_session_is_an_official_error(dialect: str, code: int) -> None:
    async with chat(dialect, dialect) as talk:
        await talk.open()
        with pytest.raises(RequestFailedError) as caught:
            await talk.ask("session/prompt", talk.prompt("nobody", "Hello"))
        assert caught.value.code == code


async def test_an_agent_hears_our_errors_in_its_own_codes() -> None:
    async with chat("acpex", "acpex") as talk:
        session = await talk.open()
        await talk.ask("session/prompt", talk.prompt(session, "read"))
        assert "got -32001" in talk.text()


async def test_slash_commands_come_with_the_session() -> None:
    async with chat("openoxide", "openoxide") as talk:
        session = await talk.open()
        await talk.ask("session/prompt", talk.prompt(session, "Explain"))
        commands = talk.updates()[0]["availableCommands"]
        assert [command["name"] for command in commands] == ["review", "explain"]


@pytest.mark.parametrize("peer", ["continuum", "acpex", "openoxide", "batch", "summary"])
def test_a_reference_agent_satisfies_the_client_of_its_own_speech(peer: str) -> None:
    to_agent, from_client = os.pipe()
    with subprocess.Popen(
        [sys.executable, str(PEERS / f"{peer}_agent.py")], stdin=to_agent, stdout=subprocess.PIPE
    ) as agent:
        os.close(to_agent)
        done = subprocess.run(
            [sys.executable, str(PEERS / f"{peer}_client.py")],
            stdin=agent.stdout,
            stdout=from_client,
            stderr=subprocess.PIPE,
            timeout=LIMIT,
            check=False,
        )
        os.close(from_client)
    assert done.returncode == 0, done.stderr.decode()
    assert agent.returncode == 0
    assert all(json.loads(line) for line in done.stderr.splitlines())


# With the reference clients


class OfficialAgent:
    """An agent of ours in the smallest: one session, one answer in pieces, one tool."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.is_initialized = False

    async def handle_request(self, request: Request) -> Json:
        kind = "request"
        assert validate_params(request.method, request.params, kind=kind) == (), request.raw
        match request.method:
            case "initialize":
                self.is_initialized = True
                info = {"name": "ours", "version": "1"}
                return {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": {}}
            case _ if not self.is_initialized:
                raise RequestFailedError(-32600, "The first request is initialize")
            case "session/new":
                assert request.params["cwd"] == "/abs/project"
                return {"sessionId": "s1"}
            case "session/prompt" if request.params["sessionId"] == "s1":
                await self.run()
                return {"stopReason": "end_turn"}
            case "session/prompt":
                raise RequestFailedError(-32002, "Session not found")
            case _:
                raise RequestFailedError(-32601, "Method not found")

    async def handle_notification(self, notification: Notification) -> None:
        assert validate_params(notification.method, notification.params) == (), notification.raw

    async def run(self) -> None:
        assert self.connection is not None
        tool = {"toolCallId": "t1", "title": "Edit the file", "kind": "edit"}
        await self.tell({"sessionUpdate": "agent_message_chunk", "content": text("Hello.")})
        await self.tell({"sessionUpdate": "tool_call", "status": "pending"} | tool)
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        question = {"sessionId": "s1", "toolCall": tool, "options": options}
        # Two of the dialects have no such question, so that their clients do not know it.
        with suppress(RequestFailedError):
            answer = await self.connection.request("session/request_permission", question)
            assert answer == {"outcome": {"outcome": "selected", "optionId": "yes"}}
        done = {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"}
        diff = {"type": "diff", "path": "/a", "oldText": "a\n", "newText": "b\n"}
        await self.tell(done | {"content": [diff, {"type": "content", "content": text("ok")}]})
        entry = {"content": "Edit", "priority": "high", "status": "completed"}
        await self.tell({"sessionUpdate": "plan", "entries": [entry]})

    async def tell(self, update: Json) -> None:
        assert self.connection is not None
        await self.connection.notify("session/update", {"sessionId": "s1", "update": update})


def text(words: str) -> Json:
    return {"type": "text", "text": words}


@pytest.mark.parametrize("is_named", [True, False], ids=["chosen", "recognised"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_official_agent_satisfies_a_client_whatever_it_speaks(
    dialect: str | None, is_named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "cwd", lambda: Path("/abs/project"))
    spoken = open_dialect(dialect, "/abs/project") if dialect and is_named else None
    command = [sys.executable, str(PEERS / f"{dialect or 'summary'}_client.py"), "/abs/project"]
    agent = OfficialAgent()
    with anyio.fail_after(LIMIT):
        async with spawn(command) as child:
            inner = StreamTransport(child.stdout, child.stdin, framing=None)
            transport = DialectTransport(inner, "agent", spoken)
            async with Connection(transport, agent) as connection:
                agent.connection = connection
                assert await child.wait() == 0, child.stderr_tail()
                assert transport.dialect == dialect


# In memory


@asynccontextmanager
async def pair(
    us: Side, dialect: str | None = None
) -> AsyncGenerator[tuple[DialectTransport, Transport, list[str]]]:
    recognised: list[str] = []
    ours, theirs = memory_pair()
    spoken = None if dialect is None else open_dialect(dialect, "/abs/project")
    translated = DialectTransport(ours, us, spoken, recognised.append)
    with anyio.fail_after(LIMIT):
        yield translated, theirs, recognised
    await translated.aclose()
    await theirs.aclose()


async def carried(
    sender: Transport, raw: bytes, receiver: Transport, count: int = 1
) -> list[bytes]:
    """Send one frame and return the frames that arrive."""
    received: list[bytes] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sender.send, raw)
        received += [await receiver.receive() for _ in range(count)]
    return received


async def test_what_official_words_do_not_answer_is_answered_here() -> None:
    cancel = call("session/cancel", id=6)
    prompt = call("session/prompt", {"content": []}, id=7)
    async with pair("agent", "continuum") as (ours, theirs, _), anyio.create_task_group() as tasks:

        async def talk() -> None:
            await theirs.send(cancel)
            (answer,) = said(await theirs.receive())
            assert (answer["id"], answer["error"]["code"]) == (6, -32002)
            await theirs.send(prompt)

        tasks.start_soon(talk)
        assert said(await ours.receive())[0]["method"] == "session/prompt"


async def test_a_frame_of_several_comes_out_one_by_one() -> None:
    blocks = [{"type": "text", "text": text} for text in "abc"]
    raw = call("session/update", {"sessionId": "s", "content": blocks})
    async with pair("client", "continuum") as (ours, theirs, _):
        read = said(*await carried(theirs, raw, ours, len(blocks)))
        assert [each["params"]["update"]["content"] for each in read] == blocks


async def test_questions_from_before_are_known_when_the_answer_gives_the_dialect_away() -> None:
    answer = {"protocolVersion": 1, "agentCapabilities": {"mcp": True, "image": True}}
    async with pair("client") as (ours, theirs, recognised):
        sent = await carried(ours, call("initialize", OPENING, id=0), theirs)
        assert said(*sent)[0]["params"] == OPENING
        assert ours.dialect is None
        (read,) = said(*await carried(theirs, frame(id=0, result=answer), ours))
        assert read["result"]["agentCapabilities"]["promptCapabilities"] == {"image": True}
        assert recognised == [ours.dialect] == ["continuum"]


async def test_a_client_is_recognised_by_its_opening() -> None:
    flat = {"protocolVersion": 1, "clientCapabilities": {"readTextFile": True}}
    async with pair("agent") as (ours, theirs, recognised):
        (read,) = said(*await carried(theirs, call("initialize", flat, id=1), ours))
        assert read["params"]["clientCapabilities"] == {"fs": {"readTextFile": True}}
        assert recognised == ["continuum"]
        answer = frame(id=1, result={"protocolVersion": 1})
        (sent,) = said(*await carried(ours, answer, theirs))
        assert sent["result"]["agentCapabilities"]["mcp"] is False


async def test_sends_take_turns_with_what_is_sent_back() -> None:
    class Narrow:
        """A transport that knows how many are sending."""

        def __init__(self) -> None:
            self.sending = self.most = 0
            self.left = [call("session/cancel", id=number) for number in range(5)]
            self.sent: list[bytes] = []

        async def send(self, line: bytes) -> None:
            self.sending += 1
            self.most = max(self.most, self.sending)
            await anyio.lowlevel.checkpoint()
            self.sending -= 1
            self.sent.append(line)

        async def receive(self) -> bytes:
            await anyio.lowlevel.checkpoint()
            if not self.left:
                raise ConnectionClosedError
            return self.left.pop()

        async def aclose(self) -> None:
            pass

    inner = Narrow()
    transport = DialectTransport(inner, "agent", open_dialect("continuum"))

    async def send() -> None:
        for _ in range(5):
            await transport.send(b"{}")

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            with pytest.raises(ConnectionClosedError):
                await transport.receive()
    assert inner.most == 1
    assert len(inner.sent) == 10


async def test_a_cancelled_receive_loses_nothing() -> None:
    blocks = [{"type": "text", "text": text} for text in "ab"]
    raw = call("session/update", {"sessionId": "s", "content": blocks})
    async with pair("client", "continuum") as (ours, theirs, _):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await ours.receive()
        read = said(*await carried(theirs, raw, ours, len(blocks)))
        assert [each["params"]["update"]["content"] for each in read] == blocks


async def test_a_peer_that_stopped_listening_is_still_heard() -> None:
    class Deaf:
        def __init__(self) -> None:
            self.left = [READABLE, call("session/cancel", id=1)]

        async def send(self, line: bytes) -> None:
            del line
            raise ConnectionClosedError

        async def receive(self) -> bytes:
            return self.left.pop()

        async def aclose(self) -> None:
            pass

    transport = DialectTransport(cast("Transport", Deaf()), "agent", open_dialect("continuum"))
    assert await transport.receive() == READABLE
    with pytest.raises(ConnectionClosedError):
        await transport.send(b"{}")
