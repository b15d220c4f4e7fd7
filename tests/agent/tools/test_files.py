"""Reading, editing, writing and deleting, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.tools.call import MAX_TEXT_CHARS, Content, Outcome, Tool, ToolFailedError
from acp_agent.tools.files import delete_tool, read_tool, write_tool
from acp_agent.world.workspace import Workspace
from acp_protocol.jsonrpc import Json


async def ignore(content: Content) -> None:
    del content


async def done(tool: Tool, workspace: Workspace, **arguments: Json) -> Outcome:
    call = await tool.prepare(arguments, workspace)
    return await call.run(ignore)


@pytest.mark.parametrize(
    ("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\r\nb\r\n", 2)]
)
async def test_a_file_is_read_as_it_is(workspace: Workspace, text: str, lines: int) -> None:
    (workspace.cwd / "it").write_bytes(text.encode())
    outcome = await done(read_tool, workspace, path="it")
    assert (outcome.text, outcome.raw) == (text, {"lines": lines})


async def test_of_a_large_file_the_beginning_is_read(workspace: Workspace) -> None:
    (workspace.cwd / "it").write_text("x" * (MAX_TEXT_CHARS + 1))
    outcome = await done(read_tool, workspace, path="it")
    assert outcome.text.endswith("x\n… 1 more characters")
    assert len(outcome.content[0]["content"]["text"]) < MAX_TEXT_CHARS + 100


async def test_of_a_large_file_it_is_told_where_to_read_on(workspace: Workspace) -> None:
    (workspace.cwd / "it").write_text("0123456\n" * (MAX_TEXT_CHARS // 8 + 3))
    text = (await done(read_tool, workspace, path="it")).text
    assert text.endswith(f"0123456\n… 24 more characters, from line {MAX_TEXT_CHARS // 8 + 1} on")
    outcome = await done(read_tool, workspace, path="it", line=MAX_TEXT_CHARS // 8 + 1)
    assert (outcome.text, outcome.raw["lines"]) == ("0123456\n" * 3, 3)


@pytest.mark.parametrize(
    ("line", "limit", "text", "title"),
    [
        (2, None, "b\nc", "Read it from line 2"),
        (2, 1, "b\n", "Read it, lines 2 to 2"),
        (None, 2, "a\nb\n", "Read it, lines 1 to 2"),
        (3.0, 9, "c", "Read it, lines 3 to 11"),
    ],
)
async def test_some_lines_are_read(
    workspace: Workspace, line: Json, limit: Json, text: str, title: str
) -> None:
    (workspace.cwd / "it").write_text("a\nb\nc")
    call = await read_tool.prepare({"path": "it", "line": line, "limit": limit}, workspace)
    assert call.title == title
    assert call.locations[0].get("line") == line
    outcome = await call.run(ignore)
    assert (outcome.text, outcome.raw["line"]) == (text, line or 1)


@pytest.mark.parametrize(("line", "limit"), [(0, 1), (1, 0), ("1", 1), (True, 1), (1.5, 1), (5, 1)])
async def test_lines_that_are_none_fail_the_tool(
    workspace: Workspace, line: Json, limit: Json
) -> None:
    (workspace.cwd / "it").write_text("a\nb\nc")
    with pytest.raises(ToolFailedError, match=r"line|limit"):
        await done(read_tool, workspace, path="it", line=line, limit=limit)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("gone", "does not exist"),
        ("../secret.txt", "outside"),
        ("/etc/passwd", "outside"),
        ("src", "is a directory"),
        ("out", "outside"),
        ("a\0b", "no NUL"),
        ("\ud800", "no UTF-8 form"),
    ],
)
async def test_what_cannot_be_read_fails_the_tool(
    workspace: Workspace, path: str, reason: str
) -> None:
    (workspace.cwd / "out").symlink_to(workspace.cwd.parent / "secret.txt")
    with pytest.raises(ToolFailedError, match=reason):
        await done(read_tool, workspace, path=path)


async def test_a_file_that_changed_while_the_user_thought_is_left_alone(
    workspace: Workspace,
) -> None:
    call = await write_tool.prepare({"path": "notes.md", "text": "all new"}, workspace)
    (workspace.cwd / "notes.md").write_text("somebody else's milk\n")
    with pytest.raises(ToolFailedError, match="changed meanwhile"):
        await call.run(ignore)
    assert (workspace.cwd / "notes.md").read_text() == "somebody else's milk\n"


async def test_a_new_file_is_shown_as_new_and_its_directory_made(workspace: Workspace) -> None:
    call = await write_tool.prepare({"path": "new/it.txt", "text": "x"}, workspace)
    assert call.content[0]["oldText"] is None
    assert not (workspace.cwd / "new").exists()
    await call.run(ignore)
    assert (workspace.cwd / "new" / "it.txt").read_text() == "x"


async def test_a_file_that_must_be_new_is_not_written_over(workspace: Workspace) -> None:
    arguments = {"path": "notes.md", "text": "x", "is_new": True}
    with pytest.raises(ToolFailedError, match="there already"):
        await write_tool.prepare(arguments, workspace)
    call = await write_tool.prepare(arguments | {"path": "new.md"}, workspace)
    (workspace.cwd / "new.md").write_text("somebody else's")
    with pytest.raises(ToolFailedError, match="changed meanwhile"):
        await call.run(ignore)


@pytest.mark.parametrize("path", ["../new.txt", "src", "/etc/acp-test"])
async def test_what_cannot_be_written_fails_the_tool(workspace: Workspace, path: str) -> None:
    with pytest.raises(ToolFailedError):
        await done(write_tool, workspace, path=path, text="x")


async def test_a_file_is_deleted_and_a_link_without_what_it_names(workspace: Workspace) -> None:
    (workspace.cwd / "link").symlink_to("notes.md")
    await done(delete_tool, workspace, path="link")
    assert not (workspace.cwd / "link").is_symlink()
    await done(delete_tool, workspace, path="notes.md")
    assert not (workspace.cwd / "notes.md").exists()


@pytest.mark.parametrize("path", ["gone", "src", "../secret.txt"])
async def test_what_cannot_be_deleted_fails_the_tool(workspace: Workspace, path: str) -> None:
    with pytest.raises(ToolFailedError):
        await done(delete_tool, workspace, path=path)
    assert (workspace.cwd.parent / "secret.txt").exists()


def test_a_path_is_told_from_the_directory_of_the_session() -> None:
    workspace = Workspace("s", Path("/"))
    assert workspace.path("a/./b") == "/a/b"
    assert workspace.path("/x") == "/x"


async def test_a_file_that_was_replaced_while_the_user_thought_is_not_deleted(
    workspace: Workspace,
) -> None:
    notes = workspace.cwd / "notes.md"
    call = await delete_tool.prepare({"path": "notes.md"}, workspace)
    (workspace.cwd / "new").write_text("of more worth")
    (workspace.cwd / "new").rename(notes)
    with pytest.raises(ToolFailedError, match="changed meanwhile; nothing was deleted"):
        await call.run(ignore)
    assert notes.read_text() == "of more worth"


async def test_what_a_directory_leads_to_by_now_is_not_deleted(workspace: Workspace) -> None:
    cwd = workspace.cwd
    (cwd / "priv").mkdir()
    (cwd / "priv" / "main.py").hardlink_to(cwd / "src" / "main.py")
    call = await delete_tool.prepare({"path": "src/main.py"}, workspace)
    (cwd / "src").rename(cwd / "away")
    (cwd / "src").symlink_to("priv")
    with pytest.raises(ToolFailedError, match="leads elsewhere by now; nothing was deleted"):
        await call.run(ignore)
    assert (cwd / "priv" / "main.py").exists()
