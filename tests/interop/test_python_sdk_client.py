"""A client on the official Python SDK with our agent, over real pipes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp
import anyio
import pytest
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AllowedOutcome,
    AvailableCommandsUpdate,
    ClientCapabilities,
    DeniedOutcome,
    FileEditToolCallContent,
    FileSystemCapabilities,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    WriteTextFileResponse,
)

from tests.warm import WARM

LIMIT = 30.0
"""Seconds after which a talk counts as hung."""


class SdkClient:
    """Keeps what it is told; gives the consent of kind `choice`, or waits for ever with None."""

    def __init__(self, choice: str | None = "allow_once") -> None:
        self.choice = choice
        self.updates: list[Any] = []
        self.asked: list[ToolCallUpdate] = []
        self.is_asked = anyio.Event()
        self.is_cancelled = anyio.Event()
        self.buffers: dict[str, str] = {}

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **kwargs: Any,
    ) -> RequestPermissionResponse:
        self.asked.append(tool_call)
        self.is_asked.set()
        if self.choice is None:
            await self.is_cancelled.wait()
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        (option,) = [option for option in options if option.kind == self.choice]
        outcome = AllowedOutcome(outcome="selected", option_id=option.option_id)
        return RequestPermissionResponse(outcome=outcome)

    async def read_text_file(
        self,
        session_id: str,
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **kwargs: Any,
    ) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=self.buffers[path])

    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> WriteTextFileResponse:
        self.buffers[path] = content
        return WriteTextFileResponse()

    def of(self, *kinds: type[Any]) -> list[Any]:
        return [update for update in self.updates if isinstance(update, kinds)]

    @property
    def text(self) -> str:
        return "".join(chunk.content.text for chunk in self.of(AgentMessageChunk))

    @property
    def statuses(self) -> list[str]:
        changes = self.of(ToolCallStart, ToolCallProgress)
        return [change.status for change in changes if change.status is not None]


@asynccontextmanager
async def session(
    client: SdkClient, cwd: Path, capabilities: ClientCapabilities | None = None
) -> AsyncGenerator[tuple[ClientSideConnection, str]]:
    """Start our agent, and open a session in `cwd`."""
    # The SDK does without the methods for what was not offered; its protocol class does not.
    started = acp.spawn_agent_process(cast("acp.Client", client), *WARM, "-m", "acp_agent")
    with anyio.fail_after(LIMIT):
        async with started as (agent, process):
            hello = await agent.initialize(
                protocol_version=acp.PROTOCOL_VERSION, client_capabilities=capabilities
            )
            assert hello.protocol_version == 1
            assert hello.agent_info is not None
            assert hello.agent_info.name == "acp-agent"
            opened = await agent.new_session(cwd=str(cwd))
            yield agent, opened.session_id
        assert process.returncode == 0


def text(words: str) -> list[Any]:
    return [TextContentBlock(type="text", text=words)]


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "notes.md").write_text("# Notes\n\nBuy milk.\n")
    return tmp_path


async def test_it_is_told_our_commands_and_modes(cwd: Path) -> None:
    client = SdkClient()
    async with session(client, cwd) as (agent, session_id):
        await agent.prompt(session_id=session_id, prompt=text("hello"))
        await agent.set_session_mode(session_id=session_id, mode_id="auto")
        listed = await agent.list_sessions(cwd=str(cwd))
        await agent.close_session(session_id=session_id)
    assert [entry.title for entry in listed.sessions] == ["hello"]
    (told,) = client.of(AvailableCommandsUpdate)
    assert [command.name for command in told.available_commands] == [
        "tour",
        "plan",
        "think",
        "tools",
        "help",
        "usage",
        "permissions",
    ]


async def test_it_sees_a_file_being_read(cwd: Path) -> None:
    client = SdkClient()
    async with session(client, cwd) as (agent, session_id):
        ended = await agent.prompt(session_id=session_id, prompt=text("read notes.md"))
    assert ended.stop_reason == "end_turn"
    assert client.statuses == ["pending", "in_progress", "completed"]
    assert "Buy milk." in client.text
    assert client.asked == []


@pytest.mark.parametrize(
    ("choice", "after"), [("allow_once", "Buy bread."), ("reject_once", "Buy milk.")]
)
async def test_it_decides_about_an_edit(cwd: Path, choice: str, after: str) -> None:
    client = SdkClient(choice)
    async with session(client, cwd) as (agent, session_id):
        order = text("edit notes.md: milk => bread")
        ended = await agent.prompt(session_id=session_id, prompt=order)
    assert ended.stop_reason == "end_turn"
    assert (cwd / "notes.md").read_text() == f"# Notes\n\n{after}\n"
    (asked,) = client.asked
    assert asked.kind == "edit"
    assert asked.content is not None
    (diff,) = asked.content
    assert isinstance(diff, FileEditToolCallContent)
    assert (diff.old_text, diff.new_text) == (
        "# Notes\n\nBuy milk.\n",
        "# Notes\n\nBuy bread.\n",
    )


async def test_its_buffers_are_edited_where_it_offers_them(cwd: Path) -> None:
    client = SdkClient()
    path = str(cwd / "notes.md")
    client.buffers[path] = "unsaved milk\n"
    offered = ClientCapabilities(
        fs=FileSystemCapabilities(read_text_file=True, write_text_file=True)
    )
    async with session(client, cwd, offered) as (agent, session_id):
        await agent.prompt(session_id=session_id, prompt=text("edit notes.md: milk => bread"))
    assert client.buffers == {path: "unsaved bread\n"}
    assert "Buy milk." in (cwd / "notes.md").read_text()


async def test_it_cancels_a_turn_that_waits_for_it(cwd: Path) -> None:
    client = SdkClient(choice=None)
    async with session(client, cwd) as (agent, session_id), anyio.create_task_group() as tasks:

        async def cancel() -> None:
            await client.is_asked.wait()
            await agent.cancel(session_id=session_id)
            client.is_cancelled.set()

        tasks.start_soon(cancel)
        order = text("edit notes.md: milk => bread")
        ended = await agent.prompt(session_id=session_id, prompt=order)
        assert ended.stop_reason == "cancelled"
    assert client.statuses[-1] == "failed"
    assert "milk" in (cwd / "notes.md").read_text()


async def test_the_tour_passes_its_models_and_leaves_nothing(cwd: Path) -> None:
    client = SdkClient()
    async with session(client, cwd) as (agent, session_id):
        ended = await agent.prompt(session_id=session_id, prompt=text("/tour"))
    assert ended.stop_reason == "end_turn"
    assert client.of(AgentThoughtChunk)
    assert len(client.of(AgentPlanUpdate)) == 4
    assert [call.kind for call in client.of(ToolCallStart)] == [
        "edit",
        "read",
        "search",
        "edit",
        "execute",
        "delete",
    ]
    assert client.statuses.count("completed") == 6
    assert [path.name for path in cwd.iterdir()] == ["notes.md"]


async def test_a_directory_that_is_none_is_refused_by_name(cwd: Path) -> None:
    client = SdkClient()
    async with session(client, cwd) as (agent, _):
        with pytest.raises(acp.RequestError, match="cwd is not a directory") as raised:
            await agent.new_session(cwd=str(cwd / "gone"))
    assert raised.value.code == -32602
