"""Reading, editing, writing and deleting the files of a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_agent.models.model import ToolOffer
from acp_agent.tools.subject import path_subject
from acp_agent.tools.tool import (
    Call,
    Kind,
    Outcome,
    Report,
    ToolFailedError,
    argument,
    diff_content,
    fenced,
    parameters,
    shortened,
    text_parameter,
)
from acp_agent.workspace import Workspace
from acp_protocol.host.files import FileMissingError, FileRefusedError
from acp_protocol.jsonrpc import Json

EDIT_LIMIT: Final = 4 * 2**20
"""Characters of the largest text that is edited: a diff carries the old and the new one whole."""
_PATH: Final = {"path": text_parameter("The file, relative to the session's directory.")}


class ReadTool:
    """Returns the text of a file."""

    offer = ToolOffer("read", "Return the text of a file.", parameters(_PATH))
    kind: Kind = "read"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Name the file; it is read when the call runs."""
        name = argument(arguments, "path")
        path = workspace.path(name)

        async def run(report: Report) -> Outcome:
            del report
            text = await _read(workspace, path)
            lines = text.count("\n") + (not text.endswith("\n") if text else 0)
            return Outcome(shortened(text), fenced(text), {"lines": lines})

        return Call(
            f"Read {name}",
            self.kind,
            run,
            [{"path": path}],
            subjects=[path_subject(workspace.cwd, path)],
        )


class EditTool:
    """Replaces text in a file, or adds to its end."""

    offer = ToolOffer(
        "edit",
        "Replace the first place of a text in a file, or add to the end of the file.",
        parameters(
            _PATH | {"new": text_parameter("The text to put there.")},
            {
                "old": {
                    "type": ["string", "null"],
                    "description": "The text to replace; without it, `new` is added to the end.",
                }
            },
        ),
    )
    kind: Kind = "edit"

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

    offer = ToolOffer(
        "write",
        "Give a file a new text; it and its directory are made if they are not there.",
        parameters(
            _PATH | {"text": text_parameter("The whole new text.")},
            {"is_new": {"type": "boolean", "description": "Fail if the file is there already."}},
        ),
    )
    kind: Kind = "edit"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Find out what the file holds now, if it is there."""
        name = argument(arguments, "path")
        path = workspace.path(name)
        before = await _read_if_there(workspace, path)
        if before is not None and arguments.get("is_new") is True:
            raise ToolFailedError(f"{name} is there already")
        return _change(workspace, f"Write {name}", path, before, argument(arguments, "text"))


class DeleteTool:
    """Removes a file."""

    offer = ToolOffer("delete", "Delete a file.", parameters(_PATH))
    kind: Kind = "delete"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> Call:
        """Name the file."""
        name = argument(arguments, "path")
        path = workspace.path(name)

        async def run(report: Report) -> Outcome:
            del report
            try:
                await workspace.delete(path)
            except FileRefusedError as problem:
                raise ToolFailedError(str(problem)) from None
            return Outcome("")

        return Call(
            f"Delete {name}",
            self.kind,
            run,
            [{"path": path}],
            subjects=[path_subject(workspace.cwd, path)],
        )


def _change(workspace: Workspace, title: str, path: str, before: str | None, after: str) -> Call:
    if len(before or "") + len(after) > 2 * EDIT_LIMIT:
        raise ToolFailedError(f"{path}: the text is too large to show its change")
    diff = diff_content(path, before, after)

    async def run(report: Report) -> Outcome:
        del report
        # The user has consented to this change of this text, and may have thought about it long.
        if await _read_if_there(workspace, path) != before:
            raise ToolFailedError(f"{path}: the file has changed meanwhile; nothing was written")
        try:
            await workspace.write_text(path, after)
        except FileRefusedError as problem:
            raise ToolFailedError(str(problem)) from None
        return Outcome("", [diff])

    subjects = [path_subject(workspace.cwd, path)]
    return Call(title, "edit", run, [{"path": path}], [diff], subjects=subjects)


async def _read_if_there(workspace: Workspace, path: str) -> str | None:
    try:
        return await workspace.read_text(path)
    except FileMissingError:
        return None
    except FileRefusedError as problem:
        raise ToolFailedError(str(problem)) from None


async def _read(workspace: Workspace, path: str) -> str:
    try:
        return await workspace.read_text(path)
    except FileRefusedError as problem:
        raise ToolFailedError(str(problem)) from None
