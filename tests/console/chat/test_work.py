"""Subagents and background work of scripted agents, as a screen gets to know and cancel them."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_console.agents.spec import command_agent
from acp_console.chat.chat_session import ChatSession
from acp_console.chat.work import Work, background_of, work_of
from acp_inspector.session.items import AgentMessage, Item, ToolCallItem
from tests.console.chat.test_chats import chats, said
from tests.console.conftest import Agent

BEGIN = """
def of_child(name, **members):
    tell(method="session/update",
         params={"sessionId": "child", "update": {"sessionUpdate": name, **members}})

greet(version=2, info={"name": "boss", "version": "1"}, capabilities={"session": {}})
open_session()
prompt = hear("session/prompt")
tell(id=prompt["id"], result={"messageId": "m1"})
"""
END = """
update("state_update", state="idle", stopReason="end_turn")
hear("never")
"""


def work(session: ChatSession) -> list[Work]:
    return work_of(session.agent.conversations, session.session_id or "")


BUSY = f"""{BEGIN}
cancel = {{"cancel": {{}}}}
update("subagent_update", sessionId="child", title="Helper", description="digs",
       state={{"state": "running"}}, capabilities=cancel)
of_child("agent_message_chunk", messageId="c1", content={{"type": "text", "text": "digging"}})
of_child("subagent_update", sessionId="grandchild", description="counts")
update("subagent_update", sessionId="child", description=None)
update("terminal_update", terminalId="t1", command="make", capabilities=cancel)
update("tool_call_update", toolCallId="c1", title="Watch", status="in_progress")
update("tool_call_update", toolCallId="c2", title="Search", status="in_progress",
       capabilities=cancel)
update("tool_call_update", toolCallId="c3", title="Done", status="completed", capabilities=cancel)
background = [{{"type": "subagent", "sessionId": "child"}}, {{"type": "_dream"}},
              {{"type": "tool_call", "toolCallId": "c1"}},
              {{"type": "terminal", "terminalId": "t1"}}]
update("state_update", state="running", background=background)
heard = {{}}
while len(heard) < 3:
    message = json.loads(sys.stdin.readline())
    heard[message["method"]] = message["params"]
    if "id" in message:
        tell(id=message["id"], result={{}})
of_child("state_update", state="idle", stopReason="cancelled")
update("tool_call_update", toolCallId="c2", status="cancelled")
update("terminal_update", terminalId="t1", exitStatus={{"signal": "SIGTERM"}})
update("agent_message_chunk", messageId="m2", content={{"type": "text", "text": json.dumps(
       [heard["session/cancel"]["sessionId"], heard["tool_call/cancel"]["toolCallId"],
        heard["terminal/cancel"]["terminalId"]])}})
{END}"""


async def test_what_runs_besides_the_turn_is_known_and_cancelled_one_by_one(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(BUSY)).with_protocol(2), tmp_path)
        session.send("hello")
        await all_.until(lambda: len(work(session)) == 6)
        assert [(each.kind, each.title, each.state, each.can_cancel) for each in work(session)] == [
            ("subagent", "Helper", "running", True),
            ("subagent", "counts", "", False),
            ("_dream", "_dream", "running", False),
            ("tool_call", "Watch", "running", False),
            ("terminal", "make", "running", True),
            ("tool_call", "Search", "running", True),
        ]
        assert [each.depth for each in work(session)][:2] == [0, 1]
        assert len(background_of(session.agent.conversations, "s1")) == 5
        for each in work(session):
            if each.can_cancel:
                session.cancel_work(each)
        await all_.until(lambda: session.state == "ready")
        assert said(session) == '["child", "c2", "t1"]'
        assert session.error is None
        assert not any(each.can_cancel for each in work(session))
        assert work(session)[0].state == "idle"


async def test_a_watcher_gets_each_change_until_it_stops(agent: Agent, tmp_path: Path) -> None:
    seen: list[tuple[str, Item | None]] = []
    async with chats() as all_:
        session = all_.open(command_agent(agent(BUSY)).with_protocol(2), tmp_path)
        stop = session.agent.watch(lambda id_, item: seen.append((id_, item)))
        session.send("hello")
        await all_.until(lambda: len(work(session)) == 6)
        texts = [
            each.text for id_, each in seen if id_ == "child" and isinstance(each, AgentMessage)
        ]
        assert texts == ["digging"]
        assert ("s1", None) in seen
        stop()
        before = len(seen)
        for each in work(session):
            if each.can_cancel:
                session.cancel_work(each)
        await all_.until(lambda: session.state == "ready")
        assert len(seen) == before


ASKING = f"""{BEGIN}
update("state_update", state="running")
update("subagent_update", sessionId="child", capabilities={{"cancel": {{}}}})
options = [{{"optionId": "yes", "name": "Yes", "kind": "allow_once"}}]
for id_, session in ((900, "child"), (901, "s1")):
    tell(id=id_, method="session/request_permission", params={{"sessionId": session, "title": "Dig",
         "subject": {{"type": "tool_call", "toolCall": {{"toolCallId": "t1", "title": "Dig"}}}},
         "options": options}})
answers = {{}}
while len(answers) < 2:
    message = hear(None)
    answers[message["id"]] = message["result"]["outcome"]["outcome"]
update("agent_message_chunk", messageId="m2",
       content={{"type": "text", "text": answers[900] + " " + answers[901]}})
{END}"""


async def test_a_cancelled_subagent_withdraws_its_own_permission_request_only(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(ASKING)).with_protocol(2), tmp_path)
        session.send("hello")
        await all_.until(lambda: session.is_waiting_for_user and len(calls_that_ask(session)) == 2)
        session.cancel_work(work(session)[0])
        await all_.until(lambda: len(calls_that_ask(session)) == 1)
        [call] = calls_that_ask(session)
        assert call.permission is not None
        session.answer(call.permission, "yes", call.subject)
        await all_.until(lambda: session.state == "ready")
        assert said(session) == "cancelled selected"


def calls_that_ask(session: ChatSession) -> list[ToolCallItem]:
    return [
        item
        for talk in session.agent.conversations.sessions.values()
        for item in talk.items
        if isinstance(item, ToolCallItem)
        and item.permission is not None
        and item.permission.outcome is None
    ]


@pytest.mark.parametrize("state", ["running", "unknown"])
async def test_a_state_that_is_withdrawn_is_not_shown_as_confirmed(
    agent: Agent, tmp_path: Path, state: str
) -> None:
    script = f"""{BEGIN}
update("state_update", state="running")
update("subagent_update", sessionId="child", title="Helper", state={{"state": "{state}"}})
update("subagent_update", sessionId="child", state=None)
{END}"""
    async with chats() as all_:
        session = all_.open(command_agent(agent(script)).with_protocol(2), tmp_path)
        session.send("hello")
        await all_.until(lambda: session.state == "ready")
        [helper] = work(session)
        assert (helper.title, helper.state, helper.word) == ("Helper", "", "not known")


RENAMED = """
greet(agentCapabilities={"sessionCapabilities": {"title": {}}})
open_session()
asked = hear("session/set_title")
tell(id=asked["id"], result={"title": asked["params"]["title"].strip()})
hear("never")
"""


async def test_a_session_has_the_title_that_the_agent_has_stored(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(RENAMED)), tmp_path)
        await all_.until(lambda: session.state == "ready")
        session.rename(" Greetings ")
        await all_.until(lambda: session.conversation and session.conversation.info.title)
        assert session.conversation is not None
        assert session.conversation.info.title == "Greetings"


ACCOUNT = """
greet(agentCapabilities={"auth": {"status": {}}})
open_session()
tell(method="auth/status_update", params={"state": "unauthenticated"})
hear("never")
"""


async def test_the_agent_reports_that_the_user_is_logged_out(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(ACCOUNT)), tmp_path)
        await all_.until(lambda: session.agent.account)
        assert session.agent.account == {"state": "unauthenticated"}
