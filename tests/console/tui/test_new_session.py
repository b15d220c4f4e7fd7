"""A session with directories and MCP servers of its own, and going on with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input, SelectionList

from acp_console.kept.session_store import RecordedSessions
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.new_session import NewSessionScreen
from acp_console.tui.chat.screen import ChatScreen
from acp_inspector.journal import Frame
from acp_inspector.messages import Decoder
from acp_protocol.json_values import get, get_list
from acp_protocol.jsonrpc import Json, Request
from tests.console.conftest import Agent
from tests.console.tui.chats import AT_ONCE, chat_of, open_chat
from tests.console.tui.conftest import say, until

SEVERAL = """
count = 0
while True:
    message = json.loads(sys.stdin.readline() or sys.exit(0))
    match message["method"]:
        case "initialize":
            able = {"resume": {}, "additionalDirectories": {}}
            tell(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {
                "sessionCapabilities": able}})
        case "session/new":
            count += 1
            tell(id=message["id"], result={"sessionId": f"s{count}"})
        case "session/resume":
            tell(id=message["id"], result={})
        case "session/prompt":
            end(message)
"""
CONFIG = """
[mcp.files]
command = "/bin/files"
[mcp.web]
url = "https://example.org/mcp"
[mcp.notes]
command = "/bin/notes"
"""


def sent(app: ConsoleApp, method: str) -> list[Json]:
    """Return the params of all requests of a method that the client has sent."""
    decoder = Decoder()
    frames = [each for each in chat_of(app).chat.journal.entries if isinstance(each, Frame)]
    messages = [each for frame in frames for each in decoder.decode(frame).messages]
    return [each.params for each in messages if isinstance(each, Request) and each.method == method]


def servers(params: Json) -> list[Json]:
    return [get(each, "name") for each in get_list(params, "mcpServers")]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    path = tmp_path / "CONFIG" / "acp-console" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(CONFIG)
    return path


@pytest.mark.long
async def test_a_session_begins_with_what_was_chosen_and_goes_on_with_it(
    workplace: Path, tmp_path: Path, agent: Agent, config: Path
) -> None:
    other = tmp_path / "other place"
    other.mkdir()
    store = RecordedSessions(tmp_path / "sessions")
    async with open_chat(workplace, agent(SEVERAL), store=store) as (app, pilot):
        assert servers(sent(app, "session/new")[0]) == []
        await pilot.press("alt+n")
        await until(pilot, lambda: isinstance(app.screen, NewSessionScreen))
        await until(pilot, lambda: "files  /bin/files" in say(app) and "web  https" in say(app))
        app.screen.query_one("#setup-directories", Input).value = "'no such place'"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "is not a directory" in say(app))
        app.screen.query_one("#setup-directories", Input).value = "'other place'"
        app.screen.query_one(SelectionList).focus()
        await pilot.press("space", "down", "down", "space", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen) and "● ready" in say(app))
        await until(pilot, lambda: chat_of(app).chat.session_id == "s2")
        begun = sent(app, "session/new")[1]
        assert servers(begun) == ["files", "notes"]
        assert get(begun, "additionalDirectories") == [str(other)]
        # Another one begins with the same.
        await pilot.press("ctrl+n")
        await until(pilot, lambda: chat_of(app).chat.session_id == "s3")
        assert servers(sent(app, "session/new")[2]) == ["files", "notes"]
        await pilot.press(*"remember me", "enter")
        await until(pilot, lambda: "remember me" in say(app) and "● ready" in say(app))
    config.write_text(CONFIG.replace("[mcp.files]", "[mcp.renamed]"))
    again = ConsoleApp(cwd=workplace, store=store, timing=AT_ONCE)
    async with again.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "remember me" in say(again))
        await pilot.press(*"remember me", "enter")
        await until(pilot, lambda: isinstance(again.screen, ChatScreen) and "● ready" in say(again))
        [resumed] = sent(again, "session/resume")
        assert servers(resumed) == ["notes"]
        assert get(resumed, "additionalDirectories") == [str(other)]
        assert "left out: files" in "".join(each.message for each in again._notifications)  # pyright: ignore[reportPrivateUsage] - there is no other way to see them
