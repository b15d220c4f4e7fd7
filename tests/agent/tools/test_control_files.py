"""Files that turn a harmless command into any program are asked about each time."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from acp_agent.permissions.decide import SessionPermissions
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.tools.call import Outcome, PreparedCall, ReportContent
from acp_agent.tools.control_files import controlled_program
from acp_agent.tools.registry import builtin_tools
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.subjects import command_subject, path_subject
from acp_protocol.jsonrpc import Json
from tests.agent.client import selected

TOOLS = builtin_tools()


async def nothing(report: ReportContent) -> Outcome:
    del report
    return Outcome("")


@pytest.mark.parametrize(
    ("path", "program"),
    [
        (".git/config", "git"),
        (".git/hooks/pre-commit", "git"),
        (".GIT/config", "git"),
        (".git", "git"),
        ("src/.git", "git"),
        ("src/.git/modules/a/config", "git"),
        ("link/config", "git"),
        ("store/HEAD", "git"),
        ("store/hooks/post-index-change", "git"),
        ("src/HEAD", "git"),
        (".husky/post-index-change", "git"),
        (".gitconfig", "git"),
        (".config/git/config", "git"),
        (".ripgreprc", "rg"),
        (".gitattributes", None),
        (".gitignore", None),
        (".github/workflows/test.yml", None),
        ("config", None),
        ("src/hooks/x.py", None),
        ("store/main/src/x.py", None),
        ("Makefile", None),
        ("", None),
    ],
)
def test_files_that_control_git_and_others_are_known_by_their_paths(
    cwd: Path, path: str, program: str | None
) -> None:
    (cwd / ".git").mkdir()
    (cwd / "link").symlink_to(".git")
    assert controlled_program(cwd, [path_subject(cwd, str(cwd / path))]) == program
    elsewhere = cwd.parent / "elsewhere"
    elsewhere.mkdir()
    assert controlled_program(elsewhere, [path_subject(elsewhere, str(cwd / path))]) == program


@pytest.mark.parametrize(
    ("tool", "arguments", "title"),
    [
        ("write", {"path": ".git/config", "text": "x"}, "Write .git/config"),
        ("edit", {"path": ".git/config", "new": "x"}, "Edit .git/config"),
        (
            "patch",
            {"patch": "--- /dev/null\n+++ b/.git/hooks/a\n@@ -0,0 +1 @@\n+x\n"},
            "Patch .git/hooks/a",
        ),
        ("delete", {"path": ".git/config"}, "Delete .git/config"),
        ("move", {"path": "notes.md", "to": ".git/config2"}, "Move notes.md to .git/config2"),
        ("move", {"path": ".git", "to": "x"}, "Move .git to x"),
    ],
)
async def test_a_change_of_what_git_obeys_is_asked_about_each_time(
    workspace: Workspace, tool: str, arguments: dict[str, Json], title: str
) -> None:
    (workspace.cwd / ".git").mkdir()
    (workspace.cwd / ".git" / "config").write_text("[core]\n")
    call = await TOOLS[tool].prepare(arguments, workspace)
    assert call.title == f"{title} (git may run what it says)"
    permissions = SessionPermissions(
        PermissionPolicy(auto_allow=frozenset({call.kind})), workspace.cwd
    )
    other = {"write": "edit", "patch": "edit"}.get(tool, tool)
    more: dict[str, dict[str, Json]] = {"edit": {"new": "x"}, "move": {"to": "src/other.py"}}
    plain = await TOOLS[other].prepare({"path": "src/main.py", **more.get(other, {})}, workspace)
    permissions.record_choice(plain, selected("allow-all"))
    assert permissions.decide(plain) is not None
    assert permissions.decide(call) is None
    offered = [each["optionId"] for each in permissions.options(call)]
    assert offered == ["allow", "reject"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("place", [".git", "store"])
async def test_all_edits_and_git_status_for_good_run_no_program(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Each step is one that a model may take; all that is not asked about is done."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    permissions = SessionPermissions(cwd=workspace.cwd)
    if place == ".git":
        subprocess.run(["git", "init", "-q", str(workspace.cwd)], check=True)
    edit = await TOOLS["edit"].prepare({"path": "src/main.py", "new": "x"}, workspace)
    permissions.record_choice(edit, selected("allow-all"))
    look = PreparedCall("x", "execute", nothing, subjects=[command_subject(["git", "status"])])
    permissions.record_choice(look, selected("allow-always"))
    core = {"repositoryformatversion": "0", "bare": "false", "worktree": ".."}
    core["fsmonitor"] = f'"touch {workspace.cwd}/ran; false"'
    config = "[core]\n" + "".join(f"\t{key} = {value}\n" for key, value in core.items())
    for path, text in (
        (f"{place}/config", config),
        (f"{place}/objects/x", ""),
        (f"{place}/refs/x", ""),
        (f"{place}/HEAD", "ref: refs/heads/main\n"),
    ):
        call = await TOOLS["write"].prepare({"path": path, "text": text}, workspace)
        if permissions.decide(call) is not None:
            await call.run(lambda _: nothing_to_tell())
    assert permissions.decide(look) is not None
    where = workspace.cwd / place if place == "store" else workspace.cwd
    subprocess.run(["git", "status"], cwd=where, check=False, capture_output=True)
    assert not (workspace.cwd / "ran").exists()


async def nothing_to_tell() -> None:
    """Take a report and do nothing with it."""
