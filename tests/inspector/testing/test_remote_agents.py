"""Tests of an agent at a URL."""

from __future__ import annotations

from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from acp_inspector.journal import Journal
from acp_inspector.testing.fixtures import AcpAgent
from acp_inspector.testing.live_agent import start_agent
from acp_inspector.testing.pytest_plugin import agent_of
from acp_protocol.errors import ConnectionClosedError
from acp_protocol.transport.opening import named_agent
from acp_protocol.transport.remote import RemoteAgent
from tests.protocol.transport.served_agent import TOKEN, Serving, serving


def address(server: Serving, transport: str) -> RemoteAgent:
    return RemoteAgent(server.url if transport == "http" else server.socket_url, token=TOKEN)


@pytest.mark.parametrize("transport", ["http", "websocket"])
async def test_it_is_opened_like_one_that_is_started(tmp_path: Path, transport: str) -> None:
    journal = Journal()
    async with (
        serving() as server,
        start_agent(address(server, transport), cwd=tmp_path, journal=journal) as agent,
    ):
        await agent.new_session()
        turn = await agent.prompt("hello")
        assert turn.stop_reason == "end_turn"
    assert TOKEN not in str(journal.entries)


async def test_its_end_is_explained(tmp_path: Path) -> None:
    async with serving() as server:
        wrong = RemoteAgent(server.url, token="wrong")
        with pytest.raises(ConnectionClosedError, match="401 Unauthorized"):
            async with start_agent(wrong, cwd=tmp_path):
                pass


def test_the_fixture_takes_a_url(tmp_path: Path) -> None:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving()) as server,
    ):
        agent = AcpAgent((), tmp_path, None)
        agent.start(address(server, "http"))
        assert agent.prompt("hello").stop_reason == "end_turn"
        agent.close()


class _Settings:
    """The part of the configuration of pytest that names the agent."""

    def __init__(self, folder: Path, option: str | None, **values: str) -> None:
        self.rootpath = folder
        self._option = option
        self._values = values

    def getoption(self, name: str) -> str | None:
        return self._option

    def getini(self, name: str) -> str:
        return self._values.get(name, "")


def test_the_project_names_a_url_and_the_variable_of_its_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_TOKEN", TOKEN)
    config = _Settings(tmp_path, None, acp_agent="wss://h/acp", acp_token_env="FAR_TOKEN")
    found = agent_of(config)  # pyright: ignore[reportArgumentType]
    assert found == RemoteAgent("wss://h/acp", token=TOKEN)


def test_words_are_a_command(tmp_path: Path) -> None:
    assert named_agent("agent --url http://h/", tmp_path) == ("agent", "--url", "http://h/")
