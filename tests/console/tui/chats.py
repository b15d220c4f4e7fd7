"""What the tests of the chat share."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from acp_console.agents.spec import DEMO_AGENT, AgentSpec, command_agent
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.ask import PermissionTiming
from acp_console.tui.chat.screen import ChatScreen
from acp_inspector.journal import Frame
from tests.console.tui.conftest import say, until

AT_ONCE = PermissionTiming(typing_pause_s=0, settle_s=0, burst_s=0)


@asynccontextmanager
async def open_chat(
    folder: Path,
    agent: AgentSpec | Sequence[str] = DEMO_AGENT,
    *,
    size: tuple[int, int] = (100, 40),
    notifications: bool = False,
    timing: PermissionTiming = AT_ONCE,
    **options: Any,
) -> AsyncGenerator[tuple[ConsoleApp, Pilot[int]]]:
    """Open a chat with an agent or a command, and wait until it is ready.

    `notifications`: whether they are drawn; `options` are those of the app.
    """
    spec = agent if isinstance(agent, AgentSpec) else command_agent(agent)
    app = ConsoleApp(agent=spec, start="chat", cwd=folder, timing=timing, **options)
    async with app.run_test(size=size, notifications=notifications) as pilot:
        await until(pilot, lambda: "● ready" in say(app))
        yield app, pilot


def chat_of(app: ConsoleApp) -> ChatScreen:
    screen = app.screen
    assert isinstance(screen, ChatScreen)
    return screen


ASKS = """
prompt = hear_prompt()
update("tool_call", toolCallId="t", title="Run make", kind="execute")
say(ask_consent(toolCallId="t"))
end(prompt)
hear("never")
"""
"""Asks for a permission: "1 Yes", "2 No"."""

BURST = PermissionTiming(typing_pause_s=0, settle_s=0, burst_s=0.2)


def frames_of(app: ConsoleApp) -> list[Frame]:
    return [each for each in chat_of(app).chat.journal.entries if isinstance(each, Frame)]
