"""Reading, writing and deleting the files of a session."""

from __future__ import annotations

from functools import partial

import anyio.to_thread
from pydantic import Field

from acp_agent.tools.base import Arguments, Count, Text, tool
from acp_agent.tools.call import (
    MAX_TEXT_CHARS,
    Outcome,
    PreparedCall,
    ReportContent,
    ToolFailedError,
    call_title,
    fenced,
    shorten,
)
from acp_agent.tools.changes import (
    FileEdit,
    prepare_changes,
    read_text_if_exists,
    resolve_consented,
)
from acp_agent.tools.control_files import add_warning, controlled_program
from acp_agent.world.workspace import PathEffect, Workspace
from acp_protocol.call_rules.subjects import path_subject
from acp_protocol.jsonrpc import Json
from acp_protocol.text_lines import split_lines


class FileArguments(Arguments):
    path: Text = Field(description="The file, relative to the session's directory.")


class ReadArguments(FileArguments):
    line: Count | None = Field(None, description="The first line to read.")
    limit: Count | None = Field(None, description="How many lines.")


class WriteArguments(FileArguments):
    text: Text = Field(description="The whole new text.")
    is_new: bool = Field(False, description="Fail if the file is there already.")


@tool("read", "read", "Return the text of a file, or some of its lines.", ReadArguments)
async def read_tool(wanted: ReadArguments, workspace: Workspace) -> PreparedCall:
    name, first, limit = wanted.path, wanted.line, wanted.limit
    path = workspace.path(name)

    async def run(_: ReportContent) -> Outcome:
        text = await workspace.read_text(path)
        lines = split_lines(text)
        if first is None and limit is None:
            return Outcome(_cut(text, 1), fenced(text), {"lines": len(lines)})
        start = first or 1
        wanted_lines = lines[start - 1 :][:limit]
        if not wanted_lines:
            raise ToolFailedError(f"{name} has no line {start}: it has {len(lines)}")
        part = "".join(wanted_lines)
        return Outcome(_cut(part, start), fenced(part), {"lines": len(wanted_lines), "line": start})

    location: dict[str, Json] = {"path": path} | ({} if first is None else {"line": first})
    subjects = [path_subject(workspace.cwd, path)]
    title = call_title("Read", name) + _range(first, limit)
    return PreparedCall(title, "read", run, [location], subjects=subjects)


@tool(
    "write",
    "edit",
    "Give a file a new text; it and its directory are made if they are not there.",
    WriteArguments,
)
async def write_tool(wanted: WriteArguments, workspace: Workspace) -> PreparedCall:
    path, title = workspace.path(wanted.path), call_title("Write", wanted.path)
    effects: list[PathEffect] = [("read", path)] if wanted.is_new else []
    workspace.refuse_forbidden(title, "edit", [path], effects)
    before = await read_text_if_exists(workspace, path)
    if before is not None and wanted.is_new:
        raise ToolFailedError(f"{wanted.path} is there already")
    change = FileEdit(path, before, wanted.text)
    return prepare_changes(workspace, title, [change], is_read=wanted.is_new)


@tool("delete", "delete", "Delete a file.", FileArguments)
async def delete_tool(wanted: FileArguments, workspace: Workspace) -> PreparedCall:
    """Delete the file that is there now, and no other one in its place."""
    path, title = workspace.path(wanted.path), call_title("Delete", wanted.path)
    workspace.refuse_forbidden(title, "delete", [path], [])
    seen = await anyio.to_thread.run_sync(workspace.disk.status, path)
    subject = path_subject(workspace.cwd, path, is_last_followed=False)

    async def run(_: ReportContent) -> Outcome:
        real = resolve_consented(workspace, path, subject, "deleted", is_last_followed=False)
        # Clients offer no way to delete; the links of the path are resolved already.
        delete = partial(workspace.disk.delete, real, is_followed=False, seen=seen)
        await anyio.to_thread.run_sync(delete)
        return Outcome("")

    program = controlled_program(workspace.cwd, [subject])
    return PreparedCall(
        add_warning(title, program),
        "delete",
        run,
        [{"path": path}],
        subjects=[subject],
        must_ask=program is not None,
    )


def _range(first: int | None, limit: int | None) -> str:
    if first is None and limit is None:
        return ""
    start = first or 1
    return f" from line {start}" if limit is None else f", lines {start} to {start + limit - 1}"


def _cut(text: str, first: int) -> str:
    """Return the beginning of `text`, whose first line has the number `first`."""
    if len(text) <= MAX_TEXT_CHARS or "\n" not in text[:MAX_TEXT_CHARS]:
        return shorten(text)
    end = text.rindex("\n", 0, MAX_TEXT_CHARS) + 1
    following = first + text.count("\n", 0, end)
    return f"{text[:end]}… {len(text) - end} more characters, from line {following} on"
