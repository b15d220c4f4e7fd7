"""Chats with agents that understand only a dialect, and do not say so at once."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from acp_console.agents.spec import Login, command_agent
from acp_console.chat.chat_session import ChatSession
from acp_inspector.journal import DIALECT, JournalEvent
from acp_inspector.session.items import Notice
from acp_protocol.jsonrpc import Json
from tests.console.chat.test_chats import chats, frames, said
from tests.console.conftest import Agent
from tests.console.strangers import ACPEX, ANSWERS, CRASHES, DIES, LENGTHS, REFUSES
from tests.warm import WARM


@pytest.mark.parametrize(
    ("script", "dialect", "reply"),
    [
        (ACPEX.replace("REFUSE", REFUSES), "acpex", "got hello"),
        (ACPEX.replace("REFUSE", CRASHES), "acpex", "got hello"),
        (LENGTHS.replace("REFUSE", DIES), "openoxide", "hi there"),
        (LENGTHS.replace("REFUSE", ANSWERS), "openoxide", "hi there"),
    ],
)
async def test_a_chat_goes_on_in_the_dialect_that_the_agent_shows(
    agent: Agent, tmp_path: Path, script: str, dialect: str, reply: str
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(script)), tmp_path)
        session.send("hello")
        await all_.until(lambda: said(session) == reply and session.state == "ready")
        assert (session.error, session.queued) == (None, [])
        assert session.spec.dialect == dialect
        notices = [each.text for each in session.take_changes() if isinstance(each, Notice)]
        assert any(f"speaks {dialect}: started once more" in text for text in notices)


LEARNT = """
greet(); open_session()
asked = hear("session/prompt")
if "prompt" not in asked["params"]:
    tell(id=asked["id"], error={"code": -32602, "message": "params.prompt is missing"})
    hear("never")
say("hi there"); end(asked); hear("never")
"""


async def test_a_chat_goes_on_without_a_remembered_dialect_that_the_agent_does_not_speak(
    agent: Agent, tmp_path: Path
) -> None:
    spec = command_agent(agent(LEARNT)).with_protocol(None, "acpex")
    async with chats() as all_:
        session = all_.open(replace(spec, is_dialect_remembered=True), tmp_path)
        session.send("hello")
        await all_.until(lambda: said(session) == "hi there" and session.state == "ready")
        assert (session.error, session.spec.dialect) == (None, None)
        events = [each for each in session.journal.entries if isinstance(each, JournalEvent)]
        assert [each.dialect for each in events if each.name == DIALECT] == ["acpex", "none"]


OURS = (*WARM, "-m", "acp_agent", "--no-config")
PEERS = Path(__file__).parents[2] / "protocol/dialects/peers"


async def test_the_journal_of_a_chat_has_the_headers_byte_for_byte(tmp_path: Path) -> None:
    received, sent = tmp_path / "received", tmp_path / "sent"
    agent = shlex.join([sys.executable, str(PEERS / "openoxide_agent.py")])
    command = ("sh", "-c", f"tee {received} | {agent} | tee {sent}")
    async with chats() as all_:
        spec = command_agent(command).with_protocol(None, "openoxide")
        session = all_.open(spec, tmp_path)
        session.send("hello")
        await all_.until(lambda: bool(said(session)) and session.state == "ready")
    found = frames(session)
    for side, wire in (("client", received), ("agent", sent)):
        assert b"".join(each.wire for each in found if each.side == side) == wire.read_bytes()
    assert all(each.header.startswith(b"Content-Length: ") for each in found)


@pytest.mark.parametrize("dialect", ["continuum", "acpex", "openoxide"])
async def test_a_login_that_is_wanted_is_offered(tmp_path: Path, dialect: str) -> None:
    command = (*OURS, "--auth", "required", "--dialect", dialect)
    spec = command_agent(command).with_protocol(None, dialect)
    async with chats() as all_:
        session = all_.open(spec, tmp_path)
        await all_.until(lambda: session.needs_login)
        assert [each.id for each in session.logins] == ["stub"]
        session.log_in("stub")
        await all_.until(lambda: session.state == "ready")
        assert session.error is None


async def test_the_login_that_the_user_has_named_is_used_first(tmp_path: Path) -> None:
    spec = command_agent([sys.executable, str(PEERS / "acpex_agent.py")])
    async with chats() as all_:
        session = all_.open(replace(spec, login=Login("api_key", "wrong")), tmp_path)
        await all_.until(lambda: session.needs_login)
        session = all_.open(replace(spec, login=Login("api_key", "right")), tmp_path)
        await all_.until(lambda: session.state == "ready")


async def test_servers_that_the_dialect_has_no_place_for_are_said(tmp_path: Path) -> None:
    server: dict[str, Json] = {"name": "files", "type": "stdio", "command": "true", "args": []}
    spec = command_agent([sys.executable, str(PEERS / "continuum_agent.py")])
    spec = replace(spec, mcp_servers=(server,), options={"model": "gpt-4o"})
    async with chats() as all_:
        session = all_.open(spec, tmp_path)
        session.send("hello")
        await all_.until(lambda: said(session) and session.state == "ready")
        elsewhere = ChatSession(session.agent, tmp_path.parent, on_change=session.on_change)
        await all_.until(lambda: elsewhere.state == "ready")
        notices = [each.text for each in elsewhere.take_changes() if isinstance(each, Notice)]
        sentence = "continuum has no place for a directory: Continuum Router works in "
        assert f"{sentence}{tmp_path}" in notices
        notices = [each.text for each in session.take_changes() if isinstance(each, Notice)]
        assert not any(sentence in text for text in notices)
        assert "MCP server files is left out: continuum has no place for it" in notices
        sent = b"".join(each.data for each in frames(session) if each.side == "client")
        assert b'"model":"gpt-4o"' in sent
