"""What our agent writes to clients of dialects: tools by their names, commands and abilities."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from acp_agent.mcp.servers import McpSettings
from acp_protocol.dialects.registry import open_dialect
from acp_protocol.jsonrpc import Json
from tests.agent.client import PERMISSION, Client, connected
from tests.agent.mcp.rooms import LIMIT, LIMITS, weather
from tests.agent.scripted.stage import running

CALLS = {
    "call read path=notes.md": "read",
    "call list path=.": "list",
    "call find pattern=*.md": "find",
    "call search text=milk": "search",
    "call edit path=notes.md old=milk new=tea": "edit",
    "call write path=new.txt content=x": "write",
    "call move source=notes.md target=other.md": "move",
    "call delete path=other.md": "delete",
    "call run command=true": "run",
    "call fetch url=https://127.0.0.1:1/": "fetch",
    "call think text=hm": "think",
    "call w__look place=Rome": "w__look",
}
HELLO: Mapping[str, Json] = {
    "acpex": {"protocolVersion": 1, "capabilities": {"fileSystem": {}}},
    "openoxide": {"protocolVersion": 1},
}
ALLOWED: Mapping[str, Json] = {
    "acpex": {"outcome": {"outcome": "selected", "optionId": "allow"}},
    "openoxide": {"outcome": {"outcome": "selected", "option_id": "allow"}},
}


def names(client: Client, dialect: str) -> list[str]:
    """Return the names of the tools that were called, as they are on the wire."""
    events = [each.params for each in client.notifications if each.method == "session/update"]
    if dialect == "openoxide":
        return [event["name"] for event in events if event.get("type") == "tool_call"]
    updates = [event["update"] for event in events]
    calls = [each["content"] for each in updates if each.get("kind") == "tool_call"]
    return [call["function"]["name"] for call in calls]


@pytest.mark.parametrize("dialect", HELLO)
async def test_every_tool_is_called_by_its_name(dialect: str, cwd: Path) -> None:
    mcp = McpSettings(configured=(weather(),), limits=LIMITS)
    async with connected(
        cwd,
        dialect=open_dialect(dialect, str(cwd)),
        initializes=False,
        mcp=mcp,
        timeout_s=LIMIT,
        answers={PERMISSION: ALLOWED[dialect]},
    ) as client:
        await client.ask("initialize", **HELLO[dialect])
        place: dict[str, Json] = {"cwd": str(cwd), "mcpServers": []} if dialect == "acpex" else {}
        key = "sessionId" if dialect == "acpex" else "session_id"
        opened = await client.ask("session/new", **place)
        for order in CALLS:
            content = [{"type": "text", "text": order}]
            await client.ask("session/prompt", **{key: opened[key], "content": content})
        assert names(client, dialect) == list(CALLS.values())
        await client.ask("session/close", **{key: opened[key]})


@pytest.mark.parametrize(
    ("dialect", "sent"),
    [
        ("acpex", {"function": {"name": "open_terminal", "arguments": "{}"}}),
        ("openoxide", {"name": "open_terminal"}),
    ],
)
@pytest.mark.parametrize("title", ["open_terminal", "Open a terminal"])
async def test_a_script_names_its_tools_in_a_dialect(
    dialect: str, sent: dict[str, Json], title: str, tmp_path: Path
) -> None:
    # A tool without a name is known by its title.
    name = "" if title == "open_terminal" else ', name="open_terminal"'
    script = f"""
agent = Agent(dialect="{dialect}", framing="lines")
async def prompt(call):
    await call.tool("t1", title="{title}"{name})
"""
    async with running(tmp_path, script) as client:
        await client.ask("initialize", **HELLO[dialect])
        place: dict[str, Json] = {"cwd": "/project", "mcpServers": []} if dialect == "acpex" else {}
        opened = (await client.ask("session/new", **place))["result"]
        key = "sessionId" if dialect == "acpex" else "session_id"
        await client.ask("session/prompt", **{key: opened[key], "content": []})
        update = next(each for each in client.messages if "t1" in json.dumps(each))["params"]
        written = update if dialect == "openoxide" else update["update"]["content"]
        assert {each: written[each] for each in sent} == sent


async def test_a_client_of_openoxide_reads_commands_and_forks_sessions(cwd: Path) -> None:
    dialect = open_dialect("openoxide", str(cwd))
    async with connected(cwd, dialect=dialect, settings={"agent.namespace": "openoxide"}) as client:
        abilities = client.initialized
        assert abilities["session_fork"] is True
        commands = {each["command"]: each["description"] for each in abilities["slash_commands"]}
        assert commands["/openoxide:tour"].startswith("Show each feature once")
        opened = await client.ask("session/new", working_dir=str(cwd), config={})
        session = opened["session_id"]
        content = [{"SlashCommand": "/openoxide:think deeply"}]
        await client.ask("session/prompt", session_id=session, content=content)
        forked = await client.ask("session/fork", session_id=session)
        assert forked["session_id"] != session
        known = await client.ask("session/list")
        assert {session, forked["session_id"]} == {each["session_id"] for each in known["sessions"]}


async def test_an_official_client_is_offered_no_fork(cwd: Path) -> None:
    async with connected(cwd, lints=False) as client:
        assert "fork" not in client.initialized["agentCapabilities"]["sessionCapabilities"]
        assert (await client.refusal("session/fork", sessionId="x")).code == -32601
