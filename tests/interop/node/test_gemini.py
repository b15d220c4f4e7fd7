"""Our client with Gemini CLI, up to where it needs a model."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from acp_console.agents.spec import SignInRequiredError, command_agent
from acp_console.chat.connection import AgentConnection, connect_agent
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PolicyDecider
from acp_inspector.journal import Journal
from tests.interop.node.programs import CONSOLE, LIMIT, console, lines

SETTINGS = {"privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}}
SIGN_IN = (
    "error: the agent wants you to log in (Gemini API key is missing or not configured.)\nhint: "
)


@pytest.fixture
def command(npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Gemini CLI as somebody has it who has just installed it, and who is not counted."""
    for name in os.environ:
        if name.startswith(("GEMINI_", "GOOGLE_")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    (home / ".gemini").mkdir(parents=True)
    (home / ".gemini" / "settings.json").write_text(json.dumps(SETTINGS))
    monkeypatch.setenv("HOME", str(home))
    return ["node", str(npm / "node_modules/@google/gemini-cli/bundle/gemini.js"), "--acp"]


@asynccontextmanager
async def linked(
    command: list[str], place: Path, journal: Journal
) -> AsyncGenerator[AgentConnection]:
    host = ClientHandlers(PolicyDecider("none", lambda _ask, _is_allowed: None))
    with anyio.fail_after(LIMIT):
        async with connect_agent(
            command_agent(command), cwd=place, journal=journal, handlers=host
        ) as link:
            yield link
            assert list(link.connection.violations) == []


def test_without_a_key_exec_says_how_to_sign_in(place: Path, command: list[str]) -> None:
    done = console(place, "exec", "hello", "--", *command)
    assert (done.returncode, done.stdout) == (4, "")
    assert SIGN_IN in done.stderr  # a slow start is noted before
    assert "Log in with Google" in done.stderr


def test_the_proxy_lets_all_of_that_through(
    place: Path, command: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "it.acp.ndjson"
    through = (*CONSOLE, "proxy", "--record", path, "--", *command)
    done = console(place, "exec", "hello", "--", *through)
    assert (done.returncode, done.stdout) == (4, "")
    assert SIGN_IN in done.stderr  # a slow start is noted before
    rows = lines(console(place, "show", "--format", "json", path))
    assert [(row["method"], row["kind"]) for row in rows] == [
        ("initialize", "request"),
        ("initialize", "result"),
        ("session/new", "request"),
        ("session/new", "error"),
    ]


async def test_it_names_itself_and_the_ways_to_sign_in(place: Path, command: list[str]) -> None:
    async with linked(command, place, Journal()) as link:
        assert (link.title, link.version) == ("Gemini CLI", 1)
        assert link.capabilities["loadSession"] is True
        with pytest.raises(SignInRequiredError) as refusal:
            await link.new_session(place)
    assert [method.split(" (")[0] for method in refusal.value.methods] == [
        "oauth-personal",
        "gemini-api-key",
        "vertex-ai",
        "gateway",
    ]


async def test_a_turn_that_waits_for_its_model_can_be_cancelled(
    place: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is asked on this machine, where it never answers."""
    is_asked = anyio.Event()

    async def listen(stream: SocketStream) -> None:
        async with stream:
            async for _ in stream:
                is_asked.set()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, listen)
        port = listener.extra(SocketAttribute.local_port)
        monkeypatch.setenv("GEMINI_API_KEY", "placeholder")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", f"http://127.0.0.1:{port}")
        async with linked(command, place, Journal()) as link:
            session: Any = await link.new_session(place)
            assert session["modes"]["currentModeId"] == "default"

            async def cancel() -> None:
                await is_asked.wait()
                await link.cancel(session["sessionId"])

            tasks.start_soon(cancel)
            answer = await link.prompt(session["sessionId"], "hello")
            assert answer["stopReason"] == "cancelled"
        tasks.cancel_scope.cancel()
