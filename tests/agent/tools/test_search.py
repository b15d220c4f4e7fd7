"""Looking for a word."""

from __future__ import annotations

import os
import threading

import anyio
import pytest

from acp_agent.tools import search
from acp_agent.tools.search import SearchTool
from acp_agent.tools.tool import Content, Outcome, ToolFailedError
from acp_agent.workspace import Workspace
from acp_protocol.host.files import Roots
from acp_protocol.jsonrpc import Json


async def ignore(content: Content) -> None:
    del content


async def found(workspace: Workspace, **arguments: Json) -> Outcome:
    call = await SearchTool().prepare(arguments, workspace)
    return await call.run(ignore)


async def test_lines_are_found_in_any_case_and_told_by_file_and_number(
    workspace: Workspace,
) -> None:
    outcome = await found(workspace, pattern="ToDo", path=".")
    assert outcome.text == "notes.md:4: TODO: call Ada.\nsrc/main.py:1: print('hi')  # todo later"
    assert outcome.raw == {"hits": 2}


@pytest.mark.parametrize(("path", "hits"), [("src", 1), ("notes.md", 1), ("src/main.py", 1)])
async def test_the_place_bounds_the_search(workspace: Workspace, path: str, hits: int) -> None:
    assert (await found(workspace, pattern="todo", path=path)).raw == {"hits": hits}


async def test_nothing_found_is_said(workspace: Workspace) -> None:
    outcome = await found(workspace, pattern="nowhere")
    assert (outcome.text, outcome.raw) == ("nothing found", {"hits": 0})


@pytest.mark.parametrize(
    ("path", "reason"), [("..", "outside"), ("/etc", "outside"), ("gone", "no such file")]
)
async def test_a_place_that_is_not_there_or_not_ours_fails_the_tool(
    workspace: Workspace, path: str, reason: str
) -> None:
    with pytest.raises(ToolFailedError, match=reason):
        await found(workspace, pattern="x", path=path)


async def test_nothing_to_look_for_fails_the_tool(workspace: Workspace) -> None:
    with pytest.raises(ToolFailedError, match="nothing to look for"):
        await found(workspace, pattern="")


async def test_links_that_lead_out_hidden_folders_binaries_and_pipes_are_passed_over(
    workspace: Workspace,
) -> None:
    cwd = workspace.cwd
    (cwd / "out").symlink_to(cwd.parent)
    (cwd / "out.txt").symlink_to(cwd.parent / "secret.txt")
    (cwd / ".hidden").mkdir()
    (cwd / ".hidden" / "x").write_text("secret")
    (cwd / "binary").write_bytes(b"secret \xff")
    os.mkfifo(cwd / "fifo")
    for path in (".", "out"):
        assert (await found(workspace, pattern="secret", path=path)).raw == {"hits": 0}


async def test_limits_are_told(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace.cwd / "long.txt").write_text("needle " + "x" * 1000 + "\nneedle\n" * 5)
    outcome = await found(workspace, pattern="needle")
    assert all(len(line) < 250 for line in outcome.text.splitlines())
    monkeypatch.setattr(search, "HIT_LIMIT", 3)
    outcome = await found(workspace, pattern="needle")
    assert outcome.raw == {"hits": 3}
    assert outcome.text.endswith("\n… stopped after 3 hits")
    monkeypatch.setattr(search, "FILE_LIMIT", 1)
    outcome = await found(workspace, pattern="todo")
    assert outcome.text == "… stopped after 1 files"


async def test_a_search_that_is_no_longer_wanted_stops(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = anyio.Event(), threading.Event()
    read: list[str] = []

    def read_slowly(self: Roots, path: str) -> str:
        del self
        read.append(path)
        anyio.from_thread.run_sync(begun.set)
        go_on.wait()
        return ""

    monkeypatch.setattr(Roots, "read_text", read_slowly)
    async with anyio.create_task_group() as tasks:

        async def look() -> None:
            await found(workspace, pattern="x")

        tasks.start_soon(look)
        await begun.wait()
        tasks.cancel_scope.cancel()
        go_on.set()
    assert len(read) == 1
