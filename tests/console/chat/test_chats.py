"""Chats of several sessions and agents, driven as a screen drives them."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio import to_thread

from acp_console.agents.spec import AgentSpec, command_agent
from acp_console.chat.alarms import Alarm
from acp_console.chat.changed_files import ChangedFiles
from acp_console.chat.chat_session import ChatSession
from acp_console.chat.connection import QUIET, QuietTimes
from acp_console.chat.elicitation import ElicitationAnswer, FormRequest, PageRequest
from acp_console.chat.line_diff import FileChange
from acp_console.chat.running_agent import PORTION, RunningAgent
from acp_inspector.journal import Frame
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import AgentMessage, ModeNotice, Notice, ToolCallItem, UserMessage
from acp_protocol.jsonrpc import Json
from tests.console.conftest import Agent
from tests.inspector.talks import chunk, encoded

LIMIT = 30.0


class Chats:
    """Agents that run, with their sessions."""

    def __init__(self, start: Callable[[RunningAgent], object]) -> None:
        self._start = start
        self._has_changed = anyio.Event()
        self.agents: list[RunningAgent] = []

    def open(
        self,
        spec: AgentSpec,
        cwd: Path,
        *,
        elicits: bool = False,
        load: str | None = None,
        quiet: QuietTimes = QUIET,
    ) -> ChatSession:
        agent = RunningAgent(spec, cwd, elicits=elicits, quiet=quiet)
        session = self.another(agent, load=load)
        self.agents.append(agent)
        self._start(agent)
        return session

    def another(
        self,
        agent: RunningAgent,
        *directories: Path,
        fork: str | None = None,
        load: str | None = None,
    ) -> ChatSession:
        return ChatSession(
            agent,
            way="fork" if fork else "load" if load else "new",
            session_id=fork or load,
            directories=directories,
            on_change=lambda: self._has_changed.set(),
        )

    async def until(self, holds: Callable[[], object]) -> None:
        with anyio.fail_after(LIMIT):
            while True:
                self._has_changed = anyio.Event()
                for agent in self.agents:
                    agent.read_journal()
                if holds():
                    return
                await self._has_changed.wait()


@asynccontextmanager
async def chats() -> AsyncGenerator[Chats]:
    async with anyio.create_task_group() as tasks:
        found = Chats(lambda agent: tasks.start_soon(agent.run))
        yield found
        for agent in found.agents:
            await agent.close()


def shown(session: ChatSession) -> set[str]:
    """Return the answers that a screen gets to show."""
    items = session.take_changes()
    return {item.text for item in items if isinstance(item, AgentMessage)}


def said(session: ChatSession) -> str:
    items = session.conversation.items if session.conversation else ()
    return "".join(item.text for item in items if isinstance(item, AgentMessage))


def frames(session: ChatSession) -> list[Frame]:
    return [each for each in session.journal.entries if isinstance(each, Frame)]


FORM = """
prompt = hear_prompt()
schema = {"type": "object", "properties": {"name": {"type": "string"}}}
answer = ask("elicitation/create", mode="form", message="Who?", requestedSchema=schema)
say(json.dumps(answer.get("result") or answer["error"]["code"]))
end(prompt)
hear("never")
"""


async def test_a_form_waits_for_the_user_and_its_answer_reaches_the_agent(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(FORM)), tmp_path, elicits=True)
        session.send("hello")
        await all_.until(lambda: session.elicitations)
        [asked] = session.elicitations
        assert isinstance(asked, FormRequest)
        assert session.is_waiting_for_user
        session.answer_elicitation(asked, ElicitationAnswer("accept", {"name": "Ada"}))
        await all_.until(lambda: session.state == "ready")
        assert said(session) == '{"action": "accept", "content": {"name": "Ada"}}'
        assert not session.is_waiting_for_user


async def test_a_cancelled_turn_withdraws_its_form(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(FORM)), tmp_path, elicits=True)
        session.send("hello")
        await all_.until(lambda: session.elicitations)
        session.cancel()
        await all_.until(lambda: session.state == "ready")
        assert (said(session), session.elicitations) == ('{"action": "cancel"}', [])


async def test_without_forms_the_agent_is_told_so(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(FORM)), tmp_path)
        session.send("hello")
        await all_.until(lambda: said(session))
        assert said(session) == "-32601"


PAGE = """
prompt = hear_prompt()
ask("elicitation/create", mode="url", message="Pay", url="https://example.com", elicitationId="e")
tell(method="elicitation/complete", params={"elicitationId": "e"})
end(prompt)
hear("never")
"""


async def test_a_page_that_is_done_with_is_reported(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(PAGE)), tmp_path, elicits=True)
        session.send("hello")
        await all_.until(lambda: session.elicitations)
        [asked] = session.elicitations
        assert isinstance(asked, PageRequest)
        session.answer_elicitation(asked, ElicitationAnswer("accept"))
        await all_.until(lambda: session.state == "ready")
        items = session.take_changes()
        shown = [item.text for item in items if isinstance(item, Notice)]
        assert "what was to do at example.com is done" in shown


WITHDRAWN = """
prompt = hear_prompt()
tell(id=5, method="elicitation/create",
     params={"sessionId": "s1", "mode": "form", "message": "?", "requestedSchema": {}})
hear("session/cancel") if "wait" in prompt["params"]["prompt"][0]["text"] else None
tell(method="$/cancel_request", params={"requestId": 5})
answer = hear(None)
say(json.dumps(answer.get("result") or answer["error"]["code"]))
end(prompt)
hear("never")
"""


async def test_a_form_that_the_agent_withdraws_is_gone(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(WITHDRAWN)), tmp_path, elicits=True)
        session.send("hello")
        await all_.until(lambda: session.state == "ready" and said(session))
        assert (said(session), session.elicitations) == ("-32800", [])


SEVERAL = """
greet()
count = 0
while True:
    message = json.loads(sys.stdin.readline() or sys.exit(0))
    if message.get("method") == "session/new":
        count += 1
        tell(id=message["id"], result={"sessionId": f"s{count}"})
    elif message.get("method") == "session/prompt":
        text = message["params"]["prompt"][0]["text"]
        if text == "crash":
            sys.exit(3)
        tell(method="session/update", params={"sessionId": message["params"]["sessionId"], "update":
             {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}})
        end(message)
"""


async def test_sessions_of_one_agent_hear_only_their_own_answers(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        first = all_.open(command_agent(agent(SEVERAL)), tmp_path)
        second = all_.another(first.agent)
        first.send("one")
        second.send("two")
        await all_.until(lambda: said(first) and said(second))
        assert (said(first), said(second)) == ("one", "two")
        assert not first.take_reset(), "only a session that is opened again is shown anew"


async def test_the_clock_of_a_chat_goes_while_its_agent_runs(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(SEVERAL)), tmp_path)
        assert not session.agent.is_running
        session.send("one")
        await all_.until(lambda: said(session))
        assert session.agent.is_running
        now = session.now()
        assert now is not None
        assert now >= 0
        session.send("crash")
        await all_.until(lambda: session.state == "stopped")
        assert session.now() is None


async def test_the_crash_of_an_agent_and_its_restart_leave_others_alone(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        command = command_agent(agent(SEVERAL))
        healthy, doomed = all_.open(command, tmp_path), all_.open(command, tmp_path)
        doomed.send("crash")
        await all_.until(lambda: doomed.state == "stopped")
        healthy.send("still here")
        await all_.until(lambda: said(healthy) and healthy.state == "ready")
        doomed.restart()
        doomed.send("back")
        await all_.until(lambda: said(doomed))
        assert (said(healthy), said(doomed)) == ("still here", "back")
        await doomed.close()
        healthy.send(", always")
        await all_.until(lambda: healthy.state == "ready")
        assert said(healthy) == "still here, always"


LOCKED = """
greet(authMethods=[{"id": "oauth", "name": "Browser"}])
is_in, count = os.environ.get("KEY") == "right", 0
while True:
    message = json.loads(sys.stdin.readline() or sys.exit(0))
    name, id = message.get("method"), message.get("id")
    if name == "authenticate":
        is_in = True
        tell(id=id, result={})
    elif name == "logout":
        is_in = False
        tell(id=id, result={})
    elif not is_in:
        tell(id=id, error={"code": -32000, "message": "log in first"})
    elif name == "session/new":
        count += 1
        tell(id=id, result={"sessionId": f"s{count}"})
    elif name == "session/prompt":
        tell(id=id, result={"stopReason": "end_turn"})
"""


async def test_one_login_opens_all_refused_sessions_and_sends_what_waits(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        first = all_.open(command_agent(agent(LOCKED)), tmp_path)
        second = all_.another(first.agent)
        first.send("hello")
        await all_.until(lambda: first.needs_login and second.needs_login)
        assert [(each.id, each.kind) for each in first.logins] == [("oauth", "agent")]
        assert first.queued == ["hello"]
        first.log_in("oauth")
        await all_.until(lambda: (first.state, second.state) == ("ready", "ready"))
        assert (first.queued, first.error, second.error) == ([], None, None)


async def test_prompts_wait_for_a_login_that_the_agent_demands_in_between(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(LOCKED)), tmp_path)
        await all_.until(lambda: session.needs_login)
        session.log_in("oauth")
        await all_.until(lambda: session.state == "ready")
        session.log_out()
        session.send("one")
        session.send("two")
        await all_.until(lambda: session.needs_login)
        assert (session.state, session.queued) == ("ready", ["two"])
        session.log_in("oauth")
        await all_.until(lambda: session.state == "ready" and not session.queued)
        assert session.error is None


ECHO = """
prompt = hear_prompt()
while True:
    said = "+".join(block["text"] for block in prompt["params"]["prompt"])
    say(f"[{said}]")
    if said == "wait":
        hear("session/cancel")
    end(prompt)
    prompt = hear("session/prompt")
"""


async def test_prompts_sent_in_a_turn_are_each_a_turn_of_its_own(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(ECHO)), tmp_path)
        for text in ("one", "two", "three"):
            session.send(text)
        assert session.queued == ["one", "two", "three"]
        assert session.name == "one"
        await all_.until(lambda: said(session) == "[one][two][three]" and not session.is_busy)
        assert session.queued == []


async def test_stopping_the_turn_drops_all_prompts_that_wait(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(ECHO)), tmp_path)
        session.send("wait")
        await all_.until(lambda: said(session) == "[wait]")
        session.send("one")
        session.send("two")
        session.cancel()
        await all_.until(lambda: session.state == "ready")
        session.send("three")
        await all_.until(lambda: said(session) == "[wait][three]" and not session.is_busy)


DELETES = """
prompt = hear_prompt()
diff = {"type": "diff", "path": "/p/a", "oldText": None, "newText": "one"}
for number, (kind, path, *content) in enumerate(
    [("edit", "/p/a", diff), ("edit", "/p/b", {**diff, "path": "/p/b"}), ("delete", "/p/a")]
):
    update("tool_call", toolCallId=str(number), title="t", kind=kind, status="completed",
           content=content, locations=[{"path": path}])
end(prompt)
hear("never")
"""


async def test_file_that_a_call_deleted_is_listed_as_deleted(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(DELETES)), tmp_path)
        session.send("hello")
        files = ChangedFiles()

        def note_all() -> bool:
            files.note(session.conversation.items if session.conversation else ())
            return len(files.files()) == 2 and session.state == "ready"

        await all_.until(note_all)
        found = list(files.files().values())
        assert found == [FileChange("/p/b", 1, 0), FileChange("/p/a", is_deleted=True)]


ACTS = """
import os
prompt = hear_prompt()
where = os.path.join(os.getcwd(), "made.txt")
ask("fs/write_text_file", path=where, content="x")
ask("terminal/create", command="true", args=[])
ask("fs/write_text_file", path="/elsewhere/made.txt", content="x")
end(prompt)
hear("never")
"""


async def test_what_an_agent_does_without_asking_leaves_a_trace(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(ACTS)), tmp_path)
        session.send("hello")
        await all_.until(lambda: session.state == "ready" and not session.is_behind)
        files, made = ChangedFiles(), str(tmp_path / "made.txt")
        items = session.take_changes()
        files.note(items)
        assert list(files.files()) == [made]
        notices = [item.text for item in items if isinstance(item, Notice)]
        assert notices == [f"wrote {made} without asking", "ran true without asking"]


async def test_one_logs_in_again_after_a_refused_prompt(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(LOCKED)), tmp_path)
        await all_.until(lambda: session.needs_login)
        session.log_in("oauth")
        await all_.until(lambda: session.state == "ready")
        session.log_out()
        session.send("hello")
        await all_.until(lambda: session.needs_login and session.state == "ready")
        session.log_in("oauth")
        session.send("hello")
        await all_.until(lambda: session.state == "ready")
        assert session.error is None


async def test_a_login_that_changed_nothing_is_refused_again(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(LOCKED)), tmp_path)
        await all_.until(lambda: session.needs_login)
        session.log_in()
        assert (session.state, session.needs_login) == ("starting", False)
        await all_.until(lambda: session.needs_login)


BUSY = """
greet(authMethods=[{"id": "oauth", "name": "Browser"}])
open_session()
prompt = hear("session/prompt")
options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
tell(id=900, method="session/request_permission", params={
    "sessionId": "s1", "toolCall": {"toolCallId": "t1", "title": "Dig"}, "options": options})
tell(id=hear("authenticate")["id"], result={})
say("in ")
message = json.loads(sys.stdin.readline())
if "method" in message:
    say(f"but then came {message['method']}")
else:
    say(message["result"]["outcome"].get("optionId", "cancelled") + " ")
    end(prompt)
    prompt = hear("session/prompt")
    say(prompt["params"]["prompt"][0]["text"])
end(prompt)
hear("never")
"""


async def test_a_login_during_a_turn_leaves_the_turn_and_what_it_asks_as_they_are(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(BUSY)), tmp_path)
        session.send("one")
        await all_.until(lambda: session.is_waiting_for_user)
        session.send("two")
        session.log_in("oauth")
        assert session.state == "working"
        await all_.until(lambda: said(session) == "in ")
        items = session.take_changes()
        [call] = {item for item in items if isinstance(item, ToolCallItem)}
        assert call.permission is not None
        assert session.answer(call.permission, "yes", call.subject)
        await all_.until(lambda: session.state == "ready")
        assert said(session) == "in yes two"


CHANGES_ITS_MIND = """
greet()
open_session()
prompt = hear("session/prompt")
call = {"toolCallId": "t1", "title": "Run", "rawInput": {"command": "ls"}}
options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
tell(id=900, method="session/request_permission", params={
    "sessionId": "s1", "toolCall": call, "options": options})
while not os.path.exists("go"):
    time.sleep(0.01)
update("tool_call_update", toolCallId="t1", rawInput={"command": "rm -rf ~"})
say(hear(None)["result"]["outcome"]["optionId"])
end(prompt)
hear("never")
"""


async def test_a_call_that_has_changed_since_it_was_shown_is_not_allowed(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(CHANGES_ITS_MIND)), tmp_path)
        session.send("one")
        await all_.until(lambda: session.is_waiting_for_user)
        items = session.take_changes()
        [call] = {item for item in items if isinstance(item, ToolCallItem)}
        permission, seen = call.permission, call.subject
        assert permission is not None
        (tmp_path / "go").touch()
        with anyio.fail_after(LIMIT):
            while not any(b"rm -rf" in each.data for each in frames(session)):
                await anyio.lowlevel.checkpoint()
        # It is in the journal, and was not read yet.
        assert call.subject == seen
        assert not session.answer(permission, "yes", seen)
        assert session.is_waiting_for_user
        assert call in session.take_changes()
        assert session.answer(permission, "yes", call.subject)
        await all_.until(lambda: session.state == "ready")
        assert said(session) == "yes"
        assert not session.answer(permission, "yes", call.subject)


ASKING_LOGIN = """
greet(authMethods=[{"id": "oauth", "name": "Browser"}])
open_session()
opening = hear("authenticate")
tell(id=900, method="elicitation/create", params={"requestId": opening["id"], "mode": "url",
     "message": "Log in", "url": "https://example.com", "elicitationId": "e"})
action = hear(None)["result"]["action"]
tell(id=opening["id"], result={})
say(action)
hear("never")
"""


async def test_a_page_to_log_in_again_is_shown_in_the_session_that_logs_in(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(ASKING_LOGIN)), tmp_path, elicits=True)
        await all_.until(lambda: session.state == "ready")
        session.log_in("oauth")
        await all_.until(lambda: session.elicitations or said(session))
        [asked] = session.elicitations
        session.answer_elicitation(asked, ElicitationAnswer("accept"))
        await all_.until(lambda: said(session) and session.state == "ready")
        assert said(session) == "accept"


async def test_a_key_is_handed_over_with_a_restart(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(LOCKED)), tmp_path)
        await all_.until(lambda: session.needs_login)
        session.agent.restart({"KEY": "right"})
        await all_.until(lambda: session.state == "ready")
        assert session.error is None


BOSS = """
greet(version=2, info={"name": "boss", "version": "1"}, capabilities={"session": {}})
open_session()
prompt = hear("session/prompt")
tell(id=prompt["id"], result={"messageId": "m1"})
update("state_update", state="running")
update("subagent_update", sessionId="child", title="Helper")
options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
tell(id=900, method="session/request_permission", params={"sessionId": "child", "title": "Dig",
     "subject": {"type": "tool_call", "toolCall": {"toolCallId": "t1", "title": "Dig"}},
     "options": options})
chosen = hear(None)["result"]["outcome"].get("optionId", "cancelled")
update("agent_message_chunk", messageId="m2", content={"type": "text", "text": chosen})
update("state_update", state="idle", stopReason="end_turn")
hear("never")
"""


async def test_a_subagent_asks_the_user_in_the_chat_that_it_works_for(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(BOSS)).with_protocol(2), tmp_path)
        session.send("hello")
        await all_.until(lambda: session.is_waiting_for_user)
        items = session.take_changes()
        [call] = {item for item in items if isinstance(item, ToolCallItem)}
        assert call.permission is not None
        assert session.answer(call.permission, "yes", call.subject)
        await all_.until(lambda: session.state == "ready")
        assert said(session) == "yes"


async def test_a_session_that_nobody_opened_gets_no_permission(
    agent: Agent, tmp_path: Path
) -> None:
    stray = BOSS.replace('update("subagent_update"', 'update("_unknown"')
    async with chats() as all_:
        session = all_.open(command_agent(agent(stray)).with_protocol(2), tmp_path)
        session.send("hello")
        await all_.until(lambda: session.state == "ready" and said(session))
        assert said(session) == "cancelled"


EARLY = """
first = hear_prompt()
say("of the ")
opening = hear("session/new")
say("first")
chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "the second"}}
tell(method="session/update", params={"sessionId": "s2", "update": chunk})
tell(id=opening["id"], result={"sessionId": "s2"})
end(first)
hear("never")
"""


async def test_a_session_that_is_being_opened_shows_what_is_said_in_it_alone(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        first = all_.open(command_agent(agent(EARLY)), tmp_path)
        first.send("hello")
        await all_.until(lambda: said(first))
        second = all_.another(first.agent)
        await all_.until(lambda: (first.state, second.state) == ("ready", "ready"))
        assert shown(second) == {"the second"}


CLAIMS = """
opening = hear("initialize")
tell(id=opening["id"], result={"protocolVersion": 1, "agentCapabilities":
     {"sessionCapabilities": {"additionalDirectories": {}}}})
first, second = hear("session/new"), hear("session/new")
for id, asked in (("s1", first), ("s2", second)):
    tell(id=asked["id"], result={"sessionId": id})
prompt = hear("session/prompt")
say(json.dumps([opening["params"]["clientCapabilities"]["session"],
                [each["params"].get("additionalDirectories") for each in (first, second)]]))
update("notice", noticeId="n1", severity="info", title="Careful", description="it is slippery")
end(prompt)
hear("never")
"""


async def test_each_session_has_its_own_directories_and_notices_are_shown(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        first = all_.open(command_agent(agent(CLAIMS)), tmp_path)
        all_.another(first.agent, tmp_path / "other")
        first.send("hello")
        await all_.until(lambda: said(first) and first.state == "ready")
        claimed: Json = {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}}
        assert json.loads(said(first)) == [claimed, [None, [str(tmp_path / "other")]]]
        assert first.conversation is not None
        notices = [item.text for item in first.conversation.items if isinstance(item, Notice)]
        assert "Careful: it is slippery" in notices


FORKED = """
greet(agentCapabilities={"sessionCapabilities": {"fork": {}}})
open_session()
forking = hear("session/fork")
chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "copied"}}
answer = {"jsonrpc": "2.0", "id": forking["id"], "result": {"sessionId": "s2"}}
told = {"jsonrpc": "2.0", "method": "session/update",
        "params": {"sessionId": "s2", "update": chunk}}
os.write(1, (json.dumps(answer) + "\\n" + json.dumps(told) + "\\n").encode())
hear("never")
"""


async def test_a_fork_shows_what_is_said_in_it_from_the_first_word(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        first = all_.open(command_agent(agent(FORKED)), tmp_path)
        await all_.until(lambda: first.state == "ready")
        copy = all_.another(first.agent, fork="s1")
        await all_.until(lambda: said(copy))
        assert (shown(first), shown(copy)) == (set(), {"copied"})


LEFT = """
greet(agentCapabilities={"sessionCapabilities": {"close": {}}})
open_session()
tell(id=hear("session/new")["id"], result={"sessionId": "s2"})
first = hear("session/prompt")
say("busy")
hear("session/cancel")
end(first, "cancelled")
tell(id=hear("session/close")["id"], error={"code": -32603, "message": "not now"})
prompt = hear("session/prompt")
chunk = {"sessionUpdate": "agent_message_chunk", "content": prompt["params"]["prompt"][0]}
tell(method="session/update", params={"sessionId": "s2", "update": chunk})
end(prompt)
hear("never")
"""


async def test_nothing_more_is_sent_in_a_session_that_was_closed(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        first = all_.open(command_agent(agent(LEFT)), tmp_path)
        second = all_.another(first.agent)
        first.send("one")
        await all_.until(lambda: said(first) and second.state == "ready")
        first.send("two")
        await first.close()
        await all_.until(lambda: b"not now" in frames(first)[-1].data)
        second.send("three")
        await all_.until(lambda: said(second) and second.state == "ready")
        assert said(second) == "three"


async def test_a_prompt_is_not_sent_if_it_is_stopped_while_its_files_are_read(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def read(text: str, *more: object) -> list[Json]:
        del more
        begun.set()
        assert "slow" not in text or goes_on.wait(LIMIT)
        return [{"type": "text", "text": text}]

    monkeypatch.setattr("acp_console.chat.chat_session.prompt_blocks", read)
    async with chats() as all_:
        session = all_.open(command_agent(agent(SEVERAL)), tmp_path)
        session.send("slow")
        await to_thread.run_sync(begun.wait, LIMIT)
        session.cancel()
        assert session.state == "ready"
        goes_on.set()
        session.send("quick")
        await all_.until(lambda: said(session) and session.state == "ready")
        assert said(session) == "quick"
        assert not any(b"session/cancel" in each.data for each in frames(session))


LATE = """
import select

def is_alone():
    return not select.select([sys.stdin], [], [], 0.05)[0]

greet(agentCapabilities={"loadSession": True})
loaded = hear("session/load")
tell(id=loaded["id"], result={})
if is_alone():
    update("user_message_chunk", content={"type": "text", "text": "earlier"})
    say("old reply")
for number in (1, 2):
    prompt = hear("session/prompt")
    say(f"begun {number}, ")
    end(prompt)
    if is_alone():
        say(f"ended {number}")
hear("never")
"""


UNASKING = """
modes = {"currentModeId": "yolo", "availableModes": [
    {"id": "ask", "name": "Ask"}, {"id": "yolo", "name": "YOLO"}]}
greet(agentCapabilities={"loadSession": True})
loaded = hear("session/load")
update("user_message_chunk", content={"type": "text", "text": "earlier"})
update("current_mode_update", currentModeId="ask")
tell(id=loaded["id"], result={"modes": modes})
for mode in ("ask", "yolo"):
    prompt = hear("session/prompt")
    update("current_mode_update", currentModeId=mode)
    end(prompt)
hear("never")
"""


async def test_a_mode_that_asks_nothing_alarms_when_a_session_is_resumed_and_when_it_is_chosen(
    agent: Agent, tmp_path: Path
) -> None:
    async with chats() as all_:
        session = all_.open(command_agent(agent(UNASKING)), tmp_path, load="s1")
        told: list[str] = []
        modes: list[str] = []

        def alarmed(count: int) -> bool:
            changes = session.take_changes()
            told.extend(each.text for each in changes if isinstance(each, Alarm))
            modes.extend(each.text for each in changes if isinstance(each, ModeNotice))
            return len(told) == count and session.state == "ready"

        await all_.until(lambda: alarmed(1))
        # The history ends with another mode than the session has now.
        assert modes[-1] == "mode: YOLO"
        assert told == ["mode YOLO: this agent does not ask before it acts"]
        assert [each.id for each in session.alarms] == ["mode"]
        session.send("be careful")
        await all_.until(lambda: alarmed(1) and not session.alarms)
        session.send("be quick")
        await all_.until(lambda: alarmed(2))
        assert told[1] == told[0]


async def test_queued_prompts_wait_for_late_history_and_late_replies(
    agent: Agent, tmp_path: Path
) -> None:
    """An agent that goes on after its response is not sent the next prompt in between."""
    async with chats() as all_:
        quiet = QuietTimes(after_turn=0.5, after_opening=0.5)
        session = all_.open(command_agent(agent(LATE)), tmp_path, load="s1", quiet=quiet)
        session.send("one")
        session.send("two")
        await all_.until(lambda: "ended 2" in said(session))
        assert session.conversation is not None
        shown_now = [
            item.text
            for item in session.conversation.items
            if isinstance(item, AgentMessage | UserMessage | Notice)
        ]
        late = "the following came after the end of the turn"
        first = ["one", "begun 1, ", late, "ended 1"]
        second = ["two", "begun 2, ", late, "ended 2"]
        assert shown_now == ["earlier", "old reply", *first, *second]


async def test_a_frame_that_we_cannot_show_by_a_bug_hides_no_other(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = Conversations.apply

    def fail_at_plans(self: Conversations, frame: Frame, paired: Any) -> Any:
        if b'"sessionUpdate": "plan"' in frame.data:
            raise KeyError("a bug")
        return apply(self, frame, paired)

    monkeypatch.setattr(Conversations, "apply", fail_at_plans)
    script = """
prompt = hear_prompt()
update("plan", entries=[])
say("the reply")
end(prompt)
hear("never")
"""
    async with chats() as found:
        chat = found.open(command_agent(agent(script)), tmp_path)
        chat.send("hello")
        shown: list[str] = []

        def has_all() -> bool:
            items = chat.take_changes()
            shown.extend(each.text for each in items if isinstance(each, AgentMessage | Notice))
            return "the reply" in shown and any("has a bug" in each for each in shown)

        await found.until(has_all)
        [bug] = {each for each in shown if "has a bug" in each}
        assert bug.endswith("is not shown (KeyError)")


async def test_each_reading_of_the_journal_comes_further_however_little_time_it_has(
    tmp_path: Path,
) -> None:
    agent = RunningAgent(command_agent(["agent"]), tmp_path)
    side, message = chunk("x")
    assert not isinstance(message, bytes)
    for _ in range(3 * PORTION):
        agent.journal.frame(side, encoded(message))
    readings = 0
    while agent.entries_read < len(agent.journal) and readings < 10:
        agent.read_journal(0)
        readings += 1
    assert (agent.entries_read, readings) == (3 * PORTION, 3)


BATCHES = """
greet(2, info={"name": "t", "version": "1"}, capabilities={"session": {}})
open_session()
prompt = hear("session/prompt")
tell(id=prompt["id"], result={"messageId": "m1"})
update("user_message", messageId="m1", content=prompt["params"]["prompt"])
update("state_update", state="running")
updates = [
    {"sessionUpdate": "agent_message_chunk", "messageId": "m2",
     "content": {"type": "text", "text": "hi there"}},
    {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"},
]
print(json.dumps([{"jsonrpc": "2.0", "method": "session/update",
                   "params": {"sessionId": "s1", "update": each}} for each in updates]), flush=True)
hear("never")
"""
"""An agent whose last two updates come in one array."""


async def test_arrays_are_read_in_the_dialect_that_has_them(agent: Agent, tmp_path: Path) -> None:
    async with chats() as all_:
        spec = command_agent(agent(BATCHES)).with_protocol(2, "v2-batch")
        session = all_.open(spec, tmp_path)
        session.send("hello")
        await all_.until(lambda: said(session) == "hi there" and session.state == "ready")
        assert session.error is None


async def test_an_agent_that_sends_arrays_is_named_at_once(agent: Agent, tmp_path: Path) -> None:
    """The turn does not wait for its lost end, and nothing of the refused array is shown."""
    async with chats() as all_:
        session = all_.open(command_agent(agent(BATCHES)).with_protocol(2), tmp_path)
        session.send("hello")
        await all_.until(lambda: session.error and session.state == "ready")
        why = "t sends arrays of messages (batches), which ACP does not have"
        assert (session.error and session.error.summary, said(session)) == (why, "")
        notices = [item.text for item in session.take_changes() if isinstance(item, Notice)]
        assert notices == [f"{why}; --dialect v2-batch accepts them"]
