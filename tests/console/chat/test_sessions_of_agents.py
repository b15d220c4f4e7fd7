"""Sessions that an agent keeps, and logging in and out of it, over real pipes."""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from acp_console.agents.spec import SignInRequiredError, command_agent
from acp_console.chat.connection import AgentConnection, CapabilityError, connect_agent
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.logins import login_methods
from acp_console.chat.permissions import PolicyDecider
from acp_inspector.journal import Journal
from acp_protocol.errors import RequestFailedError
from acp_protocol.json_values import get, get_text
from acp_protocol.jsonrpc import Json
from tests.console.conftest import Agent
from tests.warm import WARM

LIMIT = 30.0
VERSIONS = pytest.mark.parametrize("version", [1, 2])


@asynccontextmanager
async def talk(
    command: list[str], cwd: Path, version: int = 1, *, runs_logins: bool = False
) -> AsyncGenerator[AgentConnection]:
    host = ClientHandlers(
        PolicyDecider("none", lambda _ask, _is_allowed: None), runs_logins=runs_logins
    )
    spec = command_agent(command).with_protocol(version)
    with anyio.fail_after(LIMIT):
        async with connect_agent(spec, cwd=cwd, journal=Journal(), handlers=host) as link:
            yield link


def demo(tmp_path: Path, version: int, *words: str) -> list[str]:
    sessions = str(tmp_path / "sessions")
    always = ["--no-config", "--protocol", str(version), "--sessions", sessions]
    return [*WARM, "-m", "acp_agent", *always, *words]


async def listed(link: AgentConnection) -> dict[str, str | None]:
    """Return the titles of all sessions, by id."""
    found: list[Json] = []
    cursor: str | None = None
    while True:
        page, cursor = await link.list_sessions(cursor=cursor)
        found += page
        if cursor is None:
            return {str(get(each, "sessionId")): get_text(each, "title") for each in found}


@VERSIONS
async def test_a_session_lives_on_after_its_agent(tmp_path: Path, version: int) -> None:
    command = demo(tmp_path, version, "--unstable")
    async with talk(command, tmp_path, version) as link:
        opened = await link.new_session(tmp_path)
        id_ = str(opened["sessionId"])
        await link.prompt(id_, "hello")
        assert await link.set_title(id_, "Greetings") == "Greetings"
        await link.close_session(id_)
    async with talk(command, tmp_path, version) as link:
        assert await listed(link) == {id_: "Greetings"}
        assert (await link.open_session("load", tmp_path, id_))["sessionId"] == id_
        await link.close_session(id_)
        assert (await link.open_session("resume", tmp_path, id_))["sessionId"] == id_
        copy = str((await link.open_session("fork", tmp_path, id_))["sessionId"])
        assert copy != id_
        await link.delete_session(id_)
        assert id_ not in await listed(link)


@VERSIONS
async def test_unstable_abilities_are_seen_only_where_they_are_claimed(
    tmp_path: Path, version: int
) -> None:
    async with talk(demo(tmp_path, version), tmp_path, version) as link:
        assert all(link.can(each) for each in ("load", "list", "resume", "close", "delete"))
        assert not link.can("fork")
        assert not link.can("title")
        assert await link.auth_status() is None
    async with talk(demo(tmp_path, version, "--unstable"), tmp_path, version) as link:
        assert link.can("fork")
        assert link.can("title")


PAGES = """
greet(agentCapabilities={"sessionCapabilities": {"list": {}}})
for cursor, following in [(None, "a"), ("a", "b"), ("b", None)]:
    asked = hear("session/list")
    assert asked["params"].get("cursor") == cursor
    page = [{"sessionId": f"after {cursor}", "cwd": "/", "title": None}]
    tell(id=asked["id"], result={"sessions": page, "nextCursor": following})
"""


async def test_long_lists_come_page_by_page(agent: Agent, tmp_path: Path) -> None:
    async with talk(agent(PAGES), tmp_path) as link:
        assert list(await listed(link)) == ["after None", "after a", "after b"]


ARCHIVES = """
able = {"archive": {}, "status": {}, "list": {}}
hello = hear("initialize")
if VERSION == 1:
    tell(id=hello["id"], result={"protocolVersion": 1,
         "agentCapabilities": {"sessionCapabilities": able}})
else:
    tell(id=hello["id"], result={"protocolVersion": 2, "info": {"name": "a", "version": "1"},
         "capabilities": {"session": able}})
archived = set()
while True:
    message = json.loads(sys.stdin.readline() or sys.exit(0))
    id_ = message["params"].get("sessionId")
    match message["method"]:
        case "session/archive":
            archived.add(id_)
            tell(id=message["id"], result={})
        case "session/unarchive":
            archived.discard(id_)
            tell(id=message["id"], result={})
        case "session/list":
            shown = {"s1", "s2"} if message["params"].get("archived") == "include" \
                else {"s1", "s2"} - archived
            page = [{"sessionId": each, "cwd": "/", "archived": each in archived}
                    for each in sorted(shown)]
            tell(id=message["id"], result={"sessions": page})
        case "session/status":
            tell(id=message["id"], result={"status": {"s1": "open", "s2": "_parked"}[id_]})
        case "session/close" | "session/delete":
            code = -32002 if id_ == "gone" else -32603
            tell(id=message["id"], error={"code": code, "message": "no"})
"""


@VERSIONS
async def test_sessions_are_archived_and_listed_again(
    agent: Agent, tmp_path: Path, version: int
) -> None:
    script = f"VERSION = {version}\n{ARCHIVES}"
    async with talk(agent(script), tmp_path, version) as link:
        assert link.can("archive")
        assert link.can("status")
        await link.archive_session("s1", is_archived=True)
        assert set(await listed(link)) == {"s2"}
        everything, _ = await link.list_sessions(with_archived=True)
        assert {str(get(each, "sessionId")): get(each, "archived") for each in everything} == {
            "s1": True,
            "s2": False,
        }
        await link.archive_session("s1", is_archived=False)
        assert set(await listed(link)) == {"s1", "s2"}
        assert [await link.session_status(each) for each in ("s1", "s2")] == ["open", "saved"]


async def test_a_session_that_is_gone_already_counts_as_closed_and_deleted(
    agent: Agent, tmp_path: Path
) -> None:
    async with talk(agent(f"VERSION = 1\n{ARCHIVES}"), tmp_path) as link:
        await link.close_session("gone")
        await link.delete_session("gone")
        with pytest.raises(RequestFailedError, match="no"):
            await link.delete_session("s1")


NEVER = """
greet()
asked = hear("session/list")
assert hear("$/cancel_request")["params"] == {"requestId": asked["id"]}
tell(id=asked["id"], error={"code": -32800, "message": "cancelled"})
open_session()
"""


async def test_a_request_that_is_given_up_is_cancelled_at_the_agent(
    agent: Agent, tmp_path: Path
) -> None:
    async with talk(agent(NEVER), tmp_path) as link:
        with anyio.move_on_after(0):
            await link.list_sessions()
        assert (await link.new_session(tmp_path))["sessionId"] == "s1"


@VERSIONS
async def test_other_directories_are_handed_over(tmp_path: Path, version: int) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with talk(demo(tmp_path, version), tmp_path, version) as link:
        assert await link.open_session("new", tmp_path, directories=[other])


async def test_an_agent_of_one_directory_is_not_handed_others(agent: Agent, tmp_path: Path) -> None:
    async with talk(agent('greet()\nhear("never")'), tmp_path) as link:
        with pytest.raises(CapabilityError, match="works in one directory only"):
            await link.open_session("new", tmp_path, directories=[tmp_path / "other"])


@VERSIONS
async def test_one_logs_in_and_out(tmp_path: Path, version: int) -> None:
    command = demo(tmp_path, version, "--auth", "required", "--unstable")
    async with talk(command, tmp_path, version) as link:
        assert await link.auth_status() == {"state": "unauthenticated"}
        with pytest.raises(SignInRequiredError):
            await link.new_session(tmp_path)
        [method] = login_methods(link.auth_methods, link.spec)
        await link.authenticate(method.id)
        assert await link.auth_status() == {"state": "authenticated"}
        assert await link.new_session(tmp_path)
        assert link.can_log_out
        await link.logout()
        with pytest.raises(SignInRequiredError):
            await link.new_session(tmp_path)


LATE_METHODS = """
greet(authMethods=[])
tell(id=hear("session/new")["id"], error={"code": -32000, "message": "no", "data":
     {"authMethods": [{"id": "key", "name": "Key"}]}})
tell(id=hear("authenticate")["id"], result={})
open_session()
"""


async def test_logins_that_the_refusal_names_can_be_used(agent: Agent, tmp_path: Path) -> None:
    async with talk(agent(LATE_METHODS), tmp_path) as link:
        with pytest.raises(SignInRequiredError, match=r"The agent offers: key \(Key\)"):
            await link.new_session(tmp_path)
        await link.authenticate("key")
        assert (await link.new_session(tmp_path))["sessionId"] == "s1"


@VERSIONS
@pytest.mark.parametrize("runs_logins", [False, True])
async def test_logins_in_a_terminal_are_offered_to_who_runs_them(
    tmp_path: Path, version: int, runs_logins: bool
) -> None:
    command = demo(tmp_path, version, "--model", "openai:gpt-4o")
    async with talk(command, tmp_path, version, runs_logins=runs_logins) as link:
        kinds = {each.kind for each in login_methods(link.auth_methods, link.spec)}
        assert ("terminal" in kinds) == runs_logins


@pytest.mark.parametrize(
    ("own", "command", "is_own"),
    [
        ("sh agent.sh --acp", "sh agent.sh login", True),
        ("sh agent.sh --acp", "sh agent.sh", True),
        ("sh agent.sh --acp", "sh other.sh", False),
        ("sh agent.sh --acp", "sh -c other agent.sh", False),
        ("sh --acp", "sh -c other", False),
        ("sh -c 'exec agent'", "sh -c 'exec other'", False),
        ("env KEY=1 agent", "env agent", False),
        ("ls --acp", "ls login", True),
        ("ls --acp", "cat login", False),
        ("ls --acp", "no-such-program", False),
    ],
)
def test_only_the_program_of_the_agent_itself_is_its_own(
    own: str, command: str, is_own: bool
) -> None:
    program, *arguments = shlex.split(command)
    login: Json = {"command": program, "args": [*arguments]}
    method: Json = {"id": "it", "_meta": {"terminal-auth": login}}
    [found] = login_methods((method,), command_agent(shlex.split(own)))
    assert found.is_own_program == is_own
