"""Listing directories, and finding files by their names."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio.from_thread
import anyio.to_thread
from pydantic import Field

from acp_agent.tools.base import Arguments, Text, tool
from acp_agent.tools.call import (
    Outcome,
    PreparedCall,
    ReportContent,
    Tool,
    ToolFailedError,
    call_title,
    fenced,
)
from acp_agent.tools.walk import DEFAULT_LIMITS, SearchLimits, list_files, matcher
from acp_agent.world.workspace import Workspace
from acp_protocol.call_rules.subjects import path_subject
from acp_protocol.errors import describe_os_error
from acp_protocol.host.sandbox import FileRefusedError
from acp_protocol.host.sanitize import single_line

ENTRY_LIMIT: Final = 1000
"""Entries of a directory that are listed."""
NAME_LIMIT: Final = 200
"""Files that are found before the search stops."""
WIDTH: Final = 1000
"""Characters of a name that are shown."""


class ListArguments(Arguments):
    path: Text = Field(
        ".", description="A directory, relative to the session's directory; without it, that."
    )


class FindArguments(ListArguments):
    pattern: Text = Field(description="The pattern.")


@tool(
    "list",
    "read",
    "Return what is in a directory, hidden or not: one name a line, `/` behind a directory, "
    "`@` behind a link, and behind a file how many bytes it has.",
    ListArguments,
)
async def list_tool(wanted: ListArguments, workspace: Workspace) -> PreparedCall:
    path = workspace.path(wanted.path)

    async def run(_: ReportContent) -> Outcome:
        names = await anyio.to_thread.run_sync(_listed, workspace, path)
        more = len(names) - ENTRY_LIMIT
        lines = [*names[:ENTRY_LIMIT], f"… {more} more"] if more > 0 else names
        text = "\n".join(lines) or "the directory is empty"
        return Outcome(text, fenced(text), {"entries": len(names)})

    subjects = [path_subject(workspace.cwd, path)]
    title = call_title("List", wanted.path)
    return PreparedCall(title, "read", run, [{"path": path}], subjects=subjects)


def find_tool(limits: SearchLimits = DEFAULT_LIMITS) -> Tool:
    """Return the tool that finds files by their names."""

    @tool(
        "find",
        "search",
        "Return the files below a directory whose names fit a pattern such as `*.py`, or whose "
        "paths do, as in `src/**/test_*.py`. What is hidden is left out.",
        FindArguments,
    )
    async def find(wanted: FindArguments, workspace: Workspace) -> PreparedCall:
        fits = matcher(wanted.pattern)
        path = workspace.path(wanted.path)
        place = await workspace.directory(path)

        async def run(_: ReportContent) -> Outcome:
            may_show = workspace.result_filter("search", path)
            paths, is_all = await list_files(
                workspace,
                place,
                limits,
                is_wanted=lambda each: fits(str(each.relative_to(place))) and may_show(each),
                ripgrep_options=["--files"],
                enough=NAME_LIMIT + 1,
            )
            # Ripgrep follows what is put in a directory's place while it looks.
            found = await anyio.to_thread.run_sync(_files_among, workspace, paths)
            lines = [single_line(workspace.display_path(each), WIDTH) for each in found]
            lines = lines[:NAME_LIMIT]
            hits = len(lines)
            if len(found) > NAME_LIMIT:
                lines.append(f"… stopped after {NAME_LIMIT} names")
            elif not is_all:
                lines.append(f"… stopped after {limits.max_files} files")
            text = "\n".join(lines) or "nothing found"
            return Outcome(text, fenced(text), {"hits": hits})

        subjects = [path_subject(workspace.cwd, path)]
        title = call_title("Find", wanted.pattern)
        return PreparedCall(title, "search", run, [{"path": path}], subjects=subjects)

    return find


def _files_among(workspace: Workspace, paths: list[Path]) -> list[Path]:
    """Return those of `paths` that are files inside, and no more than show that there are more."""
    found: list[Path] = []
    for path in paths:
        anyio.from_thread.check_cancelled()
        with suppress(FileRefusedError):
            if not stat.S_ISDIR(workspace.disk.status(str(path)).st_mode):
                found.append(path)
        if len(found) > NAME_LIMIT:
            break
    return found


def _listed(workspace: Workspace, path: str) -> list[str]:
    """Return the entries of a directory by name; runs in a thread."""
    place = Path(path)
    may_show = workspace.result_filter("read", path)
    try:
        with workspace.disk.open_path(path) as directory, os.scandir(directory) as entries:
            return [
                _entry(entry)
                for entry in sorted(entries, key=lambda each: each.name)
                if may_show(place / entry.name)
            ]
    except OSError as problem:
        raise ToolFailedError(f"{place}: {describe_os_error(problem)}") from None


def _entry(entry: os.DirEntry[str]) -> str:
    name = single_line(entry.name, WIDTH)
    if entry.is_symlink():
        return f"{name}@"
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/"
    try:
        return f"{name}  {entry.stat(follow_symlinks=False).st_size}"
    except OSError:
        return name
