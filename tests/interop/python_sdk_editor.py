"""A client on the official Python SDK that serves all that can be asked of one."""

from __future__ import annotations

from typing import Any, cast

import acp
import anyio
from acp import schema

TOOL = {"name": "look", "inputSchema": {"type": "object"}}


class Editor:
    """Serves all that can be asked of a client, and keeps what it is told."""

    def __init__(self) -> None:
        self.buffers: dict[str, str] = {}
        self.updates: list[Any] = []
        self.told: list[str] = []
        """Methods that the SDK has no word for."""
        self.asked: list[str | None] = []
        """Titles of what consent was asked for."""
        self.choice: str | None = "allow_once"
        self.is_asked = anyio.Event()
        self.is_cancelled = anyio.Event()
        self.is_killed = anyio.Event()
        self.is_called = anyio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)

    async def request_permission(
        self, tool_call: Any, options: list[schema.PermissionOption], **kwargs: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append(tool_call.title)
        self.is_asked.set()
        if self.choice is None:
            await self.is_cancelled.wait()
            denied = schema.DeniedOutcome(outcome="cancelled")
            return schema.RequestPermissionResponse(outcome=denied)
        (option,) = [option for option in options if option.kind == self.choice]
        chosen = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return schema.RequestPermissionResponse(outcome=chosen)

    async def read_text_file(self, path: str, **kwargs: Any) -> schema.ReadTextFileResponse:
        return schema.ReadTextFileResponse(content=self.buffers[path])

    async def write_text_file(
        self, path: str, content: str, **kwargs: Any
    ) -> schema.WriteTextFileResponse:
        self.buffers[path] = content
        return schema.WriteTextFileResponse()

    async def create_terminal(self, command: str, **kwargs: Any) -> schema.CreateTerminalResponse:
        return schema.CreateTerminalResponse(terminal_id=command)

    async def wait_for_terminal_exit(
        self, terminal_id: str, **kwargs: Any
    ) -> schema.WaitForTerminalExitResponse:
        if terminal_id == "sleep":
            await self.is_killed.wait()
            return schema.WaitForTerminalExitResponse(signal="SIGTERM")
        return schema.WaitForTerminalExitResponse(exit_code=0)

    async def terminal_output(
        self, terminal_id: str, **kwargs: Any
    ) -> schema.TerminalOutputResponse:
        exit_status = (
            schema.TerminalExitStatus(signal="SIGTERM")
            if terminal_id == "sleep"
            else schema.TerminalExitStatus(exit_code=0)
        )
        output = f"{terminal_id} was here\n"
        return schema.TerminalOutputResponse(
            output=output, truncated=False, exit_status=exit_status
        )

    async def kill_terminal(self, **kwargs: Any) -> schema.KillTerminalResponse:
        self.is_killed.set()
        return schema.KillTerminalResponse()

    async def release_terminal(self, **kwargs: Any) -> schema.ReleaseTerminalResponse:
        return schema.ReleaseTerminalResponse()

    async def create_elicitation(self, mode: Any, **kwargs: Any) -> Any:
        is_form = isinstance(mode, schema.ElicitationFormSessionMode)
        content = {"content": {"answer": "red"}} if is_form else {}
        return schema.AcceptElicitationResponse(action="accept", **cast("Any", content))

    async def complete_elicitation(self, **kwargs: Any) -> None:
        self.told.append("elicitation/complete")

    @property
    def text(self) -> str:
        chunks = [each for each in self.updates if isinstance(each, schema.AgentMessageChunk)]
        return "".join(getattr(chunk.content, "text", "") for chunk in chunks)


async def serve(editor: Editor, params: Any) -> Any:
    """Answer as an MCP server that never comes to the end of a call."""
    match params["method"]:
        case "tools/list":
            listed = {"resultType": "complete", "tools": [TOOL], "ttlMs": 0}
            return {"result": {**listed, "cacheScope": "private"}}
        case "tools/call":
            editor.is_called.set()
            await editor.is_cancelled.wait()
            raise acp.RequestError(-32800, "Request cancelled")
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}
