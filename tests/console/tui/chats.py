"""What the tests of the chat share."""

from __future__ import annotations

from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.ask import PermissionTiming
from acp_console.tui.chat.screen import ChatScreen
from acp_inspector.journal import Frame

AT_ONCE = PermissionTiming(typing_pause_s=0, settle_s=0, burst_s=0)


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
"""Asks for a permission: "1  Yes", "2  No"."""

BURST = PermissionTiming(typing_pause_s=0, settle_s=0, burst_s=0.2)


def frames_of(app: ConsoleApp) -> list[Frame]:
    return [each for each in chat_of(app).chat.journal.entries if isinstance(each, Frame)]
