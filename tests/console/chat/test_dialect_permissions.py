"""Permissions of agents that speak a dialect: what the agent says decides, nothing guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import AllowLevel, PolicyDecider
from acp_console.chat.policy_file import load_policy
from acp_console.chat.touched import commands_of
from acp_protocol.dialects.acpex import Acpex
from acp_protocol.dialects.base import Dialect
from acp_protocol.dialects.continuum import Continuum, read_permission
from acp_protocol.dialects.openoxide import Openoxide
from acp_protocol.jsonrpc import Notification, Request, read_message

NAMES = ("open_terminal", "open_shell", "find_and_replace", "read_write_file", "list")
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def acpex(name: str, **more: Any) -> tuple[Dialect, dict[str, Any], dict[str, Any]]:
    tool = {"toolCallId": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    update = {"sessionId": "s1", "update": {"kind": "tool_call", "content": tool | more}}
    return Acpex(), update, {"sessionId": "s1", "toolCall": {"toolCallId": "c"}, "options": OPTIONS}


def openoxide(name: str, **more: Any) -> tuple[Dialect, dict[str, Any], dict[str, Any]]:
    event: dict[str, Any] = {"session_id": "s1", "type": "tool_call", "id": "c", "name": name}
    event |= {"input": dict[str, Any]()}
    params = {"session_id": "s1", "toolCall": {"toolCallId": "c"}, "options": OPTIONS}
    return Openoxide(""), event | more, params


def continuum(name: str, **more: Any) -> tuple[Dialect, dict[str, Any], dict[str, Any]]:
    tool = {"sessionId": "s1", "toolCallId": "c", "title": name, "name": name}
    return Continuum(""), tool | more, tool | more | {"options": OPTIONS}


async def is_allowed(
    spoken: tuple[Dialect, dict[str, Any], dict[str, Any]],
    allowed: AllowLevel,
    policy: Path | None = None,
) -> bool:
    """Return whether the agent gets permission for a call that it announced before."""
    dialect, update, params = spoken
    rules = None if policy is None else load_policy(policy)
    handlers = ClientHandlers(PolicyDecider(allowed, lambda _ask, _allows: None, rules=rules))
    handlers.open_session("s1", Path("/ada"))
    said = {"jsonrpc": "2.0", "method": "session/update", "params": update}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params}
    outcome: Any = None
    for message in (said, asked):
        (raw,) = dialect.read(json.dumps(message).encode(), "agent").forward
        match read_message(raw):
            case Notification() as notification:
                handlers.observe_notification(notification)
            case Request() as request:
                outcome = await handlers.handle_request(request)
            case other:
                pytest.fail(f"read as {other}")
    return outcome["outcome"].get("optionId") == "yes"


@pytest.mark.parametrize("speak", [acpex, openoxide, continuum])
@pytest.mark.parametrize("name", NAMES)
async def test_no_name_of_a_tool_makes_it_a_read_or_an_edit(speak: Any, name: str) -> None:
    for allowed in ("none", "reads", "edits"):
        assert not await is_allowed(speak(name), allowed)
    assert await is_allowed(speak(name), "all")


@pytest.mark.parametrize("speak", [acpex, openoxide, continuum])
async def test_a_kind_that_the_agent_says_counts(speak: Any) -> None:
    assert await is_allowed(speak("look", kind="read"), "reads")
    assert not await is_allowed(speak("look", kind="execute"), "edits")


@pytest.mark.parametrize("speak", [acpex, openoxide, continuum])
async def test_a_policy_denies_a_tool_by_its_name(speak: Any, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rules]]\nname = "open_*"\ndecision = "deny"\n')
    assert not await is_allowed(speak("open_terminal"), "all", policy)
    assert await is_allowed(speak("close_terminal"), "all", policy)


async def test_a_policy_denies_a_command_whose_kind_nobody_says(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rules]]\nkind = "execute"\ndecision = "deny"\n')
    assert not await is_allowed(openoxide("sh", input={"command": "rm a"}), "all", policy)
    assert await is_allowed(openoxide("sh", input={"path": "a"}), "all", policy)


async def test_openoxide_changes_no_file_by_a_kind_that_a_diff_has(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rules]]\nkind = "edit"\ndecision = "allow"\n')
    diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n"
    event = {"session_id": "s1", "type": "diff", "path": "a", "unified_diff": diff}
    params = {"session_id": "s1", "toolCall": {"toolCallId": "diff-1"}, "options": OPTIONS}
    assert not await is_allowed((Openoxide(""), event, params), "none", policy)


async def test_the_input_in_a_request_decides_however_the_dialect_spells_it() -> None:
    command, path = {"command": "rm -rf x"}, {"path": "/etc/passwd"}
    for more in (command, path):
        dialect, update, params = openoxide("list", kind="read")
        tool = {"toolCallId": "c", "kind": "read", "input": more}
        assert not await is_allowed((dialect, update, params | {"toolCall": tool}), "reads")
        dialect, update, params = continuum("list", kind="read")
        assert not await is_allowed((dialect, update, params | more), "reads")
    assert await is_allowed(continuum("list", kind="read", description="of files"), "reads")


async def test_a_name_that_a_request_has_twice_hides_neither_input() -> None:
    for one, other in (("rm -rf x", "ls"), ("ls", "rm -rf x")):
        _, _, params = continuum("run", kind="execute", command=one, rawInput={"command": other})
        raw = read_permission(params, is_new=True)["toolCall"]["rawInput"]
        assert commands_of({"rawInput": raw}) == [one, other]
