"""A client on the official Python SDK with our agent: all that it can ask of sessions and of us."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp
import anyio
import pytest
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AcceptElicitationResponse,
    ClientCapabilities,
    CreateElicitationResponse,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    ElicitationUrlCapabilities,
    ImageContentBlock,
    McpServerStdio,
)

from tests.agent.mcp.rooms import WEATHER
from tests.interop.test_python_sdk_client import SdkClient, text

LIMIT = 60.0
"""Seconds after which a talk counts as hung; an MCP server has to start in it."""
ABLE = ClientCapabilities(
    elicitation=ElicitationCapabilities(
        form=ElicitationFormCapabilities(), url=ElicitationUrlCapabilities()
    )
)


class AskedClient(SdkClient):
    """One that shows forms and pages."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[tuple[str, Any]] = []
        self.done: list[str] = []

    async def create_elicitation(
        self, message: str, mode: Any, **kwargs: Any
    ) -> CreateElicitationResponse:
        self.questions.append((message, mode))
        return cast(
            "CreateElicitationResponse",
            AcceptElicitationResponse(action="accept", content={"answer": "red"}),
        )

    async def complete_elicitation(self, elicitation_id: str, **kwargs: Any) -> None:
        self.done.append(elicitation_id)


@asynccontextmanager
async def connected(
    client: SdkClient, *options: str
) -> AsyncGenerator[tuple[ClientSideConnection, Any]]:
    """Start our agent; yield the connection, and what it answered to `initialize`."""
    command = [sys.executable, "-m", "acp_agent", "--no-config", *options]
    # What has become stable since is unstable in this SDK.
    started = acp.spawn_agent_process(
        cast("acp.Client", client), *command, use_unstable_protocol=True
    )
    with anyio.fail_after(LIMIT):
        async with started as (agent, process):
            yield agent, await agent.initialize(1, ABLE)
        assert process.returncode == 0


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "notes.md").write_text("# Notes\n\nBuy milk.\n")
    return tmp_path


async def test_it_opens_saves_copies_and_closes_sessions(cwd: Path) -> None:
    client = SdkClient()
    async with connected(client, "--unstable") as (agent, _):
        where = str(cwd)
        first = (await agent.new_session(where)).session_id
        await agent.prompt(first, text("read notes.md"))
        chosen = await agent.set_config_option("policy", first, "allow_all")
        await agent.set_session_mode(first, "architect")
        copy = (await agent.fork_session(first, where)).session_id
        await agent.close_session(first)
        await agent.resume_session(first, where)
        await agent.close_session(first)
        said = len(client.text)
        await agent.load_session(where, first)
        listed = await agent.list_sessions(where)
    assert [option.current_value for option in chosen.config_options][-1] == "allow_all"
    assert {each.session_id for each in listed.sessions} == {first, copy}
    assert client.text[said:] == client.text[:said]


async def test_it_names_a_server_whose_tool_is_called(cwd: Path) -> None:
    client = SdkClient()
    server = McpServerStdio(name="w", command=sys.executable, args=[WEATHER, "stdio"], env=[])
    async with connected(client) as (agent, _):
        opened = await agent.new_session(str(cwd), mcp_servers=[server])
        await agent.prompt(opened.session_id, text("call w__look place=Rome"))
        await agent.close_session(opened.session_id)
    assert client.asked[0].title == "Look␛[2J outside (w)"
    assert "It rains in Rome." in client.text


async def test_it_sends_an_image(cwd: Path) -> None:
    client = SdkClient()
    async with connected(client) as (agent, hello):
        assert hello.agent_capabilities.prompt_capabilities.image
        opened = await agent.new_session(str(cwd))
        image = ImageContentBlock(type="image", mime_type="image/png", data="aGkh")
        await agent.prompt(opened.session_id, [image, *text("think")])
    assert "an image, image/png, 3 bytes" in client.text


async def test_it_is_asked_by_forms_and_pages(cwd: Path) -> None:
    client = AskedClient()
    async with connected(client) as (agent, _):
        session_id = (await agent.new_session(str(cwd))).session_id
        await agent.prompt(session_id, text("ask Which colour?: red, green"))
        await agent.prompt(session_id, text("open https://example.org/"))
    assert '{"answer": "red"}' in client.text
    assert client.questions[0][0] == "Which colour?"
    assert len(client.done) == 1


async def test_it_logs_in_where_that_is_wanted(cwd: Path) -> None:
    async with connected(SdkClient(), "--auth", "required") as (agent, hello):
        with pytest.raises(acp.RequestError) as caught:
            await agent.new_session(str(cwd))
        assert caught.value.code == -32000
        [method] = hello.auth_methods
        await agent.authenticate(method.id)
        await agent.new_session(str(cwd))
