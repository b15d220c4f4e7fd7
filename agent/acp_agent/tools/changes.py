"""Changes of files: worked out and shown before they are made, and made only if they still fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from acp_agent.tools.call import (
    Outcome,
    PreparedCall,
    ReportContent,
    SideEffect,
    ToolFailedError,
    diff_content,
)
from acp_agent.tools.control_files import add_warning, controlled_program
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.subjects import Subject, path_subject, real_path
from acp_protocol.host.sandbox import FileMissingError, FileRefusedError

CHANGE_LIMIT: Final = 8 * 2**20
"""Characters of all texts of one call: a diff carries the old and the new one whole."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """What a file is to hold."""

    path: str
    """Absolute."""
    before: str | None
    """None for a file that is not there."""
    after: str


def prepare_changes(
    workspace: Workspace, title: str, changes: Sequence[FileEdit], *, is_read: bool = True
) -> PreparedCall:
    """Return the call that makes `changes`, all of them or none where that can be known before.

    `is_read`: whether its success reveals the content of the files.

    Raises:
        ToolFailedError: they are too large to be shown.
    """
    size = sum(len(change.before or "") + len(change.after) for change in changes)
    if size > CHANGE_LIMIT:
        raise ToolFailedError(f"{title}: the text is too large to show its change")
    diffs = [diff_content(change.path, change.before, change.after) for change in changes]
    subjects = [path_subject(workspace.cwd, change.path) for change in changes]

    async def run(_: ReportContent) -> Outcome:
        # The user has consented to this change of this text, and may have thought about it long.
        for change in changes:
            if await read_text_if_exists(workspace, change.path) != change.before:
                raise ToolFailedError(
                    f"{change.path}: the file has changed meanwhile; nothing was written"
                )
        goals = [
            resolve_consented(workspace, change.path, subject, "written")
            for change, subject in zip(changes, subjects, strict=True)
        ]
        written: list[str] = []
        for change, goal in zip(changes, goals, strict=True):
            try:
                await workspace.write_text(change.path, change.after, goal)
            except FileRefusedError as problem:
                done = f"; written before: {', '.join(written)}" if written else ""
                raise ToolFailedError(f"{problem}{done}") from None
            written.append(change.path)
        return Outcome("", diffs, {"files": len(changes)})

    program = controlled_program(workspace.cwd, subjects)
    return PreparedCall(
        add_warning(title, program),
        "edit",
        run,
        [{"path": change.path} for change in changes],
        diffs,
        subjects=subjects,
        effects=[SideEffect("read", subject) for subject in subjects] if is_read else (),
        must_ask=program is not None,
    )


def resolve_consented(
    workspace: Workspace,
    path: str,
    subject: Subject,
    undone: str,
    *,
    is_last_followed: bool = True,
) -> str:
    """Return where `path` leads, its links resolved: to `subject`, which there is consent for.

    Raises:
        ToolFailedError: it leads elsewhere by now, so that nothing was `undone`.
    """
    if path_subject(workspace.cwd, path, is_last_followed=is_last_followed) != subject:
        raise ToolFailedError(f"{path}: it leads elsewhere by now; nothing was {undone}")
    return real_path(workspace.cwd, subject)


async def read_text_if_exists(workspace: Workspace, path: str) -> str | None:
    """Return the text of a file; None if it is not there.

    Raises:
        FileRefusedError: it may not or cannot be read.
    """
    try:
        return await workspace.read_text(path)
    except FileMissingError:
        return None
