"""Moving and renaming what is in the directories of a session."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import anyio.to_thread
from pydantic import Field

from acp_agent.tools.base import Arguments, Text, tool_offer
from acp_agent.tools.call import (
    Outcome,
    PreparedCall,
    ReportContent,
    SideEffect,
    ToolFailedError,
    ToolKind,
    call_title,
    move_content,
)
from acp_agent.tools.changes import resolve_consented
from acp_agent.tools.control_files import add_warning, controlled_program
from acp_agent.tools.subject import Subject, path_subject
from acp_agent.workspace import Workspace
from acp_protocol.host.sandbox import FileRefusedError
from acp_protocol.jsonrpc import Json


class MoveArguments(Arguments):
    path: Text = Field(description="What to move, relative to the session's directory.")
    to: Text = Field(description="Its new path, with its name; relative as well.")
    is_over: bool = Field(False, description="Take the place of a file there.")


class MoveTool:
    """Gives a file or a directory another path."""

    offer = tool_offer(
        "move",
        "Move or rename a file, or a directory with all that is in it. The directory that it goes "
        "to is made if it is not there; what is there already stays unless is_over is true.",
        MoveArguments,
    )
    kind: ToolKind = "move"

    async def prepare(self, arguments: Mapping[str, Json], workspace: Workspace) -> PreparedCall:
        """Look at what is to be moved."""
        wanted = MoveArguments.read(arguments)
        name, goal_name, is_over = wanted.path, wanted.to, wanted.is_over
        path, goal = workspace.path(name), workspace.path(goal_name)
        try:
            workspace.check_inside(goal)
            file_type = await workspace.file_type(path)
        except FileRefusedError as problem:
            raise ToolFailedError(str(problem)) from None
        ends = (path, goal)
        subjects = [path_subject(workspace.cwd, each, is_last_followed=False) for each in ends]

        async def run(report: ReportContent) -> Outcome:
            del report
            real, real_goal = (
                resolve_consented(workspace, each, subject, "moved", is_last_followed=False)
                for each, subject in zip(ends, subjects, strict=True)
            )
            if await anyio.to_thread.run_sync(_are_one_file, real, real_goal):
                # The system would leave both names, and say that all is done.
                raise ToolFailedError(f"{path} and {goal} are names of one file; delete one")
            try:
                await workspace.move(real, real_goal, is_over=is_over)
            except FileRefusedError as problem:
                raise ToolFailedError(str(problem)) from None
            return Outcome("", raw={"path": goal})

        program = controlled_program(workspace.cwd, subjects)
        title = call_title(f"{call_title('Move', name)} to", goal_name)
        title = f"{title}, over what is there" if is_over else title
        return PreparedCall(
            add_warning(title, program),
            self.kind,
            run,
            [{"path": path}, {"path": goal}],
            [move_content(path, goal, file_type)],
            subjects=subjects,
            effects=_effects(subjects, is_over=is_over),
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


def _effects(subjects: Sequence[Subject], *, is_over: bool) -> list[SideEffect]:
    """Return what a move comes to: reading and deleting what is moved, writing its goal."""
    start, goal = subjects
    written = SideEffect("edit", goal, wants_consent=is_over)
    return [SideEffect("read", start), SideEffect("delete", start), written]
