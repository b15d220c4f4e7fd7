"""The console in a terminal, driven by keys, with agents from npm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.console import test_in_terminal as keys
from tests.interop.node.test_gemini import SETTINGS

environment = keys.environment
pytestmark = keys.pytestmark


def test_the_typescript_sdk_edits_a_file_and_changes_its_mode(
    environment: Mapping[str, str], npm: Path, place: Path
) -> None:
    agent = ("node", str(npm / "agent_v1.mjs"))
    with keys.Terminal(
        (*keys.CONSOLE, "chat", "--cwd", str(place), "--", *agent), environment
    ) as terminal:
        assert terminal.seen(keys.READY, keys.LIMIT)
        assert terminal.seen("mode Ask", keys.LIMIT)
        keys.send(terminal, "edit notes.md: milk => bread", "Press a number")
        keys.press(terminal, "1", keys.READY)
        assert (place / "notes.md").read_text() == "Buy bread.\n"
        keys.press(terminal, "\x1b[Z", "mode Code")
        assert terminal.terminate(keys.LIMIT) is not None


def test_gemini_without_a_key_shows_the_ways_to_log_in(
    environment: Mapping[str, str], npm: Path, place: Path
) -> None:
    settings = Path(environment["HOME"]) / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(SETTINGS))
    keyless = {
        name: value
        for name, value in environment.items()
        if not name.startswith(("GEMINI_", "GOOGLE_"))
    }
    gemini = ("node", str(npm / "node_modules/@google/gemini-cli/bundle/gemini.js"), "--acp")
    with keys.Terminal(
        (*keys.CONSOLE, "chat", "--cwd", str(place), "--", *gemini), keyless
    ) as terminal:
        assert terminal.seen("Log in with Google", keys.LIMIT)
        assert terminal.terminate(keys.LIMIT) is not None
