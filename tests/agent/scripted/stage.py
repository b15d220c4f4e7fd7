"""A client of a script in memory: it sends messages, and keeps what the script writes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream

from acp_agent.scripted.command import serve_script
from acp_agent.scripted.load import load_script
from acp_agent.scripted.server import ScriptServer
from acp_protocol.faults import Crash, Hang
from acp_protocol.framing import LineFramer
from acp_protocol.jsonrpc import Json

LIMIT: Final = 4.0
"""Seconds after which a script counts as hung."""
HELLO: Final[dict[int, Json]] = {
    1: {
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": {"readTextFile": True, "writeTextFile": True},
            "terminal": True,
            "elicitation": {"form": {}, "url": {}},
        },
    },
    2: {"protocolVersion": 2, "capabilities": {}, "info": {"name": "test", "version": "1"}},
}
Message: TypeAlias = dict[str, Any]
Responder: TypeAlias = Callable[[Message], Json]


class Client:
    """The client of a script; it answers requests with what `responder` returns."""

    def __init__(self, server: ScriptServer) -> None:
        self.server = server
        self.reports: list[str] = []
        self.ends: list[Crash | Hang] = []
        self.written: list[bytes] = []
        """What the script has written, write by write."""
        self.messages: list[Message] = []
        self.responder: Responder | None = None
        self.to_agent, self.agent_in = anyio.create_memory_object_stream[bytes](1000)
        self.agent_out, self.from_agent = anyio.create_memory_object_stream[bytes](100_000)
        self._framer = LineFramer()
        self._count = 0

    @property
    def updates(self) -> list[Message]:
        """The updates so far, without those of earlier versions of the same list."""
        return [each["params"]["update"] for each in self.messages if "update" in _params(each)]

    @property
    def kinds(self) -> list[str]:
        return [update["sessionUpdate"] for update in self.updates]

    @property
    def text(self) -> str:
        kind = "agent_message_chunk"
        said = [each for each in self.updates if each["sessionUpdate"] == kind]
        return "".join(each["content"]["text"] for each in said)

    async def send(self, message: Message) -> None:
        await self.to_agent.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def notify(self, method: str, **params: Json) -> None:
        await self.send({"method": method, "params": params})

    async def start(self, method: str, **params: Json) -> int:
        """Send a request; return its id."""
        self._count += 1
        await self.send({"id": self._count, "method": method, "params": params})
        return self._count

    async def ask(self, method: str, **params: Json) -> Message:
        """Send a request; return its response."""
        return await self.response(await self.start(method, **params))

    async def response(self, id_: Json) -> Message:
        """Return the response to a request, once it is there."""
        return await self.until(lambda each: "method" not in each and each.get("id") == id_)

    async def until(self, is_wanted: Callable[[Message], bool]) -> Message:
        """Return the first message that is wanted, once it is there."""
        with anyio.fail_after(LIMIT):
            while True:
                for message in self.messages:
                    if is_wanted(message):
                        return message
                await self._read()

    async def until_update(self, kind: str) -> Message:
        return await self.until(
            lambda each: _params(each).get("update", {}).get("sessionUpdate") == kind
        )

    async def open(self, version: int = 1) -> str:
        """Open a session; return its id."""
        await self.ask("initialize", **HELLO[version])
        opened = await self.ask("session/new", cwd="/project", mcpServers=[])
        return opened["result"]["sessionId"]

    async def start_prompt(self, text: str = "hello", session_id: str = "session-1") -> int:
        blocks = [{"type": "text", "text": text}]
        return await self.start("session/prompt", sessionId=session_id, prompt=blocks)

    async def prompt(self, text: str = "hello", session_id: str = "session-1") -> Json:
        """Run a turn to its end; return its stop reason, or the error."""
        response = await self.response(await self.start_prompt(text, session_id))
        if "error" in response or self.server.version == 1:
            return response.get("error") or response["result"]["stopReason"]
        ended = await self.until(lambda each: "stopReason" in _params(each).get("update", {}))
        return ended["params"]["update"]["stopReason"]

    async def rest(self) -> None:
        """Leave, and read what still comes."""
        await self.to_agent.aclose()
        with anyio.fail_after(LIMIT):
            while await self._read():
                pass

    async def _read(self) -> bool:
        try:
            chunk = await self.from_agent.receive()
        except anyio.EndOfStream:
            return False
        self.written.append(chunk)
        for line in self._framer.feed(chunk):
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                await self._take(cast("Message", message))
            elif isinstance(message, list):
                for each in cast("list[Any]", message):
                    if isinstance(each, dict):
                        await self._take(cast("Message", each))
        return True

    async def _take(self, message: Message) -> None:
        self.messages.append(message)
        if self.responder is not None and "method" in message and "id" in message:
            await self.send({"id": message["id"], **self.responder(message)})


def _params(message: Message) -> Message:
    params = message.get("params")
    return cast("Message", params) if isinstance(params, dict) else {}


@asynccontextmanager
async def running(folder: Path, text: str, *, close_timeout: float = 0.2) -> AsyncGenerator[Client]:
    """Run a script, with all that it may import, for a client in memory."""
    path = folder / "script.py"
    path.write_text(f"from acp_agent.scripted import *\n{text}")
    async with playing(path, close_timeout=close_timeout) as client:
        yield client


@asynccontextmanager
async def playing(path: Path, *, close_timeout: float = 0.2) -> AsyncGenerator[Client]:
    """Run a script for a client in memory."""

    def report(method: str, error: BaseException) -> None:
        client.reports.append(f"{method}: {error}")

    server = ScriptServer(load_script(path), report)
    client = Client(server)
    async with anyio.create_task_group() as tasks:
        incoming = cast("ByteReceiveStream", client.agent_in)
        outgoing = cast("ByteSendStream", client.agent_out)
        tasks.start_soon(
            serve_script, server, incoming, outgoing, client.ends.append, close_timeout
        )
        try:
            yield client
        finally:
            tasks.cancel_scope.cancel()
            for stream in (client.to_agent, client.from_agent, client.agent_in, client.agent_out):
                stream.close()
