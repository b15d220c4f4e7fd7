"""An agent on the official Python SDK that asks its client for everything there is to ask for.

What a prompt begins with says what is done: see the methods named after it. What comes of it is
told as text, so that the client's side sees what arrived here. Started as a program by
test_python_sdk_through_proxy.py.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, cast

import acp
from acp import schema


class WideAgent:
    """Does what the first word of a prompt says."""

    def __init__(self) -> None:
        self._client: acp.Client
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
        sys.stderr.write(f"asked for version {protocol_version}\n")
        return acp.InitializeResponse(
            protocol_version=protocol_version,
            agent_capabilities=schema.AgentCapabilities(load_session=True),
            agent_info=schema.Implementation(name="wide", title="Wide äöü 漢字", version="1"),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="wide-session")

    async def load_session(self, session_id: str, **kwargs: Any) -> acp.LoadSessionResponse:
        await self._say(session_id, "as it was")
        return acp.LoadSessionResponse()

    async def set_session_mode(
        self, mode_id: str, session_id: str, **kwargs: Any
    ) -> acp.SetSessionModeResponse:
        if mode_id == "none":
            raise acp.RequestError.invalid_params({"mode": mode_id})
        return acp.SetSessionModeResponse()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"method": method, "params": params}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        sys.stderr.write(f"told {method} {params}\n")
        sys.stderr.flush()

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> acp.PromptResponse:
        word, _, rest = prompt[0].text.partition(" ")
        deed = getattr(self, f"_{word}")
        reason = await deed(session_id, rest)
        return acp.PromptResponse(stop_reason=reason or "end_turn")

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self._is_cancelled.set()

    async def _say(self, session_id: str, text: str) -> None:
        await self._client.session_update(session_id, acp.update_agent_message_text(text))

    async def _flood(self, session_id: str, count: str) -> None:
        for number in range(int(count)):
            await self._say(session_id, f"{number} ünï 🙂 \x1b[31m\u2028 " + "x" * (number % 2000))

    async def _files(self, session_id: str, path: str) -> None:
        old = await self._client.read_text_file(path=path, session_id=session_id, line=2, limit=1)
        await self._say(session_id, old.content)
        await self._client.write_text_file(
            path=path, content=f"{old.content}\r\nmore\u0000", session_id=session_id
        )
        try:
            await self._client.read_text_file(path=f"{path}.gone", session_id=session_id)
        except acp.RequestError as problem:
            await self._say(session_id, f"{problem.code} {problem} {problem.data}")

    async def _permission(self, session_id: str, title: str) -> str | None:
        call = acp.start_tool_call("call-1", title, kind="execute", status="pending")
        await self._client.session_update(session_id, call)
        answer = await self._client.request_permission(
            session_id=session_id,
            tool_call=schema.ToolCallUpdate(tool_call_id="call-1"),
            options=[
                schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
                schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
            ],
        )
        chosen = getattr(answer.outcome, "option_id", "nothing")
        ended = acp.update_tool_call("call-1", status="completed" if chosen == "yes" else "failed")
        await self._client.session_update(session_id, ended)
        await self._say(session_id, f"chosen: {chosen}")
        return "cancelled" if chosen == "nothing" else None

    async def _terminal(self, session_id: str, command: str) -> None:
        opened = await self._client.create_terminal(
            session_id=session_id, command=command, args=["a b", "ü"]
        )
        place = {"session_id": session_id, "terminal_id": opened.terminal_id}
        ended = await self._client.wait_for_terminal_exit(**place)
        output = await self._client.terminal_output(**place)
        await self._client.release_terminal(**place)
        await self._say(session_id, f"{ended.exit_code} {output.output}")

    async def _wait(self, session_id: str, _: str) -> str:
        await self._say(session_id, "waiting")
        await self._is_cancelled.wait()
        return "cancelled"

    async def _fail(self, session_id: str, text: str) -> None:
        await self._say(session_id, "so far")
        raise acp.RequestError(-32050, text, {"of": ["ours", 1.5, None]})

    async def _break(self, session_id: str, _: str) -> None:
        raise ValueError("nobody foresaw this")

    async def _ask(self, session_id: str, method: str) -> None:
        try:
            answer: Any = await self._client.ext_method(method, {"a": [1, "ü"]})
        except acp.RequestError as problem:
            answer = (problem.code, str(problem))
        await self._say(session_id, str(answer))
        await self._client.ext_notification("told", {"b": None})

    async def _crash(self, session_id: str, code: str) -> None:
        await self._say(session_id, "last words")
        sys.stderr.write("crashing\n")
        sys.stderr.flush()
        os._exit(int(code))


if __name__ == "__main__":
    # What an agent does not offer it need not have, though the SDK's type asks for all of it.
    asyncio.run(acp.run_agent(cast("acp.Agent", WideAgent())))
