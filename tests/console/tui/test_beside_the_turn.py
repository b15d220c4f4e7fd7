"""Subagents, background work, titles and accounts in the chat, with scripted agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_console.agents.spec import command_agent
from acp_console.tui.chat.account import AccountScreen
from acp_console.tui.chat.screen import ChatScreen
from acp_console.tui.chat.sessions import SessionsScreen
from acp_console.tui.chat.work import SubagentScreen, WorkScreen
from acp_console.tui.confirm import ConfirmScreen
from tests.console.conftest import Agent
from tests.console.tui.chats import chat_of, open_chat
from tests.console.tui.conftest import notices, say, until

BOSS = """
def of_child(name, **members):
    tell(method="session/update",
         params={"sessionId": "child", "update": {"sessionUpdate": name, **members}})

def text(words):
    return {"type": "text", "text": words}

greet(version=2, info={"name": "boss", "version": "1"}, capabilities={"session": {}})
open_session()
prompt = hear("session/prompt")
tell(id=prompt["id"], result={"messageId": "m1"})
cancel = {"cancel": {}}
update("subagent_update", sessionId="child", title="Digger", capabilities=cancel)
of_child("state_update", state="running")
of_child("agent_message_chunk", messageId="c1", content=text("found a bone"))
update("terminal_update", terminalId="t1", command="make watch", capabilities=cancel)
update("state_update", state="running", background=[{"type": "terminal", "terminalId": "t1"}])
hear("terminal/cancel")
of_child("agent_message_chunk", messageId="c1", content=text(" and a coin"))
hear("session/cancel")
of_child("state_update", state="idle", stopReason="cancelled")
update("state_update", state="idle", stopReason="end_turn")
hear("never")
"""


@pytest.mark.long
async def test_a_subagent_is_a_card_and_a_line_whose_transcript_opens_and_goes_on(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(
        workplace, command_agent(agent(BOSS)).with_protocol(2), size=(120, 40)
    ) as (app, pilot):
        await pilot.press(*"dig", "enter")
        await until(pilot, lambda: "└ ◐ Digger" in say(app) and "└ ◐ make watch" in say(app))
        assert "◐ Subagent Digger" in say(app)
        assert "found a bone" not in say(app)
        chat_of(app).conversation.focus()
        await pilot.press("G", "enter")
        await until(pilot, lambda: isinstance(app.screen, SubagentScreen))
        await until(pilot, lambda: "found a bone" in say(app))
        await pilot.press("escape", "f9")
        await until(pilot, lambda: isinstance(app.screen, WorkScreen))
        await until(pilot, lambda: say(app).count("  x cancels") == 2)
        await pilot.press("down", "x", "up", "enter")
        await until(pilot, lambda: isinstance(app.screen, SubagentScreen))
        await until(pilot, lambda: "found a bone and a coin" in say(app))
        await pilot.press("x")
        await until(pilot, lambda: "● idle" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "● Subagent Digger" in say(app))
        await until(pilot, lambda: "● ready" in say(app))


@pytest.mark.long
async def test_a_click_on_the_line_of_a_subagent_opens_its_transcript(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(
        workplace, command_agent(agent(BOSS)).with_protocol(2), size=(120, 40)
    ) as (app, pilot):
        await pilot.press(*"dig", "enter")
        await until(pilot, lambda: "└ ◐ Digger" in say(app))
        await pilot.click("#chats", offset=(8, 1))
        await until(pilot, lambda: isinstance(app.screen, SubagentScreen))


ABLE = """
sessions = {"s1": "One", "s2": "Two"}
archived = set()
while True:
    message = json.loads(sys.stdin.readline() or sys.exit(0))
    params = message.get("params", {})
    id_ = params.get("sessionId")
    match message.get("method"):
        case "initialize":
            able = {"list": {}, "title": {}, "archive": {}, "status": {}, "resume": {}}
            tell(id=message["id"], result={"protocolVersion": 1, "authMethods": [
                {"id": "key", "name": "Browser"}], "agentCapabilities": {
                "auth": {"status": {}, "logout": {}}, "sessionCapabilities": able}})
        case "session/new":
            tell(id=message["id"], result={"sessionId": "s1"})
        case "session/list":
            shown = [each for each in sessions if each not in archived or params.get("archived")]
            tell(id=message["id"], result={"sessions": [
                {"sessionId": each, "cwd": os.getcwd(), "title": sessions[each],
                 "archived": each in archived} for each in shown]})
        case "session/set_title":
            sessions[id_] = params["title"].upper()
            tell(id=message["id"], result={"title": sessions[id_]})
        case "session/archive":
            archived.add(id_)
            tell(id=message["id"], result={})
        case "session/unarchive":
            archived.discard(id_)
            tell(id=message["id"], result={})
        case "session/status":
            tell(id=message["id"], result={"status": "open" if id_ == "s1" else "saved"})
        case "session/resume":
            assert id_ not in archived
            tell(id=message["id"], result={})
        case "auth/status":
            tell(id=message["id"], result={"state": "authenticated", "accounts": [
                {"label": "[bold]Ada", "email": "ada@example.org", "active": True}]})
        case "logout":
            tell(id=message["id"], result={})
            tell(method="auth/status_update", params={"state": "unauthenticated"})
        case "authenticate":
            tell(id=message["id"], result={})
            tell(method="auth/status_update", params={"state": "authenticated"})
"""


async def test_sessions_are_renamed_archived_and_taken_back_from_the_list(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(ABLE), size=(120, 40)) as (app, pilot):
        await pilot.press("f10")
        await until(pilot, lambda: "New title of this session" in say(app))
        await pilot.press(*"mine", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen) and "MINE" in say(app))
        await pilot.press("f7")
        await until(pilot, lambda: "Two" in say(app) and " open" in say(app))
        await pilot.click(offset=(0, 39))
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        await pilot.press("f7")
        await until(pilot, lambda: "Two" in say(app) and " open" in say(app))
        await pilot.press("down", "ctrl+e")
        await until(pilot, lambda: "Two" not in say(app))
        await pilot.press("ctrl+l")
        await until(pilot, lambda: "archived" in say(app) and "Two" in say(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: not isinstance(app.screen, SessionsScreen))
        await until(pilot, lambda: chat_of(app).chat.is_open and "● ready" in say(app))
        assert chat_of(app).chat.session_id == "s2"


REACHING = """
able = {"list": {}, "resume": {}, "additionalDirectories": {}}
greet(agentCapabilities={"sessionCapabilities": able})
open_session()
here = os.getcwd()
while True:
    listing = hear("session/list")
    tell(id=listing["id"], result={"sessions": [
        {"sessionId": "far", "title": "Far", "cwd": here, "additionalDirectories": ["/elsewhere"]},
        {"sessionId": "near", "title": "Near", "cwd": here,
         "additionalDirectories": [here + "/inside"]}]})
"""


@pytest.mark.long
async def test_a_session_with_directories_outside_of_the_chat_is_opened_only_if_the_user_agrees(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(REACHING), size=(120, 40)) as (app, pilot):
        await pilot.press("f7")
        await until(pilot, lambda: "+ /elsewhere" in say(app) and "Near" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        assert "/elsewhere" in say(app)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        assert len(app.open_chats.chats) == 1
        await pilot.press("f7")
        await until(pilot, lambda: "Near" in say(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: len(app.open_chats.chats) == 2)


@pytest.mark.long
async def test_the_account_is_shown_left_and_entered_again(workplace: Path, agent: Agent) -> None:
    async with open_chat(workplace, agent(ABLE), size=(120, 40)) as (app, pilot):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, AccountScreen))
        await until(pilot, lambda: "● [bold]Ada · ada@example.org" in say(app))
        await pilot.click("#out")
        await until(pilot, lambda: "not logged in" in notices(app))
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, AccountScreen))
        await pilot.click("#in")
        await until(pilot, lambda: "Esc goes back" in say(app))
        await pilot.press("escape")
        await until(pilot, lambda: "Esc goes back" not in say(app))
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(app.screen, AccountScreen))
        await pilot.click("#in")
        await until(pilot, lambda: "Esc goes back" in say(app))
        await pilot.press("1")
        await until(pilot, lambda: ": logged in" in notices(app))
        assert "Esc goes back" not in say(app)
