"""What is told of an agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.config.configuration import configuration_of
from acp_agent.registry import agent_json
from acp_protocol.version import SCHEMA_ID, VERSION
from tests.agent.admin.visitors import listening, visiting
from tests.agent.conftest import talk


async def test_the_status_tells_how_the_agent_stands() -> None:
    configuration = configuration_of({"sessions.max_concurrent": 3, "model.name": "ollama:x"})
    async with listening(configuration=configuration) as listener, visiting(listener) as client:
        status = (await client.get("/admin/acp/status")).json()
    capabilities = status.pop("capabilities")
    assert capabilities["loadSession"] is True
    assert status == {
        "enabled": True,
        "version": VERSION,
        "schema": SCHEMA_ID,
        "transport": [{"type": "stdio"}],
        "protocolVersion": None,
        "model": "ollama:x",
        "sessions": {"open": 0, "asleep": 0, "limit": 3},
    }


async def test_the_sessions_are_told_without_what_was_said_in_them(cwd: Path) -> None:
    async with (
        talk(cwd) as it,
        listening(watched=it.server) as listener,
        visiting(listener) as client,
    ):
        await it.prompt("read notes.md")
        answer = await client.get("/admin/acp/sessions")
        [session] = answer.json()["sessions"]
        status = (await client.get("/admin/acp/status")).json()
    assert session.pop("updatedAt").endswith("+00:00")
    assert session.pop("historyLength") >= 2
    assert session == {
        "sessionId": it.session_id,
        "cwd": str(cwd),
        "title": "read notes.md",
        "mode": "ask",
        "model": "demo",
        "running": False,
        "asleep": False,
    }
    assert "milk" not in answer.text
    assert status["protocolVersion"] == 1
    assert status["sessions"]["open"] == 1


async def test_a_session_that_sleeps_is_told_as_before(cwd: Path) -> None:
    async with (
        talk(cwd) as it,
        listening(watched=it.server) as listener,
        visiting(listener) as client,
    ):
        await it.prompt("read notes.md")
        [before] = (await client.get("/admin/acp/sessions")).json()["sessions"]
        surface = it.server._handlers
        assert surface is not None
        await surface.open.suspend(surface.open.awake[it.session_id])
        [after] = (await client.get("/admin/acp/sessions")).json()["sessions"]
        status = (await client.get("/admin/acp/status")).json()
    assert after == before | {"asleep": True}
    assert status["sessions"] == {"open": 1, "asleep": 1, "limit": 10}


async def test_nothing_that_a_screen_obeys_is_told(cwd: Path) -> None:
    async with (
        talk(cwd) as it,
        listening(watched=it.server) as listener,
        visiting(listener) as client,
    ):
        await it.prompt("help \x1b]52;c;x\x07 \x7f \x9b2J \u202e \U000e0041")
        answer = await client.get("/admin/acp/sessions")
    assert answer.content.isascii()
    assert answer.text.isprintable()
    assert "\u202e" in answer.json()["sessions"][0]["title"]


async def test_agent_json_is_the_same_as_the_command_prints() -> None:
    configuration = configuration_of({"agent.name": "Mine"})
    async with listening(configuration=configuration) as listener, visiting(listener) as client:
        answer = await client.get("/admin/acp/agent.json")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == agent_json(configuration)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/admin/acp/status", 405),
        ("DELETE", "/admin/acp/sessions", 405),
        ("GET", "/admin/acp/", 404),
        ("GET", "/admin/acp/../../etc/passwd", 404),
        ("HEAD", "/admin/acp/status", 200),
    ],
)
async def test_it_can_only_be_looked_at(method: str, path: str, status: int) -> None:
    async with listening() as listener, visiting(listener) as client:
        answer = await client.request(method, path)
    assert answer.status_code == status
