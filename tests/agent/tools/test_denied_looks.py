"""A denied file gives nothing away: calls about it are refused before it is looked at."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from acp_agent.models.demo import DemoModel
from acp_agent.models.types import ToolResult, ToolUse
from acp_agent.permissions.decide import SessionPermissions
from acp_agent.permissions.grants import Grant
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.tools.registry import builtin_tools
from acp_agent.turn.context import TurnContext
from acp_agent.turn.tool_calls import run_batch
from acp_agent.updates.v1 import SessionUpdates
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.rules import PolicyRule
from acp_protocol.call_rules.subjects import Subject
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind
from tests.agent.client import PERMISSION, DirectClient, selected

PATCH = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-{1}\n+KEY=new\n"
CALLS: dict[str, tuple[dict[str, Json], dict[str, Json]]] = {
    # Each tool with a guess that is right and with one that is wrong.
    "edit": (
        {"path": "real.env", "old": "KEY=abc", "new": "x"},
        {"path": "real.env", "old": "KEY=abd", "new": "x"},
    ),
    "patch": (
        {"patch": PATCH.format("real.env", "KEY=abc")},
        {"patch": PATCH.format("real.env", "KEY=abd")},
    ),
    "write": (
        {"path": "real.env", "text": "x", "is_new": True},
        {"path": "none.env", "text": "x", "is_new": True},
    ),
    "delete": ({"path": "real.env"}, {"path": "none.env"}),
    "move": ({"path": "real.env", "to": "x"}, {"path": "none.env", "to": "x"}),
}


def by_rule(kind: ToolKind | None) -> Callable[[Path], SessionPermissions]:
    def permissions(cwd: Path) -> SessionPermissions:
        rule = PolicyRule("deny", kind, "path", "*.env")
        return SessionPermissions(PermissionPolicy("allow_all", rules=(rule,)), cwd)

    return permissions


def by_mode(cwd: Path) -> SessionPermissions:
    permissions = SessionPermissions(cwd=cwd)
    permissions.mode = "architect"
    return permissions


def by_user(cwd: Path) -> SessionPermissions:
    permissions = SessionPermissions(PermissionPolicy("allow_all"), cwd)
    for kind in ("read", "edit", "delete"):
        for name in ("real.env", "none.env"):
            permissions.grants[Grant(kind, Subject("path", (name,)))] = "reject"
    return permissions


async def outcome(
    permissions: SessionPermissions,
    cwd: Path,
    name: str,
    arguments: dict[str, Json],
    choice: str = "",
) -> tuple[str, list[Json], ToolResult | None]:
    client = DirectClient(answers={PERMISSION: selected(choice)})
    context = TurnContext(
        session_id="s",
        client=client,
        updates=SessionUpdates(client, "s"),
        workspace=Workspace("s", cwd),
        permissions=permissions,
        tools=builtin_tools(),
        model=DemoModel(),
        history=[],
    )
    (result,) = await run_batch(context, [ToolUse(name, arguments)])
    assert choice or client.requests == []
    for update in client.updates:
        update.pop("rawInput", None)
    return repr(client.updates).replace("none.env", "real.env"), client.updates, result


DENIALS: dict[str, Callable[[Path], SessionPermissions]] = {
    "rule": by_rule(None),
    "read rule": by_rule("read"),
    "mode": by_mode,
    "user": by_user,
}


@pytest.mark.parametrize(
    ("denial", "name"),
    # Whoever may not read a file may still delete it.
    [pair for pair in product(DENIALS, CALLS) if pair != ("read rule", "delete")],
)
async def test_right_and_wrong_guesses_about_a_denied_file_look_the_same(
    denial: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "real.env").write_text("KEY=abc\n")
    right, wrong = CALLS[name]
    first = await outcome(DENIALS[denial](tmp_path), tmp_path, name, right)
    second = await outcome(DENIALS[denial](tmp_path), tmp_path, name, wrong)
    assert first[0] == second[0]
    assert first[2] is not None
    assert first[2].is_failed
    assert first[2] == second[2]
    assert (tmp_path / "real.env").read_text() == "KEY=abc\n"


@pytest.mark.parametrize("name", ["edit", "patch", "write"])
async def test_nobody_learns_from_a_wrong_guess_what_the_user_does_not_let_them_read(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "real.env").write_text("KEY=abc\n")
    rule = PolicyRule("ask", "read", "path", "*.env")

    async def told(arguments: dict[str, Json], choice: str) -> str:
        permissions = SessionPermissions(PermissionPolicy("allow_all", rules=(rule,)), tmp_path)
        result = (await outcome(permissions, tmp_path, name, arguments, choice))[2]
        assert result is not None
        assert result.is_failed
        return result.text

    right, wrong = CALLS[name]
    if name == "write":
        # The guess that the file is not there is wrong; the other would succeed.
        right, wrong = wrong, right
    assert await told(right, "reject") == await told(wrong, "reject")
    assert await told(wrong, "allow") != await told(wrong, "reject")


@pytest.mark.parametrize("name", ["edit", "patch", "write", "move"])
async def test_where_reading_is_asked_about_by_policy_a_rejected_guess_tells_nothing_either(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "real.env").write_text("KEY=abc\n")
    results: list[ToolResult | None] = []
    for arguments in CALLS[name]:
        permissions = SessionPermissions(PermissionPolicy("ask_always"), tmp_path)
        results.append((await outcome(permissions, tmp_path, name, arguments, "reject"))[2])
    assert results == [ToolResult(name, "rejected by the user", is_failed=True)] * 2


async def test_a_wrong_guess_about_a_file_that_may_be_read_asks_nobody(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("KEY=abc\n")
    wrong: dict[str, Json] = {"path": "a.txt", "old": "KEY=abd", "new": "x"}
    _, _, result = await outcome(SessionPermissions(cwd=tmp_path), tmp_path, "edit", wrong)
    assert result is not None
    assert "does not hold" in result.text


async def test_a_path_outside_is_refused_without_asking(tmp_path: Path) -> None:
    wrong: dict[str, Json] = {"path": "/etc/passwd", "old": "a", "new": "x"}
    permissions = SessionPermissions(PermissionPolicy("ask_always"), tmp_path)
    _, _, result = await outcome(permissions, tmp_path, "edit", wrong)
    assert result is not None
    assert result.is_failed
