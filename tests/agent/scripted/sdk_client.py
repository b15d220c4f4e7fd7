"""A client of scripts on the official SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import acp
import anyio
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AgentMessageChunk,
    AllowedOutcome,
    ClientCapabilities,
    CreateTerminalResponse,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TerminalOutputResponse,
    WaitForTerminalExitResponse,
    WriteTextFileResponse,
)

from tests.warm import WARM

AGENT = [*WARM, "-m", "acp_agent"]
LIMIT = 60.0
"""Seconds after which a program counts as hung."""


class SdkClient:
    """Allows everything, and keeps what it is told."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.has_heard = anyio.Event()
        self.files = {"/project/notes.md": "Buy milk.\n"}

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)
        self.has_heard.set()

    async def request_permission(self, **asked: Any) -> RequestPermissionResponse:
        option = asked["options"][0].option_id
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=option)
        )

    async def read_text_file(self, path: str, **asked: Any) -> ReadTextFileResponse:
        return ReadTextFileResponse(content=self.files[path])

    async def write_text_file(self, path: str, content: str, **asked: Any) -> Any:
        self.files[path] = content
        return WriteTextFileResponse()

    async def create_terminal(self, **asked: Any) -> CreateTerminalResponse:
        return CreateTerminalResponse(terminal_id="t1")

    async def wait_for_terminal_exit(self, **asked: Any) -> WaitForTerminalExitResponse:
        return WaitForTerminalExitResponse(exit_code=0)

    async def terminal_output(self, **asked: Any) -> TerminalOutputResponse:
        status: Any = {"exitCode": 0}
        return TerminalOutputResponse(output="hello\n", truncated=False, exit_status=status)

    async def release_terminal(self, **asked: Any) -> None:
        return None

    @property
    def text(self) -> str:
        chunks = [each for each in self.updates if isinstance(each, AgentMessageChunk)]
        return "".join(chunk.content.text for chunk in chunks)


@asynccontextmanager
async def sdk(name: str) -> AsyncGenerator[tuple[SdkClient, ClientSideConnection]]:
    """Start a script from the official SDK; it must end well."""
    client = SdkClient()
    # The SDK does without the methods for what was not offered; its protocol class does not.
    started = acp.spawn_agent_process(cast("acp.Client", client), *AGENT, "--script", name)
    files = FileSystemCapabilities(read_text_file=True, write_text_file=True)
    with anyio.fail_after(LIMIT):
        async with started as (agent, process):
            await agent.initialize(
                protocol_version=acp.PROTOCOL_VERSION,
                client_capabilities=ClientCapabilities(fs=files, terminal=True),
            )
            yield client, agent
        assert process.returncode == 0
