"""Several chats at once, and sessions that go on in the next console."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Key

from acp_console.agents.spec import command_agent
from acp_console.kept.session_store import RecordedSessions
from acp_console.tui.app import ConsoleApp
from acp_console.tui.chat.screen import ChatScreen
from acp_console.tui.home.screen import HomeScreen
from tests.console.conftest import Agent
from tests.console.tui.chats import AT_ONCE, chat_of, open_chat
from tests.console.tui.conftest import notices, say, until


@pytest.mark.long
async def test_several_chats_are_open_at_once_and_go_on_unseen(
    workplace: Path, agent: Agent
) -> None:
    script = """
greet()
for id_ in ("s1", "s2"):
    tell(id=hear("session/new")["id"], result={"sessionId": id_})
prompt = hear("session/prompt")
update("tool_call", toolCallId="t", title="Run make", kind="execute")
say(ask_consent(toolCallId="t"))
end(prompt)
hear("never")
"""
    async with open_chat(workplace, agent(script), size=(140, 30)) as (app, pilot):
        first = chat_of(app)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: app.screen is not first and "● ready" in say(app))
        second = chat_of(app)
        assert second.chat.agent is first.chat.agent
        assert second.chat.session_id != first.chat.session_id
        await pilot.press("alt+up")
        await until(pilot, lambda: app.screen is first)
        await pilot.press(*"go", "enter", "alt+down")
        await until(pilot, lambda: app.screen is second and "needs you" in say(app))
        assert first.chat.is_waiting_for_user
        assert not second.chat.is_waiting_for_user
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await until(pilot, lambda: "Continue" in say(app) and "needs you" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is first and "1 Yes" in say(app))
        await pilot.press("ctrl+w")
        await until(pilot, lambda: "This stops its turn; the" in say(app))
        await pilot.press("n")
        await until(pilot, lambda: app.screen is first and first.open_prompt() is not None)
        await pilot.press("1")
        await until(pilot, lambda: "● ready" in say(app))
        await pilot.press("ctrl+w")
        await until(
            pilot, lambda: app.screen is second and len(second.sidebar.options.options) == 1
        )


@pytest.mark.long
async def test_keys_that_come_at_once_act_in_their_order(workplace: Path) -> None:
    async with open_chat(workplace, size=(140, 30)) as (app, pilot):
        for key in ("ctrl+n", "ctrl+o"):
            app.post_message(Key(key, None))
        await until(pilot, lambda: len(app.open_chats.chats) == 2)
        await until(pilot, lambda: isinstance(app.screen, HomeScreen) and "Continue" in say(app))


@pytest.mark.long
async def test_what_is_typed_at_once_is_a_prompt_of_the_new_chat(workplace: Path) -> None:
    async with open_chat(workplace, size=(140, 30)) as (app, pilot):
        first = app.screen
        app.post_message(Key("ctrl+n", None))
        # In a transcript `e` goes to an error, and Enter folds.
        for letter in "help me":
            app.post_message(Key("space" if letter == " " else letter, letter))
        app.post_message(Key("enter", "\r"))
        await until(pilot, lambda: app.screen is not first and "▍ help me" in say(app))


@pytest.mark.long
async def test_a_session_goes_on_in_the_next_console_with_its_draft(
    workplace: Path, tmp_path: Path
) -> None:
    store = RecordedSessions(tmp_path / "sessions")
    async with open_chat(workplace, store=store) as (app, pilot):
        await pilot.press(*"read notes.txt", "enter")
        await until(pilot, lambda: "returned" in say(app) and "● ready" in say(app))
        await pilot.press(*"half a thought")
    again = ConsoleApp(cwd=workplace, store=store, timing=AT_ONCE)
    async with again.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "Continue" in say(again) and "read notes.txt" in say(again))
        # The list was there before the session was found; the first line is the cursor's.
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(again.screen, ChatScreen))
        await until(pilot, lambda: "● ready" in say(again) and "returned" in say(again))
        assert chat_of(again).editor.text == "half a thought"
        assert say(again).count("▍ read notes.txt") == 1
        chat_of(again).editor.text = ""
        await pilot.pause()
    [kept] = store.sessions()
    assert kept.draft == ""


@pytest.mark.long
async def test_what_was_said_stays_readable_where_the_agent_cannot_resume(
    workplace: Path, tmp_path: Path, agent: Agent
) -> None:
    forgetful = command_agent(
        agent("""
prompt = hear_prompt()
say("an answer")
end(prompt)
hear("never")
""")
    )
    store = RecordedSessions(tmp_path / "sessions")
    async with open_chat(workplace, forgetful, store=store) as (app, pilot):
        await pilot.press(*"a question", "enter")
        await until(pilot, lambda: "an answer" in say(app) and "● ready" in say(app))
    again = ConsoleApp(cwd=workplace, store=store, timing=AT_ONCE)
    async with again.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "a question" in say(again))
        await pilot.press(*"a question", "enter")
        await until(pilot, lambda: isinstance(again.screen, ChatScreen))
        await until(pilot, lambda: "the agent does not know the messages above" in say(again))
        assert "an answer" in say(again)
        assert "restarted" not in say(again)


LISTS = """
greet(agentCapabilities={"loadSession": True, "sessionCapabilities":
      {"list": {}, "delete": {}, "fork": {}, "close": {}}})
open_session()
kept = [{"sessionId": f"old{n}", "cwd": os.getcwd(), "title": f"Title {n}"} for n in range(3)]
for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params", {})
    match message.get("method"):
        case "session/list":
            first = int(params.get("cursor") or 0)
            more = {"nextCursor": str(first + 2)} if first + 2 < len(kept) else {}
            tell(id=message["id"], result={"sessions": kept[first:first + 2], **more})
        case "session/load":
            id_ = params["sessionId"]
            for kind, text in (("user", "what I asked"), ("agent", "what it said")):
                tell(method="session/update", params={"sessionId": id_, "update": {
                    "sessionUpdate": f"{kind}_message_chunk",
                    "content": {"type": "text", "text": text}}})
            tell(id=message["id"], result={})
        case "session/delete":
            kept[:] = [each for each in kept if each["sessionId"] != params["sessionId"]]
            tell(id=message["id"], result={})
        case "session/fork":
            tell(id=message["id"], result={"sessionId": "fork of " + params["sessionId"]})
        case "session/close":
            tell(id=message["id"], result={})
"""


async def test_the_sessions_of_an_agent_are_listed_loaded_deleted_and_forked(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(LISTS), size=(120, 40)) as (app, pilot):
        first = chat_of(app)
        await pilot.press("f7")
        await until(pilot, lambda: "Title 0" in say(app) and "… more" in say(app))
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: "Title 2" in say(app))
        await pilot.press("ctrl+x")
        await until(pilot, lambda: "Delete the session 'Title 2'" in say(app))
        await pilot.press("y")
        await until(pilot, lambda: "Title 2" not in say(app) and "Title 1" in say(app))
        await pilot.press("up", "enter")
        await until(pilot, lambda: app.screen is not first and "what it said" in say(app))
        assert "what I asked" in say(app)
        assert chat_of(app).chat.session_id == "old0"
        await pilot.press("f8")
        await until(pilot, lambda: chat_of(app).chat.session_id == "fork of old0")
        await until(pilot, lambda: "this session is a copy of the one above" in say(app))
        assert "what it said" in say(app)
        # It is open already.
        await pilot.press("f7")
        await until(pilot, lambda: "Title 0" in say(app))
        await pilot.press("enter")
        await until(
            pilot, lambda: isinstance(app.screen, ChatScreen) and "what it said" in say(app)
        )
        assert len({id(chat) for chat in app.open_chats.chats}) == 3


BROKEN_DIRECTORY = """
greet(agentCapabilities={"loadSession": True, "sessionCapabilities": {"list": {}}})
open_session()
request = hear("session/list")
sessions = [{"sessionId": "old", "cwd": "/tmp/a\\0b", "title": "Old"}]
tell(id=request["id"], result={"sessions": sessions})
hear("never")
"""


@pytest.mark.long
async def test_a_listed_session_in_a_broken_directory_is_refused(
    workplace: Path, agent: Agent
) -> None:
    async with open_chat(workplace, agent(BROKEN_DIRECTORY), size=(110, 40)) as (app, pilot):
        await pilot.press("f7")
        await until(pilot, lambda: "Old" in say(app))
        await pilot.press("enter")
        await until(pilot, lambda: "cannot be used" in notices(app))


async def test_what_was_said_stays_where_a_session_cannot_be_loaded_again(
    workplace: Path, agent: Agent
) -> None:
    script = """
greet(agentCapabilities={"loadSession": True})
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "session/new":
            tell(id=message["id"], result={"sessionId": "s1"})
        case "session/load":
            tell(id=message["id"], error={"code": -32002, "message": "no such session"})
        case "session/prompt":
            say("an answer")
            end(message)
"""
    async with open_chat(workplace, agent(script), size=(110, 40)) as (app, pilot):
        await pilot.press(*"a text", "enter")
        await until(pilot, lambda: "an answer" in say(app) and "● ready" in say(app))
        await pilot.press("f5")
        await until(pilot, lambda: "does not know the messages above" in say(app))
        assert "an answer" in say(app)
