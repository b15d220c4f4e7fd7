"""Cases about MCP servers that the client names: one is offered, and notes what the agent does."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from acp_inspector.conformance.agent import tool_server
from acp_inspector.conformance.agent.tool_server import HttpToolServer
from acp_inspector.conformance.model import AGENT, PROFILES, V1, CaseFailedError, NotReachedError
from acp_inspector.conformance.peer import Peer
from acp_inspector.conformance.wire import becomes_true
from acp_protocol.dialects.registry import DIALECTS
from acp_protocol.jsonrpc import Json, encode

case = AGENT.case

SECTION: Final = "Session setup, MCP servers"
NO_SERVERS: Final = tuple(each.name for each in DIALECTS.values() if not each.takes_servers)
"""Dialects whose session/new has no MCP servers."""
FIRST: Final = ("initialize", "server/discover")
"""Methods with which a client of MCP may begin."""

ServerTransport: TypeAlias = Literal["stdio", "http"]
Notes: TypeAlias = Callable[[], Sequence[str]]
"""Returns the methods that the agent has called."""


@asynccontextmanager
async def _offered(peer: Peer, transport: ServerTransport) -> AsyncGenerator[tuple[Json, Notes]]:
    """Yield the declaration of a server as the version writes it, and its notes."""
    if transport == "http":
        with HttpToolServer() as server:
            web: Json = {
                "type": "http",
                "name": tool_server.NAME,
                "url": server.url,
                "headers": [],
            }
            try:
                yield web, lambda: list(server.methods)
            except (CaseFailedError, NotReachedError) as problem:
                if not server.was_missed:
                    raise
                reason = f"{problem}; it called another address than the one that was named"
                raise type(problem)(reason) from None
        return
    type_: dict[str, Json] = {} if peer.version == 1 else {"type": "stdio"}
    # Beside the directory of the session: an agent may look around there.
    with tempfile.TemporaryDirectory(prefix="acp-conform-") as directory:
        notes = Path(directory) / "notes"
        program: Json = {
            **type_,
            "name": tool_server.NAME,
            "command": sys.executable,
            "args": ["-I", tool_server.__file__, str(notes)],
            "env": [],
        }
        yield program, lambda: notes.read_text().splitlines() if notes.exists() else []


@asynccontextmanager
async def _connected(
    peer: Peer, transport: ServerTransport, *, is_setup: bool = True
) -> AsyncGenerator[tuple[str, Notes]]:
    """Yield a session whose agent has connected to a server, in its first turn at the latest.

    `is_setup`: the case is about something else, so that it is not reached without.
    """
    await peer.open()
    # Version 1 requires stdio of every agent.
    if (peer.version, transport) != (1, "stdio"):
        peer.require(f"mcpCapabilities.{transport}", f"session.mcp.{transport}")
    async with _offered(peer, transport) as (server, notes):
        try:
            session = await _session_with_server(peer, transport, server, notes)
        except CaseFailedError as problem:
            if is_setup:
                raise NotReachedError(str(problem)) from None
            raise
        yield session, notes


async def _session_with_server(
    peer: Peer, transport: ServerTransport, server: Json, notes: Notes
) -> str:
    session = await peer.create_session(mcpServers=[server])
    # Some agents connect when they need the tools.
    if not notes() and "text" in peer.options.prompts:
        await peer.setup_turn(session, peer.prompt_text("text"))
    if not await _noted(peer, notes, *FIRST):
        raise CaseFailedError(f"the agent has not connected to the server over {transport}")
    return session


async def _noted(peer: Peer, notes: Notes, *methods: str) -> bool:
    """Return whether the agent has called one of `methods`, or does so in time."""

    async def is_noted() -> bool:
        return not set(methods).isdisjoint(notes())

    return await becomes_true(is_noted, peer.timeout, attempts=100)


def _register(transport: ServerTransport, name: str) -> None:
    """Register the cases about one transport."""

    @case(
        f"mcp.{transport}-connects",
        SECTION,
        says=f"The agent connects to an MCP server {name} that the client names.",
        own=True,
        unlike=NO_SERVERS,
    )
    async def connects(peer: Peer) -> None:
        async with _connected(peer, transport, is_setup=False):
            pass

    @case(
        f"mcp.{transport}-lists",
        SECTION,
        says=f"The agent lists the tools of an MCP server {name}.",
        advice=PROFILES,
        own=True,
        unlike=NO_SERVERS,
    )
    async def lists(peer: Peer) -> None:
        async with _connected(peer, transport) as (_, notes):
            if not await _noted(peer, notes, "tools/list"):
                raise CaseFailedError(f"the agent called {', '.join(notes())}, and not tools/list")

    @case(
        f"mcp.{transport}-calls",
        SECTION,
        says=f"A tool of an MCP server {name} can be called.",
        own=True,
        unlike=NO_SERVERS,
    )
    async def calls(peer: Peer) -> None:
        text = peer.prompt_text("mcp")
        async with _connected(peer, transport) as (session, notes):
            turn = await peer.setup_turn(session, text)
            if "tools/call" in notes():
                return
            calls = [each for each in turn.updates if each.kind.startswith("tool_call")]
            if any(tool_server.TOOL in encode(dict(each.body)).decode() for each in calls):
                raise CaseFailedError("the agent announced the call, and none came to the server")
            raise NotReachedError("the prompt for mcp led to no call of the server's tool")


_register("stdio", "over stdio")
_register("http", "over HTTP")


@case("mcp.http-offered", SECTION, profiles=V1, advice=V1, own=True, unlike=NO_SERVERS)
async def http_offered(peer: Peer) -> None:
    """New agents should support MCP servers over HTTP."""
    await peer.open()
    if peer.offers("mcpCapabilities.http") is None:
        raise CaseFailedError("the agent does not offer mcpCapabilities.http")
