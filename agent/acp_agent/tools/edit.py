"""Changing parts of files: exact replacements, and patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from acp_agent.tools.base import Arguments, Text, tool
from acp_agent.tools.call import PreparedCall, ToolFailedError, call_title
from acp_agent.tools.changes import FileEdit, prepare_changes, read_text_if_exists
from acp_agent.world.diffs import FilePatch, PatchError, parse_patch
from acp_agent.world.workspace import Workspace

EDIT_LIMIT: Final = 200
"""Replacements of one call."""
SHOWN: Final = 80
"""Characters of a text that was not found which are repeated."""


_OLD: Final = (
    "The text to replace, exactly as it stands in the file and nowhere else in it; without it, "
    "`new` is added to the end."
)
_NEW: Final = "The text to put there."
_ALL: Final = "Replace it wherever it stands."


class Edit(Arguments):
    new: Text = Field(description=_NEW)
    old: Text | None = Field(None, description=_OLD)
    all: bool = Field(False, description=_ALL)


class EditArguments(Arguments):
    path: Text = Field(description="The file, relative to the session's directory.")
    new: Text | None = Field(None, description=_NEW)
    old: Text | None = Field(None, description=_OLD)
    all: bool = Field(False, description=_ALL)
    edits: list[Edit] | None = Field(None, min_length=1, max_length=EDIT_LIMIT)

    def in_order(self) -> list[Edit]:
        """Return the edits in the order in which they are made."""
        if self.edits is None:
            if self.new is None:
                raise ToolFailedError("the argument new is missing")
            return [Edit(new=self.new, old=self.old, all=self.all)]
        if self.new is not None:
            raise ToolFailedError("either `new` and `old`, or `edits`, and not both")
        return self.edits


class PatchArguments(Arguments):
    patch: Text = Field(description="The patch, with `---` and `+++` before each file.")


@tool(
    "edit",
    "edit",
    "Replace text in a file, or add to its end. Either `new` and `old`, or several of them in "
    "`edits`, which are made one after the other, all or none.",
    EditArguments,
)
async def edit_tool(wanted: EditArguments, workspace: Workspace) -> PreparedCall:
    edits = wanted.in_order()
    path, title = workspace.path(wanted.path), call_title("Edit", wanted.path)
    workspace.refuse_forbidden(title, "edit", [path], [("read", path)])
    before = after = await workspace.read_text(path)
    for edit in edits:
        after = _edited(wanted.path, after, edit)
    change = FileEdit(path, before, after)
    return prepare_changes(workspace, title, [change])


@tool(
    "patch",
    "edit",
    "Change files, or make new ones, by a patch in the unified format of `diff -u` and git. "
    "Its context must be in the file exactly; it may stand some lines off.",
    PatchArguments,
)
async def patch_tool(wanted: PatchArguments, workspace: Workspace) -> PreparedCall:
    try:
        patches = parse_patch(wanted.patch)
        paths = [workspace.path(patch.name) for patch in patches]
        more = f" and {len(patches) - 1} more" if len(patches) > 1 else ""
        title = call_title("Patch", patches[0].name) + more
        workspace.refuse_forbidden(title, "edit", paths, [("read", path) for path in paths])
        changes = await _changes(patches, paths, workspace)
    except PatchError as problem:
        raise ToolFailedError(f"the patch does not fit: {problem}") from None
    return prepare_changes(workspace, title, changes)


async def _changes(
    patches: Sequence[FilePatch], paths: Sequence[str], workspace: Workspace
) -> list[FileEdit]:
    changes: list[FileEdit] = []
    for patch, path in zip(patches, paths, strict=True):
        if paths.count(path) > 1:
            raise PatchError(f"{patch.name} stands in it twice")
        before = await read_text_if_exists(workspace, path)
        changes.append(FileEdit(path, before, patch.apply(before)))
    return changes


def _edited(name: str, text: str, edit: Edit) -> str:
    """Return `text` with one edit made."""
    old = edit.old
    if old is None:
        gap = "" if text.endswith("\n") or not text else "\n"
        return text + gap + edit.new
    shown = repr(old if len(old) <= SHOWN else f"{old[:SHOWN]}…")
    count = text.count(old) if old else 0
    if count == 0:
        raise ToolFailedError(f"{name} does not hold the text {shown}")
    if count > 1 and not edit.all:
        raise ToolFailedError(
            f"{name} holds the text {shown} {count} times: give more of what stands around it, "
            "or replace all"
        )
    return text.replace(old, edit.new)
