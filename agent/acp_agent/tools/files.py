"""Reading, editing, writing and deleting the files of a session."""

from __future__ import annotations

from collections.abc import Mapping

from acp_agent.tools.tool import (
    Call,
    Outcome,
    Report,
    ToolFailedError,
    argument,
    diff_content,
    fenced,
)
from acp_agent.workspace import Workspace
from acp_protocol.host.files import FileMissingError, FileRefusedError
from acp_protocol.jsonrpc import Json


class ReadTool:
    """Returns the text of a file."""

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Name the file; it is read when the call runs."""
        name = argument(arguments, "path")
        path = workspace.path(name)

        async def run(report: Report) -> Outcome:
            del report
            text = await _read(workspace, path)
            lines = text.count("\n") + (not text.endswith("\n") if text else 0)
            return Outcome(text, [fenced(text)], {"lines": lines})

        return Call(f"Read {name}", "read", run, [{"path": path}])


class EditTool:
    """Replaces text in a file, or adds to its end."""

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Work out the new text, so that the user can be shown the change before it is made."""
        name = argument(arguments, "path")
        path = workspace.path(name)
        before = await _read(workspace, path)
        new = argument(arguments, "new")
        old = arguments.get("old")
        if old is None:
            gap = "" if before.endswith("\n") or not before else "\n"
            after = before + gap + new
        else:
            old = argument(arguments, "old")
            if not old or old not in before:
                raise ToolFailedError(f"{name} does not hold the text {old!r}")
            after = before.replace(old, new, 1)
        return _change(workspace, f"Edit {name}", path, before, after)


class WriteTool:
    """Gives a file a new text."""

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Find out what the file holds now, if it is there."""
        name = argument(arguments, "path")
        path = workspace.path(name)
        try:
            before = await workspace.read_text(path)
        except FileMissingError:
            before = None
        except FileRefusedError as problem:
            raise ToolFailedError(str(problem)) from None
        return _change(workspace, f"Write {name}", path, before, argument(arguments, "text"))


class DeleteTool:
    """Removes a file."""

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Name the file."""
        name = argument(arguments, "path")
        path = workspace.path(name)

        async def run(report: Report) -> Outcome:
            del report
            try:
                workspace.delete(path)
            except FileRefusedError as problem:
                raise ToolFailedError(str(problem)) from None
            return Outcome("")

        return Call(f"Delete {name}", "delete", run, [{"path": path}])


def _change(workspace: Workspace, title: str, path: str, before: str | None, after: str) -> Call:
    diff = diff_content(path, before, after)

    async def run(report: Report) -> Outcome:
        del report
        try:
            await workspace.write_text(path, after)
        except FileRefusedError as problem:
            raise ToolFailedError(str(problem)) from None
        return Outcome("", [diff])

    return Call(title, "edit", run, [{"path": path}], [diff])


async def _read(workspace: Workspace, path: str) -> str:
    try:
        return await workspace.read_text(path)
    except FileRefusedError as problem:
        raise ToolFailedError(str(problem)) from None
