"""A client in memory to whom a scenario is played: what is written is kept byte by byte."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, ByteSendStream

from acp_agent.scripted.faults import ProcessExit
from acp_agent.scripted.player import CLOSE_TIMEOUT_S, Player
from acp_agent.scripted.scenario import read_scenario
from acp_agent.scripted.wire import ScriptIo
from acp_inspector.journal import Journal
from acp_inspector.lint.engine import Linter
from acp_protocol.framing import LineFramer
from acp_protocol.jsonrpc import Json
from tests.agent.visits import lint_errors

LIMIT = 20.0
"""Seconds after which a talk counts as hung."""
WORKING: list[list[Json]] = [[], ["running"], ["requires_action"]]
"""The last state of a turn that goes on."""
HELLO: dict[int, Json] = {
    1: {
        "protocolVersion": 1,
        "clientCapabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
    2: {"protocolVersion": 2, "capabilities": {}, "info": {"name": "t", "version": "1"}},
}


def steps(*lines: str) -> str:
    """Return a scenario that plays steps at each prompt."""
    return "[[prompt]]\nsteps = [\n" + ",\n".join(lines) + "\n]\n"


class Pipe(ByteSendStream):
    """The agent's stdout: keeps each write, and wakes who waits for one."""

    def __init__(self) -> None:
        self.journal = Journal()
        """What was said by both, for who speaks in lines."""
        self._framer = LineFramer()
        self.writes: list[bytes] = []
        self.is_open = True
        self.changed = anyio.Event()

    async def send(self, item: bytes) -> None:
        if not self.is_open:
            raise anyio.ClosedResourceError
        self.writes.append(item)
        for line in self._framer.feed(item):
            self.journal.line("agent", line)
        self.changed.set()
        self.changed = anyio.Event()

    async def aclose(self) -> None:
        self.is_open = False
        if rest := self._framer.rest():
            self.journal.frame("agent", rest)
        self.changed.set()


class Source(ByteReceiveStream):
    """The agent's stdin."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._has_ended = False
        self._changed = anyio.Event()

    def feed(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._changed.set()

    def end(self) -> None:
        self._has_ended = True
        self._changed.set()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        while not self._chunks:
            if self._has_ended:
                raise anyio.EndOfStream
            self._changed = anyio.Event()
            await self._changed.wait()
        return self._chunks.pop(0)

    async def aclose(self) -> None:
        self.end()


@dataclass
class Client:
    """What the client sees and says; time only passes by being written down."""

    pipe: Pipe = field(default_factory=Pipe)
    source: Source = field(default_factory=Source)
    shown: list[str] = field(default_factory=list[str])
    """Lines of stderr."""
    slept: list[float] = field(default_factory=list[float])
    fates: list[ProcessExit] = field(default_factory=list[ProcessExit])
    player: Player = field(init=False)
    _count: int = 0

    @property
    def raw(self) -> bytes:
        return b"".join(self.pipe.writes)

    @property
    def lines(self) -> list[bytes]:
        return self.raw.splitlines()

    @property
    def messages(self) -> list[dict[str, Json]]:
        """All that is an object in JSON."""
        found: list[dict[str, Json]] = []
        for line in self.lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            found += [message] if isinstance(message, dict) else []
        return found

    @property
    def updates(self) -> list[Json]:
        fields = [each for each in self.messages if each.get("method") == "session/update"]
        return [each["params"]["update"] for each in fields]

    @property
    def text(self) -> str:
        chunks = [each for each in self.updates if each["sessionUpdate"] == "agent_message_chunk"]
        return "".join(chunk["content"].get("text", "") for chunk in chunks)

    @property
    def kinds(self) -> list[str]:
        return [each["sessionUpdate"] for each in self.updates]

    @property
    def states(self) -> list[Json]:
        fields = [each for each in self.updates if each["sessionUpdate"] == "state_update"]
        return [each.get("stopReason", each["state"]) for each in fields]

    @property
    def lint(self) -> list[str]:
        """What the linter calls an error."""
        return lint_errors(self.pipe.journal.entries, unstable=False)

    @property
    def findings(self) -> set[str]:
        """The rules that are broken when the agent has ended, but for mere remarks."""
        linter, journal = Linter(), self.pipe.journal
        journal.event("exit", code=0)
        found = [each for entry in journal.entries for each in linter.feed(entry)]
        found += linter.finish()
        return {each.rule.name for each in found if each.severity != "info"}

    def write(self, raw: bytes) -> None:
        self.source.feed(raw)

    def send(self, message: Json) -> None:
        raw = json.dumps(message).encode()
        self.pipe.journal.frame("client", raw)
        self.write(raw + b"\n")

    def tell(self, method: str, **params: Json) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def begin(self, method: str, **params: Json) -> int:
        """Ask, and do not wait."""
        self._count += 1
        self.send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        return self._count

    def begin_prompt(self, text: str = "hello", session: str = "session-1") -> int:
        prompt = [{"type": "text", "text": text}]
        return self.begin("session/prompt", sessionId=session, prompt=prompt)

    async def until(self, found: Callable[[Any], object]) -> Json:
        """Return the first message, old or new, of which `found` is true."""
        while True:
            changed = self.pipe.changed
            for message in self.messages:
                if found(message):
                    return message
            await changed.wait()

    async def answer_to(self, id_: Json) -> Json:
        return await self.until(lambda it: "method" not in it and it.get("id") == id_)

    async def pending(self, method: str) -> Json:
        return await self.until(lambda it: it.get("method") == method and "id" in it)

    async def ask(self, method: str, **params: Json) -> Json:
        return await self.answer_to(self.begin(method, **params))

    async def prompt(self, text: str = "hello", session: str = "session-1") -> Json:
        """Say something; return the answer of version 1, or the last state of version 2."""
        before = len(self.states)
        answer = await self.answer_to(self.begin_prompt(text, session))
        if self.player.connection.version >= 2 and "result" in answer:
            await self.until(
                lambda _: (
                    "idle"
                    in [
                        each["state"]
                        for each in self.updates
                        if each["sessionUpdate"] == "state_update"
                    ][before:]
                )
            )
            return self.updates[-1]
        return answer

    def answer(self, pending: Json, result: Json) -> None:
        self.send({"jsonrpc": "2.0", "id": pending["id"], "result": result})

    def cancel(self, session: str = "session-1") -> None:
        self.tell("session/cancel", sessionId=session)

    def leave(self) -> None:
        self.source.end()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def played(
    text: str,
    *,
    version: int = 1,
    offers: Json = None,
    opens: bool = True,
    seed: int | None = None,
    close_timeout: float = CLOSE_TIMEOUT_S,
) -> AsyncGenerator[Client]:
    """Play a scenario to a client that has opened a session; at the end, the client leaves."""
    client = Client()
    scenario, _ = read_scenario(text, "it.toml", seed)
    stage = ScriptIo(client.pipe, client.shown.append, client.fates.append, client.sleep)
    client.player = Player(scenario, stage, version, close_timeout=close_timeout)
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.player.play, client.source)
            if opens:
                hello = dict(HELLO[version])
                hello["capabilities" if version == 2 else "clientCapabilities"] = offers or {}
                await client.ask("initialize", **hello)
                await client.ask("session/new", cwd="/project", mcpServers=[])
            yield client
            client.leave()


async def heard(text: str, *lines: bytes, seed: int | None = None, version: int = 1) -> Client:
    """Play a scenario to a client that says some lines at once and leaves."""
    async with played(text, opens=False, seed=seed, version=version) as client:
        client.write(b"".join(line + b"\n" for line in lines))
    return client
