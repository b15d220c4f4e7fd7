"""Turns of version 2, over real pipes: with our own agent, and with agents that go wrong."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from acp_console.agents.spec import DEMO_AGENT, command_agent
from acp_console.chat.connection import AgentConnection, connect_agent
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import AllowLevel, PolicyDecider
from acp_inspector.journal import Entry, Frame, Journal
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import AgentMessage, ToolCallItem, TurnEnd, UserMessage
from acp_protocol.errors import AgentExitedError, RemoteProtocolError, RequestFailedError
from tests.console.conftest import Agent
from tests.warm import WARM

V2 = """
def state(name, **more):
    update("state_update", state=name, **more)

def greet_v2():
    answer(hear("initialize"), {"protocolVersion": 2, "info": {"name": "t", "version": "1"},
           "capabilities": {"session": {}}})
    answer(hear("session/new"), {"sessionId": "s1"})

def answer(request, result):
    tell(id=request["id"], result=result)

greet_v2()
"""


@asynccontextmanager
async def linked(
    command: Sequence[str] | None, cwd: Path, journal: Journal, allow: AllowLevel = "reads"
) -> AsyncGenerator[tuple[AgentConnection, str]]:
    spec = (command_agent(command) if command else DEMO_AGENT).with_protocol(2)
    host = ClientHandlers(PolicyDecider(allow, lambda _ask, _is_allowed: None))
    with anyio.fail_after(30):
        async with connect_agent(spec, cwd=cwd, journal=journal, handlers=host) as link:
            session = await link.new_session(cwd)
            yield link, session["sessionId"]


async def test_our_agent_and_our_client_speak_version_two(tmp_path: Path) -> None:
    journal = Journal()
    async with linked(None, tmp_path, journal, "edits") as (link, session_id):
        assert (link.version, link.title) == (2, "Demo agent")
        answer = await link.prompt(session_id, "write a.txt: hello")
        assert answer["stopReason"] == "end_turn"
        answer = await link.prompt(session_id, "read a.txt")
        assert answer["stopReason"] == "end_turn"
    assert (tmp_path / "a.txt").read_text() == "hello\n"
    talks = Conversations()
    for entry in journal.entries:
        if isinstance(entry, Frame):
            talks.apply(entry)
    talk = talks.get(session_id)
    texts = [item.text for item in talk.items if isinstance(item, UserMessage)]
    assert texts == ["write a.txt: hello", "read a.txt"]
    calls = [item for item in talk.items if isinstance(item, ToolCallItem)]
    assert [(call.facts.title, call.facts.status) for call in calls] == [
        ("Write a.txt", "completed"),
        ("Read a.txt", "completed"),
    ]
    ends = [item.stop_reason for item in talk.items if isinstance(item, TurnEnd)]
    assert ends == ["end_turn", "end_turn"]
    assert any("done" in item.text for item in talk.items if isinstance(item, AgentMessage))
    assert (talk.info.is_busy, talk.info.current_mode) == (False, "ask")
    assert talk.info.commands


async def test_who_speaks_version_one_only_is_spoken_to_in_it(tmp_path: Path) -> None:
    command = [*WARM, "-m", "acp_agent"]
    async with linked(command, tmp_path, Journal()) as (link, session_id):
        assert (link.version, link.title) == (1, "ACP Agent")
        assert (await link.prompt(session_id, "hello"))["stopReason"] == "end_turn"


async def test_a_cancelled_turn_ends_with_its_state(agent: Agent, tmp_path: Path) -> None:
    command = agent(f"""{V2}
prompt = hear("session/prompt")
answer(prompt, {{"messageId": "m1"}})
state("running")
hear("session/cancel")
state("idle", stopReason="cancelled")
hear("never")
""")
    journal, is_running, ended = Journal(), anyio.Event(), list[str]()

    def look(entry: Entry) -> None:
        if isinstance(entry, Frame) and b"running" in entry.data:
            is_running.set()

    journal.subscribe(look)
    async with linked(command, tmp_path, journal) as (link, session_id):

        async def prompt() -> None:
            answer = await link.prompt(session_id, "go on")
            ended.append(answer["stopReason"])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(prompt)
            await is_running.wait()
            await link.cancel(session_id)
        assert ended == ["cancelled"]


async def test_a_turn_may_be_over_before_its_prompt_is_answered(
    agent: Agent, tmp_path: Path
) -> None:
    command = agent(f"""{V2}
prompt = hear("session/prompt")
update("user_message", messageId="m1", content=prompt["params"]["prompt"])
state("running")
state("idle", stopReason="refusal")
answer(prompt, {{"messageId": "m1"}})
hear("never")
""")
    async with linked(command, tmp_path, Journal()) as (link, session_id):
        assert (await link.prompt(session_id, "go on"))["stopReason"] == "refusal"


async def test_an_idle_of_before_does_not_end_the_turn(agent: Agent, tmp_path: Path) -> None:
    command = agent(f"""{V2}
prompt = hear("session/prompt")
state("idle")
answer(prompt, {{"messageId": "m1"}})
state("running")
state("idle", stopReason="max_tokens")
hear("never")
""")
    async with linked(command, tmp_path, Journal()) as (link, session_id):
        assert (await link.prompt(session_id, "go on"))["stopReason"] == "max_tokens"


async def test_a_turn_that_fails_is_an_error_like_any_other(agent: Agent, tmp_path: Path) -> None:
    command = agent(f"""{V2}
prompt = hear("session/prompt")
answer(prompt, {{"messageId": "m1"}})
state("running")
state("idle", stopReason="error", error={{"code": -32603, "message": "no tokens left"}})
hear("never")
""")
    async with linked(command, tmp_path, Journal()) as (link, session_id):
        with pytest.raises(RequestFailedError, match="no tokens left"):
            await link.prompt(session_id, "go on")


async def test_an_answer_of_a_draft_before_names_no_message(agent: Agent, tmp_path: Path) -> None:
    command = agent(f"""{V2}
prompt = hear("session/prompt")
answer(prompt, {{}})
hear("never")
""")
    async with linked(command, tmp_path, Journal()) as (link, session_id):
        with pytest.raises(RemoteProtocolError, match="messageId"):
            await link.prompt(session_id, "go on")


async def test_an_agent_that_dies_in_a_turn_is_told(agent: Agent, tmp_path: Path) -> None:
    command = agent(f"""{V2}
prompt = hear("session/prompt")
answer(prompt, {{"messageId": "m1"}})
state("running")
sys.stderr.write("out of memory\\n")
sys.exit(3)
""")
    async with linked(command, tmp_path, Journal()) as (link, session_id):
        with pytest.raises(AgentExitedError) as caught:
            await link.prompt(session_id, "go on")
        assert caught.value.code == 3


async def test_a_version_that_was_not_asked_for_ends_it(agent: Agent, tmp_path: Path) -> None:
    command = agent('tell(id=hear("initialize")["id"], result={"protocolVersion": 7})')
    with pytest.raises(RemoteProtocolError, match=r"speaks protocol version 7.*versions 1 to 2"):
        async with linked(command, tmp_path, Journal()):
            pass


async def test_consent_to_a_command_is_decided_as_executing_it(
    agent: Agent, tmp_path: Path
) -> None:
    command = agent(f"""{V2}
prompt = hear("session/prompt")
answer(prompt, {{"messageId": "m1"}})
state("running")
answered = ask("session/request_permission", title="Read a file, honestly", sessionId="s1",
    subject={{"type": "command", "command": "rm -rf .", "cwd": "/"}},
    options=[{{"optionId": "y", "name": "Yes", "kind": "allow_once"}},
             {{"optionId": "n", "name": "No", "kind": "reject_once"}}])
was_refused = answered["result"]["outcome"]["optionId"] == "n"
state("idle", stopReason="end_turn" if was_refused else "refusal")
hear("never")
""")
    async with linked(command, tmp_path, Journal(), "edits") as (link, session_id):
        assert (await link.prompt(session_id, "go on"))["stopReason"] == "end_turn"


async def test_two_turns_that_end_together_both_end(agent: Agent, tmp_path: Path) -> None:
    command = agent(f"""{V2}
first = hear("session/prompt")
second = hear("session/prompt")
answer(first, {{"messageId": "m1"}})
answer(second, {{"messageId": "m2"}})
state("running")
state("idle", stopReason="end_turn")
hear("never")
""")
    async with (
        linked(command, tmp_path, Journal()) as (link, session_id),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(link.prompt, session_id, "one")
        tasks.start_soon(link.prompt, session_id, "two")


async def test_a_version_that_nobody_shares_is_told_with_what_would_help(
    agent: Agent, tmp_path: Path
) -> None:
    command = agent("""
error = {"code": -32022, "message": "Unsupported protocol version",
         "data": {"requested": 1, "supported": [2]}}
tell(id=hear("initialize")["id"], error=error)
hear("never")
""")
    host = ClientHandlers(PolicyDecider("reads", lambda _ask, _is_allowed: None))
    spec = command_agent(command)
    with pytest.raises(RemoteProtocolError, match=r"version 2; .* --protocol 2 asks for version 2"):
        async with connect_agent(spec, cwd=tmp_path, journal=Journal(), handlers=host):
            pass
