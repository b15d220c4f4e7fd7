"""Listing and finding."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acp_agent.tools import walk
from acp_agent.tools.call import Content, Outcome, Tool, ToolFailedError
from acp_agent.tools.list_find import find_tool, list_tool
from acp_agent.tools.walk import SearchLimits
from acp_agent.world.workspace import Workspace
from acp_protocol.jsonrpc import Json


async def ignore(content: Content) -> None:
    del content


async def done(tool: Tool, workspace: Workspace, **arguments: Json) -> Outcome:
    call = await tool.prepare(arguments, workspace)
    return await call.run(ignore)


@pytest.fixture(params=["rg", ""])
def engine(request: pytest.FixtureRequest) -> SearchLimits:
    """A test holds with ripgrep and without it."""
    if request.param and shutil.which(request.param) is None:
        pytest.skip("ripgrep is not installed")
    return SearchLimits(ripgrep=request.param)


async def test_a_directory_is_listed_with_what_its_entries_are(workspace: Workspace) -> None:
    cwd = workspace.cwd
    (cwd / "link").symlink_to("notes.md")
    (cwd / ".hidden").write_text("x")
    (cwd / "new\nline").touch()
    outcome = await done(list_tool, workspace)
    assert outcome.text.splitlines() == [
        ".hidden  1",
        "link@",
        "new⏎line  0",
        f"notes.md  {(cwd / 'notes.md').stat().st_size}",
        "src/",
    ]
    assert outcome.raw == {"entries": 5}
    assert (await done(list_tool, workspace, path="src")).raw == {"entries": 1}


async def test_an_empty_directory_is_said_to_be_empty(workspace: Workspace) -> None:
    (workspace.cwd / "empty").mkdir()
    assert (await done(list_tool, workspace, path="empty")).text == "the directory is empty"


async def test_of_a_full_directory_the_first_names_are_listed(workspace: Workspace) -> None:
    for number in range(1001):
        (workspace.cwd / "src" / f"{number:04}").touch()
    lines = (await done(list_tool, workspace, path="src")).text.splitlines()
    assert lines[-2:] == ["0999  0", "… 2 more"]


@pytest.mark.parametrize("path", ["..", "/etc", "gone", "notes.md", "out", "a\0b"])
@pytest.mark.parametrize("tool", [list_tool, find_tool()])
async def test_what_is_no_directory_of_ours_fails_the_tool(
    workspace: Workspace, tool: Tool, path: str
) -> None:
    (workspace.cwd / "out").symlink_to("/etc")
    with pytest.raises(ToolFailedError):
        await done(
            tool, workspace, path=path, **({} if tool.offer.name == "list" else {"pattern": "*"})
        )


@pytest.mark.parametrize(
    ("pattern", "path", "names"),
    [
        ("*.md", ".", ["notes.md"]),
        ("*", ".", ["notes.md", "src/main.py", "src/z"]),
        ("src/*.py", ".", ["src/main.py"]),
        ("*.py", "src", ["src/main.py"]),
        ("**/z", ".", ["src/z"]),
        ("*.txt", ".", []),
    ],
)
async def test_files_are_found_by_their_names(
    workspace: Workspace, engine: SearchLimits, pattern: str, path: str, names: list[str]
) -> None:
    cwd = workspace.cwd
    (cwd / "src" / "z").write_text("")
    (cwd / ".hidden").mkdir()
    (cwd / ".hidden" / "x.md").touch()
    outcome = await done(find_tool(engine), workspace, pattern=pattern, path=path)
    assert outcome.text.splitlines() == (names or ["nothing found"])
    assert outcome.raw == {"hits": len(names)}


async def test_what_git_ignores_is_not_found(workspace: Workspace, engine: SearchLimits) -> None:
    cwd = workspace.cwd
    (cwd / ".git").mkdir()
    (cwd / ".gitignore").write_text("*.md\n/src/gen/\n")
    (cwd / "src" / "gen").mkdir()
    (cwd / "src" / "gen" / "a.py").touch()
    assert (await done(find_tool(engine), workspace, pattern="*")).text == "src/main.py"


async def test_limits_of_finding_are_told(workspace: Workspace, engine: SearchLimits) -> None:
    few = replace(engine, max_files=1)
    outcome = await done(find_tool(few), workspace, pattern="*.md")
    assert outcome.text == "notes.md\n… stopped after 1 files"
    for number in range(200):
        (workspace.cwd / f"{number:03}").touch()
    outcome = await done(find_tool(engine), workspace, pattern="*")
    assert outcome.text.splitlines()[-2:] == ["199", "… stopped after 200 names"]
    assert outcome.raw == {"hits": 200}


async def test_a_name_that_is_no_text_is_found(workspace: Workspace, engine: SearchLimits) -> None:
    (workspace.cwd / os.fsdecode(b"\xff.txt")).touch()
    assert (await done(find_tool(engine), workspace, pattern="*.txt")).text == "‹dcff›.txt"


@pytest.mark.parametrize("name", ["list", "find"])
async def test_the_names_of_a_swapped_directory_are_not_told(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, engine: SearchLimits, name: str
) -> None:
    src, outside = workspace.cwd / "src", workspace.cwd.parent / "outside"
    outside.mkdir()
    (outside / "far.py").touch()
    tool = list_tool if name == "list" else find_tool(engine)
    pattern: dict[str, Json] = {} if name == "list" else {"pattern": "*"}
    call = await tool.prepare({"path": "src", **pattern}, workspace)
    scan, ask = os.scandir, walk.ripgrep_files

    def swap() -> None:
        if not src.is_symlink():
            src.rename(workspace.cwd / "away")
            src.symlink_to(outside)

    def swap_and_scan(place: Any) -> Any:
        swap()
        return scan(place)

    async def swap_and_ask(place: Path, *arguments: Any) -> Any:
        if engine.ripgrep:
            swap()
        through: Any = f"{place}/"
        return await ask(through, *arguments)

    monkeypatch.setattr(os, "scandir", swap_and_scan)
    monkeypatch.setattr(walk, "ripgrep_files", swap_and_ask)
    assert "far.py" not in (await call.run(ignore)).text
