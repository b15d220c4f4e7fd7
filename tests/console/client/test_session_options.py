"""Modes are judged by their names, and only where these say something."""

from __future__ import annotations

import pytest

from acp_console.client.session_options import SessionOption, most_restrictive_mode


@pytest.mark.parametrize(
    ("modes", "chosen"),
    [
        ([("code", "Code"), ("ask", "Ask")], "ask"),
        ([("ask", "Ask"), ("plan", "Plan"), ("auto", "Auto")], "plan"),
        ([("plan", "Plan"), ("ro", "Read Only")], "ro"),
        ([("read-only", "Chat"), ("architect", "Architect")], "read-only"),
        ([("default", "Default"), ("dontAsk", "Don't Ask")], None),
        ([("never_ask", "Never ask"), ("x", "Don’t ask, read & write only what is needed")], None),
        ([("yolo", "Ask nothing, auto-approve")], None),
        ([("acceptEdits", "Accept Edits"), ("default", "Always Ask")], "default"),
        ([("task", "Task")], None),
    ],
)
def test_the_mode_that_lets_the_agent_do_least(
    modes: list[tuple[str, str]], chosen: str | None
) -> None:
    option = SessionOption("mode", "mode", tuple(modes), modes[0][0], "session/set_mode")
    assert most_restrictive_mode(option) == chosen
