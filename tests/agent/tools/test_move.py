"""Moving: what is shown before, what is done, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.permissions.decide import SessionPermissions
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.tools.call import (
    Content,
    Outcome,
    PreparedCall,
    ReportContent,
    ToolFailedError,
    move_content,
)
from acp_agent.tools.move import move_tool
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.rules import Effect, PolicyRule
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind
from tests.agent.client import open_session, selected


async def ignore(content: Content) -> None:
    del content


async def done(workspace: Workspace, **arguments: Json) -> Outcome:
    call = await move_tool.prepare(arguments, workspace)
    return await call.run(ignore)


async def test_a_file_gets_another_path(workspace: Workspace) -> None:
    text = (workspace.cwd / "notes.md").read_text()
    outcome = await done(workspace, path="notes.md", to="new/there.md")
    assert (workspace.cwd / "new" / "there.md").read_text() == text
    assert outcome.raw == {"path": str(workspace.cwd / "new" / "there.md")}


async def test_both_ends_are_shown_and_are_what_consent_is_about(workspace: Workspace) -> None:
    call = await move_tool.prepare({"path": "src", "to": "./lib/a"}, workspace)
    src, lib = str(workspace.cwd / "src"), str(workspace.cwd / "lib" / "a")
    assert (call.title, call.kind) == ("Move src to ./lib/a", "move")
    assert call.locations == [{"path": src}, {"path": lib}]
    assert call.content == [move_content(src, lib, "directory")]
    assert [str(subject) for subject in call.touched] == ["src", "lib/a"]


async def test_what_is_taken_over_is_told_before(workspace: Workspace) -> None:
    (workspace.cwd / "other.md").write_text("other")
    with pytest.raises(ToolFailedError, match="something by this name already"):
        await done(workspace, path="notes.md", to="other.md")
    wanted: dict[str, Json] = {"path": "notes.md", "to": "other.md", "is_over": True}
    call = await move_tool.prepare(wanted, workspace)
    assert call.title == "Move notes.md to other.md, over what is there"
    await call.run(ignore)
    assert not (workspace.cwd / "notes.md").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "gone", "to": "x"},
        {"path": "notes.md", "to": "../x"},
        {"path": "notes.md", "to": "/etc/acp-test"},
        {"path": "../secret.txt", "to": "x"},
        {"path": "notes.md", "to": "a\0b"},
        {"path": "notes.md\ud800", "to": "x"},
        {"path": ".", "to": "x"},
        {"path": "notes.md"},
        {"path": "notes.md", "to": ["x"]},
        {"path": "notes.md", "to": "x", "is_over": "yes"},
        {"path": "src", "to": "src/x"},
    ],
)
async def test_what_cannot_be_moved_fails_the_tool(
    workspace: Workspace, arguments: dict[str, Json]
) -> None:
    before = sorted(path.name for path in workspace.cwd.iterdir())
    with pytest.raises(ToolFailedError):
        await done(workspace, **arguments)
    assert sorted(path.name for path in workspace.cwd.iterdir()) == before
    assert (workspace.cwd.parent / "secret.txt").exists()


@pytest.mark.parametrize(
    ("path", "goal"), [("foo", ".config/git"), ("foo", "a/.git"), (".git", "b"), ("foo", "HEAD")]
)
async def test_a_directory_that_git_obeys_is_asked_about_each_time(
    workspace: Workspace, path: str, goal: str
) -> None:
    (workspace.cwd / path).mkdir()
    call = await move_tool.prepare({"path": path, "to": goal}, workspace)
    assert call.must_ask
    assert "may run what it says" in call.title


@pytest.mark.parametrize(
    ("kind", "pattern", "path", "goal"),
    [
        ("edit", "secret.txt", "notes.md", "secret.txt"),
        ("edit", "src/x/**", "notes.md", "src/x/y"),
        ("edit", "lib/x/**", "src", "lib"),
        ("delete", "notes.md", "notes.md", "x"),
        ("delete", "src/m*", "src", "x"),
        ("read", "src/main.py", "src", "x"),
    ],
)
async def test_a_move_counts_as_what_it_does(
    workspace: Workspace, kind: ToolKind, pattern: str, path: str, goal: str
) -> None:
    decisions: list[Effect] = ["deny", "ask"]
    wanted = await move_tool.prepare({"path": path, "to": goal}, workspace)
    for decision in decisions:
        rule = PolicyRule(decision, kind, "path", pattern)
        permissions = SessionPermissions(
            PermissionPolicy("allow_all", rules=(rule,)), workspace.cwd
        )
        known = permissions.decide(wanted)
        assert (known and known.verdict) == ("forbidden" if decision == "deny" else None)
    # That it may be written does not mean that something may be moved there.
    allowing = PolicyRule("allow", kind, "path", "**")
    rules = PermissionPolicy(rules=(allowing,))
    assert SessionPermissions(rules, workspace.cwd).decide(wanted) is None


async def test_what_is_remembered_of_moves_overwrites_nothing(workspace: Workspace) -> None:
    (workspace.cwd / "src" / "b.py").touch()
    names: dict[str, Json] = {"path": "src/main.py", "to": "src/b.py"}
    plain = await move_tool.prepare(names, workspace)
    over = await move_tool.prepare(names | {"is_over": True}, workspace)
    permissions = SessionPermissions()
    permissions.record_choice(plain, selected("allow-always"))
    assert permissions.decide(plain) is not None
    assert permissions.decide(over) is None
    assert permissions.options(over)[1]["name"] == (
        "Allow moves under src/ and edits under src/, and do not ask again in this session"
    )
    permissions.record_choice(over, selected("allow-always"))
    assert permissions.decide(over) is not None
    edits = SessionPermissions()
    written = PreparedCall("Write", "edit", _none, subjects=over.subjects[1:])
    edits.record_choice(written, selected("reject-always"))
    known = edits.decide(plain)
    assert known is not None
    assert known.verdict == "reject"


async def _none(report: ReportContent) -> Outcome:
    del report
    return Outcome("")


async def test_of_two_names_of_one_file_none_is_moved_over_the_other(workspace: Workspace) -> None:
    (workspace.cwd / "other.md").hardlink_to(workspace.cwd / "notes.md")
    with pytest.raises(ToolFailedError, match="names of one file"):
        await done(workspace, path="notes.md", to="other.md", is_over=True)
    assert (workspace.cwd / "notes.md").exists()
    await done(workspace, path="notes.md", to="third.md")
    assert not (workspace.cwd / "notes.md").exists()


async def test_version_1_tells_a_move_by_its_title_and_its_locations(cwd: Path) -> None:
    async with open_session(cwd) as session:
        await session.turn("move notes.md to moved.md")
    (asked,) = session.client.requests
    assert asked.params["toolCall"]["kind"] == "move"
    (call,) = session.calls
    assert call["statuses"] == ["pending", "in_progress", "completed"]
    assert call["rawInput"] == {"path": "notes.md", "to": "moved.md"}
    assert [each["path"] for each in call["locations"]] == [
        str(cwd / "notes.md"),
        str(cwd / "moved.md"),
    ]
    assert (cwd / "moved.md").exists()


async def test_version_2_tells_a_move_as_a_diff(cwd: Path) -> None:
    old, new = str(cwd / "notes.md"), str(cwd / "moved.md")
    async with open_session(cwd, 2) as session:
        await session.turn("move notes.md to moved.md")
    (asked,) = session.client.requests
    (diff,) = asked.params["subject"]["toolCall"]["content"]
    assert diff["changes"] == [{"operation": "move", "oldPath": old, "path": new}]
    assert f"rename from {old}\nrename to {new}\n" in diff["patch"]["text"]


async def test_a_move_that_was_rejected_moves_nothing(cwd: Path) -> None:
    async with open_session(cwd, permission=selected("reject")) as session:
        await session.turn("move notes.md to moved.md")
    assert (cwd / "notes.md").exists()
    (call,) = session.calls
    assert call["statuses"] == ["pending", "failed"]


@pytest.mark.parametrize(("path", "goal"), [("src/main.py", "x.py"), ("notes.md", "src/x.py")])
async def test_what_an_end_leads_to_by_now_is_not_moved(
    workspace: Workspace, path: str, goal: str
) -> None:
    cwd = workspace.cwd
    (cwd / "priv").mkdir()
    (cwd / "priv" / "main.py").write_text("x")
    call = await move_tool.prepare({"path": path, "to": goal}, workspace)
    (cwd / "src").rename(cwd / "away")
    (cwd / "src").symlink_to("priv")
    with pytest.raises(ToolFailedError, match="leads elsewhere by now; nothing was moved"):
        await call.run(ignore)
    assert [each.name for each in (cwd / "priv").iterdir()] == ["main.py"]
