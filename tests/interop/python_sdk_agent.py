"""A small agent on the official Python SDK; started as a program by the tests beside it.

It streams its answer, and before it edits it asks. What it was told of its client and what it was
answered comes back as text, so that a test sees it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema


class EditingAgent:
    """Answers "edit …" with an edit of greeting.txt, and everything else with an echo."""

    def __init__(self) -> None:
        self._client: acp.Client
        self._cwd = Path()
        self._is_cancelled = asyncio.Event()

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **kwargs: Any,
    ) -> acp.InitializeResponse:
        return acp.InitializeResponse(
            protocol_version=protocol_version,
            agent_info=schema.Implementation(name="sdk-agent", title="SDK agent", version="1"),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        self._cwd = Path(cwd)
        return acp.NewSessionResponse(session_id="sdk-session")

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> acp.PromptResponse:
        text = "".join(block.text for block in prompt)
        if text.startswith("edit"):
            await self._edit(session_id, text)
        elif text.startswith("wait"):
            await self._say(session_id, "waiting")
            await self._is_cancelled.wait()
            return acp.PromptResponse(stop_reason="cancelled")
        else:
            for word in ("You ", "said: ", text):
                await self._say(session_id, word)
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self._is_cancelled.set()

    async def _edit(self, session_id: str, text: str) -> None:
        path = str(self._cwd / "greeting.txt")
        old = (await self._client.read_text_file(path=path, session_id=session_id)).content
        diff = acp.tool_diff_content(path, text, old)
        call = acp.start_tool_call("edit-1", "Edit greeting.txt", kind="edit", content=[diff])
        await self._client.session_update(session_id, call)
        # The kind is not said again: a client has to remember it from the update above.
        answer = await self._client.request_permission(
            session_id=session_id,
            tool_call=schema.ToolCallUpdate(tool_call_id="edit-1"),
            options=[
                schema.PermissionOption(option_id="go", name="Edit", kind="allow_once"),
                schema.PermissionOption(option_id="stop", name="Leave", kind="reject_once"),
            ],
        )
        chosen = getattr(answer.outcome, "option_id", "nothing")
        is_done = chosen == "go"
        if is_done:
            await self._client.write_text_file(path=path, content=text, session_id=session_id)
        ended = acp.update_tool_call("edit-1", status="completed" if is_done else "failed")
        await self._client.session_update(session_id, ended)
        await self._say(session_id, f"chosen: {chosen}")

    async def _say(self, session_id: str, text: str) -> None:
        await self._client.session_update(session_id, acp.update_agent_message_text(text))


if __name__ == "__main__":
    # What an agent does not offer it need not have, though the SDK's type asks for all of it.
    asyncio.run(acp.run_agent(cast("acp.Agent", EditingAgent())))
