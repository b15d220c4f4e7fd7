"""Reading, writing and deleting the files of a session."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from acp_agent.diffs import split_lines
from acp_agent.tools.base import Arguments, Count, Text, tool_offer
from acp_agent.tools.call import (
    MAX_TEXT_CHARS,
    Outcome,
    PreparedCall,
    ReportContent,
    ToolFailedError,
    ToolKind,
    call_title,
    fenced,
    shorten,
)
from acp_agent.tools.changes import (
    FileChange,
    prepare_changes,
    read_text,
    read_text_if_exists,
    resolve_consented,
)
from acp_agent.tools.control_files import add_warning, controlled_program
from acp_agent.tools.subject import path_subject
from acp_agent.workspace import Workspace
from acp_protocol.host.sandbox import FileRefusedError
from acp_protocol.jsonrpc import Json


class FileArguments(Arguments):
    path: Text = Field(description="The file, relative to the session's directory.")


class ReadArguments(FileArguments):
    line: Count | None = Field(None, description="The first line to read.")
    limit: Count | None = Field(None, description="How many lines.")


class WriteArguments(FileArguments):
    text: Text = Field(description="The whole new text.")
    is_new: bool = Field(False, description="Fail if the file is there already.")


class ReadTool:
    """Returns the text of a file, or some of its lines."""

    offer = tool_offer("read", "Return the text of a file, or some of its lines.", ReadArguments)
    kind: ToolKind = "read"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        """Name the file; it is read when the call runs."""
        wanted = ReadArguments.read(arguments)
        name, first, limit = wanted.path, wanted.line, wanted.limit
        path = workspace.path(name)

        async def run(report: ReportContent) -> Outcome:
            del report
            text = await read_text(workspace, path)
            if first is None and limit is None:
                return Outcome(_cut(text, 1), fenced(text), {"lines": len(split_lines(text))})
            start = first or 1
            lines = split_lines(text)[start - 1 :][:limit]
            part = "".join(lines)
            if not lines:
                raise ToolFailedError(
                    f"{name} has no line {start}: it has {len(split_lines(text))}"
                )
            return Outcome(_cut(part, start), fenced(part), {"lines": len(lines), "line": start})

        location: dict[str, Json] = {"path": path} | ({} if first is None else {"line": first})
        subjects = [path_subject(workspace.cwd, path)]
        title = call_title("Read", name) + _range(first, limit)
        return PreparedCall(title, self.kind, run, [location], subjects=subjects)


class WriteTool:
    """Gives a file a new text."""

    offer = tool_offer(
        "write",
        "Give a file a new text; it and its directory are made if they are not there.",
        WriteArguments,
    )
    kind: ToolKind = "edit"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        """Find out what the file holds now, if it is there."""
        wanted = WriteArguments.read(arguments)
        path = workspace.path(wanted.path)
        before = await read_text_if_exists(workspace, path)
        if before is not None and wanted.is_new:
            raise ToolFailedError(f"{wanted.path} is there already")
        change = FileChange(path, before, wanted.text)
        return prepare_changes(workspace, call_title("Write", wanted.path), [change])


class DeleteTool:
    """Removes a file."""

    offer = tool_offer("delete", "Delete a file.", FileArguments)
    kind: ToolKind = "delete"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        """Look at the file, so that no other one is deleted in its place."""
        name = FileArguments.read(arguments).path
        path = workspace.path(name)
        try:
            seen = await workspace.status(path)
        except FileRefusedError as problem:
            raise ToolFailedError(str(problem)) from None
        subject = path_subject(workspace.cwd, path, is_last_followed=False)

        async def run(report: ReportContent) -> Outcome:
            del report
            real = resolve_consented(workspace, path, subject, "deleted", is_last_followed=False)
            try:
                await workspace.delete(real, seen)
            except FileRefusedError as problem:
                raise ToolFailedError(str(problem)) from None
            return Outcome("")

        program = controlled_program(workspace.cwd, [subject])
        return PreparedCall(
            add_warning(call_title("Delete", name), program),
            self.kind,
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
