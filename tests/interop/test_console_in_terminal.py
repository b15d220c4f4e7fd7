"""The console in a terminal, driven by keys, with an agent on the official Python SDK."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.console import test_in_terminal as keys

environment = keys.environment
pytestmark = keys.pytestmark


def test_a_prompt_an_edit_and_a_stopped_turn(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    agent = str(Path(__file__).parent / "python_sdk_agent.py")
    greeting = tmp_path / "greeting.txt"
    greeting.write_text("hello\n")
    command = (*keys.CONSOLE, "chat", "--cwd", str(tmp_path), "--", sys.executable, agent)
    with keys.Terminal(command, environment) as terminal:
        assert terminal.seen(keys.READY, keys.LIMIT)
        keys.send(terminal, "good morning", keys.READY)
        keys.send(terminal, "edit it", "Press a number")
        keys.press(terminal, "1", keys.READY)
        assert greeting.read_text() == "edit it"
        keys.send(terminal, "wait", "working")
        keys.press(terminal, "\x1b", keys.READY)
        assert terminal.terminate(keys.LIMIT) is not None
