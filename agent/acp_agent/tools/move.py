"""Moving and renaming what is in the directories of a session."""

from __future__ import annotations

import os
import stat
from functools import partial

import anyio.to_thread
from pydantic import Field

from acp_agent.tools.base import Arguments, Text, tool
from acp_agent.tools.call import (
    Outcome,
    PreparedCall,
    ReportContent,
    SideEffect,
    ToolFailedError,
    call_title,
    move_content,
)
from acp_agent.tools.changes import resolve_consented
from acp_agent.tools.control_files import add_warning, controlled_program
from acp_agent.world.workspace import PathEffect, Workspace
from acp_protocol.call_rules.subjects import path_subject


class MoveArguments(Arguments):
    path: Text = Field(description="What to move, relative to the session's directory.")
    to: Text = Field(description="Its new path, with its name; relative as well.")
    is_over: bool = Field(False, description="Take the place of a file there.")


@tool(
    "move",
    "move",
    "Move or rename a file, or a directory with all that is in it. The directory that it goes "
    "to is made if it is not there; what is there already stays unless is_over is true.",
    MoveArguments,
)
async def move_tool(wanted: MoveArguments, workspace: Workspace) -> PreparedCall:
    path, goal = workspace.path(wanted.path), workspace.path(wanted.to)
    title = call_title(f"{call_title('Move', wanted.path)} to", wanted.to)
    title = f"{title}, over what is there" if wanted.is_over else title
    workspace.disk.check_inside(goal)
    effects: list[PathEffect] = [("read", path), ("delete", path), ("edit", goal)]
    workspace.refuse_forbidden(title, "move", [path, goal], effects)
    mode = (await anyio.to_thread.run_sync(workspace.disk.status, path)).st_mode
    file_type = "directory" if stat.S_ISDIR(mode) else "symlink" if stat.S_ISLNK(mode) else None
    ends = (path, goal)
    subjects = [path_subject(workspace.cwd, each, is_last_followed=False) for each in ends]

    async def run(_: ReportContent) -> Outcome:
        real, real_goal = (
            resolve_consented(workspace, each, subject, "moved", is_last_followed=False)
            for each, subject in zip(ends, subjects, strict=True)
        )
        if await anyio.to_thread.run_sync(_are_one_file, real, real_goal):
            # The system would leave both names and report success.
            raise ToolFailedError(f"{path} and {goal} are names of one file; delete one")
        # Clients offer no way to move; the links of both paths are resolved already.
        move = partial(
            workspace.disk.move, real, real_goal, is_over=wanted.is_over, is_followed=False
        )
        await anyio.to_thread.run_sync(move)
        return Outcome("", raw={"path": goal})

    start, end = subjects
    program = controlled_program(workspace.cwd, subjects)
    return PreparedCall(
        add_warning(title, program),
        "move",
        run,
        [{"path": path}, {"path": goal}],
        [move_content(path, goal, file_type)],
        subjects=subjects,
        effects=[
            SideEffect("read", start),
            SideEffect("delete", start),
            SideEffect("edit", end, wants_consent=wanted.is_over),
        ],
        must_ask=program is not None,
        is_tree=file_type == "directory",
    )


def _are_one_file(one: str, other: str) -> bool:
    """Return whether two paths are hard links of one file."""
    try:
        found = os.lstat(one)
        return one != other and found.st_nlink > 1 and os.path.samestat(found, os.lstat(other))
    except OSError:
        return False
