"""What rules deny is in no result of a tool that looks through directories."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from acp_agent.permissions.decide import SessionPermissions
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.tools.call import Content
from acp_agent.tools.registry import builtin_tools
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.rules import Effect, PolicyRule
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.words import ToolKind
from tests.agent.client import open_session, selected


@pytest.fixture(params=["ripgrep", "ourselves"], autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test holds with ripgrep and without it."""
    if request.param == "ourselves":
        monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))
    elif shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")


@pytest.fixture
def tree(cwd: Path) -> Path:
    """A directory with keys in it, a link to them, and a file that anybody may see."""
    for name in ("keys/a.pem", "keys/deep/b.txt", "lib/c.pem", "open.txt"):
        (cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (cwd / name).write_text("needle\n")
    (cwd / "alias.txt").symlink_to("keys/deep/b.txt")
    return cwd


def permissions(
    cwd: Path, decision: Effect, kind: ToolKind | None, pattern: str
) -> SessionPermissions:
    rule = PolicyRule(decision, kind, "path", pattern)
    return SessionPermissions(PermissionPolicy("allow_all", rules=(rule,)), cwd)


async def result(
    permissions: SessionPermissions, cwd: Path, name: str, **arguments: Json
) -> list[str]:
    async def report(content: Content) -> None:
        del content

    workspace = Workspace("s", cwd).filtered(
        permissions.result_filter, lambda _title, _kind, _paths, _effects: None
    )
    call = await builtin_tools()[name].prepare(arguments, workspace)
    return (await call.run(report)).text.splitlines()


ALL = ["keys/a.pem", "keys/deep/b.txt", "lib/c.pem", "open.txt"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("keys/**", ["lib/c.pem", "open.txt"]),
        ("KEYS/**", ["lib/c.pem", "open.txt"]),
        ("*.pem", ["keys/deep/b.txt", "open.txt"]),
        ("*/deep/*", ["keys/a.pem", "lib/c.pem", "open.txt"]),
    ],
)
async def test_denied_files_are_neither_searched_nor_found(
    tree: Path, pattern: str, names: list[str]
) -> None:
    denied = permissions(tree, "deny", None, pattern)
    hits = await result(denied, tree, "search", pattern="needle")
    assert [line.partition(":")[0] for line in hits if "alias" not in line] == names
    files = [f for f in await result(denied, tree, "find", pattern="*") if "alias" not in f]
    assert files == sorted([*names, "notes.md", "src/main.py"])


async def test_a_link_to_a_denied_file_is_left_out_by_its_name_too(tree: Path) -> None:
    denied = permissions(tree, "deny", None, "keys/**")
    for name, arguments in (("search", {"pattern": "needle"}), ("find", {"pattern": "*"})):
        assert not any("alias" in line for line in await result(denied, tree, name, **arguments))
    assert not any("alias" in line for line in await result(denied, tree, "list"))


async def test_a_denied_entry_is_not_listed(tree: Path) -> None:
    denied = permissions(tree, "deny", None, "keys/**")
    listed = await result(denied, tree, "list")
    assert not any(line.startswith("keys") for line in listed)
    assert "lib/" in listed
    by_name = permissions(tree, "deny", None, "*.pem")
    assert await result(by_name, tree, "list", path="keys") == ["deep/"]
    assert await result(by_name, tree, "list", path="lib") == ["the directory is empty"]


async def test_lines_of_files_that_may_not_be_read_are_not_found(tree: Path) -> None:
    denied = permissions(tree, "deny", "read", "keys/**")
    hits = await result(denied, tree, "search", pattern="needle")
    assert [line.partition(":")[0] for line in hits] == ["lib/c.pem", "open.txt"]


async def test_a_denied_hit_does_not_show_by_a_limit(tree: Path) -> None:
    (tree / "keys" / "many.txt").write_text("needle\n" * 500)
    denied = permissions(tree, "deny", None, "keys/**")
    hits = await result(denied, tree, "search", pattern="needle")
    assert hits == ["lib/c.pem:1: needle", "open.txt:1: needle"]
    nothing = await result(denied, tree, "search", pattern="needle", files="many.txt")
    assert nothing == ["nothing found"]


async def test_what_a_rule_asks_about_is_found_only_where_that_was_asked(tree: Path) -> None:
    asking = permissions(tree, "ask", None, "keys/**")
    hits = await result(asking, tree, "search", pattern="needle")
    assert [line.partition(":")[0] for line in hits] == ["lib/c.pem", "open.txt"]
    workspace = Workspace("s", tree)
    call = await builtin_tools()["search"].prepare({"pattern": "x", "path": "keys"}, workspace)
    assert asking.decide(call) is None
    named = await result(asking, tree, "search", pattern="needle", path="keys")
    assert [line.partition(":")[0] for line in named] == ["keys/a.pem", "keys/deep/b.txt"]
    asking.record_choice(call, selected("allow-all"))
    assert len(await result(asking, tree, "search", pattern="needle")) == 4


async def test_what_the_user_has_rejected_for_good_is_not_found(tree: Path) -> None:
    chosen = SessionPermissions(cwd=tree)
    workspace = Workspace("s", tree)
    for name, path in (("read", "keys/a.pem"), ("search", "lib/c.pem")):
        more: dict[str, Json] = {"pattern": "x"} if name == "search" else {}
        call = await builtin_tools()[name].prepare({"path": path, **more}, workspace)
        chosen.record_choice(call, selected("reject-always"))
    hits = await result(chosen, tree, "search", pattern="needle")
    assert hits == ["open.txt:1: needle"]


async def test_a_denied_directory_that_a_call_names_is_refused_whole(tree: Path) -> None:
    rules = PermissionPolicy(rules=(PolicyRule("deny", None, "path", "keys/**"),))
    async with open_session(tree, permissions=rules) as session:
        await session.turn('call search {"pattern": "needle", "path": "keys"}')
        await session.turn('call find {"pattern": "*", "path": "keys/deep"}')
        await session.turn('call list {"path": "keys"}')
    assert [call["status"] for call in session.calls] == ["failed"] * 3
    assert all("forbidden" in call["rawOutput"]["error"] for call in session.calls)
    assert "a.pem" not in session.text + str(session.updates)


async def test_a_session_applies_its_rules_to_results(tree: Path) -> None:
    rules = PermissionPolicy(rules=(PolicyRule("deny", None, "path", "keys/**"),))
    async with open_session(tree, permissions=rules) as session:
        await session.turn('call search {"pattern": "needle"}')
        await session.turn('call find {"pattern": "*.*"}')
        await session.turn("call list {}")
    assert [call["status"] for call in session.calls] == ["completed"] * 3
    assert "open.txt" in session.text
    assert "keys" not in session.text
