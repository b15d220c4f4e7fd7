"""Starting agents and talking with them, over real pipes."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from acp_console.agents.spec import SignInRequiredError, command_agent
from acp_console.chat.connection import AgentConnection, connect_agent
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PolicyDecider
from acp_inspector.journal import Frame, Journal, JournalEvent, StderrChunk
from acp_protocol.errors import (
    AgentExitedError,
    AgentStartError,
    OperationTimeoutError,
    RemoteProtocolError,
    RequestFailedError,
)
from acp_protocol.jsonrpc import Request, read_message
from acp_protocol.schema.validate import validate_params
from tests.console.conftest import Agent


@asynccontextmanager
async def linked(
    command: list[str], cwd: Path, journal: Journal | None = None, start_limit: float = 20
) -> AsyncGenerator[AgentConnection]:
    host = ClientHandlers(PolicyDecider("reads", lambda _ask, _is_allowed: None))
    with anyio.fail_after(30):
        async with connect_agent(
            command_agent(command),
            cwd=cwd,
            journal=Journal() if journal is None else journal,
            handlers=host,
            start_timeout=start_limit,
        ) as link:
            yield link


async def test_a_turn_from_the_start_of_the_agent_to_its_end(agent: Agent, tmp_path: Path) -> None:
    command = agent("""
greet(agentInfo={"name": "tiny", "version": "1"}, agentCapabilities={"loadSession": True})
open_session()
prompt = hear("session/prompt")
sys.stderr.write("thinking\\n"); sys.stderr.flush()
say(prompt["params"]["prompt"][0]["text"].upper())
end(prompt, usage={"totalTokens": 3})
hear("never")
""")
    journal = Journal()
    async with linked(command, tmp_path, journal) as link:
        assert (link.title, link.capabilities) == ("tiny", {"loadSession": True})
        session = await link.new_session(tmp_path)
        answer = await link.prompt(session["sessionId"], "hello")
    assert answer == {"stopReason": "end_turn", "usage": {"totalTokens": 3}}
    events = [entry for entry in journal.entries if isinstance(entry, JournalEvent)]
    assert [event.name for event in events] == ["spawn", "eof", "exit"]
    assert events[1].data == {"from": "client"}
    frames = [entry for entry in journal.entries if isinstance(entry, Frame)]
    assert [frame.side[0] for frame in frames] == ["c", "a", "c", "a", "c", "a", "a"]
    assert b"HELLO" in frames[5].data
    stderr = [entry.data for entry in journal.entries if isinstance(entry, StderrChunk)]
    assert b"".join(stderr) == b"thinking\n"


async def test_what_we_send_fits_the_published_shapes(agent: Agent, tmp_path: Path) -> None:
    journal = Journal()
    async with linked(agent("end(hear_prompt())"), tmp_path, journal) as link:
        session = await link.new_session(tmp_path)
        await link.prompt(session["sessionId"], [{"type": "text", "text": "a block"}])
    sent = [entry for entry in journal.entries if isinstance(entry, Frame)]
    asked = [read_message(frame.data) for frame in sent if frame.side == "client"]
    requests = [message for message in asked if isinstance(message, Request)]
    assert [request.method for request in requests] == [
        "initialize",
        "session/new",
        "session/prompt",
    ]
    for request in requests:
        assert not validate_params(request.method, request.params)


async def test_a_cancelled_turn_still_ends(agent: Agent, tmp_path: Path) -> None:
    """ACP, Prompt Turn, "Cancellation": the agent answers with `cancelled`, not with an error."""
    command = agent("""
prompt = hear_prompt()
say("working")
hear("session/cancel")
end(prompt, "cancelled")
""")
    journal = Journal()
    async with linked(command, tmp_path, journal) as link:
        session = await link.new_session(tmp_path)

        async def cancel_once_it_works() -> None:
            working = anyio.Event()
            journal.subscribe(lambda entry: working.set())
            await working.wait()
            await link.cancel(session["sessionId"])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_once_it_works)
            answer = await link.prompt(session["sessionId"], "work")
            assert answer["stopReason"] == "cancelled"


@pytest.mark.parametrize("version", ["2", "0", "True", "'1'", "1.0", "None"])
async def test_another_protocol_version_is_told_as_such(
    agent: Agent, tmp_path: Path, version: str
) -> None:
    with pytest.raises(RemoteProtocolError, match=r"speaks protocol version .*speaks version 1"):
        async with linked(agent(f"greet({version})"), tmp_path):
            pytest.fail("the link was opened")


@pytest.mark.parametrize(
    "answer", ["'fine'", "[]", "None", "{'protocolVersion': 1, 'agentInfo': 'me'}"]
)
async def test_a_senseless_answer_is_the_agents_fault(
    agent: Agent, tmp_path: Path, answer: str
) -> None:
    command = agent(f"tell(id=hear('initialize')['id'], result={answer})")
    with pytest.raises(RemoteProtocolError):
        async with linked(command, tmp_path):
            pytest.fail("the link was opened")


async def test_an_answer_without_session_or_stop_reason_is_the_agents_fault(
    agent: Agent, tmp_path: Path
) -> None:
    command = agent("""
greet()
tell(id=hear("session/new")["id"], result={})
tell(id=hear("session/prompt")["id"], result={"stopReason": None})
""")
    async with linked(command, tmp_path) as link:
        with pytest.raises(RemoteProtocolError, match="has no sessionId"):
            await link.new_session(tmp_path)
        with pytest.raises(RemoteProtocolError, match="no stopReason"):
            await link.prompt("s1", "hello")


async def test_an_agent_that_wants_a_sign_in_names_its_ways(agent: Agent, tmp_path: Path) -> None:
    command = agent("""
greet(authMethods=[{"id": "a", "name": "With a browser"}, {"id": "key"}, "?", None])
refusal = {"code": -32000, "message": "Authentication required"}
tell(id=hear("session/new")["id"], error=refusal)
hear("never")
""")
    async with linked(command, tmp_path) as link:
        with pytest.raises(
            SignInRequiredError, match=r"offers: a \(With a browser\), key"
        ) as caught:
            await link.new_session(tmp_path)
    assert caught.value.methods == ("a (With a browser)", "key")


async def test_an_error_answer_comes_whole(agent: Agent, tmp_path: Path) -> None:
    command = agent("""
greet()
error = {"code": -32603, "message": "no model", "data": {"model": "x"}}
tell(id=hear("session/new")["id"], error=error)
hear("never")
""")
    async with linked(command, tmp_path) as link:
        with pytest.raises(RequestFailedError) as refusal:
            await link.new_session(tmp_path)
    assert (refusal.value.code, refusal.value.data) == (-32603, {"model": "x"})


async def test_an_agent_that_dies_leaves_its_code_and_its_last_words(
    agent: Agent, tmp_path: Path
) -> None:
    command = agent("""
greet()
hear("session/new")
sys.stderr.write("no key\\nset KEY\\n")
sys.exit(9)
""")
    async with linked(command, tmp_path) as link:
        with pytest.raises(AgentExitedError) as caught:
            await link.new_session(tmp_path)
        ended = await link.wait_closed()
        assert isinstance(ended, AgentExitedError)
        assert ended.code == 9
    assert (caught.value.code, caught.value.stderr_tail) == (9, ("no key", "set KEY"))


async def test_an_agent_that_closes_its_output_and_lives_is_told_as_such(
    agent: Agent, tmp_path: Path
) -> None:
    silent = agent("os.close(1); sys.stdin.read()")
    with pytest.raises(AgentExitedError, match="closed its stdin or stdout without ending"):
        async with linked(silent, tmp_path):
            pass


async def test_a_frame_beyond_the_limit_is_the_agents_fault_and_names_the_limit(
    agent: Agent, tmp_path: Path
) -> None:
    flood = agent("for _ in range(70): sys.stdout.write('x' * 2**20)\nsys.stdin.read()")
    with pytest.raises(RemoteProtocolError, match="limit of 67108864 bytes"):
        async with linked(flood, tmp_path):
            pass


@pytest.mark.parametrize(
    ("ending", "event", "told"),
    [
        ("os.kill(os.getpid(), 9)", {"signal": 9}, "SIGKILL"),
        ("os._exit(7)", {"code": 7}, "code 7"),
    ],
)
async def test_how_an_agent_ended_is_told_and_recorded(
    agent: Agent, tmp_path: Path, ending: str, event: dict[str, int], told: str
) -> None:
    command = agent(f'greet(); hear("session/new"); {ending}')
    journal = Journal()
    async with linked(command, tmp_path, journal) as link:
        with pytest.raises(AgentExitedError, match=told):
            await link.new_session(tmp_path)
    events = [entry for entry in journal.entries if isinstance(entry, JournalEvent)]
    assert [event.name for event in events] == ["spawn", "eof", "exit"]
    assert [event.data for event in events[1:]] == [{"from": "agent"}, event]


async def test_an_agent_that_keeps_silent_is_told_with_what_it_said_instead(
    agent: Agent, tmp_path: Path
) -> None:
    command = agent("""
sys.stderr.write("downloading\\n"); sys.stderr.flush()
print("Welcome!", flush=True)
hear("never")
""")
    with pytest.raises(OperationTimeoutError, match="response to initialize") as caught:
        async with linked(command, tmp_path, start_limit=1):
            pytest.fail("the link was opened")
    assert caught.value.stderr_tail == ("downloading",)
    assert caught.value.stray_output == b"Welcome!"


async def test_stray_lines_on_stdout_are_kept_and_do_no_harm(agent: Agent, tmp_path: Path) -> None:
    command = agent('print("Welcome!", flush=True); end(hear_prompt())')
    journal = Journal()
    async with linked(command, tmp_path, journal) as link:
        session = await link.new_session(tmp_path)
        await link.prompt(session["sessionId"], "hello")
        assert link.unreadable_output() == b"Welcome!"
    raws = [entry.data for entry in journal.entries if isinstance(entry, Frame)]
    assert b"Welcome!" in raws


async def test_a_command_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    with pytest.raises(AgentStartError, match="there is no such command"):
        async with linked([str(tmp_path / "missing")], tmp_path):
            pytest.fail("the link was opened")


async def test_nothing_is_left_behind(agent: Agent, tmp_path: Path) -> None:
    """Neither an agent that does not care that we left, nor what it started."""
    command = agent("""
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
greet(agentInfo={"name": str(child.pid)})
time.sleep(600)
""")
    async with linked(command, tmp_path) as link:
        grandchild = int(str(link.agent_info["name"]))
    assert not Path(f"/proc/{grandchild}").exists() or _is_zombie(grandchild)


def _is_zombie(pid: int) -> bool:
    if sys.platform != "linux":
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
