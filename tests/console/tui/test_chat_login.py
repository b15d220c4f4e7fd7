"""Logging in where the agent asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Key
from textual.widgets import Input

from acp_console.agents.spec import command_agent
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.login import LoginView
from acp_console.tui.chat.screen import ChatScreen
from acp_console.tui.confirm import ConfirmScreen
from tests.console.conftest import Agent
from tests.console.tui.chats import AT_ONCE, BURST, chat_of, frames_of
from tests.console.tui.conftest import notices, say, until

ASKS_BETWEEN_TURNS = """
greet(authMethods=[{"id": "key", "name": "A key"}])
open_session()
tell(id=900, method="session/request_permission", params={"sessionId": "s1",
     "toolCall": {"toolCallId": "t", "title": "Run it", "rawInput": {"command": "make"}},
     "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]})
request = hear("authenticate")
tell(id=request["id"], result={})
hear("never")
"""


async def test_what_is_asked_stays_open_during_a_login(workplace: Path, agent: Agent) -> None:
    command = command_agent(agent(ASKS_BETWEEN_TURNS))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, lambda: "Allow this?" in say(app))
        chat_of(app).chat.log_in("key")
        await until(pilot, lambda: b'"authenticate"' in frames_of(app)[-2].data)
        await until(pilot, lambda: chat_of(app).chat.state == "ready")
        await pilot.pause()
        assert "Allow this?" in say(app)


SETS_VARIABLES = """
greet(authMethods=[
    {"id": "env", "name": "Variables", "type": "env_var", "vars": [{"name": "KEY"}]},
    {"id": "key", "name": "A key"}])
request = hear("session/new")
tell(id=request["id"], error={"code": -32000, "message": "log in first"})
tell(id=hear("authenticate")["id"], result={})
open_session()
hear("never")
"""


@pytest.mark.long
async def test_escape_goes_back_from_variables_to_the_ways_to_log_in(
    workplace: Path, agent: Agent
) -> None:
    command = command_agent(agent(SETS_VARIABLES))
    app = ConsoleApp(agent=command, start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, LoginView))
        await pilot.press("1")
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.focused, LoginView) and "KEY" not in say(app))
        await pilot.press("2")
        await until(pilot, lambda: "● ready" in say(app))


LOGIN = """
is_in = False
greet(authMethods=[{"id": "key", "name": "A key", "description": "by itself"}])
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "authenticate":
            is_in = True
            tell(id=message["id"], result={})
        case "session/new" if is_in:
            tell(id=message["id"], result={"sessionId": "s1"})
        case "session/new":
            tell(id=message["id"], error={"code": -32000, "message": "log in first"})
"""


async def test_the_user_logs_in_where_the_agent_asks_for_it(workplace: Path, agent: Agent) -> None:
    app = ConsoleApp(agent=command_agent(agent(LOGIN)), start="chat", cwd=workplace, timing=AT_ONCE)
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, LoginView))
        assert "A key" in say(app)
        await pilot.press("1")
        await until(pilot, lambda: "● ready" in say(app))
        assert chat_of(app).open_prompt() is None


async def test_text_that_begins_with_a_digit_is_no_login(workplace: Path, agent: Agent) -> None:
    app = ConsoleApp(agent=command_agent(agent(LOGIN)), start="chat", cwd=workplace, timing=BURST)
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, LoginView))
        for key in "1x":
            app.screen.query_one(LoginView).post_message(Key(key, key))
        await until(pilot, lambda: chat_of(app).editor.text == "1x")
        assert chat_of(app).chat.needs_login


@pytest.mark.long
async def test_a_login_in_the_terminal_runs_after_its_whole_command_was_agreed_to(
    workplace: Path, agent: Agent
) -> None:
    arguments = [*("--login" for _ in range(99)), "--the-end"]
    method = {"id": "it", "name": "It", "type": "terminal", "args": arguments}
    script = LOGIN.replace('[{"id": "key"', f'[{method}, {{"id": "key"')
    app = ConsoleApp(
        agent=command_agent(agent(script)), start="chat", cwd=workplace, timing=AT_ONCE
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, LoginView))
        await pilot.press("1")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        # Its end was not on the screen.
        await pilot.press("y")
        await until(pilot, lambda: "--the-end" in say(app))
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        assert chat_of(app).chat.needs_login
        await pilot.press("tab", "1")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("y", "pagedown", "pagedown", "y")
        # There is no terminal in a test.
        await until(pilot, lambda: "did not work" in notices(app))
