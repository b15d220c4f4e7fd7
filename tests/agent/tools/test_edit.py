"""Exact replacements and patches, shown before they are made."""

from __future__ import annotations

import pytest

from acp_agent.tools.call import Content, Outcome, PreparedCall, Tool, ToolFailedError
from acp_agent.tools.edit import edit_tool, patch_tool
from acp_agent.world.workspace import Workspace
from acp_protocol.jsonrpc import Json

PATCH = """\
diff --git a/notes.md b/notes.md
--- a/notes.md
+++ b/notes.md
@@ -2,3 +2,3 @@

-Buy milk.
+Buy bread.
 TODO: call Ada.
--- /dev/null
+++ b/new/it.txt
@@ -0,0 +1 @@
+new
"""


async def ignore(content: Content) -> None:
    del content


async def done(tool: Tool, workspace: Workspace, **arguments: Json) -> Outcome:
    call = await tool.prepare(arguments, workspace)
    return await call.run(ignore)


async def edited(workspace: Workspace, before: str, **arguments: Json) -> str:
    path = workspace.cwd / "it"
    path.write_bytes(before.encode())
    await done(edit_tool, workspace, path="it", **arguments)
    return path.read_bytes().decode()


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a b a\n", "b", "c", "a c a\n"),
        ("a\n", None, "b\n", "a\nb\n"),
        ("a", None, "b\n", "a\nb\n"),
        ("", None, "b\n", "b\n"),
        ("a\r\nb\r\n", "b", "c", "a\r\nc\r\n"),
        ("abc", "b", "", "ac"),
    ],
)
async def test_an_edit_changes_what_it_names_and_nothing_else(
    workspace: Workspace, before: str, old: str | None, new: str, after: str
) -> None:
    path = workspace.cwd / "it"
    path.write_bytes(before.encode())
    call = await edit_tool.prepare({"path": "it", "old": old, "new": new}, workspace)
    diff = {"type": "diff", "path": str(path), "oldText": before, "newText": after}
    assert call.content == [diff]
    assert path.read_bytes() == before.encode()
    await call.run(ignore)
    assert path.read_bytes() == after.encode()


@pytest.mark.parametrize("old", ["nothing", "", 1, "l"])
async def test_an_edit_of_what_is_not_there_fails(workspace: Workspace, old: Json) -> None:
    with pytest.raises(ToolFailedError):
        await done(edit_tool, workspace, path="notes.md", old=old, new="x")


@pytest.mark.parametrize("path", ["gone", "../secret.txt", "src"])
async def test_what_cannot_be_read_is_not_edited(workspace: Workspace, path: str) -> None:
    with pytest.raises(ToolFailedError):
        await done(edit_tool, workspace, path=path, new="x")


async def test_a_text_that_stands_several_times_is_replaced_where_all_is_said(
    workspace: Workspace,
) -> None:
    with pytest.raises(ToolFailedError, match="holds the text 'a' 2 times"):
        await edited(workspace, "a b a", old="a", new="c")
    assert await edited(workspace, "a b a", old="a", new="c", all=True) == "c b c"


async def test_several_edits_are_made_one_after_the_other(workspace: Workspace) -> None:
    edits: Json = [{"old": "a", "new": "b"}, {"old": "bb", "new": "c"}, {"new": "end"}]
    assert await edited(workspace, "ab\n", edits=edits) == "c\nend"


@pytest.mark.parametrize(
    "arguments",
    [
        {"edits": []},
        {"edits": "x"},
        {"edits": ["x"]},
        {"edits": [{"old": "Buy"}]},
        {"edits": [{"old": "Buy", "new": "b"}, {"old": "gone", "new": "x"}]},
        {"edits": [{"old": "Buy", "new": "b"}], "new": "x"},
        {"edits": [{"new": "b"}] * 201},
        {"old": "Buy", "new": "b", "all": "yes"},
        {},
    ],
)
async def test_of_edits_that_make_no_sense_none_is_made(
    workspace: Workspace, arguments: dict[str, Json]
) -> None:
    path = workspace.cwd / "notes.md"
    before = path.read_text()
    with pytest.raises(ToolFailedError):
        await done(edit_tool, workspace, path="notes.md", **arguments)
    assert path.read_text() == before


async def test_a_long_text_that_was_not_found_is_repeated_in_part(workspace: Workspace) -> None:
    with pytest.raises(ToolFailedError) as caught:
        await done(edit_tool, workspace, path="notes.md", old="x" * 1000, new="")
    assert len(str(caught.value)) < 200


async def test_a_file_that_changed_while_the_user_thought_is_left_alone(
    workspace: Workspace,
) -> None:
    arguments = {"path": "notes.md", "old": "milk", "new": "bread"}
    call = await edit_tool.prepare(arguments, workspace)
    (workspace.cwd / "notes.md").write_text("somebody else's milk\n")
    with pytest.raises(ToolFailedError, match="changed meanwhile"):
        await call.run(ignore)


async def test_a_patch_changes_and_makes_files(workspace: Workspace) -> None:
    call: PreparedCall = await patch_tool.prepare({"patch": PATCH}, workspace)
    assert (call.title, call.kind) == ("Patch notes.md and 1 more", "edit")
    assert [diff["path"] for diff in call.content] == [
        str(workspace.cwd / name) for name in ("notes.md", "new/it.txt")
    ]
    assert "milk" in (workspace.cwd / "notes.md").read_text()
    await call.run(ignore)
    assert "bread" in (workspace.cwd / "notes.md").read_text()
    assert (workspace.cwd / "new" / "it.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        (PATCH.replace("milk", "beer"), "do not stand in notes.md"),
        (PATCH.replace("notes.md", "gone.md"), "there is no gone.md"),
        (PATCH.replace("new/it.txt", "src/main.py"), "is there already"),
        (PATCH.replace("new/it.txt", "../out.txt"), "outside"),
        (PATCH.replace("new/it.txt", "./notes.md"), "twice"),
        (PATCH + PATCH, "twice"),
        ("", "names no file"),
        (7, "must be a string"),
    ],
)
async def test_a_patch_that_does_not_fit_changes_nothing(
    workspace: Workspace, patch: Json, reason: str
) -> None:
    before = (workspace.cwd / "notes.md").read_text()
    with pytest.raises(ToolFailedError, match=reason):
        await done(patch_tool, workspace, patch=patch)
    assert (workspace.cwd / "notes.md").read_text() == before
